"""Pairs that are no pairs: shifted, swapped or copied sides, other scripts, wrong encodings.

Each check is a cheap signal on a sample of a corpus (:mod:`cgbench.text.sampling`), whose order and
line numbers are known. A check gives the first line that it concerns, or nothing. The thresholds
leave room for the noise of real corpora: a few wrong pairs are normal.
"""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

import numpy as np

from cgbench.text.damage import repair_mojibake

Pair = tuple[str, str]
Run: TypeAlias = "tuple[int, Sequence[Pair]]"
"""Consecutive pairs, and the line of the first."""

SHIFTS = (-3, -2, -1, 1, 2, 3)
LEAST_LINES = 10
MOST_SHARE = 0.05
"""Share of the sampled pairs above which a fault is no longer noise."""
MOJIBAKE_SHARE = 0.02
RARE = 0.01  # share of lines up to which a word tells lines apart
ORIENTED = 2.0  # log odds of each side that tell a swapped pair
FIRST = 64  # pairs that tell the languages of a corpus without a training corpus
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Fault:
    """A fault: what it is and the remedy, in words for a message, and its first line."""

    text: str
    line: int
    remedy: str = "fix or remove these pairs"


def find_faults(runs: Sequence[Run], training: Sequence[Run] | None = None) -> list[Fault]:
    """The faults of the pairs of a corpus.

    :param runs: a sample of it. ``training``: one of the training corpus, if that is another.
    """
    checks = (
        _shift(runs),
        _swaps(runs, training),
        _share(runs, _is_copy, "have the same text on both sides"),
        *(_other_script(runs, training or runs, side) for side in (0, 1)),
        _share(
            runs,
            lambda pair: any(map(_is_mojibake, pair)),
            "were decoded from UTF-8 by another encoding (mojibake)",
            MOJIBAKE_SHARE,
        ),
    )
    return [fault for fault in checks if fault]


def _share(
    runs: Sequence[Run],
    is_wrong: Callable[[Pair], bool],
    text: str,
    most: float = MOST_SHARE,
) -> Fault | None:
    """The fault of pairs that are wrong by themselves, if they are too many."""
    lines = [first + row for first, run in runs for row, pair in enumerate(run) if is_wrong(pair)]
    count = sum(len(run) for _, run in runs)
    if len(lines) < LEAST_LINES or len(lines) <= most * count:
        return None
    return Fault(f"{len(lines):,} of {count:,} pairs that were checked {text}", lines[0])


def _is_copy(pair: Pair) -> bool:
    words = _WORD.findall(pair[0].casefold())
    return len(words) > 3 and words == _WORD.findall(pair[1].casefold())


def _is_mojibake(text: str) -> bool:
    return not text.isascii() and repair_mojibake(text) != text


# Scripts.


@cache
def _script(character: str) -> str:
    """The script of a letter; empty for other characters. Scripts of one language are one."""
    if not character.isalpha():
        return ""
    name = unicodedata.name(character, "").split(" ", 1)[0]
    return "CJK" if name in ("HIRAGANA", "KATAKANA", "HANGUL", "KATAKANA-HIRAGANA") else name


def _script_of(text: str) -> str:
    """The script of most letters of a line; empty if it has few letters or no such script."""
    letters = Counter(filter(None, map(_script, text)))
    if letters.total() < 5:
        return ""
    script, count = letters.most_common(1)[0]
    return script if count > 0.6 * letters.total() else ""


def _other_script(runs: Sequence[Run], training: Sequence[Run], side: int) -> Fault | None:
    """Lines of a side in another script than that of the training corpus."""
    usual = Counter(_script_of(pair[side]) for _, run in training for pair in run)
    del usual[""]
    if not usual:
        return None
    script = usual.most_common(1)[0][0]
    name = ("source", "target")[side]
    return _share(
        runs,
        lambda pair: _script_of(pair[side]) not in ("", script),
        f"have a {name} in another script than {script.capitalize()}",
    )


# Sides of the other language.


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


class _Languages:
    """The words of both sides of a corpus, which tell a sentence's language."""

    def __init__(self, pairs: Iterable[Pair]) -> None:
        self.counts: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
        for pair in pairs:
            for counts, text in zip(self.counts, pair, strict=True):
                counts.update(_words(text))

    def source_odds(self, text: str) -> float:
        """The log odds of a sentence to be of the source's language."""
        source, target = self.counts
        words = [word for word in _words(text) if word in source or word in target]
        sizes = math.log((target.total() + 1) / (source.total() + 1))
        return sum(math.log((source[word] + 0.5) / (target[word] + 0.5)) + sizes for word in words)

    def is_swapped(self, pair: Pair) -> bool:
        """Whether both sides are of the other's language."""
        return self.source_odds(pair[0]) < -ORIENTED and self.source_odds(pair[1]) > ORIENTED


def _swaps(runs: Sequence[Run], training: Sequence[Run] | None) -> Fault | None:
    """Pairs whose sides are swapped, by the words of the training corpus; in that itself, by the
    words of its beginning.
    """
    pairs = [pair for _, run in runs for pair in run]
    if training:
        languages = _Languages(pair for _, run in training for pair in run)
    else:
        languages = _Languages(pairs[:FIRST])
        for _ in range(3):  # what is like the beginning, and what is like it when swapped
            languages = _Languages(
                pair[::-1] if languages.is_swapped(pair) else pair for pair in pairs
            )
    return _share(runs, languages.is_swapped, "have source and target swapped")


# Shifts.


def _shift(runs: Sequence[Run]) -> Fault | None:
    """Lines from which on one side is some lines ahead: the other side's neighbours fit better.

    Two lines fit if both are longer or shorter than the lines around them, and if they share words
    that few lines have: names, numbers.
    """
    whole = [run for run in runs if len(run[1]) > 2 * max(SHIFTS)]
    lengths = [_lengths(run) for _, run in whole]
    rare = _rare_words([pair for _, run in whole for pair in run])
    shared = [[[set(_words(text)) & rare for text in pair] for pair in run] for _, run in whole]
    best: tuple[float, int, int] | None = None
    for shift in SHIFTS:
        gains = np.array(
            [_gain(length, words, shift) for length, words in zip(lengths, shared, strict=True)]
        )
        z, begin = _best_segment(gains)
        if z > _least_z(len(gains)) and (best is None or z > best[0]):
            best = z, shift, begin
    if best is None:
        return None
    _, shift, begin = best
    line = whole[begin][0]
    ahead, behind = ("target", "source") if shift < 0 else ("source", "target")
    lines = f"{abs(shift)} line{'s' * (abs(shift) > 1)}"
    return Fault(
        f"the {ahead} is {lines} ahead of the {behind}", line, f"the {ahead} lacks lines there"
    )


def _lengths(run: Sequence[Pair]) -> np.ndarray:
    """Log lengths of the sides, relative to the mean of their run, float64 ``[pairs, 2]``."""
    lengths = np.log1p([[len(side) for side in pair] for pair in run])
    centred: np.ndarray = lengths - lengths.mean(axis=0)
    return centred


def _rare_words(pairs: Sequence[Pair]) -> set[str]:
    """The words that tell lines apart: on both sides, and in few lines."""
    counts = [Counter(word for pair in pairs for word in {*_words(pair[side])}) for side in (0, 1)]
    most = max(2, RARE * len(pairs))
    return {
        word
        for word in counts[0].keys() & counts[1].keys()
        if max(counts[0][word], counts[1][word]) <= most and (len(word) > 3 or word.isdigit())
    }


def _gain(lengths: np.ndarray, words: Sequence[Sequence[set[str]]], shift: int) -> float:
    """How much better the lines of a run fit with a shift than without; about standard normal
    where neither fits.
    """
    source = np.arange(max(0, -shift), len(lengths) - max(0, shift))
    target = source + shift
    x, y = lengths.T
    scale = float(x.std() * y.std() * math.sqrt(2 * len(source)))
    difference = float(x[source] @ y[target] - x[source] @ y[source])
    by_length = difference / scale if scale > 1e-6 else 0.0
    by_words = sum(
        len(words[i][0] & words[j][1]) - len(words[i][0] & words[i][1])
        for i, j in zip(source.tolist(), target.tolist(), strict=True)
    )
    return by_length + by_words


def _least_z(runs: int) -> float:
    """Standard errors by which the lines of a segment must fit better with a shift: two more than
    the best of all segments and shifts reaches by chance.
    """
    return 2 + math.sqrt(2 * math.log(max(2.0, len(SHIFTS) * runs * runs / 2)))


def _best_segment(gains: np.ndarray) -> tuple[float, int]:
    """The largest sum over consecutive runs in standard errors, and the run where it begins."""
    best, best_begin, total, squares, begin = 0.0, 0, 0.0, 0.0, 0
    for index, gain in enumerate(gains.tolist()):
        if total <= 0:
            total, squares, begin = 0.0, 0.0, index
        total += gain
        squares += gain * gain
        z = total / math.sqrt(squares + 1)
        if z > best:
            best, best_begin = z, begin
    return best, best_begin

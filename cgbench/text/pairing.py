"""Pairs that are no pairs: shifted, swapped or copied sides, other scripts, wrong encodings.

Each check is a cheap signal on a sample of a corpus (:mod:`cgbench.text.sampling`), whose order and
line numbers are known. A check gives the first line that it concerns, or nothing. The thresholds
leave room for the noise of real corpora: a few wrong pairs are normal.
"""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from cgbench.text.damage import repair_mojibake
from cgbench.text.shifts import Pair, Run, find_shift

LEAST_LINES = 10
MOST_SHARE = 0.05
"""Share of the sampled pairs above which a fault is no longer noise."""
MOJIBAKE_SHARE = 0.02
EDITED = 0.3  # mean likeness of pairs from which on both sides are of one language
ORIENTED = 2.0  # log odds of each side that tell a swapped pair
FIRST = 64  # pairs that tell the languages of a corpus without a training corpus
ROUNDS = 3
ABOUT_HALF = 0.25
CLEARLY = 1.25
GROWN = 256  # longest pairs that tell the languages where the beginning does not
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
        _shifted(runs),
        _swaps(runs, training),
        _copies(runs),
        *(_other_script(runs, training or runs, side) for side in (0, 1)),
        _share(
            runs,
            lambda pair: any(map(_is_mojibake, pair)),
            "were decoded from UTF-8 by another encoding (mojibake)",
            MOJIBAKE_SHARE,
        ),
    )
    return [fault for fault in checks if fault]


def _shifted(runs: Sequence[Run]) -> Fault | None:
    """The fault of one side that is some lines ahead."""
    shift = find_shift(runs)
    if shift is None:
        return None
    ahead, behind = ("target", "source") if shift.by < 0 else ("source", "target")
    lines = f"{abs(shift.by)} line{'s' * (abs(shift.by) > 1)}"
    return Fault(
        f"the {ahead} is {lines} ahead of the {behind}",
        shift.first,
        f"the {ahead} lacks lines there",
    )


def _share(
    runs: Sequence[Run],
    is_wrong: Callable[[Pair], bool],
    text: str,
    most: float = MOST_SHARE,
) -> Fault | None:
    """The fault of pairs that are wrong by themselves, if they are too many."""
    wrong = {first + row: is_wrong(pair) for first, run in runs for row, pair in enumerate(run)}
    count = sum(wrong.values())
    if count < LEAST_LINES or count <= most * len(wrong):
        return None
    return Fault(
        f"{count:,} of {len(wrong):,} pairs that were checked {text}", _first_line(wrong, most)
    )


def _first_line(wrong: dict[int, bool], most: float) -> int:
    """The first line of the stretch that has the most wrong lines beyond the share of noise: single
    ones before it are noise.
    """
    begin, excess = 0, 0.0
    first, largest = 0, 0.0
    for line, is_wrong in wrong.items():
        if excess <= 0:
            begin, excess = line, 0.0
        excess += is_wrong - most
        if excess > largest:
            first, largest = begin, excess
    return first


def _copies(runs: Sequence[Run]) -> Fault | None:
    """The fault of equal sides, unless the sides are of one language, as in corpora of edits, where
    some texts need none.
    """
    others = [pair for _, run in runs for pair in run if _words(pair[0]) != _words(pair[1])]
    if others and sum(map(_likeness, others)) > EDITED * len(others):
        return None
    return _share(runs, _is_copy, "have the same text on both sides")


def _likeness(pair: Pair) -> float:
    """The share of the words of a pair that are on both sides."""
    source, target = (set(_words(text)) for text in pair)
    return len(source & target) / max(1, len(source | target))


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


WordPair = tuple[list[str], list[str]]


class _Languages:
    """The words of both sides of a corpus, which tell a sentence's language."""

    def __init__(self, pairs: Iterable[WordPair]) -> None:
        self.source: Counter[str] = Counter()
        self.target: Counter[str] = Counter()
        for pair in pairs:
            self._count(pair)
        self._look_up()

    def _count(self, pair: WordPair) -> None:
        self.source.update(pair[0])
        self.target.update(pair[1])

    def _look_up(self) -> None:
        self._sizes = math.log((self.target.total() + 1) / (self.source.total() + 1))
        self._odds: dict[str, float] = {}

    def add(self, pair: WordPair) -> None:
        """Count a further pair."""
        self._count(pair)
        self._look_up()

    def turned(self) -> "_Languages":
        """The same with source and target exchanged."""
        return _Languages([([*self.target.elements()], [*self.source.elements()])])

    def source_odds(self, words: Iterable[str]) -> float:
        """The log odds of a sentence to be of the source's language."""
        return sum(map(self._odds_of, words))

    def _odds_of(self, word: str) -> float:
        """The log odds of a word; 0 if it is on neither side."""
        odds = self._odds.get(word)
        if odds is None:
            source, target = self.source[word], self.target[word]
            odds = math.log((source + 0.5) / (target + 0.5)) + self._sizes
            odds = self._odds[word] = odds if source or target else 0.0
        return odds

    def are_swapped(self, pair: WordPair, least: float = ORIENTED) -> bool:
        """Whether both sides are of the other's language."""
        source, target = pair
        return self.source_odds(source) < -least and self.source_odds(target) > least

    def in_order(self, pair: WordPair, least: float = ORIENTED) -> WordPair:
        """The pair, turned if its sides are swapped."""
        return pair[::-1] if self.are_swapped(pair, least) else pair

    def separation(self, pairs: Iterable[WordPair]) -> float:
        """The log odds that distinguish the sides of all pairs, whatever their order."""
        return sum(
            abs(self.source_odds(first) - self.source_odds(second)) for first, second in pairs
        )


def _swaps(runs: Sequence[Run], training: Sequence[Run] | None) -> Fault | None:
    """Pairs whose sides are swapped, by the words of the training corpus; in that itself, by the
    words of its beginning.
    """
    if training:
        languages = _Languages(map(_words_of_sides, _pairs_of(training)))
    else:
        pairs = list(map(_words_of_sides, _pairs_of(runs)))
        languages = _separated(pairs, _Languages(pairs[:FIRST]))
        grown = _separated(pairs, _grown(pairs))
        if grown.separation(pairs) > CLEARLY * languages.separation(pairs):
            languages = grown
    return _share(
        runs,
        lambda pair: languages.are_swapped(_words_of_sides(pair)),
        "have source and target swapped",
    )


def _separated(pairs: Sequence[WordPair], languages: _Languages) -> _Languages:
    """The languages of the pairs that are like these, and of those that are like them when swapped.

    Most pairs are right; where about as many are swapped, those at the beginning are.
    """
    for _ in range(ROUNDS):
        languages = _Languages(map(languages.in_order, pairs))
    swapped = list(map(languages.are_swapped, pairs))
    is_about_half = ABOUT_HALF <= sum(swapped) / max(1, len(pairs)) <= 1 - ABOUT_HALF
    judged = swapped[:FIRST] if is_about_half else swapped
    return languages.turned() if 2 * sum(judged) > len(judged) else languages


def _grown(pairs: Sequence[WordPair]) -> _Languages:
    """The languages of the longest pairs, each turned so that it fits the longer ones: where half
    of the pairs are swapped at random, no part of the corpus tells them.
    """
    longest = sorted(pairs, key=lambda pair: -sum(map(len, pair)))[:GROWN]
    languages = _Languages(longest[:1])
    for pair in longest[1:]:
        languages.add(languages.in_order(pair, 0.0))
    return languages


def _pairs_of(runs: Sequence[Run]) -> Iterator[Pair]:
    return (pair for _, run in runs for pair in run)


def _words_of_sides(pair: Pair) -> WordPair:
    return _words(pair[0]), _words(pair[1])

"""Shifted sides: lines from which on one side of a corpus is some lines ahead of the other.

Two lines fit if they contain words that occur together in other pairs of the corpus, and if they
are alike in length, digits and punctuation. Where the lines of a segment fit their neighbours
better than each other, the sides are shifted. Nothing is known of the languages: which words belong
together is counted in the corpus itself, in the pairs as they are and as they would be without the
shift, so a corpus that is shifted from its first line is found as well.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

Pair = tuple[str, str]
Run: TypeAlias = "tuple[int, Sequence[Pair]]"
"""Consecutive pairs, and the line of the first."""

SHIFTS = (-3, -2, -1, 1, 2, 3)
RAREST = 8  # words of a line that tell it apart
FREQUENT = 0.05  # share of lines from which on a word tells little
FOLDS = 4  # words of a line are looked up in the pairs of the other folds
MARKS = '?!:"%,;('
MOST_ALIKE = 2.0  # of a single feature of a pair, so that one long line does not decide
_CJK = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"  # no blanks between words: single characters
_WORD = re.compile(rf"[{_CJK}]|[^\W{_CJK}]+")


@dataclass(frozen=True)
class Shift:
    """One side is ahead from ``first`` to ``last``, both lines that were sampled.

    ``by``: lines; above 0, the source is ahead.
    """

    by: int
    first: int
    last: int


def find_shift(runs: Sequence[Run]) -> Shift | None:
    """The clearest shift in a sample of a corpus, if there is one."""
    whole = [run for run in runs if len(run[1]) > 2 * max(SHIFTS)]
    pairs = [pair for _, run in whole for pair in run]
    if not pairs:
        return None
    run_of = np.repeat(np.arange(len(whole)), [len(run) for _, run in whole])
    lines = np.concatenate([np.arange(first, first + len(run)) for first, run in whole])
    source, target = (_Side.of([pair[side] for pair in pairs]) for side in (0, 1))
    best, best_z = None, _least_z(len(pairs))
    for by in SHIFTS:
        rows = np.arange(max(0, -by), len(pairs) - max(0, by))
        rows = rows[run_of[rows] == run_of[rows + by]]
        gains = _word_gains(source, target, rows, by, run_of[rows] % FOLDS)
        gains += _feature_gains(source, target, rows, by)
        z, begin, end = _best_segment(gains)
        if z > best_z:
            best, best_z = Shift(by, int(lines[rows[begin]]), int(lines[rows[end]])), z
    return best


@dataclass(frozen=True)
class _Side:
    """One side of the sampled pairs.

    ``words`` int64 ``[lines, RAREST]``: numbers of the rarest words of each line that occur in
    another one, -1 where there are fewer. ``lines_with`` int64 ``[words]``: in how many lines each
    occurs. ``features`` float64 ``[lines, features]``: standardised length and counts.
    """

    words: np.ndarray
    lines_with: np.ndarray
    features: np.ndarray

    @classmethod
    def of(cls, texts: Sequence[str]) -> "_Side":
        """Count the words of one side."""
        words_of = [{*_WORD.findall(text.casefold())} for text in texts]
        counts = Counter(word for words in words_of for word in words)
        most = max(3, FREQUENT * len(texts))
        number_of: dict[str, int] = {}
        rows = np.full((len(texts), RAREST), -1, np.int64)
        for row, words in enumerate(words_of):
            telling = [word for word in words if 1 < counts[word] <= most]
            rarest = sorted(telling, key=lambda word: (counts[word], word))[:RAREST]
            rows[row, : len(rarest)] = [
                number_of.setdefault(word, len(number_of)) for word in rarest
            ]
        lines_with = np.array([counts[word] for word in number_of], np.int64)
        return cls(rows, lines_with, _features(texts))


def _features(texts: Sequence[str]) -> np.ndarray:
    """Log length, digits and marks of each text, with mean 0 and standard deviation 1."""
    counts = [
        [
            math.log1p(len(text)),
            min(6, sum(map(str.isdigit, text))),
            *(min(3, text.count(mark)) for mark in MARKS),
        ]
        for text in texts
    ]
    features = np.array(counts, float)
    return _standardised(features - features.mean(axis=0))


def _standardised(values: np.ndarray) -> np.ndarray:
    """Values divided by their standard deviation; zeros where there is none."""
    spread = values.std(axis=0)
    result: np.ndarray = values / np.where(spread > 0, spread, 1)
    return result


def _feature_gains(source: _Side, target: _Side, rows: np.ndarray, by: int) -> np.ndarray:
    """How much more alike in length and marks each line is to that of the shift than to its own."""
    own, other = target.features[rows], target.features[rows + by]
    # A feature counts as far as it agrees at all, with the shift or without.
    agreement = (source.features[rows] * (own + other)).mean(axis=0).clip(0, 1)
    gains = (agreement * source.features[rows] * (other - own)).clip(-MOST_ALIKE, MOST_ALIKE)
    return _standardised(gains.sum(axis=1))


def _word_gains(
    source: _Side, target: _Side, rows: np.ndarray, by: int, fold_of: np.ndarray
) -> np.ndarray:
    """How much better the words of each line fit those of the shift than those of its own pair."""
    own = _word_pairs(source.words[rows], target.words[rows], len(target.lines_with))
    other = _word_pairs(source.words[rows], target.words[rows + by], len(target.lines_with))
    gains = np.zeros(len(rows))
    for fold in range(FOLDS):
        here = fold_of == fold
        # Counted in the pairs of the other folds, with the shift and without.
        pairs = np.append(own[~here], other[~here])
        seen, counts = np.unique(pairs[pairs >= 0], return_counts=True)
        if here.any() and len(seen):
            table = _Together(seen, counts, source.lines_with, target.lines_with)
            gains[here] = table.fit(other[here]) - table.fit(own[here])
    return _standardised(gains)


def _word_pairs(source: np.ndarray, target: np.ndarray, words: int) -> np.ndarray:
    """A number for each pair of words, one of each side, -1 for none: int64
    ``[lines, RAREST, RAREST]``.
    """
    first, second = source[:, :, None], target[:, None, :]
    return np.where((first >= 0) & (second >= 0), first * words + second, -1)


@dataclass(frozen=True)
class _Together:
    """How often pairs of words occur together; ``seen`` is sorted."""

    seen: np.ndarray
    counts: np.ndarray
    source_lines: np.ndarray
    target_lines: np.ndarray

    def fit(self, pairs: np.ndarray) -> np.ndarray:
        """The sum over source words of the cosine with the nearest target word, of each line."""
        index = np.searchsorted(self.seen, pairs).clip(max=len(self.seen) - 1)
        together = np.where(self.seen[index] == pairs, self.counts[index], 0)
        source, target = np.divmod(pairs.clip(min=0), len(self.target_lines))
        cosines = together / np.sqrt(self.source_lines[source] * self.target_lines[target])
        fits: np.ndarray = cosines.clip(max=1).max(axis=2).sum(axis=1)
        return fits


def _least_z(lines: int) -> float:
    """Standard errors by which a segment must fit better with a shift: two more than the best of
    all segments and shifts reaches by chance.
    """
    return 2 + math.sqrt(2 * math.log(max(2.0, len(SHIFTS) * lines * lines / 2)))


def _best_segment(gains: np.ndarray) -> tuple[float, int, int]:
    """The largest sum over consecutive lines in standard errors, and where it begins and ends."""
    best = 0.0, 0, 0
    total, squares, begin = 0.0, 0.0, 0
    for index, gain in enumerate(gains.tolist()):
        if total <= 0:
            total, squares, begin = 0.0, 0.0, index
        total += gain
        squares += gain * gain
        z = total / math.sqrt(squares + 1)
        if z > best[0]:
            best = z, begin, index
    return best

"""Shifted sides: lines from which on one side of a corpus is some lines ahead of the other.

Two lines fit if they contain words that occur together in other pairs of the corpus, and if they
are alike in length, digits and punctuation. Where the lines of a segment fit their neighbours
better than each other, the sides are shifted. Nothing is known of the languages: which words belong
together is counted in the corpus itself, in the pairs as they are and as they would be without the
shift, so a corpus that is shifted from its first line is found as well.
"""

import math
from dataclasses import dataclass

import numpy as np

from cgbench.text.pair_sample import PairSample, different

SHIFTS = (-3, -2, -1, 1, 2, 3)
RAREST = 8  # words of a line that tell it apart
FREQUENT = 0.05  # share of lines from which on a word tells little
FOLDS = 4  # words of a line are looked up in the pairs of the other folds
MARKS = '?!:"%,;('
MOST_ALIKE = 2.0  # of a single feature of a pair, so that one long line does not decide


@dataclass(frozen=True)
class Shift:
    """One side is ahead from ``first`` to ``last``, both lines that were sampled.

    ``by``: lines; above 0, the source is ahead.
    """

    by: int
    first: int
    last: int


def find_shift(sample: PairSample) -> Shift | None:
    """The clearest shift in a sample of a corpus, if there is one."""
    long_runs = [run for run in sample.runs if len(run[1]) > 2 * max(SHIFTS)]
    if not long_runs:
        return None
    if len(long_runs) < len(sample.runs):
        sample = PairSample(long_runs)
    source, target = (_Side.of(sample, side) for side in (0, 1))
    best, best_z = None, _least_z(len(sample))
    for by in SHIFTS:
        rows = np.arange(max(0, -by), len(sample) - max(0, by))
        rows = rows[sample.run_of[rows] == sample.run_of[rows + by]]
        gains = _word_gains(source, target, rows, by, sample.run_of[rows] % FOLDS)
        gains += _feature_gains(source, target, rows, by)
        z, begin, end = _best_segment(gains)
        if z > best_z:
            best, best_z = Shift(by, sample.lines[rows[begin]], sample.lines[rows[end]]), z
    return best


@dataclass(frozen=True)
class _Side:
    """One side of the sampled pairs.

    ``words`` int64 ``[lines, RAREST]``: the rarest words of each line that occur in another one, -1
    where there are fewer. ``lines_with`` int64 ``[vocabulary]``: in how many lines each occurs.
    ``features`` float64 ``[lines, features]``: standardised length and counts.
    """

    words: np.ndarray
    lines_with: np.ndarray
    features: np.ndarray

    @classmethod
    def of(cls, sample: PairSample, side: int) -> "_Side":
        """Count the words of one side."""
        words, size = sample.words[side], len(sample.vocabulary)
        rows, numbers = np.divmod(different(words.rows * size + words.numbers), size)
        lines_with = np.bincount(numbers, minlength=size)
        return cls(
            _rarest(rows, numbers, lines_with, len(sample)), lines_with, _features(sample, side)
        )


def _rarest(
    rows: np.ndarray, numbers: np.ndarray, lines_with: np.ndarray, lines: int
) -> np.ndarray:
    """The words of :class:`_Side`, from the different words of each line."""
    times = lines_with[numbers]
    telling = (times > 1) & (times <= max(3, FREQUENT * lines))
    rows, numbers, times = rows[telling], numbers[telling], times[telling]
    order = np.lexsort((numbers, times, rows))
    rows, numbers = rows[order], numbers[order]
    position = np.arange(len(rows)) - np.searchsorted(rows, rows)
    rarest = position < RAREST
    words = np.full((lines, RAREST), -1, np.int64)
    words[rows[rarest], position[rarest]] = numbers[rarest]
    return words


def _features(sample: PairSample, side: int) -> np.ndarray:
    """Log length, digits and marks of each text, with mean 0 and standard deviation 1."""
    counts = sample.count_characters(
        side, lambda character: "0" if character.isdigit() else character * (character in MARKS)
    )
    none = np.zeros(len(sample))
    features = np.column_stack(
        (
            np.log1p([len(text) for text in sample.texts[side]]),
            counts.get("0", none).clip(max=6),
            *(counts.get(mark, none).clip(max=3) for mark in MARKS),
        )
    )
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
    """How much better the words of each line fit those of the shift than those of its own pair.

    The fit of two lines is the sum over source words of the cosine with the nearest target word.
    """
    # All pairs of words, as the lines are and with the shift; -1 for none.
    first = source.words[np.stack([rows, rows])][:, :, :, None]
    second = target.words[np.stack([rows, rows + by])][:, :, None, :]
    pairs = np.where((first < 0) | (second < 0), -1, first * len(target.lines_with) + second)
    # Those that occur again: how often in the other folds?
    cells, pair_number = _recurring(pairs.ravel())
    with_shift, line, *columns = np.unravel_index(cells, pairs.shape)
    times = np.bincount(pair_number)
    in_fold = np.bincount(pair_number * FOLDS + fold_of[line], minlength=len(times) * FOLDS)
    elsewhere = times[pair_number] - in_fold[pair_number * FOLDS + fold_of[line]]
    source_lines = source.lines_with[source.words[rows[line], columns[0]]]
    target_lines = target.lines_with[target.words[rows[line] + by * with_shift, columns[1]]]
    cosines = np.zeros(pairs.shape)
    cosines.ravel()[cells] = (elsewhere / np.sqrt(source_lines * target_lines)).clip(max=1)
    own, other = cosines.max(axis=3).sum(axis=2)
    return _standardised(other - own)


def _recurring(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where the values are that occur more than once, and a number from 0 for each different one.
    Values below 0 are left out.
    """
    cells = np.flatnonzero(values >= 0)
    cells = cells[np.argsort(values[cells])]
    is_first = np.diff(values[cells], prepend=-1) != 0
    is_last = np.diff(values[cells], append=-1) != 0
    recurs = ~(is_first & is_last)
    return cells[recurs], np.cumsum(is_first[recurs]) - 1


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

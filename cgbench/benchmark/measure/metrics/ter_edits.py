"""The edits that TER counts, as sacrebleu counts them, for thousands of sentences at once.

TER (Snover et al. 2006) is the number of shifts of words, plus the word edits after them. sacrebleu
follows Tercom: in each round, the shift that lowers the edit distance most is made, among moves of
matching words where both the hypothesis and the reference have an error. Here each round computes
the distances after all possible shifts of all sentences together (``edit_distances.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from cgbench.benchmark.measure.metrics.edit_distances import (
    BITS,
    ONE,
    Distances,
    band,
    blocks_of,
    distances,
    distances_in_band,
    packed,
    unpacked,
)

LONGEST_SHIFT, FARTHEST_SHIFT, MOST_SHIFTS = 10, 50, 1000
"""Tercom's limits of words and places, and sacrebleu's of the shifts that are tried."""
TOGETHER = 4_096
"""Sentences, or shifted sentences, in a batch."""
CELLS = 1 << 21
"""Numbers of 64 bits in the array ``equal`` of a batch."""

Words = Sequence[str]


def ter_statistics(
    metric: Any, references: Sequence[Sequence[str]], runs: Sequence[Sequence[str]]
) -> list[np.ndarray]:
    """The fewest edits to one of the references, and the mean length of the references.

    :param metric: sacrebleu's ``TER``, for its tokeniser.
    :param references: one or more per example; ``runs``: lists of hypotheses, one per example.
    :returns: float64 ``[examples, 2]`` for each run
    """
    words_of = cache(lambda text: tuple(metric._preprocess_segment(text).split()))
    pairs = {
        (words_of(hypothesis), words_of(reference)): 0
        for run in runs
        for hypothesis, example in zip(run, references, strict=True)
        for reference in example
    }
    edits = dict(zip(pairs, count_edits(list(pairs)), strict=True))
    statistics = []
    for run in runs:
        rows = [
            (
                min(edits[words_of(hypothesis), words_of(reference)] for reference in example),
                sum(len(words_of(reference)) for reference in example) / len(example),
            )
            for hypothesis, example in zip(run, references, strict=True)
        ]
        statistics.append(np.array(rows, np.float64))
    return statistics


def count_edits(pairs: Sequence[tuple[Words, Words]]) -> list[int]:
    """The edits between each hypothesis and its reference, both split into words."""
    # Without words on one side, the edits are the words of the other.
    edits = np.array([max(map(len, pair)) for pair in pairs], np.int64)
    indices = [index for index, pair in enumerate(pairs) if all(pair)]
    outside_band: list[int] = []
    for batch in _batches(pairs, indices):
        outside_band += _count(batch, distances, edits)
    for batch in _batches(pairs, outside_band):
        _count(batch, distances_in_band, edits)
    return edits.tolist()


@dataclass
class Batch:
    """Hypotheses with their references, the longest hypothesis first, while shifts are made.

    ``[pairs]``: ``indices`` among all pairs, ``heights`` and ``widths`` (the words of both sides),
    ``shifts`` (how many were made) and ``tried``. ``hypotheses`` ``[rows, pairs]`` and
    ``references`` ``[columns, pairs]``: words as numbers, -1 and -2 after the last. ``equal``
    ``[rows, blocks, pairs]``: which words of the reference a word equals, in bits.
    """

    indices: np.ndarray
    heights: np.ndarray
    widths: np.ndarray
    hypotheses: np.ndarray
    references: np.ndarray
    equal: np.ndarray
    shifts: np.ndarray
    tried: np.ndarray

    def of(self, pairs: np.ndarray) -> Batch:
        """Some of the pairs, in their order."""
        height, width = int(self.heights[pairs].max()), int(self.widths[pairs].max())
        return Batch(
            self.indices[pairs],
            self.heights[pairs],
            self.widths[pairs],
            self.hypotheses[:height, pairs],
            self.references[:, pairs],
            self.equal[:height, : blocks_of(width), pairs],
            self.shifts[pairs],
            self.tried[pairs],
        )


@dataclass
class Alignment:
    """How hypotheses are aligned with their references.

    ``places`` int64 ``[columns + 1, pairs]``: the place in the hypothesis after the word that is
    aligned with the reference word before each column. ``hypothesis_errors`` ``[rows + 1, pairs]``
    and ``reference_errors`` ``[columns + 1, pairs]``: the errors before each place. ``is_in_band``
    ``[pairs]``: sacrebleu computes all distances on the way.
    """

    places: np.ndarray
    hypothesis_errors: np.ndarray
    reference_errors: np.ndarray
    is_in_band: np.ndarray


@dataclass
class Shifts:
    """Possible shifts: the words ``[first, middle)`` and ``[middle, last)`` of the hypothesis of
    ``pair`` change places; each int64 ``[shifts]``.

    ``rank``: of equally good shifts, Tercom makes the one of the highest rank: the longest, then
    the earliest, then that to the earliest place.
    """

    pair: np.ndarray
    first: np.ndarray
    middle: np.ndarray
    last: np.ndarray
    rank: np.ndarray

    def of(self, shifts: np.ndarray) -> Shifts:
        """Some of the shifts."""
        return Shifts(
            self.pair[shifts],
            self.first[shifts],
            self.middle[shifts],
            self.last[shifts],
            self.rank[shifts],
        )

    def order(self, height: int) -> np.ndarray:
        """Where the words of the shifted hypotheses were, ``[height, shifts]``."""
        rows = np.arange(height)[:, None]
        forward, backward = self.middle - self.first, self.last - self.middle
        changed = np.where(rows < self.first + backward, rows + forward, rows - backward)
        return np.where((rows >= self.first) & (rows < self.last), changed, rows)


def _batches(pairs: Sequence[tuple[Words, Words]], indices: Sequence[int]) -> Iterator[Batch]:
    """Pairs with hypotheses of similar length, in batches of limited memory."""
    by_blocks: dict[int, list[int]] = {}
    for index in sorted(indices, key=lambda index: len(pairs[index][0]), reverse=True):
        by_blocks.setdefault(blocks_of(len(pairs[index][1])), []).append(index)
    for blocks, order in by_blocks.items():
        start = 0
        while start < len(order):
            cells = blocks * len(pairs[order[start]][0])
            end = start + min(TOGETHER, max(1, CELLS // cells))
            yield _batch(order[start:end], [pairs[index] for index in order[start:end]])
            start = end


def _batch(indices: Sequence[int], pairs: Sequence[tuple[Words, Words]]) -> Batch:
    numbers: dict[str, int] = {}
    hypotheses, references = (
        [[numbers.setdefault(word, len(numbers)) for word in pair[side]] for pair in pairs]
        for side in (0, 1)
    )
    heights, widths = (
        np.array([len(words) for words in texts]) for texts in (hypotheses, references)
    )
    blocks = blocks_of(int(widths.max()))
    hypothesis_words = _filled(hypotheses, heights, int(heights[0]), -1)
    reference_words = _filled(references, widths, blocks * BITS, -2)
    equal = [packed(words[:, None] == reference_words) for words in hypothesis_words.T]
    zeros = np.zeros(len(indices), np.int64)
    return Batch(
        np.array(indices),
        heights,
        widths,
        np.ascontiguousarray(hypothesis_words.T),
        np.ascontiguousarray(reference_words.T),
        np.stack(equal),
        shifts=zeros,
        tried=zeros,
    )


def _filled(
    texts: Sequence[Sequence[int]], lengths: np.ndarray, most: int, filler: int
) -> np.ndarray:
    """Words ``[texts, most]``, with a filler after the last."""
    array = np.full((len(texts), most), filler, np.int32)
    array[np.arange(most) < lengths[:, None]] = [word for words in texts for word in words]
    return array


def _count(batch: Batch, distances_of: Callable[..., Distances], edits: np.ndarray) -> list[int]:
    """Make the best shift of each pair, round by round, until none helps; fill in ``edits``.

    :returns: the pairs whose alignment leaves the band, which have to be counted again
    """
    outside_band: list[int] = []
    while True:
        # Align every hypothesis with its reference.
        now = distances_of(batch.equal, batch.heights, batch.widths, has_steps=True)
        edits[batch.indices] = batch.shifts + now.whole
        alignment = _align(batch, now)
        outside_band += batch.indices[~alignment.is_in_band].tolist()
        # List the shifts that might help, unless they are too many.
        shifts = _possible_shifts(batch, alignment)
        batch.tried = batch.tried + np.bincount(shifts.pair, minlength=len(batch.tried))
        is_open = alignment.is_in_band & (batch.tried < MOST_SHIFTS)
        shifts = shifts.of(is_open[shifts.pair])
        # Make the best one of each pair, if it helps.
        gains = now.whole[shifts.pair] - _distances_after(batch, shifts, distances_of)
        best = _best_of_pairs(shifts, gains)
        if not len(best.pair):
            return outside_band
        batch = batch.of(best.pair)
        order = best.order(len(batch.hypotheses))
        batch.hypotheses = np.take_along_axis(batch.hypotheses, order, axis=0)
        batch.equal = np.take_along_axis(batch.equal, order[:, None], axis=0)
        batch.shifts = batch.shifts + 1


def _align(batch: Batch, of_batch: Distances) -> Alignment:
    """Follow the distances back from the ends of both sides."""
    assert of_batch.aligns is not None and of_batch.drops is not None
    (height, pairs), width = batch.hypotheses.shape, len(batch.references)
    places = np.zeros((width + 1, pairs), np.int64)
    # What is not aligned with an equal word is an error.
    hypothesis_errors, reference_errors = (
        np.ones((words + 1, pairs), np.int64) for words in (height, width)
    )
    hypothesis_errors[0] = reference_errors[0] = 0
    is_in_band = np.ones(pairs, bool)
    pair, row, column = np.arange(pairs), batch.heights, batch.widths
    while len(pair):
        low, high = band(row, batch.heights[pair], batch.widths[pair])
        is_in_band[pair[(row > 0) & ((column < low) | (column >= high))]] = False
        is_inside = (row > 0) & (column > 0)
        pair, row, column = pair[is_inside], row[is_inside], column[is_inside]
        # The step that leads here, from the last word of each side.
        block, bit = (column - 1) // BITS, ((column - 1) % BITS).astype(np.uint64)
        aligns = (of_batch.aligns[row - 1, block, pair] >> bit & ONE).astype(bool)
        drops = (of_batch.drops[row - 1, block, pair] >> bit & ONE).astype(bool)
        of_reference = aligns | ~drops
        places[column[of_reference], pair[of_reference]] = row[of_reference]
        is_right = aligns & (batch.hypotheses[row - 1, pair] == batch.references[column - 1, pair])
        hypothesis_errors[row[is_right], pair[is_right]] = 0
        reference_errors[column[is_right], pair[is_right]] = 0
        row, column = row - (aligns | drops), column - of_reference
    return Alignment(
        places, hypothesis_errors.cumsum(axis=0), reference_errors.cumsum(axis=0), is_in_band
    )


def _possible_shifts(batch: Batch, alignment: Alignment) -> Shifts:
    """The shifts that Tercom would try, in no order; a shift may be there more than once."""
    errors, reference_errors = alignment.hypothesis_errors, alignment.reference_errors
    matches = _equal_words(batch.equal)
    start, target, _ = matches
    matches = matches[:, abs(start - target) <= FARTHEST_SHIFT]
    moves: list[np.ndarray] = []
    for length in range(1, LONGEST_SHIFT + 1):
        # Do as many words match?
        start, target, pair = matches
        is_inside = (start + length <= batch.heights[pair]) & (
            target + length <= batch.widths[pair]
        )
        matches = matches[:, is_inside]
        start, target, pair = matches
        last_word = batch.hypotheses[start + length - 1, pair]
        matches = matches[:, last_word == batch.references[target + length - 1, pair]]
        # Both sides have an error there, and the words would leave their place.
        start, target, pair = matches
        aligned = alignment.places[target + 1, pair] - 1
        is_possible = (
            (errors[start + length, pair] != errors[start, pair])
            & (reference_errors[target + length, pair] != reference_errors[target, pair])
            & ((aligned < start) | (aligned >= start + length))
        )
        moves += _moves(matches[:, is_possible], length, batch, alignment.places)
    return Shifts(*np.concatenate(moves, axis=1))


def _equal_words(equal: np.ndarray) -> np.ndarray:
    """``[3, matches]``: the places of equal words in the hypothesis and the reference, the pair."""
    row, block, pair = np.nonzero(equal)
    match, bit = np.nonzero(unpacked(equal[row, block, pair][None]))
    return np.stack((row[match], block[match] * BITS + bit, pair[match]))


def _moves(
    matches: np.ndarray, length: int, batch: Batch, places: np.ndarray
) -> Iterator[np.ndarray]:
    """The fields of shifts that move ``length`` words to where the reference words are aligned, or
    the word before these: ``[5, moves]`` for each of the words.
    """
    start, target, pair = matches
    most_rows = len(batch.hypotheses) + 1
    end, height = start + length, batch.heights[pair]
    previous = np.full(len(pair), -1)
    for offset in range(length + 1):
        aligned = places[target + offset, pair]
        is_backward = aligned < start
        first = np.where(is_backward, aligned, start)
        middle = np.where(is_backward, start, end)
        # Words that move to a place within themselves move on by as many words.
        forward = np.where(aligned > end, aligned, np.minimum(aligned + length, height))
        last = np.where(is_backward, end, forward)
        rank = (length * most_rows - start) * most_rows - aligned
        yield np.stack((pair, first, middle, last, rank))[:, aligned != previous]
        previous = aligned


def _distances_after(
    batch: Batch, shifts: Shifts, distances_of: Callable[..., Distances]
) -> np.ndarray:
    """The edit distances after each shift."""
    after = np.empty(len(shifts.pair), np.int64)
    order = np.argsort(shifts.pair, kind="stable")  # the longest hypothesis first
    start = 0
    while start < len(order):
        height = int(batch.heights[shifts.pair[order[start]]])
        cells = height * batch.equal.shape[1]
        end = start + min(TOGETHER, max(1, CELLS // cells))
        some = shifts.of(order[start:end])
        equal = batch.equal[some.order(height), :, some.pair].transpose(0, 2, 1)
        shifted = distances_of(
            equal, batch.heights[some.pair], batch.widths[some.pair], has_steps=False
        )
        after[order[start:end]] = shifted.whole
        start = end
    return after


def _best_of_pairs(shifts: Shifts, gains: np.ndarray) -> Shifts:
    """The best shift of each pair that has one with a gain."""
    helpful = np.flatnonzero(gains > 0)
    pair = shifts.pair[helpful]
    order = helpful[np.lexsort((shifts.rank[helpful], gains[helpful], pair))]
    is_last = np.diff(shifts.pair[order], append=-1) != 0
    return shifts.of(order[is_last])

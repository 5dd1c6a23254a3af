"""The edits that TER counts, as sacrebleu counts them, for many sentences at once.

TER (Snover et al. 2006) is the number of shifts of words, plus the word edits after them. sacrebleu
follows Tercom: in each round, the shift that lowers the edit distance most is made, among moves of
matching words where both the hypothesis and the reference have an error. Nearly all time goes into
the edit distance after each possible shift. Here the distances of the shifts of many sentences are
computed together, row by row, over arrays ``[hypotheses, reference words]``; a shift that leaves
the same words as another is computed once. Distances and their alignment are whole numbers and
equal sacrebleu's: the same band around the diagonal, the same preferences, the same limits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.util import find_spec
from itertools import accumulate
from typing import Any

import numpy as np

LONGEST_SHIFT, FARTHEST_SHIFT, MOST_SHIFTS = 10, 50, 1000
"""Tercom's limits of words and places, and sacrebleu's of the shifts that are tried."""
BAND = 25
"""Places on either side of the diagonal, in which distances are computed."""
LIMITS = np.array([LONGEST_SHIFT, FARTHEST_SHIFT, MOST_SHIFTS, BAND])
TOGETHER = 256
"""Sentences in a batch."""
CELLS = 1 << 21
"""Numbers in a block of distances."""
FAR = 1 << 14
"""Above every distance of a sentence in int16."""

WORTH_COMPILED = 1_000
"""Pairs from which on loading compiled code takes less time than it saves."""
LONGEST_COMPILED = 2_000
"""Words of a sentence whose distances all fit into memory."""

Words = list[int]


@dataclass
class Pair:
    """A hypothesis and its reference as word numbers, while shifts are tried."""

    hypothesis: Words
    reference: Words
    shifts: int = 0
    tried: int = 0
    edits: int = -1
    """The word edits that are left, when no shift helps any more."""

    @property
    def longest(self) -> int:
        """The larger number of words."""
        return max(len(self.hypothesis), len(self.reference))

    @cached_property
    def positions(self) -> dict[int, Words]:
        """The places of each word of the reference."""
        positions: dict[int, Words] = {}
        for position, word in enumerate(self.reference):
            positions.setdefault(word, []).append(position)
        return positions


@dataclass(frozen=True)
class Shift:
    """A possible shift: the words ``[first, middle)`` and ``[middle, last)`` change places.

    ``rank``: Tercom's order of equally good shifts: the longest, then the earliest.
    """

    first: int
    middle: int
    last: int
    rank: tuple[int, int, int]

    def of(self, words: Words) -> Words:
        """The words after the shift."""
        first, middle, last = self.first, self.middle, self.last
        return words[:first] + words[middle:last] + words[first:middle] + words[last:]


def ter_statistics(
    metric: Any, references: Sequence[Sequence[str]], runs: Sequence[Sequence[str]]
) -> list[np.ndarray]:
    """The fewest edits to one of the references, and the mean length of the references.

    :param metric: sacrebleu's ``TER``, for its tokeniser.
    :param references: one or more per example; ``runs``: lists of hypotheses, one per example.
    :returns: float64 ``[examples, 2]`` for each run
    """
    words_of = cache(lambda text: tuple(metric._preprocess_segment(text).split()))
    wanted = {
        (words_of(hypothesis), words_of(reference)): 0
        for run in runs
        for hypothesis, example in zip(run, references, strict=True)
        for reference in example
    }
    edits = dict(zip(wanted, count_edits(list(wanted)), strict=True))
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


def count_edits(pairs: Sequence[tuple[Sequence[str], Sequence[str]]]) -> list[int]:
    """The edits between each hypothesis and its reference, both split into words."""
    numbers: dict[str, int] = {}
    edits = [len(hypothesis) for hypothesis, _ in pairs]  # of those without a reference
    numbered = {
        index: Pair(
            [numbers.setdefault(word, len(numbers)) for word in hypothesis],
            [numbers.setdefault(word, len(numbers)) for word in reference],
        )
        for index, (hypothesis, reference) in enumerate(pairs)
        if reference
    }
    if len(numbered) >= WORTH_COMPILED and find_spec("numba") is not None:
        short = [index for index, pair in numbered.items() if pair.longest <= LONGEST_COMPILED]
        for index, count in zip(short, compiled_edits([numbered[at] for at in short]), strict=True):
            edits[index] = count
            del numbered[index]
    # Sentences of similar length go together.
    order = sorted(
        numbered,
        key=lambda index: (len(numbered[index].hypothesis), len(numbered[index].reference)),
    )
    for start in range(0, len(order), TOGETHER):
        batch = order[start : start + TOGETHER]
        _shift_all([numbered[index] for index in batch])
        for index in batch:
            edits[index] = numbered[index].shifts + numbered[index].edits
    return edits


def compiled_edits(pairs: Sequence[Pair]) -> list[int]:
    """The edits of each pair, by compiled code."""
    from cgbench.benchmark.measure.metrics.ter_kernels import edits_of

    texts = [words for pair in pairs for words in (pair.hypothesis, pair.reference)]
    words = np.array([word for text in texts for word in text], np.int32)
    starts = np.cumsum([0, *map(len, texts)])
    size = 2 + max(map(len, texts))
    memory = np.zeros((2 + 2 * size, size), np.int32)
    edits = np.zeros(len(pairs), np.int64)
    edits_of(words, starts, LIMITS, memory, edits)
    return edits.tolist()


def _shift_all(pairs: Sequence[Pair]) -> None:
    """Make the best shift of each pair, round by round, until none helps."""
    active = list(pairs)
    while active:
        # Align every hypothesis with its reference, and list the shifts that might help.
        shifts = []
        hypotheses = [pair.hypothesis for pair in active]
        references = [pair.reference for pair in active]
        distances = []
        for block, matrices in _matrices(hypotheses, references):
            for pair, matrix in zip(active[block], matrices, strict=True):
                height, width = len(pair.hypothesis), len(pair.reference)
                distance = matrix[: height + 1, : width + 1].tolist()
                distances.append(distance[-1][-1])
                shifts.append(_possible_shifts(pair, distance) if distance[-1][-1] else [])
        # The distance after each of them.
        shifted = [
            shift.of(pair.hypothesis)
            for pair, of_pair in zip(active, shifts, strict=True)
            for shift in of_pair
        ]
        references = [
            pair.reference for pair, of_pair in zip(active, shifts, strict=True) for _ in of_pair
        ]
        after = iter(_distances(shifted, references))
        # The best one, if it helps.
        remaining = []
        for pair, before, of_pair in zip(active, distances, shifts, strict=True):
            gains = [(before - next(after), shift.rank, shift) for shift in of_pair]
            gain, _, best = max(gains, default=(0, (), None), key=lambda item: item[:2])
            if best is None or gain <= 0 or pair.tried >= MOST_SHIFTS:
                pair.edits = before
                continue
            pair.shifts += 1
            pair.hypothesis = best.of(pair.hypothesis)
            remaining.append(pair)
        active = remaining


def _possible_shifts(pair: Pair, distance: Sequence[Sequence[int]]) -> list[Shift]:
    """The shifts that Tercom would try, each result once; counts them.

    :param distance: from the beginnings of the hypothesis to those of the reference.
    """
    hypothesis, reference = pair.hypothesis, pair.reference
    height, width = len(hypothesis), len(reference)
    aligned, wrong_hypothesis, wrong_reference = _align(pair, distance)
    ranks: dict[tuple[int, int, int], tuple[int, int, int]] = {}
    for start in range(height):
        for target in pair.positions.get(hypothesis[start], ()):
            if abs(target - start) > FARTHEST_SHIFT:
                continue
            longest = min(LONGEST_SHIFT, height - start, width - target)
            length = 0
            while length < longest and hypothesis[start + length] == reference[target + length]:
                length += 1
                # Both sides have an error there, and the words would leave their place.
                if wrong_hypothesis[start + length] == wrong_hypothesis[start]:
                    continue
                if wrong_reference[target + length] == wrong_reference[target]:
                    continue
                if start <= aligned[target] < start + length:
                    continue
                before = -1
                for offset in range(target - 1, target + length):
                    place = aligned[offset] + 1 if offset >= 0 else 0
                    if place == before:
                        continue
                    before = place
                    pair.tried += 1
                    if place < start:
                        result = (place, start, start + length)
                    elif place > start + length:
                        result = (start, start + length, place)
                    else:
                        result = (start, start + length, min(place + length, height))
                    rank = (length, -start, -place)
                    if rank > ranks.get(result, (0, 0, 0)):
                        ranks[result] = rank
                if pair.tried >= MOST_SHIFTS:
                    return [Shift(*result, rank) for result, rank in ranks.items()]
    return [Shift(*result, rank) for result, rank in ranks.items()]


def _align(pair: Pair, distance: Sequence[Sequence[int]]) -> tuple[Words, list[int], list[int]]:
    """The place in the hypothesis of each reference word, and the errors before each place of both
    sides.
    """
    hypothesis, reference = pair.hypothesis, pair.reference
    row, column = len(hypothesis), len(reference)
    aligned = [-1] * column
    hypothesis_errors, reference_errors = [0] * row, [0] * column
    while row or column:
        here = distance[row][column]
        if row and column:
            differs = int(hypothesis[row - 1] != reference[column - 1])
            if distance[row - 1][column - 1] + differs == here:
                row, column = row - 1, column - 1
                aligned[column] = row
                hypothesis_errors[row] = reference_errors[column] = differs
                continue
        if row and distance[row - 1][column] + 1 == here:
            row -= 1
            hypothesis_errors[row] = 1
            continue
        column -= 1
        aligned[column] = row - 1
        reference_errors[column] = 1
    return (
        aligned,
        list(accumulate(hypothesis_errors, initial=0)),
        list(accumulate(reference_errors, initial=0)),
    )


def _distances(hypotheses: Sequence[Words], references: Sequence[Words]) -> list[int]:
    """The edit distance of each hypothesis from its reference."""
    distances: list[int] = []
    for _, batch in _batches(hypotheses, references):
        last = np.zeros(len(batch.heights), np.int64)
        for row, values in batch.rows():
            ends = batch.heights == row
            last[ends] = values[ends, batch.widths[ends]] + batch.widths[ends]
        distances += last.tolist()
    return distances


def _matrices(
    hypotheses: Sequence[Words], references: Sequence[Words]
) -> Iterator[tuple[slice, np.ndarray]]:
    """The distances between all beginnings ``[pairs, rows, columns]``, block by block."""
    for block, batch in _batches(hypotheses, references, keeps_rows=True):
        rows = [values.copy() for _, values in batch.rows()]
        matrices = np.stack(rows, axis=1).astype(np.int32)
        yield block, matrices + np.arange(matrices.shape[2])


def _batches(
    hypotheses: Sequence[Words], references: Sequence[Words], keeps_rows: bool = False
) -> Iterator[tuple[slice, Batch]]:
    """Pairs in blocks of limited memory."""
    if not hypotheses:
        return
    height = 1 + max(map(len, hypotheses)) if keeps_rows else 1
    width = 1 + max(map(len, references))
    block_size = max(1, CELLS // (height * width))
    for start in range(0, len(hypotheses), block_size):
        block = slice(start, start + block_size)
        yield block, Batch(hypotheses[block], references[block])


class Batch:
    """Pairs as arrays ``[pairs, words]``, filled with -1 and -2, which equal no word."""

    def __init__(self, hypotheses: Sequence[Words], references: Sequence[Words]) -> None:
        self.heights = np.array([len(words) for words in hypotheses])
        self.widths = np.array([len(words) for words in references])
        self.hypotheses = _filled(hypotheses, int(self.heights.max()), -1)
        self.references = _filled(references, int(self.widths.max()), -2)

    def rows(self) -> Iterator[tuple[int, np.ndarray]]:
        """The distances of the first 0, 1, 2, ... words of every hypothesis from all beginnings of
        its reference, less the number of reference words, ``[pairs, columns]``; each array is
        valid until the next.
        """
        height, width = self.hypotheses.shape[1], self.references.shape[1]
        small = max(height, width) < FAR // 2
        dtype, far = (np.int16, FAR) if small else (np.int32, 1 << 30)
        before = np.zeros((len(self.heights), width + 1), dtype)
        after = np.empty_like(before)
        yield 0, before
        # Less their column, distances never grow with a reference word that is left out.
        banded = width >= BAND
        for row in range(1, height + 1):
            equal = self.hypotheses[:, row - 1, None] == self.references
            after[:, 0] = before[:, 0] + 1
            np.minimum(before[:, :-1] - equal, before[:, 1:] + dtype(1), out=after[:, 1:])
            if banded:
                low, high = self._band(row)
                columns = np.arange(width + 1)
                after[columns < low[:, None]] = far
            np.minimum.accumulate(after, axis=1, out=after)
            if banded:
                after[columns >= high[:, None]] = far
            before, after = after, before
            yield row, before

    def _band(self, row: int) -> tuple[np.ndarray, np.ndarray]:
        """The first column of the band of each pair in a row, and the first after it."""
        ratio = self.widths / np.maximum(self.heights, 1)
        wide = ratio / 2 > BAND
        beam = np.where(wide, np.ceil(ratio / 2 + BAND), BAND)
        diagonal = np.floor(row * ratio)
        low = np.maximum(0, diagonal - beam)
        high = np.where(row == self.heights, self.widths + 1, diagonal + beam)
        return low, np.minimum(high, self.widths + 1)


def _filled(texts: Sequence[Words], width: int, filler: int) -> np.ndarray:
    lengths = np.array([len(words) for words in texts])
    array = np.full((len(texts), width), filler, np.int32)
    array[np.arange(width) < lengths[:, None]] = [word for words in texts for word in words]
    return array

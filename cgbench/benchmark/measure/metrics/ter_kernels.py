"""Compiled loop over sentences: the edits that TER counts (:mod:`.ter_edits`, which does the same
without Numba and says what it is).

The words of a sentence are whole numbers. Distances are those of sacrebleu's band; a shifted
hypothesis takes over the rows of its unchanged first words.
"""

import numpy as np

from cgbench.engines.compiled import kernel, part

FAR = 1 << 30


@part
def fill_rows(
    words: np.ndarray,
    height: int,
    reference: np.ndarray,
    width: int,
    rows: np.ndarray,
    start: int,
    band: int,
) -> None:
    """Distances ``[height + 1, width + 1]`` from row ``start`` on; those before it are there."""
    ratio = width / max(height, 1)
    beam = band
    if band < ratio / 2:
        beam = int(np.ceil(ratio / 2 + band))
    for row in range(start, height + 1):
        diagonal = int(np.floor(row * ratio))
        low = max(0, diagonal - beam)
        high = width + 1 if row == height else min(width + 1, diagonal + beam)
        for column in range(low):
            rows[row, column] = FAR
        for column in range(high, width + 1):
            rows[row, column] = FAR
        left = FAR
        for column in range(low, high):
            if column == 0:
                value = rows[row - 1, 0] + 1
            else:
                value = rows[row - 1, column - 1]
                if words[row - 1] != reference[column - 1]:
                    value += 1
                value = min(value, rows[row - 1, column] + 1, left + 1)
            rows[row, column] = value
            left = value


@part
def align(
    words: np.ndarray,
    height: int,
    reference: np.ndarray,
    width: int,
    rows: np.ndarray,
    aligned: np.ndarray,
    errors: np.ndarray,
) -> None:
    """The place in the hypothesis of each reference word, and the errors before each place.

    :param errors: ``[2, places + 1]``: of the hypothesis, and of the reference.
    """
    row, column = height, width
    while row or column:
        here = rows[row, column]
        if row and column:
            differs = int(words[row - 1] != reference[column - 1])
            if rows[row - 1, column - 1] + differs == here:
                row -= 1
                column -= 1
                aligned[column] = row
                errors[0, row + 1] = differs
                errors[1, column + 1] = differs
                continue
        if row and rows[row - 1, column] + 1 == here:
            row -= 1
            errors[0, row + 1] = 1
        else:
            column -= 1
            aligned[column] = row - 1
            errors[1, column + 1] = 1
    errors[0, 0] = errors[1, 0] = 0
    for row in range(height):
        errors[0, row + 1] += errors[0, row]
    for column in range(width):
        errors[1, column + 1] += errors[1, column]


@part
def exchange(
    words: np.ndarray, height: int, first: int, middle: int, last: int, out: np.ndarray
) -> None:
    """``words`` after ``[first, middle)`` and ``[middle, last)`` have changed places."""
    for place in range(first):
        out[place] = words[place]
    for place in range(middle, last):
        out[first + place - middle] = words[place]
    for place in range(first, middle):
        out[last - middle + place] = words[place]
    for place in range(last, height):
        out[place] = words[place]


@kernel
def edits_of(
    words: np.ndarray,
    starts: np.ndarray,
    limits: np.ndarray,
    memory: np.ndarray,
    edits: np.ndarray,
) -> None:
    """The edits of each pair.

    :param words: the hypothesis and the reference of each pair, int32; ``starts`` int64
        ``[2 * pairs + 1]``. Hypotheses are changed.
    :param limits: the longest and the farthest shift, the most that are tried, and the band.
    :param memory: int32 ``[4 + 2 * (longest + 1), longest + 2]``, for sentences of at most
        ``longest`` words.
    :param edits: int64 ``[pairs]``, filled in.
    """
    longest_shift, farthest, most, band = limits
    size = memory.shape[1]
    aligned, errors, changed = memory[0], memory[1:3], memory[3]
    rows, tried_rows = memory[4 : 3 + size], memory[3 + size : 2 + 2 * size]
    for column in range(size):
        rows[0, column] = column
    for pair in range(len(edits)):
        hypothesis = words[starts[2 * pair] : starts[2 * pair + 1]]
        reference = words[starts[2 * pair + 1] : starts[2 * pair + 2]]
        height, width = len(hypothesis), len(reference)
        shifts, tried = 0, 0
        fill_rows(hypothesis, height, reference, width, rows, 1, band)
        while rows[height, width]:
            align(hypothesis, height, reference, width, rows, aligned, errors)
            before = rows[height, width]
            # The best shift: the largest gain, then the longest, the earliest, the nearest goal.
            gain, rank = 0, 0
            first, middle, last = 0, 0, 0
            ended = False
            for start in range(height):
                for target in range(max(0, start - farthest), min(width, start + farthest + 1)):
                    length = 0
                    longest = min(longest_shift, height - start, width - target)
                    while length < longest and not ended:
                        if hypothesis[start + length] != reference[target + length]:
                            break
                        length += 1
                        if errors[0, start + length] == errors[0, start]:
                            continue
                        if errors[1, target + length] == errors[1, target]:
                            continue
                        if start <= aligned[target] < start + length:
                            continue
                        previous = -1
                        for offset in range(target - 1, target + length):
                            place = aligned[offset] + 1 if offset >= 0 else 0
                            if place == previous:
                                continue
                            previous = place
                            tried += 1
                            if place < start:
                                a, b, c = place, start, start + length
                            elif place > start + length:
                                a, b, c = start, start + length, place
                            else:
                                a, b, c = start, start + length, min(place + length, height)
                            exchange(hypothesis, height, a, b, c, changed)
                            for row in range(a + 1):
                                for column in range(width + 1):
                                    tried_rows[row, column] = rows[row, column]
                            fill_rows(changed, height, reference, width, tried_rows, a + 1, band)
                            its_gain = before - tried_rows[height, width]
                            its_rank = (length * size - start) * size - place
                            if its_gain > gain or (its_gain == gain and its_rank > rank):
                                gain, rank = its_gain, its_rank
                                first, middle, last = a, b, c
                        ended = tried >= most
                    if ended:
                        break
                if ended:
                    break
            if gain <= 0 or tried >= most:
                break
            shifts += 1
            exchange(hypothesis, height, first, middle, last, changed)
            for place in range(height):
                hypothesis[place] = changed[place]
            fill_rows(hypothesis, height, reference, width, rows, 1, band)
        edits[pair] = shifts + rows[height, width]

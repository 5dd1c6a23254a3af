"""Edit distances of thousands of sentences at once, near the diagonal as sacrebleu's TER computes
them.

:func:`distances` stores a row of distances as its differences from column to column, which are -1,
0 or 1: two bits per word of the reference, 64 words to a number (Myers 1999, as Hyyrö 2003 has it).
It computes more than sacrebleu, which leaves out what is far from the diagonal. Both give the same
if the alignment stays near the diagonal: the best of all alignments is then the best of those near
it. For other sentences, :func:`distances_in_band` computes what sacrebleu does, as whole numbers.

Both take ``equal``, uint64 ``[rows, blocks, pairs]``, which has a bit for each word of the
reference that equals the word of the hypothesis, and the words of both sides, ``heights`` and
``widths`` ``[pairs]``, the longest hypothesis first.
"""

from dataclasses import dataclass

import numpy as np

BAND = 25
"""Places on either side of the diagonal, in which sacrebleu computes distances."""
FAR = 1 << 30
"""Above every distance."""
BITS = 64
"""Words of the reference per block."""
ALL_BITS = np.uint64(2**BITS - 1)
ONE = np.uint64(1)
LAST_BIT = np.uint64(BITS - 1)
BITS_OF_BYTE = np.array([byte.bit_count() for byte in range(256)], np.uint8)


@dataclass
class Distances:
    """The distances of whole sentences, int64 ``[pairs]``, and the steps that lead to all others.

    A bit of ``aligns`` ``[rows, blocks, pairs]``: the distance comes from that of both sides
    without their last word. Of ``drops``: from that of the hypothesis without its last word. If
    neither is set: from that of the reference without its last word. Both are None if nobody asked
    for them.
    """

    whole: np.ndarray
    aligns: np.ndarray | None
    drops: np.ndarray | None


def distances(
    equal: np.ndarray, heights: np.ndarray, widths: np.ndarray, has_steps: bool
) -> Distances:
    """The distances, correct where the alignment stays in :func:`band`."""
    rows, blocks, pairs = equal.shape
    aligns, drops = (np.empty_like(equal) if has_steps else None for _ in range(2))
    # Differences from column to column in the last row: which are 1, which are -1.
    plus = np.full((blocks, pairs), ALL_BITS)
    minus = np.zeros((blocks, pairs), np.uint64)
    for row in range(rows):
        active = pairs - int(np.searchsorted(heights[::-1], row, side="right"))
        first, last = 0, blocks
        if blocks > 2:
            first, last = _blocks_of_band(row + 1, heights[:active], widths[:active])
        carry = None
        # Differences from the row before in the column before the block: 1 in column 0.
        rise: np.ndarray | np.uint64 = ONE
        fall: np.ndarray | np.uint64 = np.uint64(0)
        for block in range(first, last):
            matches = equal[row, block, :active]
            up, down = plus[block, :active], minus[block, :active]
            # Where the distance is that of the row before and the column before: the addition
            # passes a match on along differences of 1.
            passed_on = matches & up
            same = passed_on + up
            if blocks > 1:
                overflows = same < passed_on
                if carry is not None:
                    same += carry
                    overflows |= carry & (same == 0)
                carry = overflows
            same ^= up
            same |= matches
            same |= down
            # Differences from the row before.
            falls = same & up
            rises = ~(same | up) | down
            if aligns is not None and drops is not None:
                aligns[row, block, :active] = matches | ~same
                drops[row, block, :active] = rises
            next_rise, next_fall = rises >> LAST_BIT, falls >> LAST_BIT
            # One column further, and on to the differences from column to column.
            rises <<= ONE
            rises |= rise
            falls <<= ONE
            falls |= fall
            rise, fall = next_rise, next_fall
            np.bitwise_and(rises, same, out=down)
            rises |= same
            np.bitwise_or(falls, ~rises, out=up)
    return Distances(heights + _sums(plus, widths) - _sums(minus, widths), aligns, drops)


def distances_in_band(
    equal: np.ndarray, heights: np.ndarray, widths: np.ndarray, has_steps: bool
) -> Distances:
    """The same from whole numbers, for any alignment; slower."""
    rows, blocks, pairs = equal.shape
    aligns, drops = (np.empty_like(equal) if has_steps else None for _ in range(2))
    distances = np.zeros(pairs, np.int64)
    columns = np.arange(blocks * BITS + 1)
    before = np.tile(columns, (pairs, 1))
    for row in range(1, rows + 1):
        low, high = (edge[:, None] for edge in band(row, heights, widths))
        aligned = before[:, :-1] + 1 - unpacked(equal[row - 1])
        dropped = before + 1
        after = dropped.copy()
        np.minimum(after[:, 1:], aligned, out=after[:, 1:])
        after[columns < low] = FAR
        # With a word more of the reference, a distance grows by at most 1.
        after = np.minimum.accumulate(after - columns, axis=1) + columns
        after[(columns < low) | (columns >= high)] = FAR
        if aligns is not None and drops is not None:
            aligns[row - 1] = packed(aligned == after[:, 1:])
            drops[row - 1] = packed(dropped[:, 1:] == after[:, 1:])
        ends = heights == row
        distances[ends] = after[ends, widths[ends]]
        before = after
    return Distances(distances, aligns, drops)


def band(
    row: int | np.ndarray, heights: np.ndarray, widths: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The first column of sacrebleu's band in a row of each pair, and the first after it."""
    ratio = widths / heights
    beam = np.where(ratio / 2 > BAND, np.ceil(ratio / 2 + BAND), BAND)
    diagonal = np.floor(row * ratio)
    high = np.where(row == heights, widths + 1, diagonal + beam)
    return np.maximum(0, diagonal - beam), np.minimum(high, widths + 1)


def blocks_of(width: int) -> int:
    """The blocks that hold a bit for each of ``width`` words."""
    return -(-width // BITS)


def packed(bits: np.ndarray) -> np.ndarray:
    """Bits ``[pairs, 64 * blocks]`` as numbers ``[blocks, pairs]``."""
    numbers = np.packbits(np.ascontiguousarray(bits), axis=1, bitorder="little")
    return numbers.view("<u8").T


def unpacked(numbers: np.ndarray) -> np.ndarray:
    """Bits ``[pairs, 64 * blocks]`` of numbers ``[blocks, pairs]``."""
    numbers_of_pair = np.ascontiguousarray(numbers.T, "<u8")
    return np.unpackbits(numbers_of_pair.view(np.uint8), axis=1, bitorder="little")


def _blocks_of_band(row: int, heights: np.ndarray, widths: np.ndarray) -> tuple[int, int]:
    """The first block with a column of a band of the row, and the first after them."""
    low, high = band(row, heights, widths)
    return int(max(0, low.min() - 1)) // BITS, blocks_of(int(high.max()) - 1)


def _sums(bits: np.ndarray, widths: np.ndarray) -> np.ndarray:
    """The bits ``[blocks, pairs]`` that are set for the first ``widths`` words."""
    sums = np.zeros(len(widths), np.int64)
    for block, numbers in enumerate(bits):
        words = np.clip(widths - block * BITS, 0, BITS)
        inside = np.where(words == BITS, ALL_BITS, (ONE << (words % BITS).astype(np.uint64)) - ONE)
        bytes_ = (numbers & inside).view(np.uint8).reshape(-1, BITS // 8)
        sums += BITS_OF_BYTE[bytes_].sum(axis=1, dtype=np.int64)
    return sums

"""The text of rows of a scan, read from the scanned files by byte offset."""

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np

from cgbench.text.blocks import padded_text, read_blocks
from cgbench.text.corpus import ParallelText, TextFile
from cgbench.text.normalisation import SIDES

_BLOCK = 4096  # bytes read at once; more than most lines
_PIECE = 1 << 14  # lines whose words are found at once


@dataclass(frozen=True)
class SideTexts:
    """One side of rows of a scan.

    ``lines``: as the scanned file has them, without the line end. ``texts``: their words joined by
    one blank, the same object where it is equal. ``hashes`` uint64 ``[rows]``: of the words.
    """

    lines: list[bytes]
    texts: list[bytes]
    hashes: np.ndarray

    def take(self, rows: Sequence[int]) -> "SideTexts":
        """The same of some of the rows."""
        return SideTexts(
            [self.lines[row] for row in rows], [self.texts[row] for row in rows], self.hashes[rows]
        )


def read_texts(
    rows: Mapping[str, np.ndarray], pools: Sequence[ParallelText], seen: Sequence[ParallelText]
) -> tuple[list[SideTexts], list[set[bytes]]]:
    """Both sides of rows; and the texts of each side that are lines of ``seen``.

    :param rows: by column of the scan: ``pool`` and the offsets.
    """

    def find_seen(side: str, texts: SideTexts) -> set[bytes]:
        return seen_texts(texts, [getattr(corpus, side) for corpus in seen])

    sides = [read_side(rows, pools, side) for side in SIDES]
    with ThreadPoolExecutor(2) as threads:
        return sides, list(threads.map(find_seen, SIDES, sides))


def read_side(
    rows: Mapping[str, np.ndarray], pools: Sequence[ParallelText], side: str
) -> SideTexts:
    """The texts of rows on one side."""
    count = len(rows["pool"])
    lines, texts, hashes = [b""] * count, [b""] * count, np.zeros(count, np.uint64)
    for pool_number, pool in enumerate(pools):
        # In the order of the file, and in pieces, so that little is in memory twice.
        offsets = rows[f"{side}_offset"]
        pool_rows = np.flatnonzero(rows["pool"] == pool_number)
        pool_rows = pool_rows[np.argsort(offsets[pool_rows], kind="stable")]
        for begin in range(0, len(pool_rows), _PIECE):
            piece = pool_rows[begin : begin + _PIECE]
            piece_lines = _lines_at(getattr(pool, side), offsets[piece])
            piece_texts, hashes[piece] = _join_words(piece_lines)
            for row, line, text in zip(piece.tolist(), piece_lines, piece_texts, strict=True):
                lines[row] = line
                texts[row] = line if line == text else text
    return SideTexts(lines, texts, hashes)


def _lines_at(text: TextFile, offsets: np.ndarray) -> list[bytes]:
    """The lines that begin at byte offsets of a text, in rising order.

    Read, not mapped: the pages of a mapped file count as memory of the process, and lines from all
    over a pool would be nearly all of its pages.
    """
    lines, block, begin = [], b"", 0
    with text.path.open("rb", buffering=0) as file:
        for start in (offsets + text.begin).tolist():
            end = block.find(b"\n", start - begin) if start < begin + len(block) else -1
            if end < 0:
                block, begin = _read_line(file.fileno(), start), start
                end = block.find(b"\n")
            lines.append(block[start - begin : end] if end >= 0 else block)
    return lines


def _read_line(file: int, start: int) -> bytes:
    """The bytes from ``start``, at least to the end of the line."""
    block = os.pread(file, _BLOCK, start)
    while b"\n" not in block and (more := os.pread(file, len(block), start + len(block))):
        block += more
    return block


def _join_words(lines: Sequence[bytes]) -> tuple[list[bytes], np.ndarray]:
    """The words of each line joined by one blank, and their hashes."""
    from cgbench.text import word_kernels

    text = b"\n".join([*lines, b""])
    starts = np.array([*accumulate((len(line) + 1 for line in lines), initial=0)], np.int64)[:-1]
    joined = np.empty(len(text), np.uint8)
    bounds = np.empty(len(lines) + 1, np.int64)
    hashes = np.empty(len(lines), np.uint64)
    word_kernels.gather_lines(padded_text(text), starts, joined, bounds, hashes)
    data = joined[: bounds[-1]].tobytes()
    return [data[begin:end] for begin, end in pairwise(bounds.tolist())], hashes


def seen_texts(side: SideTexts, files: Sequence[TextFile]) -> set[bytes]:
    """The texts that are lines of ``files``: looked up by hash, then compared."""
    from cgbench.text import word_kernels

    hashes_wanted = np.unique(side.hashes)
    wanted_texts = set(side.texts)
    result: set[bytes] = set()
    if not len(hashes_wanted):
        return result
    for file in files:
        for block in read_blocks(file.path):
            lines = block.count_lines()
            offsets = np.empty(lines + 1, np.int64)
            hashes = np.empty(lines, np.uint64)
            word_kernels.hash_lines(block.buffer, block.size, offsets, hashes)
            offsets[lines] = block.size
            position = np.minimum(np.searchsorted(hashes_wanted, hashes), len(hashes_wanted) - 1)
            for line in np.flatnonzero(hashes_wanted[position] == hashes).tolist():
                text = b" ".join(block.buffer[offsets[line] : offsets[line + 1]].tobytes().split())
                if text in wanted_texts:
                    result.add(text)
    return result

"""Cut a scanned pool to its candidates: the highest degrees, without repeats and without seen text.

The pool cut of ReaCT (Zheng and Lapata 2023, section 4). It reads the files of
:mod:`cgbench.benchmark.candidates.pool_scan`, and only the text of rows that may become candidates.
Memory grows with the number of candidates, not with the pool.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from cgbench.benchmark.candidates.pool_scan import NO_LIMIT, arrow, number_table, numbers_of
from cgbench.files import atomic_path, write_atomic, write_json
from cgbench.machine import in_threads
from cgbench.text.blocks import padded_text, read_blocks, release_memory
from cgbench.text.corpus import ParallelText, TextFile
from cgbench.text.hashes import mix


@dataclass(frozen=True)
class Cut:
    """The candidates in order: ``rows`` (a scan's columns, by name) and their texts, words joined
    by one blank.
    """

    rows: dict[str, np.ndarray]
    sources: list[bytes]
    targets: list[bytes]
    counts: dict[str, int]

    def save(self, folder: Path) -> None:
        """Write ``candidates.parquet``, ``candidates.source``, ``candidates.target`` and
        ``counts.json``.
        """
        pyarrow = arrow()
        for side, texts in (("source", self.sources), ("target", self.targets)):
            write_atomic(folder / f"candidates.{side}", b"\n".join([*texts, b""]))
        with atomic_path(folder / "candidates.parquet") as temporary:
            pyarrow.parquet.write_table(number_table(self.rows), temporary, compression="zstd")
        write_json(folder / "counts.json", self.counts)


@dataclass(frozen=True)
class Bounds:
    """The permitted lengths of a candidate: words on the side of the degree (None: no limit)."""

    min_length: int = 1
    max_length: int | None = None
    side: str = "target"

    def hold(self, rows: Mapping[str, np.ndarray]) -> np.ndarray:
        """Which rows of a scan are within the bounds, bool ``[rows]``."""
        lengths = rows[f"{self.side}_length"]
        return (lengths >= self.min_length) & (lengths <= (self.max_length or NO_LIMIT))


def count_lengths(lengths: Iterable[Mapping[str, int]], bounds: Bounds) -> dict[str, int]:
    """The numbers of rows that are too short, too long and within the bounds, and of all:
    ``known_words``.

    :param lengths: the counts of :func:`.pool_scan.scan` for each corpus of the pool.
    """
    pairs = [(int(length), count) for counts in lengths for length, count in counts.items()]
    known = sum(count for _, count in pairs)
    short = sum(count for length, count in pairs if length < bounds.min_length)
    long = sum(count for length, count in pairs if length > (bounds.max_length or NO_LIMIT))
    return {
        "known_words": known,
        "too_short": short,
        "too_long": long,
        "within_length": known - short - long,
    }


def cut(
    parts: Sequence[Path],
    pools: Sequence[ParallelText],
    *,
    size: int,
    bounds: Bounds = Bounds(),
    seed: int = 0,
    seen: Sequence[ParallelText] = (),
) -> Cut:
    """The ``size`` pairs of the highest degree, without repeats and without seen text.

    Rows are taken by falling degree. Ties are broken by a seeded hash of the pair's words, so the
    order of the pool's lines does not matter (of equal pairs the first line counts). A pair is
    skipped when its source or its target belongs to a pair taken before, or is a line of the same
    side of a ``seen`` corpus. Rows with the same ``content``, lengths and pieces are treated as
    equal pairs without reading them.

    :param parts: the files of :func:`scan`, for all ``pools``.
    :returns: fewer than ``size`` only if the pool is exhausted. Counts: ``candidates``, and the
        ``seen`` and ``duplicates`` skipped before the last candidate.
    """
    limit = size + size // 8 + 1000
    while True:
        best = BestRows(limit, bounds, seed)
        for block in read_parts(parts):
            best.add(block)
        release_memory()
        candidates = _take(best.rows(), pools, seen, size)
        if not best.has_more or len(candidates.sources) == size:
            return candidates
        limit *= 4


COLUMNS = (
    "line",
    "pool",
    "source_offset",
    "target_offset",
    "source_length",
    "target_length",
    "pieces",
    "degree",
    "content",
)


def scan_parts(scans: Sequence[Path]) -> list[Path]:
    """The files of several scans, in order."""
    return [file for scan in scans for file in sorted(scan.glob("part-*.parquet"))]


def read_parts(files: Sequence[Path]) -> Iterator[dict[str, np.ndarray]]:
    """The rows of a scan, one part at a time: its columns by name."""
    pyarrow = arrow()

    def read(file_path: Path) -> dict[str, np.ndarray]:
        # read_table would load pyarrow.dataset, 20 MB of code.
        with pyarrow.parquet.ParquetFile(file_path) as file:
            table = file.read(columns=list(COLUMNS), use_threads=False)
        return numbers_of(table, COLUMNS)

    return in_threads(read, files, 2, 2)


class BestRows:
    """The first ``limit`` distinct rows in the order of the cut, of blocks that are added in turn.

    Rows that tie with the last of them are among them. At most ``1.5 * limit`` rows and those of
    one block are in memory.
    """

    def __init__(self, limit: int, bounds: Bounds, seed: int) -> None:
        self.limit = limit
        self.bounds = bounds
        self.has_more = False
        """Whether rows within the bounds have been dropped."""
        self._salt = mix(np.array([seed], np.uint64))
        self._blocks: list[dict[str, np.ndarray]] = []
        self._last: tuple[float, np.uint64] | None = None  # degree and tie of the last best row

    def add(self, block: dict[str, np.ndarray]) -> None:
        """Add the rows of a block (the columns of a scan) that may be among the first."""
        ties = mix(block["content"] ^ self._salt)
        chosen = self.bounds.hold(block)
        if self._last is not None:
            degree, tie = self._last
            before = (block["degree"] > degree) | ((block["degree"] == degree) & (ties <= tie))
            self.has_more |= bool(np.any(chosen & ~before))
            chosen &= before
        block = {name: values[chosen] for name, values in {**block, "tie": ties}.items()}
        block["copies"] = np.ones(len(block["line"]), np.int64)
        self._blocks.append(block)
        if sum(len(block["line"]) for block in self._blocks) > 1.5 * self.limit:
            self._drop_rest()

    def rows(self) -> dict[str, np.ndarray]:
        """The rows in order, by column; ``copies`` counts the rows equal to each."""
        return _in_order(self._blocks)

    def _drop_rest(self) -> None:
        """Drop the rows after the first ``limit`` and those that tie with the last of them."""
        rows = self.rows()
        if len(rows["line"]) > self.limit:
            self._last = rows["degree"][self.limit - 1], rows["tie"][self.limit - 1]
            degree, tie = self._last
            after = (rows["degree"] != degree) | (rows["tie"] != tie)
            after[: self.limit] = False
            end = int(np.argmax(after)) if after.any() else len(after)
            self.has_more |= end < len(after)
            rows = {name: values[:end] for name, values in rows.items()}
        self._blocks = [rows]


def _in_order(blocks: list[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Rows by falling degree, then tie; equal pairs become one row, with the first line."""
    if not blocks:
        blocks = [{name: np.zeros(0, np.int64) for name in (*COLUMNS, "tie", "copies")}]
    rows = {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}
    keys = ("pieces", "source_length", "target_length")
    order = np.lexsort([rows["line"], rows["pool"], rows["tie"], -rows["degree"]])
    rows = {name: values[order] for name, values in rows.items()}
    if not len(order):
        return rows
    fresh = np.ones(len(order), bool)
    fresh[1:] = np.any(
        [rows[key][1:] != rows[key][:-1] for key in ("tie", "degree", *keys)], axis=0
    )
    copies = np.add.reduceat(rows["copies"], np.flatnonzero(fresh))
    rows = {name: values[fresh] for name, values in rows.items()}
    rows["copies"] = copies
    return rows


def _take(
    rows: dict[str, np.ndarray],
    pools: Sequence[ParallelText],
    seen: Sequence[ParallelText],
    size: int,
) -> Cut:
    """Take rows from the top that are neither seen nor repeats."""
    # The texts, and the order of rows.
    (sources, targets), known = read_texts(rows, pools, seen)
    order: Sequence[int] = range(len(sources))
    same = (rows["tie"][1:] == rows["tie"][:-1]) & (rows["degree"][1:] == rows["degree"][:-1])
    if np.any(same):  # different texts with one hash: compare the texts
        first, last = [-rows["degree"], rows["tie"]], [rows["pool"], rows["line"]]
        before, after = (
            list(zip(*(column.tolist() for column in keys), strict=True)) for keys in (first, last)
        )
        order = sorted(order, key=lambda i: (before[i], sources[i], targets[i], after[i]))
    # Skip rows of seen text, and of a source or target that was taken before.
    copies = rows["copies"].tolist()
    chosen_rows: list[int] = []
    counts = {"seen": 0, "duplicates": 0}
    taken_sources: set[bytes] = set()
    taken_targets: set[bytes] = set()
    for row in order:
        if len(chosen_rows) == size:
            break
        source, target = sources[row], targets[row]
        if source in known[0] or target in known[1]:
            counts["seen"] += copies[row]
        elif source in taken_sources or target in taken_targets:
            counts["duplicates"] += copies[row]
        else:
            counts["duplicates"] += copies[row] - 1
            chosen_rows.append(row)
            taken_sources.add(source)
            taken_targets.add(target)
    counts["candidates"] = len(chosen_rows)
    index = np.array(chosen_rows, np.int64)
    return Cut(
        {name: rows[name][index] for name in COLUMNS},
        [sources[row] for row in chosen_rows],
        [targets[row] for row in chosen_rows],
        counts,
    )


def read_texts(
    rows: dict[str, np.ndarray], pools: Sequence[ParallelText], seen: Sequence[ParallelText]
) -> tuple[list[list[bytes]], list[set[bytes]]]:
    """The texts of rows on both sides, words joined by one blank; and those of them that are lines
    of ``seen``.
    """

    def read(side: str) -> tuple[list[bytes], set[bytes]]:
        texts_and_hashes = fetch_texts(rows, pools, side)
        return texts_and_hashes[0], seen_texts(
            texts_and_hashes, [getattr(corpus, side) for corpus in seen]
        )

    with ThreadPoolExecutor(2) as threads:
        sides = list(threads.map(read, ("source", "target")))
    return [texts for texts, _ in sides], [known for _, known in sides]


def fetch_texts(
    rows: dict[str, np.ndarray], pools: Sequence[ParallelText], side: str
) -> tuple[list[bytes], np.ndarray]:
    """The texts of rows on one side, words joined by one blank, and their hashes.

    Reads nearby lines together.
    """
    texts: list[bytes] = [b""] * len(rows["line"])
    codes = np.zeros(len(texts), np.uint64)
    for pool_number, pool in enumerate(pools):
        pool_rows = np.flatnonzero(rows["pool"] == pool_number)
        pool_rows = pool_rows[np.argsort(rows[f"{side}_offset"][pool_rows], kind="stable")]
        if len(pool_rows):
            _fetch_from(
                getattr(pool, side), rows[f"{side}_offset"][pool_rows], pool_rows, texts, codes
            )
    return texts, codes


_WINDOW = 1 << 20
_GAP = 64 << 10


def _fetch_from(
    text: TextFile, offsets: np.ndarray, where: np.ndarray, texts: list[bytes], codes: np.ndarray
) -> None:
    from cgbench.text import word_kernels

    breaks = [0, *(np.flatnonzero(np.diff(offsets) > _GAP) + 1).tolist(), len(offsets)]
    offsets = offsets + text.begin
    file = os.open(text.path, os.O_RDONLY)
    try:
        for begin, end in pairwise(breaks):
            while begin < end:
                start = int(offsets[begin])
                stop = begin + int(np.searchsorted(offsets[begin:end], start + _WINDOW))
                span = int(offsets[stop - 1]) - start
                chunk = os.pread(file, span + 4096, start)
                while chunk.find(b"\n", span) < 0 and start + len(chunk) < text.bytes:
                    chunk += os.pread(file, max(4096, len(chunk)), start + len(chunk))
                out = np.empty(len(chunk), np.uint8)
                bounds = np.empty(stop - begin + 1, np.int64)
                hashes = np.empty(stop - begin, np.uint64)
                word_kernels.gather_lines(
                    padded_text(chunk), offsets[begin:stop] - start, out, bounds, hashes
                )
                data = out[: bounds[-1]].tobytes()
                codes[where[begin:stop]] = hashes
                for row, (low, high) in zip(
                    where[begin:stop].tolist(), pairwise(bounds.tolist()), strict=True
                ):
                    texts[row] = data[low:high]
                begin = stop
    finally:
        os.close(file)


def seen_texts(candidates: tuple[list[bytes], np.ndarray], files: Sequence[TextFile]) -> set[bytes]:
    """The texts of :func:`fetch_texts` that are lines of ``files``: looked up by hash, then
    compared.
    """
    from cgbench.text import word_kernels

    texts, codes = candidates
    hashes_wanted = np.unique(codes)
    candidate_texts = set(texts)
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
                if text in candidate_texts:
                    result.add(text)
    return result

"""Cut a scanned pool to its candidates: the highest degrees, without repeats and without seen text.

The pool cut of ReaCT (Zheng and Lapata 2023, section 4). It reads the files of
:mod:`cgbench.benchmark.candidates.pool_scan`, and only the text of rows that may become candidates.
Memory grows with the number of candidates, not with the pool.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cgbench.benchmark.candidates.pool_scan import NO_LIMIT
from cgbench.benchmark.candidates.row_texts import SideTexts, read_texts
from cgbench.files import atomic_path, write_atomic, write_json
from cgbench.machine import in_threads
from cgbench.text.arrow_tables import arrays_of, arrow, number_table
from cgbench.text.blocks import release_memory
from cgbench.text.corpus import ParallelText
from cgbench.text.hashes import mix
from cgbench.text.normalisation import SIDES


@dataclass(frozen=True)
class Cut:
    """The candidates in order: ``rows`` (a scan's columns, by name) and their texts."""

    rows: dict[str, np.ndarray]
    source: SideTexts
    target: SideTexts
    counts: dict[str, int]

    @property
    def sides(self) -> tuple[SideTexts, SideTexts]:
        """Source and target."""
        return self.source, self.target

    def save(self, folder: Path) -> None:
        """Write ``candidates.parquet``, ``candidates.source``, ``candidates.target`` and
        ``counts.json``.
        """
        pyarrow = arrow()
        for name, side in zip(SIDES, self.sides, strict=True):
            write_atomic(folder / f"candidates.{name}", b"\n".join([*side.texts, b""]))
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
        if not best.has_more or candidates.counts["candidates"] == size:
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
        return arrays_of(table, COLUMNS)

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
    sides, known = read_texts(rows, pools, seen)
    sources, targets = (side.texts for side in sides)
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
    taken_source, taken_target = (side.take(chosen_rows) for side in sides)
    return Cut({name: rows[name][index] for name in COLUMNS}, taken_source, taken_target, counts)

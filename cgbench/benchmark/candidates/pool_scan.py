"""Scan a pool for pairs of known words, and measure their compositional degree.

The pool filter and degree of ReaCT (Zheng and Lapata 2023, section 4). A pool is cut into shards at
line boundaries. The rows of a shard depend only on its lines and the known n-grams, and go to one
Parquet file. So any number of threads writes the same files, and a stopped scan resumes with the
missing shards. Memory does not grow with the pool. Machines of an engine that can read the pool and
the known n-grams scan shards as tasks.

A row is a pair that passed the filter:

=============== ======= ============================================================================
column          type    content
=============== ======= ============================================================================
line            int64   line in the corpus, from 0
pool            int32   number of the corpus
source_offset   int64   byte offset of the line in the corpus's source text, after a byte order mark
target_offset   int64   the same in its target text
source_length   int32   words
target_length   int32   words
pieces          int32   least number of known n-grams that cover the side the degree is computed on
degree          float64 pieces over that side's words
content         uint64  hash of the words of both sides: independent of vocabulary, place, blanks
=============== ======= ============================================================================
"""

from __future__ import annotations

import functools
import json
import os
import queue
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cgbench.benchmark.measure.known_ngrams.known import KnownNgrams
from cgbench.benchmark.measure.known_ngrams.vocabulary import Vocabulary
from cgbench.engines import Engine
from cgbench.errors import InputError
from cgbench.files import atomic_path
from cgbench.machine import in_threads, usable_cores
from cgbench.progress import bar
from cgbench.text.arrow_tables import arrow, number_table
from cgbench.text.blocks import check_text, padded, read_range, release_memory
from cgbench.text.corpus import ParallelText, TextFile
from cgbench.text.hashes import pair_hash
from cgbench.text.normalisation import SIDES

CHUNK = 16 << 20
"""Bytes of both sides per thread; in larger chunks the vocabularies alternate less in the cache."""
SHARD = 2  # chunks per file
_KEY = b"cgbench.scan"
NO_LIMIT = 2**31 - 1
_COUNTS = ("pairs", "empty", "rare", "kept")

NGRAMS, WORDS = "ngrams", "other-words"  # in the folder of the known n-grams


class Place(NamedTuple):
    """The start of a line: its number, and its byte offset on each side."""

    line: int
    source: int
    target: int


class Chunk(NamedTuple):
    """The lines from ``start`` to the line before ``stop``."""

    start: Place
    stop: Place

    @property
    def lines(self) -> int:
        """The number of lines."""
        return self.stop.line - self.start.line


class Shard(NamedTuple):
    """The file of a shard, and its chunks."""

    path: Path
    chunks: list[Chunk]

    @property
    def limits(self) -> list[int]:
        """The first line, and the line after the last."""
        return [self.chunks[0].start.line, self.chunks[-1].stop.line]


class Side(NamedTuple):
    """One side of some lines of a corpus: arrays ``[lines]``."""

    offsets: np.ndarray  # int64, byte offset after a byte order mark
    lengths: np.ndarray  # int32, words
    codes: np.ndarray  # uint64, hash of the words


class Rows(NamedTuple):
    """The lines of a chunk that are kept."""

    states: np.ndarray
    """uint8 ``[all lines]``: ``word_kernels.KEPT``, or ``EMPTY`` or ``RARE``."""
    lines: np.ndarray
    """int64 ``[kept]``: their numbers in the corpus."""
    ids: np.ndarray
    """int32: the words of the side of the degree, line by line."""
    source: Side
    target: Side

    @property
    def sides(self) -> tuple[Side, Side]:
        """Source and target."""
        return self.source, self.target


@dataclass(frozen=True, eq=False)
class Scan:
    """A scan of one corpus of the pool, independent of the others.

    :param number: the corpus's number in the pool.
    :param ngrams: learned on the side ``degree_side``; their words decide which are rare there.
    :param other_words: the words of the other side (None: that side is not filtered).
    :param filter_sides: ``both``, ``source``, ``target`` or ``neither``: where a rare word drops
        the pair.
    """

    pool: ParallelText
    number: int
    ngrams: KnownNgrams
    other_words: Vocabulary | None
    degree_side: str = "target"
    filter_sides: str = "both"

    @classmethod
    def of(cls, pool: ParallelText, number: int, learned: Path, *sides: str) -> Scan:
        """The scan with the n-grams in the folder ``learned``; ``sides`` are those of the degree
        and of the filter.
        """
        return cls(
            pool,
            number,
            KnownNgrams.load(learned / NGRAMS),
            Vocabulary.load(learned / WORDS),
            *sides,
        )

    @cached_property
    def _words(self) -> list[tuple[Any, ...]]:
        """The words of each side that are known, and that are not rare, for
        ``word_kernels.filter_lines``.
        """
        words = dict.fromkeys(SIDES, self.other_words) | {self.degree_side: self.ngrams.words}
        return [filter_arrays(words[side], self.filter_sides in ("both", side)) for side in SIDES]

    def scan_shard(self, files: list[int], shard: Shard, buffers: _Buffers) -> dict[str, Any]:
        """Scan a shard unless its part exists; returns its counts."""
        finished = _read_counts(shard)
        if finished is not None:
            return finished
        blocks, counts = [], []
        for chunk in shard.chunks:
            rows = self.read_chunk(files, chunk, buffers)
            blocks.append(self.columns_of(rows))
            counts.append(self.counts_of(rows))
        columns = {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}
        total = _sum_counts(counts) | {"lines": shard.limits}
        _write_part(shard.path, columns, total)
        return total

    def columns_of(self, rows: Rows) -> dict[str, np.ndarray]:
        """The columns of the scan, by name."""
        lengths = rows.sides[SIDES.index(self.degree_side)].lengths
        pieces, _ = self.ngrams.count_pieces(rows.ids, lengths)
        return {
            "line": rows.lines,
            "pool": np.full(len(rows.lines), self.number, np.int32),
            "source_offset": rows.source.offsets,
            "target_offset": rows.target.offsets,
            "source_length": rows.source.lengths,
            "target_length": rows.target.lengths,
            "pieces": pieces,
            "degree": pieces / lengths,
            "content": pair_hash(rows.source.codes, rows.target.codes),
        }

    def counts_of(self, rows: Rows) -> dict[str, Any]:
        """How many lines are kept, and why others are not (as :func:`scan` returns them)."""
        from cgbench.text import word_kernels

        lengths = rows.sides[SIDES.index(self.degree_side)].lengths
        values, pairs_of_length = np.unique(lengths, return_counts=True)
        names = map(str, values.tolist())  # as JSON has them
        return {
            "pairs": len(rows.states),
            "empty": int(np.count_nonzero(rows.states == word_kernels.EMPTY)),
            "rare": int(np.count_nonzero(rows.states == word_kernels.RARE)),
            "kept": len(rows.lines),
            "lengths": dict(zip(names, pairs_of_length.tolist(), strict=True)),
        }

    def read_chunk(self, files: list[int], chunk: Chunk, buffers: _Buffers | None = None) -> Rows:
        """Read the lines of a chunk, and leave out those with an empty side or a rare word."""
        from cgbench.text import word_kernels

        buffers = buffers or _Buffers()
        degree_side = SIDES.index(self.degree_side)
        texts = self.pool.source, self.pool.target
        starts, stops = chunk.start[1:], chunk.stop[1:]
        # Read and check the text of both sides.
        blocks = []
        for side, text in enumerate(texts):
            size = stops[side] - starts[side]
            buffer = buffers.buffer(f"text {side}", size)
            read_range(files[side], buffer, starts[side], stops[side], text.path)
            blocks.append(check_text(buffer, size, chunk.start.line, text.path))

        # Which lines are empty or have a rare word? The side of the degree comes last, so its ids
        # are those of lines that are kept.
        states = buffers.array("states", chunk.lines, np.uint8)[: chunk.lines]
        states[:] = word_kernels.KEPT
        sides = [buffers.side(side, chunk.lines) for side in (0, 1)]
        no_ids = np.empty(0, np.int32)
        ids = buffers.array("ids", blocks[degree_side].size // 2 + 1, np.int32)
        filled = 0
        for side in (1 - degree_side, degree_side):
            block = blocks[side]
            lines_read, filled = word_kernels.filter_lines(
                block.buffer,
                block.size,
                *self._words[side],
                states,
                ids if side == degree_side else no_ids,
                *sides[side],
            )  # type: ignore[call-arg]
            if lines_read != chunk.lines:
                raise InputError(
                    f"{texts[side].path}: the file changed while it was read; run the command again"
                )
        # The lines that are kept, with offsets in their files.
        kept_lines = np.flatnonzero(states == word_kernels.KEPT)
        source, target = (
            Side(*(values[kept_lines] for values in sides[side]))._replace(
                offsets=sides[side].offsets[kept_lines] + (starts[side] - texts[side].begin)
            )
            for side in (0, 1)
        )
        return Rows(states, kept_lines + chunk.start.line, ids[:filled], source, target)


def scan(
    work: Scan,
    out: Path,
    *,
    jobs: int = 1,
    spread: Callable[[Sequence[Shard]], Iterator[dict[str, Any]]] | None = None,
) -> dict[str, Any]:
    """Filter a corpus of the pool and write the remaining pairs to ``out/part-00000.parquet``, ...

    :param jobs: threads; the files do not depend on it. Existing parts are kept.
    :param spread: scans shards elsewhere, by :meth:`Scan.scan_shard`, not in threads; returns their
        counts in order.
    :returns: ``pairs``, ``empty`` (dropped for an empty side), ``rare`` (dropped for a rare word),
        ``kept``; ``lengths``: the number of rows by length on the side of the degree.
    :raises InputError: a line is not UTF-8 (file and line), or a file changed while it was read.
    """
    pool, counts = work.pool, []
    with (
        open_sides(pool) as files,
        bar(pool.lines, f"scan {pool.target.path.name}", "pair") as progress,
    ):
        chunks = chunks_of(pool, files)
        shards = [
            Shard(out / f"part-{index:05d}.parquet", chunks[begin : begin + SHARD])
            for index, begin in enumerate(range(0, len(chunks), SHARD))
        ]
        for counts_of_shard in spread(shards) if spread else _by_threads(work, files, shards, jobs):
            counts.append(counts_of_shard)
            progress.update(counts_of_shard["pairs"])
    release_memory()
    return _sum_counts(counts)


def scan_with(
    engine: Engine,
    pool: ParallelText,
    number: int,
    learned: Path,
    sides: tuple[str, str],
    out: Path,
) -> dict[str, Any]:
    """:func:`scan` of :meth:`Scan.of`: on all machines of the engine if they can read the pool,
    otherwise in threads here, which share the known n-grams."""

    def spread(shards: Sequence[Shard]) -> Iterator[dict[str, Any]]:
        return engine.map(functools.partial(_scan_there, (pool, number, learned, *sides)), shards)

    elsewhere = not engine.here and engine.sees([pool.source.path, pool.target.path])
    jobs = engine.jobs if engine.here else usable_cores()
    return scan(
        Scan.of(pool, number, learned, *sides), out, jobs=jobs, spread=spread if elsewhere else None
    )


_last: tuple[Any, Scan] | None = None  # per process: a worker loads the known n-grams once


def _scan_there(work: tuple[Any, ...], shard: Shard) -> dict[str, Any]:
    global _last
    pool, *arguments = work
    key = pool.hashes, *arguments
    if _last is None or _last[0] != key:
        _last = key, Scan.of(*work)
    with open_sides(pool) as files:
        return _last[1].scan_shard(files, shard, _Buffers())


@contextmanager
def open_sides(pool: ParallelText) -> Iterator[list[int]]:
    """The files of source and target, opened for random access."""
    with ExitStack() as stack:
        files = []
        for text in (pool.source, pool.target):
            files.append(os.open(text.path, os.O_RDONLY))
            stack.callback(os.close, files[-1])
        yield files


def _by_threads(
    work: Scan, files: list[int], shards: Sequence[Shard], jobs: int
) -> Iterator[dict[str, Any]]:
    idle: queue.SimpleQueue[_Buffers] = queue.SimpleQueue()
    for _ in range(jobs):
        idle.put(_Buffers())

    def scan_shard(shard: Shard) -> dict[str, Any]:
        buffers = idle.get()
        try:
            return work.scan_shard(files, shard, buffers)
        finally:
            idle.put(buffers)

    yield from in_threads(scan_shard, shards, jobs, 2 * jobs)


def chunk_limits(pool: ParallelText) -> list[int]:
    """The first lines of chunks about ``CHUNK`` bytes apart, then the number of lines."""
    sides = [text.milestones for text in (pool.source, pool.target)]
    lines = np.unique(np.concatenate([side[:, 0] for side in sides]))
    lines = lines[lines < pool.lines]
    # The bytes before a line, to within a milestone: accurate enough here.
    before = sum(
        side[np.searchsorted(side[:, 0], lines, side="right") - 1, 1] - side[0, 1] for side in sides
    )
    limits = [0]
    last = 0
    for line, offset in zip(lines.tolist(), np.asarray(before).tolist(), strict=True):
        if offset - last >= CHUNK:
            limits.append(line)
            last = offset
    return [*limits, pool.lines]


def chunks_of(pool: ParallelText, files: Sequence[int]) -> list[Chunk]:
    """The chunks of a corpus, whose files are open (:func:`open_sides`)."""
    places = [
        Place(
            line, _find_line(files[0], pool.source, line), _find_line(files[1], pool.target, line)
        )
        for line in chunk_limits(pool)
    ]
    return [Chunk(start, stop) for start, stop in pairwise(places)]


def _find_line(file: int, text: TextFile, line: int) -> int:
    if line == text.lines:
        return text.bytes
    row = int(np.searchsorted(text.milestones[:, 0], line, side="right")) - 1
    line_number, offset = text.milestones[row].tolist()
    while line_number < line:
        chunk = os.pread(file, 1 << 18, offset)
        if not chunk:
            raise InputError(
                f"{text.path}: the file was shortened while it was read; run the command again"
            )
        newlines = np.flatnonzero(np.frombuffer(chunk, np.uint8) == 10)
        if line_number + len(newlines) >= line:
            return offset + int(newlines[line - line_number - 1]) + 1
        line_number += len(newlines)
        offset += len(chunk)
    return offset


class _Buffers:
    """The arrays of one shard, kept for the next: allocating new memory costs more than the work on
    it.
    """

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}

    def array(self, name: str, size: int, dtype: Any) -> np.ndarray:
        existing = self.arrays.get(name)
        if existing is None or len(existing) < size:
            self.arrays.pop(name, None)
            existing = self.arrays[name] = np.empty(size + size // 8, dtype)
        return existing

    def buffer(self, name: str, size: int) -> np.ndarray:
        return self.array(name, len(padded(0)) + size, np.uint8)

    def side(self, side: int, lines: int) -> Side:
        return Side(
            self.array(f"offsets {side}", lines, np.int64)[:lines],
            self.array(f"lengths {side}", lines, np.int32)[:lines],
            self.array(f"codes {side}", lines, np.uint64)[:lines],
        )


def filter_arrays(words: Vocabulary | None, filters: bool) -> tuple[Any, ...]:
    """(arena, starts, table, usable) for ``word_kernels.filter_lines``."""
    if words is None:
        return np.zeros(16, np.uint8), np.zeros(1, np.int64), np.zeros((1, 3), np.uint64), NO_LIMIT
    return words.arena, words.starts, words.table, words.usable if filters else NO_LIMIT


def _write_part(path: Path, columns: dict[str, np.ndarray], counts: dict[str, Any]) -> None:
    pyarrow = arrow()
    table = number_table(columns).replace_schema_metadata(
        {_KEY: json.dumps(counts, sort_keys=True).encode()}
    )
    with atomic_path(path) as temporary:
        pyarrow.parquet.write_table(
            table,
            temporary,
            compression="lz4",
            use_dictionary=["pool", "source_length", "target_length", "pieces", "degree"],
            column_encoding=dict.fromkeys(
                ("line", "source_offset", "target_offset"), "DELTA_BINARY_PACKED"
            ),
            write_statistics=False,
        )


def _sum_counts(counts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    total: dict[str, Any] = {key: sum(count[key] for count in counts) for key in _COUNTS}
    lengths: Counter[str] = Counter()
    for count in counts:
        lengths.update(count["lengths"])
    return total | {"lengths": {length: lengths[length] for length in sorted(lengths, key=int)}}


def _read_counts(shard: Shard) -> dict[str, Any] | None:
    """The counts of a shard from an earlier run, or None."""
    pyarrow = arrow()
    if not shard.path.is_file():
        return None
    try:
        metadata = pyarrow.parquet.read_schema(shard.path).metadata or {}
        counts = json.loads(metadata.get(_KEY, b"{}"))
    except (pyarrow.ArrowInvalid, ValueError):
        return None
    return counts if counts.get("lines") == shard.limits else None

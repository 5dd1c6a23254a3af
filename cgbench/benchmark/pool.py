"""Scan a pool for pairs of known words, measure their compositional degree, and cut it to the candidates.

The pool filter, degree and cut of ReaCT (Zheng and Lapata 2023, section 4). A pool is cut into shards at line
boundaries; a shard's rows depend on its lines and on the learned n-grams alone, and go to one Parquet file, so that
any number of threads writes the same files and a stopped scan goes on with the shards that are missing. Memory does
not grow with the pool.

A row is a pair that passed the filter:

=============== ======= ==============================================================================
column          type    content
=============== ======= ==============================================================================
line            int64   line in the pool as a whole (all its corpora one after another), from 0
pool            int32   number of the corpus
source_offset   int64   byte offset of the line in the corpus's source file
target_offset   int64   the same in its target file
source_length   int32   words
target_length   int32   words
pieces          int32   least number of known n-grams that cover the side the degree is computed on
degree          float64 pieces over that side's words
content         uint64  hash of the words of both sides, whatever the vocabulary, place and white space
=============== ======= ==============================================================================
"""

from __future__ import annotations

import json
import os
import queue
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from cgbench.benchmark.blocks import check_text, padded, read_range, release_memory
from cgbench.benchmark.known_ngrams import KnownNgrams, Vocabulary
from cgbench.corpus import ParallelText, TextFile, odd_character
from cgbench.errors import InputError
from cgbench.files import atomic_path, write_atomic, write_json
from cgbench.progress import bar

CHUNK = 16 << 20  # bytes, both sides together: what one thread holds. Larger: the vocabularies change places less often
SHARD = 2  # chunks: what goes to one file
_KEY = b"cgbench.scan"
_NO_LIMIT = 2**31 - 1
_COUNTS = ("pairs", "empty", "rare", "kept")
_ODD = {"tab": 9, "CR": 13}

Place = tuple[int, int, int]
"""A line, and the byte offset where it begins on each side."""

Chunk = tuple[Place, Place]
"""Lines from one place to another."""


def scan(
    pool: ParallelText,
    number: int,
    first_line: int,
    *,
    ngrams: KnownNgrams,
    other_words: Vocabulary | None,
    out: Path,
    degree_side: str = "target",
    filter_sides: str = "both",
    jobs: int = 1,
) -> dict[str, Any]:
    """Filter a corpus of the pool and write the rows of the pairs that are kept to ``out/part-00000.parquet``, ...

    :param number: the corpus's number in the pool, and ``first_line`` the number of lines before it.
    :param ngrams: learnt on the side ``degree_side``; its own words decide which are rare there.
    :param other_words: the words of the other side (None: that side is not filtered).
    :param filter_sides: ``both``, ``source`` or ``target``: where a rare word drops the pair.
    :param jobs: threads; the files do not depend on it. Parts that are there already are kept.
    :return: ``pairs``, ``empty`` (dropped for an empty side), ``rare`` (dropped for a rare word), ``kept`` and
        ``warnings`` (lines of text about suspicious input).
    :raises InputError: a line is not UTF-8 (file and line), or a file changed while it was read.
    """
    scanner = _Scanner(pool, number, first_line, ngrams, other_words, degree_side, filter_sides)
    counts = _scan_shards(scanner, pool, out, jobs)
    release_memory()
    total: dict[str, Any] = {key: sum(count[key] for count in counts) for key in _COUNTS}
    total["warnings"] = _warnings(pool, counts)
    return total


def _scan_shards(scanner: _Scanner, pool: ParallelText, out: Path, jobs: int) -> list[dict[str, Any]]:
    """Scan the shards whose parts are missing; the counts of all, in order."""
    limits = chunk_limits(pool)
    counts: list[dict[str, Any]] = []
    desks: queue.SimpleQueue[_Desk] = queue.SimpleQueue()
    with ExitStack() as stack:
        files = []
        for text in (pool.source, pool.target):
            files.append(os.open(text.path, os.O_RDONLY))
            stack.callback(os.close, files[-1])
        for _ in range(jobs):
            desks.put(_Desk())

        def one(shard: int, chunks: list[Chunk]) -> dict[str, Any]:
            path = out / f"part-{shard:05d}.parquet"
            done = _read_counts(path, chunks)
            if done is None:
                desk = desks.get()
                try:
                    done = scanner.scan_shard(files, chunks, desk, path)
                finally:
                    desks.put(desk)
            return done

        progress = stack.enter_context(bar(pool.lines, f"scan {pool.target.path.name}", "pair"))
        threads = stack.enter_context(ThreadPoolExecutor(jobs))
        running: deque[Any] = deque()
        starts = [
            (line, _find_line(files[0], pool.source, line), _find_line(files[1], pool.target, line)) for line in limits
        ]
        chunks = list(pairwise(starts))
        for shard, begin in enumerate(range(0, len(chunks), SHARD)):
            running.append(threads.submit(one, shard, chunks[begin : begin + SHARD]))
            if len(running) > 2 * jobs:
                counts.append(running.popleft().result())
                progress.update(counts[-1]["pairs"])
        while running:
            counts.append(running.popleft().result())
            progress.update(counts[-1]["pairs"])
    return counts


def chunk_limits(pool: ParallelText) -> list[int]:
    """The lines where chunks begin, then the number of lines: about ``CHUNK`` bytes apart."""
    sides = [text.milestones for text in (pool.source, pool.target)]
    lines = np.unique(np.concatenate([side[:, 0] for side in sides]))
    lines = lines[lines < pool.lines]
    # The bytes before a line, to within a milestone: near enough to cut by.
    before = sum(side[np.searchsorted(side[:, 0], lines, side="right") - 1, 1] for side in sides)
    limits = [0]
    last = 0
    for line, offset in zip(lines.tolist(), np.asarray(before).tolist(), strict=True):
        if offset - last >= CHUNK:
            limits.append(line)
            last = offset
    return [*limits, pool.lines]


def _find_line(file: int, text: TextFile, line: int) -> int:
    """The byte offset of a line."""
    if line == text.lines:
        return text.bytes
    row = int(np.searchsorted(text.milestones[:, 0], line, side="right")) - 1
    number, offset = text.milestones[row].tolist()
    while number < line:
        chunk = os.pread(file, 1 << 18, offset)
        if not chunk:
            raise InputError(f"{text.path}: the file became shorter while it was read; run the command again")
        newlines = np.flatnonzero(np.frombuffer(chunk, np.uint8) == 10)
        if number + len(newlines) >= line:
            return offset + int(newlines[line - number - 1]) + 1
        number += len(newlines)
        offset += len(chunk)
    return offset


class _Desk:
    """The arrays that one shard needs, kept for the next one: fresh memory costs more than the work on it."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}

    def array(self, name: str, size: int, dtype: Any) -> np.ndarray:
        held = self.arrays.get(name)
        if held is None or len(held) < size:
            self.arrays.pop(name, None)
            held = self.arrays[name] = np.empty(size + size // 8, dtype)
        return held

    def buffer(self, name: str, size: int) -> np.ndarray:
        return self.array(name, len(padded(0)) + size, np.uint8)


class _Scanner:
    """What all shards of a corpus have in common."""

    def __init__(
        self,
        pool: ParallelText,
        number: int,
        first_line: int,
        ngrams: KnownNgrams,
        other_words: Vocabulary | None,
        degree_side: str,
        filter_sides: str,
    ) -> None:
        self.texts = (pool.source, pool.target)
        self.number = number
        self.first_line = first_line
        self.ngrams = ngrams
        self.degree = 1 if degree_side == "target" else 0
        words: list[Vocabulary | None] = [other_words, other_words]
        words[self.degree] = ngrams.words
        self.words = [
            _filter_arrays(held, filter_sides in ("both", side))
            for held, side in zip(words, ("source", "target"), strict=True)
        ]

    def scan_shard(self, files: list[int], chunks: list[Chunk], desk: _Desk, path: Path) -> dict[str, Any]:
        """Write the rows of some chunks to a file; return (and write into the file) what was counted."""
        rows, counts = zip(*(self.scan_chunk(files, chunk, desk) for chunk in chunks), strict=True)
        total: dict[str, Any] = {key: sum(count[key] for count in counts) for key in _COUNTS}
        total["lines"] = _lines(chunks)
        total["odd"] = {
            name: [_add_odd([count["odd"][name][side] for count in counts]) for side in (0, 1)] for name in _ODD
        }
        _write_part(path, {name: np.concatenate([row[name] for row in rows]) for name in rows[0]}, total)
        return total

    def scan_chunk(self, files: list[int], chunk: Chunk, desk: _Desk) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The rows of a chunk by column, and its counts."""
        from cgbench.benchmark import kernels

        lines = chunk[0][0], chunk[1][0]
        spans = [(chunk[0][side], chunk[1][side]) for side in (1, 2)]
        blocks = []
        odd: dict[str, list[list[int]]] = {}
        for side, (text, (start, stop)) in enumerate(zip(self.texts, spans, strict=True)):
            buffer = desk.buffer(f"text {side}", stop - start)
            read_range(files[side], buffer, start, stop, text.path)
            blocks.append(check_text(buffer, stop - start, lines[0], text.path))
        for name, flag in (("tab", kernels.TAB), ("CR", kernels.CARRIAGE_RETURN)):
            odd[name] = [list(b.lines_with(_ODD[name])) if b.oddities & flag else [0, -1] for b in blocks]

        count = lines[1] - lines[0]
        states = desk.array("states", count, np.uint8)[:count]
        states[:] = kernels.KEPT
        found: dict[int, tuple[np.ndarray, ...]] = {}
        ids = np.empty(0, np.int32)
        for side in (1 - self.degree, self.degree):
            block = blocks[side]
            if side == self.degree:
                ids = desk.array("ids", block.size // 2 + 1, np.int32)
            arrays = [
                desk.array(f"{name} {side}", count, dtype)[:count]
                for name, dtype in (("offsets", np.int64), ("lengths", np.int32), ("codes", np.uint64))
            ]
            words = self.words[side]
            read, filled = kernels.filter_lines(block.buffer, block.size, *words, states, ids, *arrays)  # type: ignore[call-arg]
            if read != count:
                raise InputError(f"{self.texts[side].path}: the file changed while it was read; run the command again")
            found[side] = tuple(arrays)
        kept = np.flatnonzero(states == kernels.KEPT)
        offsets, lengths, codes = ([found[side][i][kept] for side in (0, 1)] for i in range(3))
        pieces, _ = self.ngrams.count_pieces(ids[:filled], lengths[self.degree])

        counts = {
            "pairs": count,
            "empty": int(np.count_nonzero(states == kernels.EMPTY)),
            "rare": int(np.count_nonzero(states == kernels.RARE)),
            "kept": len(kept),
            "odd": odd,
        }
        columns = {
            "line": kept + (self.first_line + lines[0]),
            "pool": np.full(len(kept), self.number, np.int32),
            "source_offset": offsets[0] + spans[0][0],
            "target_offset": offsets[1] + spans[1][0],
            "source_length": lengths[0],
            "target_length": lengths[1],
            "pieces": pieces,
            "degree": pieces / lengths[self.degree],
            "content": mix(codes[0] * np.uint64(0x9E3779B97F4A7C15) + codes[1]),
        }
        return columns, counts


def mix(values: np.ndarray) -> np.ndarray:
    """Scatter uint64 values, one to one (Steele et al. 2014, SplitMix64's finaliser)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def _filter_arrays(words: Vocabulary | None, filters: bool) -> tuple[Any, ...]:
    """(arena, starts, table, usable) for ``kernels.filter_lines``."""
    if words is None:
        return np.zeros(16, np.uint8), np.zeros(1, np.int64), np.zeros((1, 3), np.uint64), _NO_LIMIT
    return words.arena, words.starts, words.table, words.usable if filters else _NO_LIMIT


def _arrow() -> Any:
    """pyarrow, with the C library's allocator: its own keeps some 30 MB that are freed."""
    import pyarrow
    import pyarrow.parquet

    pyarrow.set_memory_pool(pyarrow.system_memory_pool())
    return pyarrow


def _write_part(path: Path, columns: dict[str, np.ndarray], counts: dict[str, Any]) -> None:
    pyarrow = _arrow()
    table = pyarrow.table(columns)
    table = table.replace_schema_metadata({_KEY: json.dumps(counts, sort_keys=True).encode()})
    with atomic_path(path) as temporary:
        pyarrow.parquet.write_table(
            table,
            temporary,
            compression="lz4",
            use_dictionary=["pool", "source_length", "target_length", "pieces", "degree"],
            column_encoding=dict.fromkeys(("line", "source_offset", "target_offset"), "DELTA_BINARY_PACKED"),
            write_statistics=False,
        )


def _lines(chunks: list[Chunk]) -> list[int]:
    return [chunks[0][0][0], chunks[-1][1][0]]


def _add_odd(found: list[list[int]]) -> list[int]:
    """Add up how many lines are odd; the first of them is the first that was found."""
    return [sum(number for number, _ in found), next((line for number, line in found if number), -1)]


def _read_counts(path: Path, chunks: list[Chunk]) -> dict[str, Any] | None:
    """The counts of a part that an earlier run finished, or None."""
    pyarrow = _arrow()
    if not path.is_file():
        return None
    try:
        metadata = pyarrow.parquet.read_schema(path).metadata or {}
        counts = json.loads(metadata.get(_KEY, b"{}"))
    except (pyarrow.ArrowInvalid, ValueError):
        return None
    return counts if counts.get("lines") == _lines(chunks) else None


def _warnings(pool: ParallelText, counts: list[dict[str, Any]]) -> list[str]:
    messages = []
    for side, text in enumerate((pool.source, pool.target)):
        for name in _ODD:
            lines, first = _add_odd([count["odd"][name][side] for count in counts])
            if lines:
                messages.append(odd_character(text, name, first + 1, lines))
    return messages


# --- the cut ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cut:
    """The candidates, in order: ``rows`` (columns as above, by name), their texts, words joined by one blank."""

    rows: dict[str, np.ndarray]
    sources: list[bytes]
    targets: list[bytes]
    counts: dict[str, int]

    def save(self, folder: Path) -> None:
        """Write ``candidates.parquet``, ``candidates.source``, ``candidates.target`` and ``counts.json``."""
        pyarrow = _arrow()
        for side, texts in (("source", self.sources), ("target", self.targets)):
            write_atomic(folder / f"candidates.{side}", b"\n".join([*texts, b""]))
        with atomic_path(folder / "candidates.parquet") as temporary:
            pyarrow.parquet.write_table(pyarrow.table(self.rows), temporary, compression="zstd")
        write_json(folder / "counts.json", self.counts)


def rows_within(parts: Sequence[Path], degree_side: str, min_length: int, max_length: int | None) -> int:
    """How many rows are within the length bounds."""
    return sum(
        int(np.count_nonzero(_within(columns[f"{degree_side}_length"], min_length, max_length)))
        for columns in _read_parts(parts, [f"{degree_side}_length"])
    )


def cut(
    parts: Sequence[Path],
    pools: Sequence[ParallelText],
    *,
    size: int,
    min_length: int = 1,
    max_length: int | None = None,
    seed: int = 0,
    seen: Sequence[ParallelText] = (),
    degree_side: str = "target",
) -> Cut:
    """The ``size`` pairs of the highest degree, without repeats and without text that was seen.

    Rows are taken by falling degree; ties by a seeded hash of the pair's words, so that the order of the pool's lines
    does not matter (of equal pairs the first line counts). A pair is passed over when its source or its target is
    that of a pair taken before, or a line of the same side of a ``seen`` corpus. Rows whose ``content``, lengths and
    pieces agree are taken as equal pairs unread.

    :param parts: the files of :func:`scan`, for all ``pools``.
    :param min_length: words on the side of the degree, and ``max_length`` (None: no limit).
    :return: fewer than ``size`` only where no more are left. Counts: ``known_words`` (rows), ``too_short``,
        ``too_long``, ``within_length``; ``seen`` and ``duplicates`` (passed over on the way down to the last
        candidate), ``candidates``.
    """
    ask = size + size // 8 + 1000
    while True:
        rows, counts, more = _best_rows(parts, ask, min_length, max_length, seed, degree_side)
        release_memory()
        candidates = _take(rows, pools, seen, size, counts)
        if not more or len(candidates.sources) == size:
            return candidates
        ask *= 4


_COLUMNS = (
    "line", "pool", "source_offset", "target_offset", "source_length", "target_length", "pieces", "degree", "content",
)  # fmt: skip


def _read_parts(parts: Sequence[Path], columns: Sequence[str]) -> Iterator[dict[str, np.ndarray]]:
    pyarrow = _arrow()

    def read(part: Path) -> dict[str, np.ndarray]:
        # Not read_table: that would load pyarrow.dataset, 20 MB of code.
        with pyarrow.parquet.ParquetFile(part) as file:
            table = file.read(columns=list(columns), use_threads=False)
        return {name: table[name].to_numpy() for name in columns}

    with ThreadPoolExecutor(2) as threads:
        ahead: deque[Any] = deque()
        for part in parts:
            ahead.append(threads.submit(read, part))
            if len(ahead) > 2:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()


def _within(lengths: np.ndarray, min_length: int, max_length: int | None) -> np.ndarray:
    return (lengths >= min_length) & (lengths <= (_NO_LIMIT if max_length is None else max_length))


def _best_rows(
    parts: Sequence[Path], ask: int, min_length: int, max_length: int | None, seed: int, degree_side: str
) -> tuple[dict[str, np.ndarray], dict[str, int], bool]:
    """The ``ask`` distinct rows that come first in the cut's order, the counts so far, and whether there were more.

    ``copies`` says how many rows were equal to a row. No more than ``1.5 * ask`` rows and a part's are held.
    """
    counts = dict.fromkeys(("known_words", "too_short", "too_long", "within_length"), 0)
    salt = mix(np.array([seed], np.uint64))
    held: list[dict[str, np.ndarray]] = []
    waiting = 0
    last: tuple[float, np.uint64] | None = None
    more = False
    for part in _read_parts(parts, _COLUMNS):
        length = part[f"{degree_side}_length"]
        within = _within(length, min_length, max_length)
        counts["known_words"] += len(length)
        counts["too_short"] += int(np.count_nonzero(length < min_length))
        counts["within_length"] += int(np.count_nonzero(within))
        part["tie"] = mix(part["content"] ^ salt)
        if last is not None:
            ahead = (part["degree"] > last[0]) | ((part["degree"] == last[0]) & (part["tie"] <= last[1]))
            more |= bool(np.any(within & ~ahead))
            within &= ahead
        part = {name: values[within] for name, values in part.items()}
        part["copies"] = np.ones(len(part["line"]), np.int64)
        held.append(part)
        waiting += len(part["line"])
        if waiting > 1.5 * ask:
            rows = _in_order(held)
            if len(rows["line"]) > ask:
                last = rows["degree"][ask - 1], rows["tie"][ask - 1]
                end = ask
                while end < len(rows["line"]) and (rows["degree"][end], rows["tie"][end]) == last:
                    end += 1
                more |= end < len(rows["line"])
                rows = {name: values[:end] for name, values in rows.items()}
            held = [rows]
            waiting = len(rows["line"])
    counts["too_long"] = counts["known_words"] - counts["too_short"] - counts["within_length"]
    return _in_order(held), counts, more


def _in_order(parts: list[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Rows by falling degree, then tie; equal pairs become one row, that of the first line."""
    if not parts:
        parts = [{name: np.zeros(0, np.int64) for name in (*_COLUMNS, "tie", "copies")}]
    rows = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    keys = ("pieces", "source_length", "target_length")
    order = np.lexsort([rows["line"], rows["tie"], -rows["degree"]])
    rows = {name: values[order] for name, values in rows.items()}
    if not len(order):
        return rows
    fresh = np.ones(len(order), bool)
    fresh[1:] = np.any([rows[key][1:] != rows[key][:-1] for key in ("tie", "degree", *keys)], axis=0)
    copies = np.add.reduceat(rows["copies"], np.flatnonzero(fresh))
    rows = {name: values[fresh] for name, values in rows.items()}
    rows["copies"] = copies
    return rows


def _take(
    rows: dict[str, np.ndarray],
    pools: Sequence[ParallelText],
    seen: Sequence[ParallelText],
    size: int,
    counts: dict[str, int],
) -> Cut:
    """Go down the rows and take those that are neither seen nor a repeat."""
    sides = ("source", "target")
    with ThreadPoolExecutor(2) as threads:
        found = list(threads.map(lambda side: _fetch(rows, pools, side), sides))
        known = list(
            threads.map(lambda side: _seen_texts(found[side], [getattr(c, sides[side]) for c in seen]), (0, 1))
        )
    (sources, _), (targets, _) = found
    order: Sequence[int] = range(len(sources))
    same = (rows["tie"][1:] == rows["tie"][:-1]) & (rows["degree"][1:] == rows["degree"][:-1])
    if np.any(same):  # different texts of one hash: the text itself decides
        key = (-rows["degree"]).tolist(), rows["tie"].tolist(), rows["line"].tolist()
        order = sorted(order, key=lambda i: (key[0][i], key[1][i], sources[i], targets[i], key[2][i]))
    copies = rows["copies"].tolist()
    taken: list[int] = []
    counts |= {"seen": 0, "duplicates": 0}
    taken_sources: set[bytes] = set()
    taken_targets: set[bytes] = set()
    for row in order:
        if len(taken) == size:
            break
        source, target = sources[row], targets[row]
        if source in known[0] or target in known[1]:
            counts["seen"] += copies[row]
        elif source in taken_sources or target in taken_targets:
            counts["duplicates"] += copies[row]
        else:
            counts["duplicates"] += copies[row] - 1
            taken.append(row)
            taken_sources.add(source)
            taken_targets.add(target)
    counts["candidates"] = len(taken)
    index = np.array(taken, np.int64)
    return Cut(
        {name: rows[name][index] for name in _COLUMNS},
        [sources[row] for row in taken],
        [targets[row] for row in taken],
        counts,
    )


def _fetch(rows: dict[str, np.ndarray], pools: Sequence[ParallelText], side: str) -> tuple[list[bytes], np.ndarray]:
    """The texts of rows on one side, words joined by one blank, and their hashes. Reads near lines together."""
    texts: list[bytes] = [b""] * len(rows["line"])
    codes = np.zeros(len(texts), np.uint64)
    for number, pool in enumerate(pools):
        mine = np.flatnonzero(rows["pool"] == number)
        mine = mine[np.argsort(rows[f"{side}_offset"][mine], kind="stable")]
        if len(mine):
            _fetch_from(getattr(pool, side), rows[f"{side}_offset"][mine], mine, texts, codes)
    return texts, codes


_WINDOW = 1 << 20
_GAP = 64 << 10


def _fetch_from(text: TextFile, offsets: np.ndarray, where: np.ndarray, texts: list[bytes], codes: np.ndarray) -> None:
    from cgbench.benchmark import kernels

    breaks = [0]
    for i in (np.flatnonzero(np.diff(offsets) > _GAP) + 1).tolist():
        breaks.append(i)
    breaks.append(len(offsets))
    file = os.open(text.path, os.O_RDONLY)
    try:
        for begin, end in pairwise(breaks):
            while begin < end:
                start = int(offsets[begin])
                stop = begin + int(np.searchsorted(offsets[begin:end], start + _WINDOW))
                size = int(offsets[stop - 1]) - start
                chunk = os.pread(file, size + 4096, start)
                while chunk.find(b"\n", size) < 0 and start + len(chunk) < text.bytes:
                    chunk += os.pread(file, max(4096, len(chunk)), start + len(chunk))
                buffer = padded(len(chunk))
                buffer[: len(chunk)] = np.frombuffer(chunk, np.uint8)
                buffer[len(chunk) :] = 10
                out = np.empty(len(chunk), np.uint8)
                bounds = np.empty(stop - begin + 1, np.int64)
                some = np.empty(stop - begin, np.uint64)
                kernels.gather_lines(buffer, offsets[begin:stop] - start, out, bounds, some)
                data = out[: bounds[-1]].tobytes()
                codes[where[begin:stop]] = some
                for row, (low, high) in zip(where[begin:stop].tolist(), pairwise(bounds.tolist()), strict=True):
                    texts[row] = data[low:high]
                begin = stop
    finally:
        os.close(file)


def _seen_texts(found: tuple[list[bytes], np.ndarray], files: Sequence[TextFile]) -> set[bytes]:
    """Which of the texts are lines of ``files``. Hashes find them, bytes decide."""
    from cgbench.benchmark import kernels
    from cgbench.benchmark.blocks import read_blocks

    texts, codes = found
    wanted = np.unique(codes)
    held = set(texts)
    result: set[bytes] = set()
    if not len(wanted):
        return result
    for file in files:
        for block in read_blocks(file.path):
            lines = block.count_lines()
            offsets = np.empty(lines + 1, np.int64)
            hashes = np.empty(lines, np.uint64)
            kernels.hash_lines(block.buffer, block.size, offsets, hashes)
            offsets[lines] = block.size
            place = np.minimum(np.searchsorted(wanted, hashes), len(wanted) - 1)
            for line in np.flatnonzero(wanted[place] == hashes).tolist():
                text = b" ".join(block.buffer[offsets[line] : offsets[line + 1]].tobytes().split())
                if text in held:
                    result.add(text)
    return result

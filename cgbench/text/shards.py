"""A corpus of any number of files, in shards that can be read independently.

Uncompressed plain files (and JSON lines) are split into byte ranges at line ends; any other file is
one shard. A line, or a row of a table, is a document. Memory use is that of one block, however long
a file is.
"""

import glob
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cgbench.errors import InputError, argument
from cgbench.files import parse_json
from cgbench.text.blocks import BLOCK, Block, block_of_bytes, check_text, join_blocks
from cgbench.text.limits import check_line
from cgbench.text.plain_text import MARK
from cgbench.text.rows import Table, cell_text, is_array, is_number
from cgbench.text.streams import (
    COMPRESSED,
    NUMBERED,
    form,
    is_stdin,
    open_raw,
    split_name,
    whole_lines,
)

SHARD = 64 << 20
"""Bytes per shard of a file that can be split."""
JSON_LINES = (".jsonl", ".json", ".ndjson")

Change = Callable[[str], str]


@dataclass(frozen=True)
class Shard:
    """Whole lines of a file: bytes ``begin`` to ``end``; ``end`` is None for a whole file.

    ``column`` is the text column of a table.
    """

    path: Path
    column: str | None
    begin: int = 0
    end: int | None = None

    @property
    def kind(self) -> str:
        """``plain``, ``jsonl``, ``json`` (an array), ``tsv``, ``csv`` or ``parquet``."""
        return kind_of(self.path)


def kind_of(path: Path) -> str:
    """The format of a corpus file, as :func:`~cgbench.text.streams.form`; but ``.json`` is JSON
    lines, as in web corpora, unless it is an array."""
    name = path.with_suffix("") if path.suffix in COMPRESSED else path
    if name.suffix not in JSON_LINES:
        return form(path)
    return "json" if name.suffix == ".json" and is_array(path) else "jsonl"


def find_files(inputs: Iterable[str | Path], column: str = "text") -> list[Shard]:
    """The files of a corpus, each as one shard, in the order given; folders and patterns are sorted
    by name.

    :param inputs: files, ``TABLE:COLUMN``, folders (all files except hidden ones) and patterns
        (``*``, ``**``).
    :param column: the text column of tables where none is named.
    :raises InputError: there is no such file, a pattern or folder has none, or a file is named
        twice.
    """
    # The files that each input stands for.
    shards: list[Shard] = []
    for item in inputs:
        name = str(item)
        path, chosen = split_name(name)
        if is_stdin(name):
            raise InputError("standard input (-) cannot be read in parallel; write it to a file")
        if path.is_dir():
            paths = _inside(path)
            if not paths:
                raise InputError(f"{path}: no files in this folder")
        elif path.exists():
            paths = [path]
        elif glob.has_magic(name):
            names = sorted(glob.glob(str(path), recursive=True))  # noqa: PTH207 - Path.glob refuses absolute patterns
            paths = [Path(match) for match in names if Path(match).is_file()]
            if not paths:
                raise InputError(f"{name}: no file matches this pattern")
        else:
            raise InputError(f"{path}: no such file")
        for file in paths:
            kind = kind_of(file)
            if (
                chosen is None
                and kind in NUMBERED
                and not (kind == "csv" and column in Table(file, named=True).names)
            ):
                raise InputError(f"{file}: which column? Write {file}:COLUMN, such as {file}:1")
            shards.append(Shard(file, None if kind == "plain" else chosen or column))
    # No file twice.
    seen: set[tuple[Path, str | None]] = set()
    for shard in shards:
        key = shard.path.resolve(), shard.column
        if key in seen:
            raise InputError(f"{shard.path}: named twice; its text would count twice")
        seen.add(key)
    return shards


def _inside(folder: Path) -> list[Path]:
    paths = []
    for parent, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        paths += [Path(parent) / name for name in files if not name.startswith(".")]
    return sorted(path for path in paths if path.is_file())


def cut_files(files: Iterable[Shard], shard_size: int = SHARD) -> list[Shard]:
    """Split files into shards of about ``shard_size`` bytes at line ends, where possible."""
    shards: list[Shard] = []
    for file in files:
        if file.kind not in ("plain", "jsonl") or file.path.suffix in COMPRESSED:
            shards.append(file)
            continue
        total = file.path.stat().st_size
        begin = 0
        with file.path.open("rb") as stream:
            while begin < total:
                end = min(total, begin + shard_size)
                stream.seek(end - 1)
                while end < total and (piece := stream.read(1 << 16)):
                    if (newline := piece.find(b"\n")) >= 0:
                        end = stream.tell() - len(piece) + newline + 1
                        break
                    end = total
                    check_line(
                        stream.tell() - begin - shard_size, f"{file.path}, byte {begin:,} and on", 1
                    )
                shards.append(Shard(file.path, file.column, begin, min(end, total)))
                begin = end
        if not total:
            shards.append(Shard(file.path, file.column, 0, 0))
    return shards


def hash_shard(shard: Shard) -> str:
    """The SHA-256 of a shard's bytes, in hex."""
    digest = hashlib.sha256()
    with shard.path.open("rb") as file:
        file.seek(shard.begin)
        remaining = (
            shard.end if shard.end is not None else shard.path.stat().st_size
        ) - shard.begin
        while remaining > 0 and (data := file.read(min(remaining, 1 << 20))):
            digest.update(data)
            remaining -= len(data)
    return digest.hexdigest()


def read_shard(
    shard: Shard, change: Change | None = None, *, lower: bool = False
) -> Iterator[Block]:
    """The documents of a shard in blocks, one line each.

    :param change: is applied to each line; ``lower``: lowercase text, much faster than a ``change``
        that does so.
    :raises InputError: the file is damaged, cut short or not UTF-8, a row is malformed, or there is
        no such column; the message names the file and the byte (in a table: the row).
    """
    for block in _plain(shard) if shard.kind == "plain" else join_blocks(_texts(shard)):
        if change is not None:
            text = block.buffer[: block.size - 1].tobytes().decode()
            yield block_of_bytes("\n".join(map(change, text.split("\n"))).encode() + b"\n")
        elif lower:
            yield block_of_bytes(block.buffer[: block.size].tobytes().decode().lower().encode())
        else:
            yield block


def _pieces(shard: Shard) -> Iterator[tuple[np.ndarray, int, int]]:
    """Whole lines: padded buffer, bytes filled, offset of its first byte in the text of the
    file.
    """
    remaining = None if shard.end is None else shard.end - shard.begin
    stream: Any = (
        shard.path.open("rb", buffering=0) if shard.begin else open_raw(shard.path, sentences=True)
    )
    reached = shard.begin
    with stream as file:
        if shard.begin:
            file.seek(shard.begin)
        try:
            where = f"{shard.path}, byte {reached:,} and on"
            for buffer, filled, offset, _ in whole_lines(file, BLOCK, where, remaining):
                reached = shard.begin + offset + filled
                yield buffer, filled, shard.begin + offset
        except InputError as error:
            raise InputError(f"{error.message}, after byte {reached:,} of its text") from None


def _plain(shard: Shard) -> Iterator[Block]:
    for buffer, filled, offset in _pieces(shard):
        if not offset and buffer[: min(filled, len(MARK))].tobytes() == MARK:
            buffer[: len(MARK)] = 32  # blanks, so that offsets do not change
        try:
            block = check_text(buffer, filled, 0, shard.path)
        except InputError:
            raise _not_utf8(buffer, filled, offset, shard.path) from None
        yield block


def _not_utf8(buffer: np.ndarray, filled: int, offset: int, path: Path) -> InputError:
    try:
        buffer[:filled].tobytes().decode()
    except UnicodeDecodeError as error:
        place = (
            f"{path}, byte {offset + error.start:,}: not UTF-8 (byte"
            f" 0x{error.object[error.start]:02x})"
        )
        return InputError(f"{place}; convert the file, for example with iconv -f ENCODING -t UTF-8")
    raise AssertionError("a text is not UTF-8, yet it can be decoded")


def _texts(shard: Shard) -> Iterator[str]:
    """The values of a column without newlines."""
    assert shard.column is not None
    if shard.kind == "jsonl":
        yield from _json_texts(shard, shard.column)
        return
    for row_number, (value,) in _rows(shard.path, shard.column):
        yield cell_text(value, shard.column, shard.path, row_number)


def _rows(path: Path, column: str) -> Iterator[tuple[int, tuple[Any, ...]]]:
    numbered = kind_of(path) in NUMBERED and is_number(column)
    table = Table(path, named=not numbered)
    if table.names and column not in table.names:
        raise InputError(
            f"{path}: no column {column!r}; it has {', '.join(table.names)}; name one with"
            f" {argument('column')}"
        )
    return iter(table.read((column,)) if table.names or numbered else ())


def _json_texts(shard: Shard, column: str) -> Iterator[str]:
    for buffer, filled, offset in _pieces(shard):
        data = buffer[:filled].tobytes()
        if not offset:
            data = data.removeprefix(MARK)
            offset += filled - len(data)
        for line in data.removesuffix(b"\n").split(b"\n"):
            yield _field(line, column, f"{shard.path}, byte {offset:,}") if line.strip() else ""
            offset += len(line) + 1


def _field(line: bytes, column: str, where: str) -> str:
    row = parse_json(line, where)
    if not isinstance(row, dict) or not isinstance(row.get(column), str):
        has = (
            f"it has {', '.join(map(str, row))[:200]}"
            if isinstance(row, dict)
            else "it is not an object"
        )
        raise InputError(
            f"{where}: no text in the field {column!r}; {has}; name another with"
            f" {argument('column')}"
        )
    return str(row[column]).replace("\n", " ")

"""Read bytes and lines of a text file: plain, compressed, or standard input.

All text is read from here. Compressed files are decompressed piece by piece
(:mod:`cgbench.text.compressed`), and refused when they exceed limits that no text reaches
(:mod:`cgbench.text.limits`).
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from cgbench.errors import InputError
from cgbench.text.compressed import OF_DATA, UNPACKERS, Readable, is_damage
from cgbench.text.content import HEAD, check_bytes, check_sentences
from cgbench.text.limits import Budget, check_line, check_lines, limit
from cgbench.text.plain_text import MARK, not_utf8, skip_mark, warn_of_mark
from cgbench.text.table_formats import is_added

if TYPE_CHECKING:
    import numpy as np

COMPRESSED = tuple(UNPACKERS)
SEGMENTS = (".sgm", ".sgml", ".xml", ".tmx", ".xlf", ".xliff", ".po")
"""Files of translators, read as tables with one row per segment (``translation_formats.py``)."""
SEGMENT_ID = "id"
"""The column of a file of segments with their numbers."""
TABLES = (".tsv", ".csv", ".jsonl", ".json", ".parquet", *SEGMENTS)
JSON_FORMS = ("json", "jsonl")
NUMBERED = ("tsv", "csv")
"""Forms of tables whose columns may be given by number if there is no header."""
STDIN = "-"
CHUNK = 1 << 20
PAD = 16
"""Bytes after a text, all newlines, that the compiled loops may read."""


def form(path: Path) -> str:
    """``plain``, or the suffix of a table (:data:`TABLES`, or a format that another package adds)
    without its period, by the name without ``.gz`` or ``.zst``.
    """
    name = path.with_suffix("") if path.suffix in COMPRESSED else path
    return name.suffix[1:] if name.suffix in TABLES or is_added(name.suffix[1:]) else "plain"


def split_name(text: str | Path) -> tuple[Path, str | None]:
    """Split ``TABLE:COLUMN``; the column is None if none is named.

    A colon separates only after the name of a table (:data:`TABLES`; also compressed).
    """
    path, sign, column = str(text).rpartition(":")
    if sign and column and form(Path(path)) != "plain" and not is_there(Path(text)):
        return Path(path), column
    return Path(text), None


def is_there(path: Path) -> bool:
    """Whether a path exists; false for an invalid path (too long)."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def is_stdin(text: str | Path) -> bool:
    """Whether this names standard input."""
    return str(text) == STDIN


def is_plain_file(text: str | Path) -> bool:
    """Whether this is a plain, uncompressed text file, which can be read in place and more than
    once.
    """
    return not is_stdin(text) and not is_table(text) and Path(text).suffix not in COMPRESSED


def is_table(text: str | Path) -> bool:
    """Whether this names a table, or a column of one."""
    return form(split_name(text)[0]) != "plain"


def shown(text: str | Path) -> str:
    """The name of a text in messages."""
    return "standard input" if is_stdin(text) else str(text)


class _Text(io.RawIOBase):
    """A file as a byte stream whose errors are all :class:`InputError`."""

    def __init__(
        self, path: Path, file: BinaryIO, plain: Readable, check: Callable[[bytes], None] | None
    ) -> None:
        self.path, self.file, self.plain = path, file, plain
        self.budget = Budget(path) if plain is not file else None
        self.check = check  # the content, on the first bytes that are read

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            count = self.plain.readinto(buffer) or 0
        except InputError:
            raise
        except Exception as error:
            if not is_damage(error):
                raise
            raise InputError(
                f"{self.path}: cannot be read ({error}); the file may be damaged or cut short"
            ) from None
        if self.budget:
            self.budget.take(count, self.file.tell())
        if self.check:
            self.check(bytes(buffer[: min(count, HEAD)]))
            self.check = None
        return count

    def close(self) -> None:
        self.plain.close()
        self.file.close()
        super().close()


class _Stdin(io.RawIOBase):
    used: Any = None  # the stream that was read last

    def __init__(self) -> None:
        if _Stdin.used is sys.stdin:
            raise InputError(
                "standard input is named twice (-) but can be read once; write one of the two to a"
                " file"
            )
        _Stdin.used = sys.stdin

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = cast(io.BufferedReader, sys.stdin.buffer).read1(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def open_bytes(path: Path, *, text: bool = True) -> BinaryIO:
    """Open a file for reading bytes, decompressed according to its suffix (:data:`COMPRESSED`);
    ``-`` is standard input.

    Reading takes only the memory requested, plus the window of a compressed file (at most 128
    MiB).

    :param text: refuse the bytes of an archive or a binary file (``content.py``); without, .xz,
        .bz2 and .zip are read as they are, since they may be archives.
    :raises InputError: the file is missing or a folder; while reading: it is damaged, cut short or
        exceeds a limit.
    """
    return cast(BinaryIO, io.BufferedReader(open_raw(path, text=text), 1 << 17))


def open_raw(path: Path, *, text: bool = True, sentences: bool = False) -> io.RawIOBase:
    """The same without a buffer: a read may return fewer bytes than requested, and none only at the
    end.

    :param sentences: a text, or a table of texts: check that the content is not that of another
        format (``content.py``).
    """
    if is_stdin(path):
        return _Stdin()
    try:
        if path.is_dir():
            raise InputError(f"{path}: a folder, not a text file")
        file = cast(BinaryIO, path.open("rb", buffering=0))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except ValueError as error:  # a NUL byte in the name
        raise InputError(f"{path}: not a valid file name ({error})") from None
    if text and file.seekable():
        packed = path.suffix if path.suffix in COMPRESSED else ""
        check_bytes(os.pread(file.fileno(), HEAD, 0), path, packed)
    is_checked = sentences and form(path) not in JSON_FORMS
    check = partial(check_sentences, name=path) if is_checked else None
    unpack = UNPACKERS.get(path.suffix) if text or path.suffix in OF_DATA else None
    return _Text(path, file, unpack(file) if unpack else cast(Readable, file), check)


def read_lines(path: Path, *, sentences: bool = True) -> Iterator[str]:
    """The lines of a plain text file (also compressed; ``-`` is standard input), split at ``\\n``
    only.

    They have no line ends, and the first has no byte order mark.

    :param sentences: they are sentences or rows of a table, which is checked; false for a reader of
        another format.
    :raises InputError: as :func:`open_bytes` does; a line is not UTF-8 or longer than
        ``CGBENCH_MAX_LINE``.
    """
    # By block: a step of a generator for each line would take as long as reading it.
    return chain.from_iterable(_read_blocks(path, sentences))


def _read_blocks(path: Path, sentences: bool) -> Iterator[list[str]]:
    """The lines of :func:`read_lines`, as many at once as are read at once."""
    name, count = shown(path), 0
    with open_raw(path, sentences=sentences) as file:
        for buffer, end, offset, _ in whole_lines(file, CHUNK, name):
            data = buffer[0 if offset else skip_mark(buffer[:end].data, name) : end].data
            try:
                lines = str(data, "utf-8").split("\n")
            except UnicodeDecodeError:
                raise not_utf8(data.tobytes(), name, count + 1) from None
            if not lines[-1]:
                lines.pop()
            count += len(lines)
            yield lines


def whole_lines(
    file: Any,
    block_size: int,
    name: object,
    remaining: int | None = None,
    *,
    shared: bool = True,
    digest: Any = None,
) -> Iterator[tuple[np.ndarray, int, int, int]]:
    """The text of a binary stream in whole lines. The caller may write to the rest of each buffer.

    :param remaining: bytes to read (default: all).
    :param shared: each piece reuses the buffer of the one before.
    :param digest: is updated with every byte read.
    :returns: uint8 buffer with room for a newline and :data:`PAD`, bytes filled, offset of its
        first byte in the stream, number of newlines
    :raises InputError: as the stream does; a line is too long; there are fewer than ``remaining``
        bytes.
    """
    import numpy as np

    longest = limit("CGBENCH_MAX_LINE")
    memory = bytearray(
        block_size + 1 + PAD
    )  # one for all pieces: fresh memory costs as much as reading into it
    pending = line = offset = 0
    has_mark = False
    while True:
        if pending + block_size + 1 + PAD > len(memory):
            memory = memory[:pending].ljust(2 * (pending + block_size) + 1 + PAD)
        buffer = np.frombuffer(memory, np.uint8)
        most = block_size if remaining is None else min(block_size, remaining)
        count = file.readinto(buffer[pending : pending + most].data) or 0
        end = pending + count
        if digest:
            digest.update(buffer[pending:end].data)
        if not count:
            if remaining:
                raise InputError(
                    f"{name}: the file became shorter while it was read; run the command again"
                )
            check_line(pending, name, line + 1)
            if pending:
                if not has_mark:
                    warn_of_mark(memory, 0 if offset else len(MARK), pending, name, line + 1)
                yield buffer, pending, offset, 0
            return
        remaining = None if remaining is None else remaining - count
        complete = memory.rfind(b"\n", pending, end) + 1
        check_line(memory.find(b"\n", pending, end) if complete else end, name, line + 1)
        # several times as fast as bytearray.count, and without the interpreter lock
        newlines = int(np.count_nonzero(buffer[pending:end] == 10))
        if longest < end:  # else a line within the buffer cannot be too long
            check_lines(np.flatnonzero(buffer[pending:end] == 10), name, line + 2)
        if not complete:
            pending = end
            continue
        if not has_mark:
            has_mark = warn_of_mark(memory, 0 if offset else len(MARK), complete, name, line + 1)
        tail = memory[complete:end]
        yield buffer, complete, offset, newlines
        line += newlines
        offset += complete
        pending = len(tail)
        if not shared:
            memory = bytearray(pending + block_size + 1 + PAD)
        memory[:pending] = tail

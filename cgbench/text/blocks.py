"""Text for the compiled loops: padded buffers of whole lines, checked to be UTF-8.

Files are read, not memory-mapped: mapped pages count as memory of the process, which would grow
with the file.
"""

import ctypes
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from cgbench.errors import InputError
from cgbench.records import Record
from cgbench.text.columns import read_text
from cgbench.text.plain_text import not_utf8, skip_mark
from cgbench.text.streams import PAD, is_table, open_raw, shown, whole_lines

BLOCK = 2 << 20


class Block(Record):
    """Whole lines: ``buffer[:size]`` ends with a newline, and padding newlines follow.

    ``line`` is the number of the first line in its file, from 0.
    """

    buffer: np.ndarray
    size: int
    line: int

    def count_lines(self) -> int:
        """The number of lines."""
        return int(np.count_nonzero(self.buffer[: self.size] == 10))

    def lines_with(self, byte: int) -> tuple[int, int]:
        """The number of lines with ``byte``, and the first of them (its number in the file, from 0;
        -1 for none).
        """
        text = self.buffer[: self.size]
        newlines = np.flatnonzero(text == 10)
        lines = np.unique(np.searchsorted(newlines, np.flatnonzero(text == byte)))
        return len(lines), self.line + int(lines[0]) if len(lines) else -1


def check_text(buffer: np.ndarray, filled: int, line: int, name: object) -> Block:
    """Make a block of ``buffer[:filled]``; the padding is filled with newlines.

    :raises InputError: the text is not UTF-8.
    """
    from cgbench.text import byte_kernels

    if filled and buffer[filled - 1] != 10:
        buffer[filled] = 10
        filled += 1
    buffer[filled : filled + PAD] = 10
    if not byte_kernels.is_utf8(buffer, filled):
        raise not_utf8(buffer[:filled].tobytes(), name, line + 1)
    return Block(buffer, filled, line)


def padded(capacity: int) -> np.ndarray:
    """An uninitialised buffer for ``capacity`` bytes, a newline and padding."""
    return np.empty(capacity + 1 + PAD, np.uint8)


def padded_text(text: bytes) -> np.ndarray:
    """A buffer with lines in memory, and newlines after them."""
    buffer = padded(len(text))
    buffer[: len(text)] = np.frombuffer(text, np.uint8)
    buffer[len(text) :] = 10
    return buffer


def block_of_bytes(text: bytes, line: int = 0) -> Block:
    """A block of lines in memory."""
    return check_text(padded_text(text), len(text), line, "text")


def release_memory() -> None:
    """Return freed memory to the system where the C library can (glibc), so the memory of stages
    does not add up.
    """
    if (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)) is not None:
        trim(0)


def _read_at(file: int, view: memoryview, offset: int) -> int:
    """Read what one call returns; Python on macOS has no preadv."""
    if hasattr(os, "preadv"):
        return os.preadv(file, [view], offset)
    data = os.pread(file, len(view), offset)
    view[: len(data)] = data
    return len(data)


def read_range(file: int, buffer: np.ndarray, start: int, stop: int, name: object) -> int:
    """Fill ``buffer`` with bytes ``start`` to ``stop`` of an open file.

    :raises InputError: the file is shorter than that.
    """
    view = buffer[: stop - start].data
    done = 0
    while done < len(view):
        count = _read_at(file, view[done:], start + done)
        if count == 0:
            raise InputError(
                f"{name}: the file became shorter while it was read; run the command again"
            )
        done += count
    return done


def read_blocks(
    text: str | Path, block_size: int = BLOCK, *, shared: bool = True, digest: Any = None
) -> Iterator[Block]:
    """Read a text in blocks of about ``block_size`` bytes (more where a line is longer), without a
    byte order mark.

    :param text: a plain file (also compressed), ``TABLE:COLUMN``, or ``-`` for standard input.
    :param shared: each block reuses the buffer of the one before.
    :param digest: is updated with every byte read (for a table: with its lines).
    :raises InputError: the file is missing, a folder, damaged or not UTF-8, or a line is too long.
    """
    if is_table(text):
        for block in join_blocks(read_text(text), block_size):
            if digest:
                digest.update(block.buffer[: block.size].data)
            yield block
        return
    name, line = shown(text), 0
    with open_raw(Path(text), sentences=True) as file:
        for buffer, end, offset, newlines in whole_lines(
            file, block_size, name, shared=shared, digest=digest
        ):
            start = 0 if offset else skip_mark(buffer[:end].data, name)
            if end > start:
                yield check_text(buffer[start:], end - start, line, name)
            line += newlines


def sentences(texts: Iterable[str]) -> Iterator[str]:
    """The sentences of a list, each checked to be a string.

    A single string is refused: it would be read character by character.

    :raises InputError: ``texts`` is a string or not iterable, or an item is not a string (with its
        number).
    """
    if isinstance(texts, (str, bytes)) or not isinstance(texts, Iterable):
        raise InputError(
            f"{texts!r:.80}: not a list of sentences; put a single sentence into a list, [sentence]"
        )
    return _checked(texts)


def _checked(texts: Iterable[str]) -> Iterator[str]:
    for sentence_number, sentence in enumerate(texts, 1):
        if not isinstance(sentence, str):
            raise InputError(f"sentence {sentence_number} is {sentence!r:.80}, not a string")
        yield sentence


def join_blocks(lines: Iterable[str], block_size: int = BLOCK) -> Iterator[Block]:
    """Lines in memory as blocks. A final newline of a line is dropped.

    :raises InputError: a line contains a newline or a lone surrogate.
    """
    pending_lines: list[bytes] = []
    line = pending = 0
    for line_number, text in enumerate(lines, 1):
        text = text.removesuffix("\n")
        try:
            data = text.encode()
        except UnicodeEncodeError:
            raise InputError(
                f"line {line_number}: contains a lone surrogate, which is not text; remove it"
            ) from None
        if b"\n" in data:
            raise InputError(f"line {line_number}: contains a newline; give one sentence per line")
        pending_lines.append(data)
        pending += len(data) + 1
        if pending >= block_size:
            yield block_of_bytes(b"\n".join([*pending_lines, b""]), line)
            line, pending = line_number, 0
            pending_lines.clear()
    if pending_lines:
        yield block_of_bytes(b"\n".join([*pending_lines, b""]), line)

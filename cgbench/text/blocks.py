"""Text as the compiled loops want it: padded buffers of whole lines, checked to be UTF-8.

Files are read rather than mapped: mapped pages count as the process's memory and would make it grow
with the file.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cgbench.errors import InputError

BLOCK = 2 << 20


@dataclass(frozen=True)
class Block:
    """Whole lines: ``buffer[:size]`` ends with a newline, and more newlines follow for the loops to run into.

    ``line`` is the number of the first line in its file, from 0; ``oddities`` the flags of ``kernels.inspect``.
    """

    buffer: np.ndarray
    size: int
    line: int
    oddities: int

    def count_lines(self) -> int:
        """The number of lines."""
        return int(np.count_nonzero(self.buffer[: self.size] == 10))

    def lines_with(self, byte: int) -> tuple[int, int]:
        """How many lines hold ``byte``, and the first of them (its number in the file, from 0; -1 for none)."""
        text = self.buffer[: self.size]
        newlines = np.flatnonzero(text == 10)
        lines = np.unique(np.searchsorted(newlines, np.flatnonzero(text == byte)))
        return len(lines), self.line + int(lines[0]) if len(lines) else -1


def check_text(buffer: np.ndarray, size: int, line: int, name: object) -> Block:
    """Make a block of ``buffer[:size]``; the rest of the buffer is filled with newlines.

    :raises InputError: not UTF-8.
    """
    from cgbench.text import word_kernels as kernels

    if size and buffer[size - 1] != 10:
        buffer[size] = 10
        size += 1
    buffer[size : size + kernels.PAD] = 10
    oddities = kernels.inspect(buffer, size)
    if oddities & kernels.NOT_UTF8:
        for number, text in enumerate(buffer[:size].tobytes().split(b"\n"), line + 1):
            try:
                text.decode()
            except UnicodeDecodeError as error:
                raise InputError(
                    f"{name}, line {number}: not UTF-8 (byte {text[error.start]:#04x} at column {error.start + 1}); "
                    "convert the file, for example with iconv -t UTF-8"
                ) from None
    return Block(buffer, size, line, oddities)


def padded(size: int) -> np.ndarray:
    """An uninitialised buffer for ``size`` bytes, a newline and the padding."""
    from cgbench.text import word_kernels as kernels

    return np.empty(size + 1 + kernels.PAD, np.uint8)


def block_of_bytes(text: bytes, line: int = 0, name: object = "text") -> Block:
    """A block of lines that are in memory already."""
    buffer = padded(len(text))
    buffer[: len(text)] = np.frombuffer(text, np.uint8)
    return check_text(buffer, len(text), line, name)


def release_memory() -> None:
    """Give freed memory back to the system where the C library can be told to (glibc), so that stages do not add up."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def read_range(file: int, buffer: np.ndarray, start: int, stop: int, name: object) -> int:
    """Fill ``buffer`` with bytes ``start`` to ``stop`` of an open file.

    :raises InputError: the file is shorter than that.
    """
    view = buffer[: stop - start].data
    done = 0
    while done < len(view):
        got = os.preadv(file, [view[done:]], start + done)
        if got == 0:
            raise InputError(f"{name}: the file became shorter while it was read; run the command again")
        done += got
    return done


def read_blocks(path: Path, size: int = BLOCK) -> Iterator[Block]:
    """Read a text file in blocks of about ``size`` bytes (more where a line is longer).

    A block's buffer is reused by the next one.

    :raises InputError: the file is missing, a folder, or not UTF-8.
    """
    try:
        file = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    try:
        if path.is_dir():
            raise InputError(f"{path}: a folder, where a text file is needed")
        buffer = padded(size)
        held = line = 0
        while True:
            if held + size + 1 > len(buffer) - 1:
                larger = padded(2 * (held + size))
                larger[:held] = buffer[:held]
                buffer = larger
            got = os.readv(file, [buffer[held : held + size].data])
            end = held + got
            if got == 0:
                if end:
                    yield check_text(buffer, end, line, path)
                return
            newlines = np.flatnonzero(buffer[held:end] == 10)
            if not len(newlines):
                held = end
                continue
            whole = held + int(newlines[-1]) + 1
            rest = buffer[whole:end].copy()
            yield check_text(buffer, whole, line, path)
            line += len(newlines)
            held = len(rest)
            buffer[:held] = rest
    finally:
        os.close(file)


def join_blocks(lines: Iterable[str], size: int = BLOCK) -> Iterator[Block]:
    """Lines that are in memory, as blocks. A line's own final newline is dropped.

    :raises InputError: a line holds a newline inside or text that UTF-8 cannot hold.
    """
    held: list[bytes] = []
    line = pending = 0
    for number, text in enumerate(lines, 1):
        text = text.removesuffix("\n")
        try:
            data = text.encode()
        except UnicodeEncodeError:
            raise InputError(f"line {number}: holds a lone surrogate, which is not text; remove it") from None
        if b"\n" in data:
            raise InputError(f"line {number}: holds a newline; give one sentence a line")
        held.append(data)
        pending += len(data) + 1
        if pending >= size:
            yield block_of_bytes(b"\n".join([*held, b""]), line)
            line, pending = number, 0
            held.clear()
    if held:
        yield block_of_bytes(b"\n".join([*held, b""]), line)

"""Decompress a text piece by piece: .gz, .zst, .xz, .bz2, and .zip with a single file.

A read returns at most the bytes requested and needs at most the memory of a window
(:data:`~cgbench.text.limits.WINDOW`), whatever the file claims; the caller limits the sum.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO, Protocol, cast

from cgbench.errors import require
from cgbench.text.limits import WINDOW

CHUNK = 1 << 16
DEFLATED = (0, 8)  # methods of a .zip: stored, deflated


class Readable(Protocol):
    """A stream of decompressed bytes."""

    def readinto(self, buffer: Any, /) -> int | None:
        """Fill a buffer; 0 at the end."""

    def close(self) -> None:
        """Close the file."""


def is_damage(error: Exception) -> bool:
    """Whether an error says that a file is damaged, cut short or of another format."""
    return isinstance(error, (OSError, EOFError, zlib.error)) or type(error).__name__ in (
        "ZstdError",
        "LZMAError",
        "BadZipFile",
    )


class _Streams:
    """The text of all streams of a .xz or .bz2 file; ``start`` makes a decompressor for one."""

    def __init__(self, file: BinaryIO, start: Callable[[], Any]) -> None:
        self.file, self.start, self.current = file, start, start()
        self.has_begun = False

    def readinto(self, buffer: Any) -> int:
        while True:
            data = b""
            if self.current.eof:
                # Another stream may follow; between streams, .xz may have zeros.
                data = (self.current.unused_data or self.file.read(CHUNK)).lstrip(b"\0")
                self.current, self.has_begun = self.start(), False
            elif self.current.needs_input:
                data = self.file.read(CHUNK)
                if not data and self.has_begun:
                    raise EOFError("the compressed data end inside a stream")
            if not data and not self.has_begun:
                return 0
            self.has_begun = True
            text = self.current.decompress(data, len(buffer))
            if text:
                buffer[: len(text)] = text
                return len(text)

    def close(self) -> None:
        self.file.close()


def _xz(file: BinaryIO) -> Readable:
    import lzma

    return _Streams(file, lambda: lzma.LZMADecompressor(memlimit=WINDOW))


def _bz2(file: BinaryIO) -> Readable:
    import bz2

    return _Streams(file, bz2.BZ2Decompressor)


class _Zip:
    """The text of the only file in a .zip. Its name is not used, so nothing can be written."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.member: Any = None

    def readinto(self, buffer: Any) -> int:
        if self.member is None:
            self.member = self._open()
        data = self.member.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def _open(self) -> Any:
        import zipfile

        archive = zipfile.ZipFile(self.file)
        members = [member for member in archive.infolist() if not member.is_dir()]
        if len(members) != 1:
            raise EOFError(f"it has {len(members):,} files, not one; unpack it (unzip)")
        if members[0].flag_bits & 1 or members[0].compress_type not in DEFLATED:
            raise EOFError("it is encrypted, or not packed by deflation; unpack it (unzip)")
        return archive.open(members[0])

    def close(self) -> None:
        self.file.close()


class _Zstd:
    """The text of all frames of a .zst file, in blocks of at most 128 KiB.

    The library's own readers decompress a whole piece of the file at once (64 KiB may become
    gigabytes), or do not notice a truncated end. So each block of a frame is found by its header
    (RFC 8878, 3.1.1) and decompressed separately.
    """

    def __init__(self, file: BinaryIO) -> None:
        self.library = require("zstandard", "text")
        self.file = io.BufferedReader(cast(io.RawIOBase, file), 1 << 17)
        self.ready = memoryview(b"")
        self.frame: Any = None  # the decompressor of the current frame
        self.checksum = 0

    def readinto(self, buffer: Any) -> int:
        while not self.ready and (self.frame or self._begin()):
            self.ready = memoryview(self._block())
        count = min(len(buffer), len(self.ready))
        buffer[:count], self.ready = self.ready[:count], self.ready[count:]
        return count

    def close(self) -> None:
        self.file.close()

    def _take(self, count: int) -> bytes:
        data = self.file.read(count)
        if len(data) < count:
            raise EOFError("the compressed data end inside a frame")
        return data

    def _begin(self) -> bool:
        """Read the header of the next frame; false at the end of the file."""
        if not (magic := self.file.read(4)):
            return False
        while 0x184D2A50 <= int.from_bytes(magic, "little") <= 0x184D2A5F:  # skippable frames
            remaining = int.from_bytes(self._take(4), "little")
            while remaining:
                remaining -= len(self._take(min(remaining, CHUNK)))
            if not (magic := self.file.read(4)):
                return False
        head = magic + self.file.peek(14)[:14]
        header_size = self.library.frame_header_size(head)
        if (window := self.library.get_frame_parameters(head).window_size) > WINDOW:
            raise EOFError(
                f"it needs {window:,} bytes of memory, above {WINDOW:,}; compress it without --long"
            )
        self.checksum = 4 * self.library.get_frame_parameters(head).has_checksum
        self.frame = self.library.ZstdDecompressor(max_window_size=WINDOW).decompressobj()
        self.frame.decompress(magic + self._take(header_size - 4))
        return True

    def _block(self) -> bytes:
        """The text of the next block; the last block ends the frame."""
        head = self._take(3)
        bits = int.from_bytes(head, "little")
        last, kind, block_size = bits & 1, bits >> 1 & 3, bits >> 3
        text = self.frame.decompress(head + self._take(1 if kind == 1 else block_size))
        if last:
            text += self.frame.decompress(self._take(self.checksum)) if self.checksum else b""
            self.frame = None
        return text


def _gzip(file: BinaryIO) -> Readable:
    import gzip

    return cast(Readable, gzip.GzipFile(fileobj=file, mode="rb"))


UNPACKERS: Mapping[str, Callable[[BinaryIO], Readable]] = {
    ".gz": _gzip,
    ".zst": _Zstd,
    ".xz": _xz,
    ".bz2": _bz2,
    ".zip": _Zip,
}
"""What reads a compressed file, by its suffix."""
OF_DATA = (".gz", ".zst")
"""Suffixes that single files of a data set have; the others may be archives of several."""

"""Read archives that strangers made: nothing outside the folder, no links, nothing larger than agreed.

Members are never written under the names that an archive gives them. They are read as streams, or unpacked to paths
that the caller names.
"""

from __future__ import annotations

import bz2
import errno
import gzip
import io
import lzma
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, cast

from cgbench.errors import InputError

MOST_MEMBERS = 200_000
MOST_BYTES = 16 << 30  # of all members that are read; the largest wanted one has about 4 GB
MOST_RATIO = 300  # unpacked to packed, of an archive that unpacks to more than FREE_BYTES
FREE_BYTES = 64 << 20
MOST_HEADER = 1 << 20  # of a long name or other notes on a member, which are held in memory
CHUNK = 1 << 20


class Member:
    """A regular file in an archive; ``read`` gives at most as much as the archive may still hold."""

    def __init__(self, archive: Path, name: str, stream: BinaryIO, bound: _Bound) -> None:
        self.archive, self.name, self._stream, self._bound = archive, name, stream, bound

    def read(self, size: int = CHUNK) -> bytes:
        """The next bytes, none at the end.

        :raises InputError: the archive is damaged, or unpacks to more than :data:`MOST_BYTES`, or to more than
            :data:`MOST_RATIO` times its size.
        """
        with _readable(self.archive):
            data = self._stream.read(size)
        self._bound.add(len(data))
        return data

    def ends_in(self, path: str) -> bool:
        """Whether the member's path ends in ``path``, by whole parts."""
        return f"/{self.name}".endswith(f"/{path}")


def members(archive: Path, password: str = "") -> Iterator[Member]:
    """The regular files of a tar archive (compressed or not) or a zip archive, in its order, each readable once.

    Links and devices are passed over.

    :param password: that its publisher states; of a zip archive alone.
    :raises InputError: the archive is damaged, names a path outside itself, or holds too many members.
    """
    with _readable(archive):
        with archive.open("rb") as file:
            begin = file.read(6)
        if begin.startswith((b"PK\x03\x04", b"PK\x05\x06")):
            yield from _zipped(archive, password)
        else:
            yield from _tarred(archive, begin)


def _zipped(archive: Path, password: str) -> Iterator[Member]:
    bound = _Bound(archive)
    with zipfile.ZipFile(archive) as zipped:
        for count, entry in enumerate(zipped.infolist(), 1):
            _check(archive, entry.filename, count)
            kind = entry.external_attr >> 16 & 0o170000  # Unix mode, where the packer wrote one
            if entry.is_dir() or kind not in (0, 0o100000):
                continue
            with zipped.open(entry, pwd=password.encode() or None) as stream:
                yield Member(archive, entry.filename, cast(BinaryIO, stream), bound)


def _tarred(archive: Path, begin: bytes) -> Iterator[Member]:
    packed = next((opened for mark, opened in _PACKED if begin.startswith(mark)), None)
    with cast(BinaryIO, packed(archive, "rb") if packed else archive.open("rb")) as file:
        bound = _Bound(archive)
        bounded = _Bounded(file, bound)
        with tarfile.open(fileobj=cast(Any, bounded), mode="r|", tarinfo=_Item) as tar:
            for count, item in enumerate(tar, 1):
                _check(archive, item.name, count)
                if item.issparse():
                    raise InputError(f"{archive}: {item.name!r} is stored with holes, which is not read; repack it")
                if not item.isreg():
                    continue
                opened = tar.extractfile(item)
                assert opened is not None
                yield Member(archive, item.name.removeprefix("./"), cast(BinaryIO, opened), bound)
        if packed:
            # Its check sum stands behind the last byte.
            while bounded.read(CHUNK):
                pass
        elif not bounded.ended:
            raise InputError(f"{archive}: there is no end mark; it was cut short")


_PACKED: tuple[tuple[bytes, Any], ...] = (
    (b"\x1f\x8b", gzip.open),
    (b"BZh", bz2.open),
    (b"\xfd7zXZ\x00", lzma.open),
    (b"\x5d\x00\x00", lzma.open),
)


class _Bound:
    """How much an archive may unpack to: what is read of it, and, beside its own size, all that goes by on the way."""

    def __init__(self, archive: Path) -> None:
        self.archive = archive
        self.ratio = max(FREE_BYTES, MOST_RATIO * archive.stat().st_size)
        self.read = self.unpacked = 0

    def add(self, size: int, passing: bool = False) -> None:
        """Count bytes.

        :param passing: they went by, whether or not somebody reads them.
        :raises InputError: they are too many.
        """
        if passing:
            self.unpacked += size
        else:
            self.read += size
        largest = max(self.read, self.unpacked)
        for done, most, what in (
            (self.read, MOST_BYTES, f"{MOST_BYTES:,} bytes"),
            (largest, self.ratio, f"{MOST_RATIO} times its size"),
        ):
            if done > most:
                raise InputError(f"{self.archive}: unpacks to more than is allowed ({what}); it was not used")


class _Bounded(io.RawIOBase):
    """The bytes of a tar archive, counted as they are unpacked. ``ended``: two blocks of zeros have come."""

    def __init__(self, file: BinaryIO, bound: _Bound) -> None:
        self.file, self.bound = file, bound
        self.ended = False
        self._last = b""

    def read(self, size: int = -1) -> bytes:
        data = self.file.read(CHUNK if size < 0 else size)
        self.bound.add(len(data), passing=True)
        self._last = (self._last + data)[-1024:]
        self.ended = self.ended or self._last == bytes(1024)
        return data


class _DamagedError(Exception):
    """A header that tarfile would take for the end of the archive, or for something to hold in memory."""


class _Item(tarfile.TarInfo):
    """A member's header, of which none is passed over in silence."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> _Item:
        try:
            item = super().frombuf(buf, encoding, errors)
        except (tarfile.EOFHeaderError, tarfile.EmptyHeaderError):  # type: ignore[attr-defined]
            raise
        except tarfile.HeaderError as error:
            raise _DamagedError(str(error)) from None
        if item.size < 0 or (item.type in _NOTES and item.size > MOST_HEADER):
            raise _DamagedError(f"a header of {item.size:,} bytes")
        return item


_NOTES = (
    *(tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK),
    *(tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE),
)


def unpack(archive: Path, wanted: Mapping[str, Path], password: str = "") -> set[str]:
    """Write members to files. ``wanted`` maps the end of a member's path to where it is written.

    Returns the keys that were found; a link or a device is not.

    :raises InputError: as :func:`members` does, or two members end alike.
    """
    found: set[str] = set()
    for member in members(archive, password):
        for end in [end for end in wanted if member.ends_in(end)]:
            if end in found:
                raise InputError(f"{archive}: two members end in {end}; it was not used")
            found.add(end)
            with wanted[end].open("wb") as file:
                while data := member.read():
                    file.write(data)
    return found


def _check(archive: Path, name: str, count: int) -> None:
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or (path.parts and path.parts[0].endswith(":")):
        raise InputError(f"{archive}: member {name!r} points outside the archive; it was not used")
    if count > MOST_MEMBERS:
        raise InputError(f"{archive}: more than {MOST_MEMBERS:,} members; it was not used")


_DAMAGED = (
    *(tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, _DamagedError),
    # What the standard library lets through of offsets, lengths and names that cannot be.
    *(EOFError, NotImplementedError, RuntimeError, ValueError, OverflowError, LookupError, MemoryError),
)


@contextmanager
def _readable(archive: Path) -> Iterator[None]:
    try:
        yield
    except _DAMAGED as error:
        raise InputError(
            f"{archive}: not an archive that can be read ({error}); it may be damaged or cut short"
        ) from None
    except OSError as error:
        # What gzip and bz2 say of damaged data has no number, an offset before the file has this; a full disk another.
        if error.errno not in (None, errno.EINVAL):
            raise
        raise InputError(f"{archive}: cannot be unpacked ({error}); it may be damaged or cut short") from None

"""Read untrusted archives: links are not followed, and paths and sizes are checked.

Members are never written under their names in the archive. They are read as streams, or unpacked to
paths given by the caller.
"""

from __future__ import annotations

import errno
import gzip
import io
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, cast

from cgbench.errors import InputError
from cgbench.text.limits import FREE_BYTES, MOST_BYTES, MOST_HEADER, MOST_MEMBERS, MOST_RATIO

CHUNK = 1 << 20
_DAMAGED = (
    *(tarfile.TarError, zipfile.BadZipFile, zlib.error, struct.error),
    # Raised by the standard library on impossible offsets, lengths and names.
    *(
        EOFError,
        NotImplementedError,
        RuntimeError,
        ValueError,
        OverflowError,
        LookupError,
        MemoryError,
    ),
)


class ArchiveMember:
    """A regular file in an archive: its ``name``, and its bytes, which can be read once."""

    def __init__(self, archive: Path, name: str, stream: Any) -> None:
        self.archive, self.name, self._stream = archive, name, stream

    def read(self, length: int = CHUNK) -> bytes:
        """The next bytes, empty at the end.

        :raises InputError: the archive is damaged, or too large (:data:`MOST_BYTES`,
            :data:`MOST_RATIO`).
        """
        with _readable(self.archive):
            return cast(bytes, self._stream.read(length))

    def ends_in(self, path: str) -> bool:
        """Whether the member's path ends in ``path``, by whole parts."""
        return f"/{self.name}".endswith(f"/{path}")


def members(archive: Path) -> Iterator[ArchiveMember]:
    """The regular files of a tar archive (also .gz) or a zip archive, in its order, each readable
    once.

    Links and devices are skipped.

    :raises InputError: the archive is damaged, has a path outside itself, or has too many members.
    """
    with _readable(archive):
        with archive.open("rb") as file:
            begin = file.read(6)
        zipped = begin.startswith((b"PK\x03\x04", b"PK\x05\x06"))
        entries = _zipped(archive) if zipped else _tarred(archive, begin)
        for count, (name, stream) in enumerate(entries, 1):
            path = PurePosixPath(name.replace("\\", "/"))
            if (
                path.is_absolute()
                or ".." in path.parts
                or (path.parts and path.parts[0].endswith(":"))
            ):
                raise InputError(
                    f"{archive}: member {name!r} points outside the archive; it was not used"
                )
            if count > MOST_MEMBERS:
                raise InputError(f"{archive}: more than {MOST_MEMBERS:,} members; it was not used")
            if stream is not None:
                yield ArchiveMember(archive, name.removeprefix("./"), stream)


def unpack(archive: Path, targets: Mapping[str, Path]) -> None:
    """Write regular files to ``targets``, which maps the end of a member's path to a file.

    :raises InputError: as :func:`members` does, or two members match.
    """
    unpacked: set[str] = set()
    for member in members(archive):
        for end in [end for end in targets if member.ends_in(end)]:
            if end in unpacked:
                raise InputError(f"{archive}: two members end in {end}; it was not used")
            unpacked.add(end)
            targets[end].parent.mkdir(parents=True, exist_ok=True)
            with targets[end].open("wb") as file:
                while data := member.read():
                    file.write(data)


def _zipped(archive: Path) -> Iterator[tuple[str, Any]]:
    """The names of the members, with streams of regular files, which end at their stated size."""
    with zipfile.ZipFile(archive) as zipped:
        _check_unpacked(archive, sum(entry.file_size for entry in zipped.infolist()))
        for entry in zipped.infolist():
            kind = entry.external_attr >> 16 & 0o170000  # Unix mode, where the packer wrote one
            if entry.is_dir() or kind not in (0, 0o100000):
                yield entry.filename, None
                continue
            with zipped.open(entry) as stream:
                yield entry.filename, stream


def _tarred(archive: Path, begin: bytes) -> Iterator[tuple[str, Any]]:
    packed = begin.startswith(b"\x1f\x8b")
    with cast(BinaryIO, gzip.open(archive) if packed else archive.open("rb")) as file:
        stream = _Unpacked(archive, file)
        with tarfile.open(fileobj=cast(Any, stream), mode="r|", tarinfo=_Item) as tar:
            for item in tar:
                if item.issparse():
                    raise InputError(
                        f"{archive}: {item.name!r} is a sparse file, which is not supported;"
                        " repack it"
                    )
                yield item.name, tar.extractfile(item) if item.isreg() else None
        while stream.read(CHUNK):  # a checksum follows the last byte
            pass


def _check_unpacked(archive: Path, length: int) -> None:
    """Check the unpacked size of an archive, skipped members included."""
    ratio = max(FREE_BYTES, MOST_RATIO * archive.stat().st_size)
    for most, rule in (
        (MOST_BYTES, f"{MOST_BYTES:,} bytes"),
        (ratio, f"{MOST_RATIO} times its size"),
    ):
        if length > most:
            raise InputError(
                f"{archive}: unpacks to more than is allowed ({rule}); it was not used"
            )


class _Unpacked(io.RawIOBase):
    """The content of a tar archive, whose bytes are counted as they are read."""

    def __init__(self, archive: Path, file: BinaryIO) -> None:
        self.archive, self.file, self.done = archive, file, 0

    def read(self, length: int = -1) -> bytes:
        data = self.file.read(CHUNK if length < 0 else length)
        self.done += len(data)
        _check_unpacked(self.archive, self.done)
        return data


class _Item(tarfile.TarInfo):
    """A member's header. tarfile treats a damaged one as the end of the archive, and keeps long
    ones in memory.
    """

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> _Item:
        try:
            item = super().frombuf(buf, encoding, errors)
        except (tarfile.EOFHeaderError, tarfile.EmptyHeaderError):  # type: ignore[attr-defined]
            raise
        except tarfile.HeaderError as error:
            raise ValueError(str(error)) from None
        in_memory = (
            tarfile.GNUTYPE_LONGNAME,
            tarfile.GNUTYPE_LONGLINK,
            tarfile.XHDTYPE,
            tarfile.XGLTYPE,
            b"X",
        )
        if item.size < 0 or (item.type in in_memory and item.size > MOST_HEADER):
            raise ValueError(f"a header of {item.size:,} bytes")
        return item


@contextmanager
def _readable(archive: Path) -> Iterator[None]:
    try:
        yield
    except _DAMAGED as error:
        raise InputError(
            f"{archive}: not a readable archive ({error}); it may be damaged or cut short"
        ) from None
    except OSError as error:
        # Errors of gzip about damaged data have no number, those about offsets have EINVAL.
        if error.errno not in (None, errno.EINVAL):
            raise
        raise InputError(
            f"{archive}: cannot be unpacked ({error}); it may be damaged or cut short"
        ) from None

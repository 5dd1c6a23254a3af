"""Read archives that strangers made: nothing outside the folder, no links, nothing larger than agreed.

Members are never written under the names that an archive gives them. They are read as streams, or unpacked to paths
that the caller names.
"""

from __future__ import annotations

import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from cgbench.errors import InputError

MOST_MEMBERS = 200_000
MOST_BYTES = 16 << 30  # of all members that are read; the largest wanted one has about 4 GB
CHUNK = 1 << 20


class Member:
    """A regular file in an archive; ``read`` gives at most as much as the archive may still hold."""

    def __init__(self, archive: Path, name: str, stream: BinaryIO, left: list[int]) -> None:
        self.archive, self.name, self._stream, self._left = archive, name, stream, left

    def read(self, size: int = CHUNK) -> bytes:
        """The next bytes, none at the end.

        :raises InputError: the archive is damaged, or unpacks to more than :data:`MOST_BYTES`.
        """
        with _readable(self.archive):
            data = self._stream.read(size)
        self._left[0] -= len(data)
        if self._left[0] < 0:
            raise InputError(f"{self.archive}: unpacks to more than is allowed ({MOST_BYTES:,} bytes); it was not used")
        return data

    def ends_in(self, path: str) -> bool:
        """Whether the member's path ends in ``path``, by whole parts."""
        return f"/{self.name}".endswith(f"/{path}")


def members(archive: Path) -> Iterator[Member]:
    """The regular files of a tar archive (compressed or not) or a zip archive, in its order, each readable once.

    Links and devices are passed over.

    :raises InputError: the archive is damaged, names a path outside itself, or holds too many members.
    """
    left = [MOST_BYTES]
    with _readable(archive):
        if zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as zipped:
                for count, entry in enumerate(zipped.infolist(), 1):
                    _check(archive, entry.filename, count)
                    kind = entry.external_attr >> 16 & 0o170000  # Unix mode, where the packer wrote one
                    if entry.is_dir() or kind not in (0, 0o100000):
                        continue
                    with zipped.open(entry) as stream:
                        yield Member(archive, entry.filename, stream, left)  # type: ignore[arg-type]
        else:
            with tarfile.open(archive, "r|*") as tar:
                for count, item in enumerate(tar, 1):
                    _check(archive, item.name, count)
                    if not item.isreg():
                        continue
                    opened = tar.extractfile(item)
                    assert opened is not None
                    yield Member(archive, item.name.removeprefix("./"), opened, left)  # type: ignore[arg-type]


def unpack(archive: Path, wanted: Mapping[str, Path]) -> set[str]:
    """Write members to files. ``wanted`` maps the end of a member's path to where it is written.

    Returns the keys that were found; a link or a device is not.

    :raises InputError: as :func:`members` does, or two members end alike.
    """
    found: set[str] = set()
    for member in members(archive):
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


@contextmanager
def _readable(archive: Path) -> Iterator[None]:
    try:
        yield
    except (tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise InputError(
            f"{archive}: not an archive that can be read ({error}); it may be damaged or cut short"
        ) from None

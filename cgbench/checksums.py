"""Checksums of files: check that files are as they were written, and name the first that is not.

A file is hashed once per process (:func:`known_digest`). The checksums of a folder are kept in its
own JSON file, or in SHA256SUMS, which ``sha256sum -c SHA256SUMS`` also checks; that of a single
file F is in F.sha256.
"""

import hashlib
import os
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from cgbench.errors import InputError
from cgbench.files import ordinary_file, write_atomic
from cgbench.machine import usable_cores

SUMS = "SHA256SUMS"

_known: dict[tuple[int, ...], str] = {}


def hash_file(path: Path) -> str:
    """The SHA-256 of a file's bytes, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def known_digest(path: Path) -> str:
    """The same for a file of this project, cached while its time stamps and size do not change."""
    status = path.stat()
    key = status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
    if key not in _known:
        _known[key] = hash_file(path)
    return _known[key]


def digests_of(folder: Path, names: Iterable[str]) -> dict[str, str]:
    """The checksum of each file by its name in ``folder``, computed in parallel."""
    names = list(names)
    with ThreadPoolExecutor(usable_cores()) as threads:
        return dict(
            zip(names, threads.map(lambda name: known_digest(folder / name), names), strict=True)
        )


def first_damaged(folder: Path, digests: Mapping[str, str]) -> str | None:
    """The first file of ``digests`` (name -> SHA-256) that is missing or differs."""
    for name in digests:
        if not (folder / name).is_file():
            return name
    actual = digests_of(folder, digests)
    return next((name for name in digests if actual[name] != digests[name]), None)


def check_digests(folder: Path, digests: Mapping[str, str], remedy: str) -> None:
    """Check files against the checksums recorded when they were written.

    :param remedy: how to fix a damaged file, for the message.
    :raises InputError: a file is missing or differs.
    """
    if (name := first_damaged(folder, digests)) is not None:
        path = folder / name
        if os.path.lexists(path):
            ordinary_file(path, link=True)
        fault = "is damaged: its checksum differs" if path.exists() else "no such file"
        raise InputError(f"{path}: {fault}; {remedy}")


def write_sums(folder: Path, digests: Mapping[str, str]) -> None:
    """Write SHA256SUMS into ``folder``."""
    write_atomic(folder / SUMS, _rows(digests))


def _rows(digests: Mapping[str, str]) -> str:
    return "".join(f"{digest}  {name}\n" for name, digest in sorted(digests.items()))


def sums_beside(path: Path) -> Path:
    """The checksum file of a single file."""
    return path.with_name(f"{path.name}.sha256")


def write_recorded(path: Path, data: str) -> None:
    """Write a text file atomically, with its checksum file; to a device or a pipe, write only the
    text.
    """
    if path.parent == Path("/dev") or (path.exists() and not path.is_file()):
        return write_atomic(path, data)
    sums_beside(path).unlink(
        missing_ok=True
    )  # so that an interruption never leaves a wrong checksum
    write_atomic(path, data)
    write_atomic(sums_beside(path), _rows({path.name: hashlib.sha256(data.encode()).hexdigest()}))


def check_recorded(path: Path, sums: Path | None = None) -> None:
    """Check a file against its recorded checksum, if there is one.

    :param sums: the checksum file (default: SHA256SUMS in the same folder).
    :raises InputError: the file or the checksum file is damaged.
    """
    sums = sums or path.with_name(SUMS)
    if not os.path.lexists(sums) or not path.is_file():
        return
    ordinary_file(sums, link=sums.name != SUMS)
    try:
        rows = [line.split("  ") for line in sums.read_text(encoding="utf-8").splitlines()]
        recorded = {name: digest for digest, name in rows}
    except ValueError:
        raise InputError(
            f"{sums}: is damaged: a line is not a checksum and a name; copy the folder again"
        ) from None
    if path.name not in recorded:
        raise InputError(f"{sums}: is damaged: {path.name} is not in it; copy the folder again")
    remedy = f"copy it again, or delete {sums.name} if you changed the file on purpose"
    check_digests(path.parent, {path.name: recorded[path.name]}, remedy)

"""Locks on folders: one command at a time works in a folder, or replaces it.

A lock is ``flock`` on a file and ends with its process. On a disk shared by several machines it
works across them only if the file system supports that (NFS 4 does; some cluster file systems need
to be mounted with ``flock``).
"""

import contextlib
import errno
import fcntl
import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from cgbench.errors import InputError
from cgbench.files import leftovers, sync
from cgbench.machine import end_second_script, runs_remotely

SYNCED = 16  # files synced to disk at a time: much faster than one by one
NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)


class BusyError(InputError):
    """Another process holds the lock."""


@contextlib.contextmanager
def locked(path: Path, *, wait: bool, remove: bool = False) -> Iterator[None]:
    """Hold an exclusive lock on ``path``, which is created if missing.

    A remote task takes no lock: the command that started it holds it.

    :param remove: remove the file at the end.
    :raises BusyError: another process holds it and ``wait`` is false.
    :raises InputError: the disk has no locks.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if runs_remotely():
        yield
        return
    end_second_script()
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            if remove and not _is_there(path, handle):  # the process that had it has removed it
                raise BlockingIOError
        except BlockingIOError:
            raise BusyError(
                f"{path.parent}: another cgbench command is working in this folder; wait for it"
            ) from None
        except OSError as error:
            if error.errno not in NO_LOCKS:
                raise
            raise InputError(
                f"{path.parent}: this disk has no file locks (flock), which cgbench needs; use"
                " another folder or mount the disk with locks"
            ) from error
        try:
            yield
        finally:
            if remove:
                path.unlink(missing_ok=True)
    finally:
        os.close(handle)


def _is_there(path: Path, handle: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(handle))
    except FileNotFoundError:
        return False


@contextlib.contextmanager
def replacing(out: Path) -> Iterator[Path]:
    """A new folder that replaces ``out`` at the end; after an error ``out`` is unchanged.

    It is locked, and first cleared of what a killed command left.

    :raises BusyError: another command is writing ``out``.
    """
    making, old = (out.with_name(f".{out.name}.{os.getpid()}.{name}") for name in ("tmp", "old"))
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(locked(out.with_name(f".{out.name}.lock"), wait=False, remove=True))
        except BusyError:
            raise BusyError(
                f"{out}: another cgbench command is writing this folder; wait for it"
            ) from None
        for before in leftovers(out, "old"):
            if not out.exists():  # killed between two renames
                before.rename(out)
        for leftover in [*leftovers(out), *leftovers(out, "old")]:
            shutil.rmtree(leftover, ignore_errors=True)
        try:
            making.mkdir()
            yield making
            files = [path for path in making.rglob("*") if path.is_file()]
            with ThreadPoolExecutor(SYNCED) as threads:
                list(threads.map(sync, [*files, *{path.parent for path in files}]))
            if out.exists():
                out.rename(old)
            making.rename(out)
            sync(out.parent)
        finally:
            shutil.rmtree(making, ignore_errors=True)
            if old.exists() and not out.exists():
                old.rename(out)
            shutil.rmtree(old, ignore_errors=True)

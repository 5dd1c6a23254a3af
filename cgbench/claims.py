"""Which command works in a folder, where locks do not reach across machines: a small file beside the lock.

It is made by a call of which one alone can succeed, says whose it is, and its time is set anew every few seconds for as
long as the command lives. A claim that is silent for a minute belongs to a command that is gone, and is taken over. All
times are those of the shared disk, so clocks of machines may differ.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import secrets
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from cgbench.errors import printable
from cgbench.machine import host

BEAT = 5.0  # seconds from one sign of life to the next
SILENT = 60.0  # seconds without one after which a command is gone
GLANCE = 0.5  # seconds between two looks at another's


@dataclass(frozen=True)
class Claim:
    """Whose a claim is: a process of a machine, by its id and the name that people know it by."""

    machine: str
    host: str
    process: int
    token: str

    def __str__(self) -> str:
        return f"on the machine {printable(self.host)} (process {self.process})"


@contextlib.contextmanager
def claimed(path: Path, *, alone_here: bool) -> Iterator[Claim | None]:
    """Hold the claim ``path``; yield None, or whose it is instead.

    :param alone_here: no other process of this machine holds it, as a lock has said: what is left of one is void.
    """
    mine = Claim(machine(), host(), os.getpid(), secrets.token_hex(8))
    if other := _take(path, mine, alone_here):
        yield other
        return
    over = threading.Event()
    threading.Thread(target=_live, args=(path, mine, over), daemon=True).start()
    try:
        yield None
    finally:
        over.set()
        if _read(path) == mine:
            path.unlink(missing_ok=True)


@functools.cache
def machine() -> str:
    """What tells this machine from others, also where several have the same name."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return host()


def _take(path: Path, mine: Claim, alone_here: bool) -> Claim | None:
    """Make the claim; else whose it is."""
    seen: float | None = None
    while True:
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        except FileExistsError:
            found, touched = _read(path), _time(path)
            void = alone_here and found is not None and found.machine == mine.machine
            if touched is None:
                continue  # it has just been given up
            if void or _now(path) - touched > SILENT:
                _remove(path, found, mine)
                continue
            if found and seen is not None and touched != seen:
                return found
            seen = touched
            time.sleep(GLANCE)
        else:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(asdict(mine), file)
            return None


def _remove(path: Path, void: Claim | None, mine: Claim) -> None:
    """Take a claim away that is void; one that somebody else has made in its place meanwhile is put back."""
    aside = path.with_name(f".{path.name}.{mine.token}.tmp")
    with contextlib.suppress(FileNotFoundError):
        path.rename(aside)
        if _read(aside) != void:
            with contextlib.suppress(FileExistsError):
                os.link(aside, path)
        aside.unlink()


def _live(path: Path, mine: Claim, over: threading.Event) -> None:
    while not over.wait(BEAT):
        with contextlib.suppress(OSError):
            if _read(path) == mine:
                os.utime(path)


def _read(path: Path) -> Claim | None:
    """Whose a claim is; None if it is not there, or cannot be read."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return Claim(str(found["machine"]), str(found["host"]), int(found["process"]), str(found["token"]))
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None


def _time(path: Path) -> float | None:
    """When a claim was last touched; opened for it, since a shared disk may keep older answers."""
    try:
        with path.open("rb") as file:
            return os.fstat(file.fileno()).st_mtime
    except FileNotFoundError:
        return None


def _now(path: Path) -> float:
    """The time of the disk."""
    probe = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        probe.touch()
        return probe.stat().st_mtime
    finally:
        probe.unlink(missing_ok=True)

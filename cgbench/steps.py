"""Run a step once: results are kept under a key that says what they were made of.

A step is a pure function of its slice of the configuration, the bytes of its inputs and its revision. Its key is
a hash of these three. The result is a folder that appears whole (everything is synced, then one rename) or not at
all, so a build that is killed at any moment goes on where it was when the same command is given again.

Layout under a workspace's root::

    <step>/<key>/            a finished result, with step.json: what went in, what came out
    <step>/<key>.partial/    a result in the making; a resumable step finds its own earlier work there
    <step>/<key>.lock        held while the step runs
    lock                     held while a command works in this workspace
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cgbench import __version__
from cgbench.errors import InputError
from cgbench.files import read_json, sync_file, sync_folder, write_json

STEPS = ".cgbench"  # the folder inside a command's output that is its workspace
KEY_LENGTH = 16  # hex digits of a SHA-256 that name a folder; step.json is compared in full


class BusyError(InputError):
    """Another process is at work where this one wants to be."""


def hash_file(path: Path) -> str:
    """The SHA-256 of a file's bytes, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() if hasattr(hashlib, "file_digest") else _digest(file)


def _digest(file: Any) -> str:
    digest = hashlib.sha256()
    while chunk := file.read(1 << 20):
        digest.update(chunk)
    return digest.hexdigest()


def hash_value(value: Any) -> str:
    """The SHA-256 of a JSON value in canonical form, in hex."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


@dataclass(frozen=True)
class Step:
    """What identifies a step: its name, configuration, inputs, and the revision of the code that makes it.

    ``inputs`` maps a name to a hash: of a file's bytes, or the key of the step that made it. Raise ``revision``
    whenever the code of a step changes what it writes.
    """

    name: str
    config: Mapping[str, Any]
    inputs: Mapping[str, str]
    revision: int = 1

    @property
    def recipe(self) -> dict[str, Any]:
        """Everything the result depends on, as JSON."""
        return {
            "step": self.name,
            "config": dict(self.config),
            "inputs": dict(self.inputs),
            "revision": self.revision,
            "version": __version__,
        }

    @property
    def key(self) -> str:
        """The hash of :attr:`recipe`."""
        return hash_value(self.recipe)


class Workspace:
    """The folder that holds a build's steps. ``say`` receives one line a step (for ``--explain``)."""

    def __init__(self, root: Path, say: Callable[[str], None] | None = None) -> None:
        self.root = root
        self.say = say or (lambda line: None)

    def result(self, step: Step) -> Path:
        """Where the result of ``step`` is, or will be."""
        return self.root / step.name / step.key[:KEY_LENGTH]

    def done(self, step: Step) -> bool:
        """Whether ``step`` is finished, and every file that it wrote is still there in its size."""
        result = self.result(step)
        if not (result / "step.json").is_file():
            return False
        record = read_json(result / "step.json")
        if {key: record.get(key) for key in step.recipe} != step.recipe:
            return False
        return all(
            (result / name).is_file() and (result / name).stat().st_size == size
            for name, size in record["sizes"].items()
        )

    def seconds(self, step: Step) -> float | None:
        """How long the finished step took, all its runs added up; None if unknown."""
        path = self.result(step) / "step.json"
        return read_json(path).get("seconds") if path.is_file() else None

    def why(self, step: Step) -> str:
        """One line: whether the step has to run, and what has changed since it last did."""
        if self.done(step):
            return f"{step.name}: kept (nothing it depends on has changed)"
        if self._partial(step).is_dir():
            return f"{step.name}: goes on (an earlier run was stopped)"
        earlier = sorted(
            (path.stat().st_mtime_ns, path) for path in (self.root / step.name).glob("*/step.json") if path.is_file()
        )
        if not earlier:
            return f"{step.name}: runs (no earlier result)"
        before = read_json(earlier[-1][1])
        changes = [
            f"{part}.{name} {_short(before[part].get(name))} -> {_short(now.get(name))}"
            for part, now in (("config", step.config), ("inputs", step.inputs))
            for name in sorted(set(before[part]) | set(now))
            if before[part].get(name) != now.get(name)
        ]
        for part, new in (("revision", step.revision), ("version", __version__)):
            if before.get(part) != new:
                changes.append(f"{part} {before.get(part)} -> {new}")
        return f"{step.name}: runs (changed: {'; '.join(changes)})"

    def run(self, step: Step, make: Callable[[Path], None], *, resumable: bool = False, wait: bool = True) -> Path:
        """Return the result folder of ``step``, made by ``make(folder)`` unless it is there already.

        ``make`` fills an empty folder, or, if ``resumable``, the folder that an earlier run left: then every file
        in it must have been written whole or not at all.

        :param wait: for another process that is making the same.
        :raises BusyError: there is one, and nobody waits.
        """
        result = self.result(step)
        self.say(self.why(step))
        if self.done(step):
            return result
        partial = self._partial(step)
        partial.parent.mkdir(parents=True, exist_ok=True)
        with locked(result.with_name(result.name + ".lock"), wait=wait):
            if self.done(step):
                return result
            if partial.is_dir() and not resumable:
                shutil.rmtree(partial)
            partial.mkdir(exist_ok=True)
            for leftover in partial.rglob(".*.tmp"):
                leftover.unlink()
            began = time.monotonic()
            try:
                make(partial)
            except OSError as error:
                raise _disk_error(error, partial) from error
            self._finish(step, partial, time.monotonic() - began)
        return result

    def _finish(self, step: Step, partial: Path, seconds: float) -> None:
        files = sorted(path for path in partial.rglob("*") if path.is_file())
        outputs = {str(path.relative_to(partial)): hash_file(path) for path in files}
        for path in files:
            sync_file(path)
        for folder in {path.parent for path in files}:
            sync_folder(folder)
        sizes = {str(path.relative_to(partial)): path.stat().st_size for path in files}
        record = {**step.recipe, "outputs": outputs, "sizes": sizes, "seconds": round(seconds, 3)}
        write_json(partial / "step.json", record)
        shutil.rmtree(self.result(step), ignore_errors=True)  # a result that somebody damaged
        partial.rename(self.result(step))
        sync_folder(partial.parent)

    def _partial(self, step: Step) -> Path:
        result = self.result(step)
        return result.with_name(result.name + ".partial")


def _short(value: Any) -> str:
    """A configuration value or a hash, short enough for a line."""
    text = json.dumps(value, ensure_ascii=False) if not isinstance(value, str) else value
    return text if len(text) <= 24 else text[:12] + "…"


def _disk_error(error: OSError, folder: Path) -> Exception:
    import errno

    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return InputError(f"{folder}: the disk is full; free some space and give the same command again to go on")
    return error


@contextlib.contextmanager
def locked(path: Path, *, wait: bool) -> Iterator[None]:
    """Hold an exclusive lock on ``path`` (created if need be); it falls with the process, however that ends.

    :raises BusyError: another process holds it and ``wait`` is false.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            raise BusyError(f"{path.parent}: another cgbench command is working in this folder; wait for it") from None
        yield
    finally:
        os.close(handle)


def check_folder(out: Path) -> None:
    """Check that ``out`` is new, empty, or the folder of an earlier build.

    :raises InputError: it holds something else.
    """
    if out.exists() and not out.is_dir():
        raise InputError(f"{out}: a file, where the output folder should be")
    if out.is_dir() and not (out / STEPS).is_dir() and any(out.iterdir()):
        raise InputError(f"{out}: the folder holds something else already; give a new one with --out")

"""How far members are that other machines train: their logs, which all machines see, as one bar."""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from cgbench.engines import Engine
from cgbench.models.checkpoints import METRICS
from cgbench.models.config.common import LENGTH
from cgbench.progress import bar
from cgbench.steps import Step, Workspace

EVERY = 5.0  # seconds
TAIL = 1 << 12  # bytes of a log that hold its last line


@contextlib.contextmanager
def following(workspace: Workspace, members: Sequence[Step], engine: Engine) -> Iterator[None]:
    """While it is open, show the updates of all members, with their speed and the time left.

    Members that this machine trains have bars of their own.
    """
    if engine.here or not members:
        yield
        return
    whole = sum(int(step.config[LENGTH]) for step in members)
    done = updates_of(workspace, members)
    over = threading.Event()
    with bar(whole, f"train {len(members)} members", "update", initial=done) as shown:

        def watch() -> None:
            known = done
            while not over.wait(EVERY):
                if (now := updates_of(workspace, members)) > known:  # one that was lost goes back to its checkpoint
                    shown.update(now - known)
                    known = now

        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


def updates_of(workspace: Workspace, members: Sequence[Step]) -> int:
    """How many updates all of these have made, as far as their logs say."""
    return sum(max(_last_update(folder / METRICS) for folder in workspace.folders(step)) for step in members)


def _last_update(log: Path) -> int:
    try:
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL))
            lines = file.read().split(b"\n")[:-1]  # the last may be half-written
        return int(json.loads(lines[-1])["update"])
    except (OSError, ValueError, LookupError, TypeError):
        return 0

"""Delay SIGINT and SIGTERM until a run has saved its state."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any


@contextlib.contextmanager
def held_signals() -> Iterator[list[int]]:
    """Collect SIGINT and SIGTERM in the yielded list; the first takes effect on leaving the
    context.

    A second signal of the same type acts immediately. Ignored signals (``nohup``) stay ignored.
    Threads other than the main one receive no signals.
    """
    received: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield received
        return
    before: dict[int, Any] = {}

    def note(caught: int, frame: FrameType | None) -> None:
        received.append(caught)
        signal.signal(caught, before[caught])

    for stopping in (signal.SIGINT, signal.SIGTERM):
        # None: a handler that Python did not install and cannot restore
        if signal.getsignal(stopping) not in (None, signal.SIG_IGN):
            before[stopping] = signal.signal(stopping, note)
    try:
        yield received
    finally:
        for caught, handler in before.items():
            signal.signal(caught, handler)
    if received:
        signal.raise_signal(received[0])

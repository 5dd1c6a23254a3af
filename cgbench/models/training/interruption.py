"""Stop where it does no harm: an interrupt or a request to end waits until a run has saved its state."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any


@contextlib.contextmanager
def held_signals() -> Iterator[list[int]]:
    """Collect SIGINT and SIGTERM in the list that is yielded; at the end the first takes effect after all.

    A second signal of the same kind acts at once. What is ignored (``nohup``) stays ignored; threads other than the
    main one get no signals, and collect none.
    """
    received: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield received
        return
    before: dict[int, Any] = {}

    def note(number: int, frame: FrameType | None) -> None:
        received.append(number)
        signal.signal(number, before[number])

    for kind in (signal.SIGINT, signal.SIGTERM):
        # None: a handler that is not Python's, which could not be put back
        if signal.getsignal(kind) not in (None, signal.SIG_IGN):
            before[kind] = signal.signal(kind, note)
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if received:
        signal.raise_signal(received[0])

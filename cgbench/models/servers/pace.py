"""When the next request may be sent."""

from __future__ import annotations

import threading
import time


class Pace:
    """Spaces requests at a rate of tokens per minute; sends none before the time the server named."""

    def __init__(self, tokens: float | None, stop: threading.Event) -> None:
        self._seconds = 60 / tokens if tokens else 0.0  # of a token
        self._lock, self._turn, self._after, self._stop = threading.Lock(), 0.0, 0.0, stop

    def wait(self, tokens: int) -> None:
        """Wait for the turn of a request of at most ``tokens``, or until the run stops."""
        with self._lock:
            turn = max(time.monotonic(), self._turn)
            self._turn = turn + self._seconds * tokens
        while (delay := max(turn, self._after) - time.monotonic()) > 0 and not self._stop.wait(delay):
            pass

    def spent(self, fewer: int) -> None:
        """A reply had this many tokens fewer than its request could have had: the next may come earlier."""
        with self._lock:
            self._turn -= self._seconds * fewer

    def pause(self, seconds: float) -> None:
        """Send nothing for some seconds: the server has said so."""
        with self._lock:
            self._after = max(self._after, time.monotonic() + seconds)

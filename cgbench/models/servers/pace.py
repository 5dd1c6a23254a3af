"""When the next request may be sent."""

from __future__ import annotations

import threading
import time


class Pace:
    """Spaces requests evenly, at a rate of requests and of tokens; sends none before the time the server named."""

    def __init__(self, requests: float | None, tokens: float | None, stop: threading.Event) -> None:
        self._steps = (60 / requests if requests else 0.0, 60 / tokens if tokens else 0.0)
        self._lock, self._turns, self._after, self._stop = threading.Lock(), [0.0, 0.0], 0.0, stop

    def wait(self, tokens: int) -> None:
        """Wait for the turn of a request of at most ``tokens``, or until the run stops."""
        with self._lock:
            turn = max(time.monotonic(), *self._turns)
            self._turns = [turn + self._steps[0], turn + self._steps[1] * tokens]
        while (left := max(turn, self._after) - time.monotonic()) > 0 and not self._stop.wait(left):
            pass

    def spent(self, fewer: int) -> None:
        """A reply had this many tokens fewer than its request could have had: the next may come earlier."""
        with self._lock:
            self._turns[1] -= self._steps[1] * fewer

    def pause(self, seconds: float) -> None:
        """Send nothing for some seconds: the server has said so."""
        with self._lock:
            self._after = max(self._after, time.monotonic() + seconds)

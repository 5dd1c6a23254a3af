"""When the next request may be sent."""

from __future__ import annotations

import threading
import time


class Pace:
    """At most so many requests and tokens per minute, evenly spaced, and none before the time that the server named."""

    def __init__(self, requests: float | None, tokens: float | None, stop: threading.Event) -> None:
        self.requests, self.tokens, self._stop = requests, tokens, stop
        self._lock, self._next, self._after = threading.Lock(), 0.0, 0.0

    def wait(self, tokens: int) -> None:
        """Wait for the turn of a request of at most ``tokens``, or until the run stops."""
        with self._lock:
            turn = max(time.monotonic(), self._next)
            per_request = 60 / self.requests if self.requests else 0.0
            per_token = 60 / self.tokens if self.tokens else 0.0
            self._next = turn + max(per_request, per_token * tokens)
        while (left := max(turn, self._after) - time.monotonic()) > 0 and not self._stop.wait(left):
            pass

    def spent(self, fewer: int) -> None:
        """A reply had this many tokens fewer than its request could have had: the next may come earlier."""
        if self.tokens and not self.requests:
            with self._lock:
                self._next -= 60 / self.tokens * fewer

    def pause(self, seconds: float) -> None:
        """Send nothing for some seconds: the server has said so."""
        with self._lock:
            self._after = max(self._after, time.monotonic() + seconds)

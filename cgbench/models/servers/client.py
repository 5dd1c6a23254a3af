"""Ask a server for answers."""

from __future__ import annotations

from collections.abc import Sequence

from cgbench.models.servers.exchange import Answer, Request


class Client:
    """A server that answers requests."""

    def answers(self, requests: Sequence[Request]) -> list[Answer]:
        """The answers to some requests, in their order.

        Each answer is on disk before the next request of its thread, and equal requests are sent once.

        :raises InputError: the server fails or changes, or the budget ends; what was answered is kept.
        """
        raise NotImplementedError

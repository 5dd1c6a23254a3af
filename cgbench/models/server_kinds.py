"""Kinds of servers: how a request is posted, and how its reply is read.

Requests and replies have the fields of OpenAI's interface everywhere in cgbench. A kind whose
server has other fields translates between both. Other packages register further kinds as
``cgbench.servers`` (:mod:`cgbench.extensions`), by the word that their addresses begin with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from cgbench.errors import InputError
from cgbench.extensions import load_from_package, of_packages

Json = Mapping[str, Any]


class Request(Protocol):
    """A request (:class:`~cgbench.models.servers.exchange.Request`)."""

    @property
    def body(self) -> Json:
        """Its fields in OpenAI's interface: ``messages`` or ``prompt``, ``model`` and settings."""

    @property
    def endpoint(self) -> str:
        """``chat/completions`` or ``completions``."""

    @property
    def limit(self) -> int | None:
        """The maximum number of tokens of a choice; None without a limit."""


def bearer(key: str) -> dict[str, str]:
    """The header with a key that most servers expect."""
    return {"Authorization": f"Bearer {key}"}


def same_body(request: Request) -> Json:
    """The body of a request as it is."""
    return request.body


def same_reply(reply: Any) -> Any:
    """A reply as it is."""
    return reply


@dataclass(frozen=True)
class ServerKind:
    """A kind of server, ``NAME:URL?model=M``.

    :param path: the part of the address after the URL, for a request.
    :param body: what is posted, from a request.
    :param reply: the parsed JSON of a reply, in the fields of OpenAI's interface: ``model``,
        ``choices`` and ``usage``.
    :param headers: of a request, from the key.
    :param keys: environment variables with the key, the first that is set.
    """

    name: str
    path: Callable[[Request], str] = lambda request: request.endpoint
    body: Callable[[Request], Json] = same_body
    reply: Callable[[Any], Any] = same_reply
    headers: Callable[[str], dict[str, str]] = bearer
    keys: tuple[str, ...] = ("CGBENCH_API_KEY", "OPENAI_API_KEY")


OPENAI = ServerKind("openai")
KINDS = {OPENAI.name: OPENAI}
NO_SERVERS = ("hf", "mc", "memory")
"""What the addresses of other systems begin with."""


def kind_of(address: str) -> ServerKind | None:
    """The kind of server of an address; None if it is not that of a server.

    :raises InputError: the kind of another package cannot be loaded.
    """
    name, sign, _ = address.partition(":")
    if name in KINDS:
        return KINDS[name] if sign else None
    if not sign or not name.isidentifier() or name in NO_SERVERS:
        return None
    if (point := of_packages("servers").get(name)) is None:
        return None
    kind: ServerKind = load_from_package("servers", point, ServerKind, "a ServerKind")
    if kind.name != name:
        raise InputError(f"cgbench.servers {name}: {point.value} is called {kind.name}")
    return kind

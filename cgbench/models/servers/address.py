"""The address of a server, ``openai:URL?model=NAME``, its settings, and its key."""

import ipaddress
import os
import urllib.parse
from dataclasses import dataclass
from typing import Any, Literal

from cgbench.errors import InputError, printable
from cgbench.models.server_kinds import OPENAI, ServerKind, kind_of
from cgbench.settings import make_settings, option
from cgbench.text.web import check_url

FORM = (
    "openai:URL?model=NAME, where URL is the part before /chat/completions"
    " (http://localhost:8000/v1)"
)
ENDPOINTS = {"chat": "chat/completions", "completions": "completions"}
SENT = ("model", "temperature", "top_p", "seed", "max_tokens", "max_completion_tokens")


@dataclass(frozen=True)
class ServerSettings:
    """Settings after the ``?`` of an address."""

    model: str = option("", "Name of the model on the server")
    endpoint: Literal["chat", "completions"] = option("chat", "Send a chat, or a text to complete")
    temperature: float | None = option(
        0.0, "Sampling temperature; none: the server's default", least=0, most=2
    )
    top_p: float | None = option(
        None, "Sample from the most probable tokens of this total probability", above=0, most=1
    )
    seed: int | None = option(None, "Seed of the sampling, if the server supports one", least=0)
    max_tokens: int | None = option(
        512, "Maximum number of tokens in a reply", least=1, most=1 << 20
    )
    max_completion_tokens: int | None = option(
        None,
        "Maximum number including reasoning, sent instead of max_tokens",
        least=1,
        most=1 << 20,
    )
    parallel: int = option(
        8, "Number of parallel requests, which does not change the replies", least=1, most=256
    )
    timeout: float = option(120.0, "Timeout of a request, in seconds", least=1, most=86_400)
    key: str = option(
        "", f"Environment variable with the key, or none [default: {' or '.join(OPENAI.keys)}]"
    )


@dataclass(frozen=True, kw_only=True)
class Server(ServerSettings):
    """A server.

    ``text``: its address with the settings; ``url``: the part before ``/chat/completions``;
    ``kind``: how it is asked.
    """

    text: str
    url: str
    kind: ServerKind = OPENAI

    @property
    def identity(self) -> dict[str, Any]:
        """Everything known of the server that answers depend on."""
        url = f"{self.url}/{ENDPOINTS[self.endpoint]}"
        return {"kind": self.kind.name, "url": url, **self.sampling}

    @property
    def sampling(self) -> dict[str, Any]:
        """The fields of a request's body that the address sets."""
        fields = {name: value for name in SENT if (value := getattr(self, name)) is not None}
        if "max_completion_tokens" in fields:
            fields.pop("max_tokens", None)
        return fields

    def headers(self) -> dict[str, str]:
        """The key for the server, if there is one.

        :raises InputError: it has invalid characters, or would be sent over the network without
            encryption.
        """
        names = self.kind.keys if not self.key else () if self.key == "none" else (self.key,)
        name = next((name for name in names if os.environ.get(name)), None)
        if name is None:
            if self.key not in ("", "none"):
                raise InputError(f"{self.text}: the environment variable {self.key} is not set")
            return {}
        key = os.environ[name].strip()
        if not (key.isascii() and key.isprintable()):
            raise InputError(f"{name}: contains an invalid character; set it again")
        if not self.key and self.url.startswith("http:") and not _is_here(self.url):
            raise InputError(
                f"{self.text}: the key in {name} would be sent unencrypted; use https, or choose"
                f" with ?key=none or ?key={name}"
            )
        return self.kind.headers(key)


def _is_here(url: str) -> bool:
    host = urllib.parse.urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def read_options(text: str, query: str) -> dict[str, str]:
    """Parse the options after the ``?`` of an address."""
    try:
        pairs = urllib.parse.parse_qsl(query, keep_blank_values=True, strict_parsing=True)
    except ValueError:
        raise InputError(f"{text}: options after ? must be NAME=VALUE, separated by &") from None
    if len({name for name, _ in pairs}) < len(pairs):
        raise InputError(f"{text}: an option is given twice")
    if empty := next((name for name, value in pairs if not value), None):
        raise InputError(f"{text}: {empty} has no value")
    return dict(pairs)


def parse_server(text: str) -> Server:
    """Parse ``openai:URL?model=NAME``, or the address of another kind of server."""
    kind = kind_of(text) or OPENAI
    url, sign, query = text.removeprefix(f"{kind.name}:").partition("?")
    check_url(url, printable(text), FORM, f"; set {kind.keys[0]}")
    if not query.isprintable():
        raise InputError(f"{printable(text)}: contains unprintable characters")
    try:
        settings = make_settings(ServerSettings, read_options(text, query) if sign else {})
    except InputError as error:
        raise InputError(f"{text}: {error}") from None
    if not settings.model:
        raise InputError(f"{text}: no model is named; write {FORM}")
    return Server(text=text, url=url.rstrip("/"), kind=kind, **vars(settings))

"""A server as a member of an ensemble whose disagreement is measured over texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cgbench.errors import InputError, argument
from cgbench.models.external.addresses import Address
from cgbench.models.external.opening import Planned
from cgbench.models.servers.address import parse_server
from cgbench.models.servers.answers import Reading, read_choice
from cgbench.models.servers.client import Client
from cgbench.models.servers.conversation import Conversation
from cgbench.models.servers.exchange import Answer, Request
from cgbench.models.servers.likelihood import log_probs
from cgbench.models.servers.prompts import read_prompts


@dataclass(frozen=True, eq=False)
class PlannedServer(Planned):
    """A server, ready to be sent to worker processes."""

    def open(self, device: str = "cpu") -> Any:
        """The member."""
        (prompt,) = read_prompts([self.template or ""])
        return ServerMember(Conversation(parse_server(self.address.text), prompt))


@dataclass(frozen=True)
class ServerMember:
    """A server that translates, and scores translations. ``journal``: where answers are kept."""

    conversation: Conversation
    journal: Path = Path()

    def at(self, journal: Path) -> ServerMember:
        """The same, with its answers in a file."""
        return replace(self, journal=journal)

    def translate(self, lines: Sequence[str], **search: Any) -> list[list[Reading]]:
        """The hypothesis of each line; the settings of the address take the place of a search."""
        made = self.conversation.requests(lines)
        found = iter(self._ask([each for line, each in zip(lines, made, strict=True) if line.strip()]))
        return [
            [read_choice(next(found).choices[0], self.conversation.rule, line) if line.strip() else Reading("")]
            for line in lines
        ]

    def log_probs(self, lines: Sequence[str], hypotheses: Sequence[str]) -> list[float]:
        """log P(hypothesis | line), with the end token, in nats."""
        server = self.conversation.server
        return log_probs(self._ask, self.conversation.requests(lines), hypotheses, server.end, server.text)

    def _ask(self, requests: Sequence[Request]) -> Sequence[Answer]:
        with Client(self.conversation.server, self.journal) as client:
            return client.answers(requests)


def plan_server_member(text: str, prompt: str | None) -> PlannedServer:
    """Resolve ``openai:URL?model=NAME``, with ``end=TOKEN`` for completions; nothing is sent.

    :raises InputError: the address is invalid, or there is no prompt or end token.
    """
    server = parse_server(text)
    if prompt is None:
        raise InputError(f"{text}: a server needs a prompt; set {argument('prompt')}")
    (template,) = read_prompts([prompt])
    if template.uses != {"source"}:
        raise InputError(f"{argument('prompt')}: a member has no shots and no columns")
    if server.endpoint == "completions" and not server.end:
        raise InputError(f"{text}: to score a completion, name the model's end token: ?end=</s>")
    identity = {**server.identity, "prompt": template.text, "end": server.end}
    return PlannedServer(Address(text, "server", server.url), Path(), identity, "", None, prompt)

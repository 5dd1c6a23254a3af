"""The requests of a translation: prompt, system message, shots, and where an answer has the hypothesis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cgbench.errors import InputError, argument
from cgbench.models.servers.address import Server
from cgbench.models.servers.answers import AnswerRule, parse_rule
from cgbench.models.servers.exchange import Request
from cgbench.models.servers.prompt_templates import Pairs, Prompt, messages, read_prompts, read_system_message
from cgbench.models.translation_request import TranslateRequest


@dataclass(frozen=True)
class Conversation:
    """The settings of all requests of one output. ``n``: number of samples of each."""

    server: Server
    prompt: Prompt
    system: Prompt | None = None
    rule: AnswerRule = None
    n: int = 1

    @classmethod
    def of(cls, request: TranslateRequest, server: Server) -> Conversation:
        """Read the one prompt of a request, and all that belongs to it.

        :raises InputError: there is no prompt, or a part does not fit the endpoint.
        """
        if not request.prompting.prompt:
            raise InputError(
                f"{server.text}: a server needs a prompt; set {argument('prompt')}, such as 'Translate into English: "
                "{source}'"
            )
        (prompt,), message = read_prompts(request.prompting.prompt), request.prompting.system_message
        system = None if message is None else read_system_message(message)
        if system is not None and server.endpoint == "completions":
            raise InputError(f"{argument('system_message')}: a completion has none; use ?endpoint=chat")
        return cls(server, prompt, system, parse_rule(request.prompting.answer), request.nbest or 1)

    @property
    def identity(self) -> dict[str, str]:
        """What the text of requests and the reading of answers depend on."""
        system = {} if self.system is None else {"system_message": self.system.text}
        return {"prompt": self.prompt.text, **system, **({"answer": self.rule.pattern} if self.rule else {})}

    def requests(
        self, lines: Sequence[str], columns: Sequence[Mapping[str, str]] | None = None,
        shots: Sequence[Pairs] | None = None,
    ) -> list[Request]:  # fmt: skip
        """One request per sentence; see :func:`~cgbench.models.servers.prompt_templates.messages`."""
        body: dict[str, Any] = {**self.server.sampling, "n": self.n}
        chats = messages(self.prompt, self.system, lines, shots, columns)
        if self.server.endpoint == "chat":
            return [Request({**body, "messages": chat}) for chat in chats]
        if not self.rule:  # ends at a line break, as those of Hugging Face models do
            body["stop"] = ["\n"]
        return [Request({**body, "prompt": chat[-1]["content"]}) for chat in chats]

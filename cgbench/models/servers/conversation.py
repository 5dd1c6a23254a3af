"""The requests of a translation: prompt, system message, shots, and where an answer has the hypothesis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cgbench.errors import InputError, argument
from cgbench.models.servers.address import Server
from cgbench.models.servers.answers import AnswerRule, parse_rule
from cgbench.models.servers.exchange import Request
from cgbench.models.servers.prompts import Pairs, Prompt, check_shots, messages, read_prompts, read_system_message
from cgbench.models.translation_request import TranslateRequest


@dataclass(frozen=True)
class Conversation:
    """The settings of all requests of one output. ``n``: number of samples of each."""

    server: Server
    prompt: Prompt
    system: Prompt | None = None
    rule: AnswerRule = field(default_factory=AnswerRule)
    n: int = 1

    @classmethod
    def of(cls, request: TranslateRequest, server: Server) -> Conversation:
        """Read the one prompt of a request, and all that belongs to it.

        :raises InputError: there is no prompt, or a part does not fit the endpoint.
        """
        if not request.prompt:
            raise InputError(
                f"{server.text}: a server needs a prompt; set {argument('prompt')}, such as 'Translate into English: "
                "{source}'"
            )
        (prompt,) = read_prompts(request.prompt)
        system = None if request.system_message is None else read_system_message(request.system_message)
        if system is not None and server.endpoint == "completions":
            raise InputError(f"{argument('system_message')}: a completion has none; use ?endpoint=chat")
        return cls(server, prompt, system, parse_rule(request.answer), request.nbest or 1)

    @property
    def identity(self) -> dict[str, str]:
        """What the text of requests and the reading of answers depend on."""
        system = {} if self.system is None else {"system_message": self.system.text}
        return {"prompt": self.prompt.text, **system, **({"answer": self.rule.text} if self.rule.text else {})}

    @property
    def columns(self) -> frozenset[str]:
        """The names of columns in the templates."""
        return self.prompt.columns | (self.system.columns if self.system else frozenset())

    def requests(
        self, lines: Sequence[str], columns: Sequence[Mapping[str, str]] | None = None,
        shots: Sequence[Pairs] | None = None,
    ) -> list[Request]:  # fmt: skip
        """One request per sentence.

        :param columns: the values of :attr:`columns` in each row; ``shots``: the examples of each prompt.
        :raises InputError: a template uses shots and there are none, or the reverse; it fails on a row.
        """
        check_shots([self.prompt, *([self.system] if self.system else [])], shots)
        rows = columns or [{}] * len(lines)
        return [self._request(*each) for each in zip(lines, shots or [()] * len(lines), rows, strict=True)]

    def _request(self, line: str, shots: Pairs, columns: Mapping[str, str]) -> Request:
        body = {**self.server.sampling, "n": self.n}
        if self.rule.response_format:
            body["response_format"] = self.rule.response_format
        if self.server.endpoint == "chat":
            return Request({**body, "messages": messages(self.prompt, self.system, line, shots, columns)})
        if not self.rule.text:  # ends at a line break, as those of Hugging Face models do
            body["stop"] = ["\n"]
        return Request({**body, "prompt": self.prompt.render(line, shots, columns)})

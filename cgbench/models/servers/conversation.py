"""The requests of a translation: prompt, system message, shots, and where an answer has the
hypothesis.
"""

from collections.abc import Sequence
from typing import Any

from cgbench.errors import InputError, argument
from cgbench.models.servers.address import Server
from cgbench.models.servers.answers import parse_rule
from cgbench.models.servers.exchange import Request
from cgbench.models.servers.prompt_templates import messages, read_prompts, read_system_message
from cgbench.models.translation_request import TranslateRequest


class Conversation:
    """The settings of all requests of one output, with the one prompt of a translation.

    ``rule``: what finds the hypothesis in an answer; ``n``: number of samples of each sentence.

    :raises InputError: there is no prompt, or a part does not fit the endpoint.
    """

    def __init__(self, request: TranslateRequest, server: Server) -> None:
        prompting = request.prompting
        if not prompting.prompt:
            raise InputError(
                f"{server.text}: a server needs a prompt; set {argument('prompt')}, such as"
                " 'Translate into English: {source}'"
            )
        (self._prompt,), message = read_prompts(prompting.prompt), prompting.system_message
        self._system = None if message is None else read_system_message(message)
        if self._system is not None and server.endpoint == "completions":
            raise InputError(
                f"{argument('system_message')}: a completion has none; use ?endpoint=chat"
            )
        self._server, self._prompting = server, prompting
        self.rule, self.n = parse_rule(prompting.answer), request.nbest or 1

    @property
    def identity(self) -> dict[str, Any]:
        """What answers, the text of requests and the reading of answers depend on."""
        system = {} if self._system is None else {"system_message": self._system.text}
        answer = {"answer": self.rule.pattern} if self.rule else {}
        prompt = {"prompt": self._prompt.text, **system, **answer}
        return {**self._server.identity, **prompt, **self._prompting.shots_identity}

    def requests(self, lines: Sequence[str], sources: Any) -> list[Request]:
        """One request per sentence; see :func:`~cgbench.models.servers.prompt_templates.messages`.

        :param sources: where the sentences were read from, for templates with columns of their
            table.
        """
        body: dict[str, Any] = {**self._server.sampling, "n": self.n}
        chats = messages(self._prompt, self._system, lines, self._prompting.examples, sources)
        if self._server.endpoint == "chat":
            return [Request({**body, "messages": chat}) for chat in chats]
        if not self.rule:  # ends at a line break, as those of Hugging Face models do
            body["stop"] = ["\n"]
        return [Request({**body, "prompt": chat[-1]["content"]}) for chat in chats]

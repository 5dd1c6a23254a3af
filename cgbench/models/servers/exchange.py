"""Requests to a server and its answers: the fields of OpenAI's interface that other servers share.

:class:`Request` is made by whoever writes prompts, :meth:`cgbench.models.servers.client.Client.answers` turns requests
into :class:`Answer` objects in the same order, and whoever reads hypotheses takes them from there.

Source: the API reference of OpenAI (chat completions, completions), and the servers of vLLM, llama.cpp and
transformers, which name reasoning ``reasoning_content`` or ``reasoning``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from cgbench.steps import hash_value

FILTERED = "content_filter"
"""``finish_reason`` of a choice that a filter stopped, and the error code of a prompt that one refused (Azure)."""


class BadAnswerError(Exception):
    """A reply that is no answer, for example because it has the wrong number of choices."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """One request: a chat (``messages``) or a text to complete (``prompt``), and how to sample.

    A parameter that is None is not sent, so the server's default holds.

    :param messages: ``{"role": ..., "content": ...}`` in order; :param prompt: instead of messages.
    :param n: number of choices in one reply.
    :param response_format: a schema that the server enforces, as ``{"type": "json_schema", "json_schema": ...}``.
    :param extra: further fields of the body as the server names them: ``echo``, ``logprobs``, ``prompt_logprobs``.
    :param sample: not sent; numbers the repetitions of an otherwise equal request, which are separate draws.
    """

    model: str
    messages: tuple[Mapping[str, Any], ...] = ()
    prompt: str | None = None
    n: int = 1
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    stop: tuple[str, ...] = ()
    response_format: Mapping[str, Any] | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    sample: int = 0

    @property
    def endpoint(self) -> str:
        """The part of the address after ``/v1``."""
        return "chat/completions" if self.prompt is None else "completions"

    @cached_property
    def body(self) -> dict[str, Any]:
        """The JSON that is posted."""
        asked = {"messages": list(self.messages)} if self.prompt is None else {"prompt": self.prompt}
        names = ("temperature", "top_p", "seed", "max_tokens", "max_completion_tokens", "response_format")
        given = {name: value for name in names if (value := getattr(self, name)) is not None}
        stop = {"stop": list(self.stop)} if self.stop else {}
        return {"model": self.model, **asked, "n": self.n, **given, **stop, **self.extra}

    @cached_property
    def key(self) -> str:
        """A hash of all that the answer depends on, except the server: 64 hex digits, and a ``custom_id`` of batches.

        Equal requests have one key and are sent once.
        """
        return hash_value({"endpoint": self.endpoint, "body": self.body, "sample": self.sample})

    @property
    def longest(self) -> int | None:
        """The maximum number of tokens of all choices together; None without a limit."""
        limit = self.max_completion_tokens if self.max_tokens is None else self.max_tokens
        return None if limit is None else limit * self.n


@dataclass(frozen=True)
class Usage:
    """Tokens as the server counts them. ``cached`` are some of the ``input``, ``reasoning`` some of the ``output``."""

    input: int = 0
    output: int = 0
    cached: int = 0
    reasoning: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(*(one + more for one, more in zip(vars(self).values(), vars(other).values(), strict=True)))

    @property
    def total(self) -> int:
        """Input and output."""
        return self.input + self.output


@dataclass(frozen=True)
class Choice:
    """One of the ``n`` texts of a reply, exactly as the server wrote it. ``text`` is None where it wrote none."""

    text: str | None
    reasoning: str | None = None
    finish_reason: str | None = None
    refusal: str | None = None
    logprobs: Any = None


@dataclass(frozen=True)
class Answer:
    """A reply to a request.

    :param choices: as many as asked for; :param usage: None if the server does not say.
    :param model: the model's name as the server gives it; :param server: the ``Server`` header of the reply.
    :param raw: the whole reply as JSON.
    """

    choices: tuple[Choice, ...]
    usage: Usage | None = None
    model: str = ""
    system_fingerprint: str = ""
    server: str = ""
    raw: Mapping[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str | None:
        """The text of the first choice."""
        return self.choices[0].text

    @property
    def reasoning(self) -> str | None:
        """The reasoning that the server gives apart from the text, of the first choice."""
        return self.choices[0].reasoning

    @property
    def finish_reason(self) -> str | None:
        """Why the first choice ended: ``stop``, ``length``, ``content_filter``."""
        return self.choices[0].finish_reason

    @property
    def refusal(self) -> str | None:
        """The model's refusal, where the server gives it apart from the text."""
        return self.choices[0].refusal

    @property
    def logprobs(self) -> Any:
        """The log-probabilities of the first choice as the server gives them."""
        return self.choices[0].logprobs


def read_answer(raw: Any, request: Request, server: str = "") -> Answer:
    """Read the reply to a request; a prompt that a filter refused has choices without text.

    :raises BadAnswerError: it has no choices, or another number than was asked for, or one is not text.
    """
    if is_filtered(raw):
        return Answer((Choice(None, finish_reason=FILTERED),) * request.n, Usage(), server=server, raw=raw)
    try:
        choices = tuple(_choice(each, request.prompt is None) for each in raw["choices"])
    except (LookupError, TypeError, AttributeError):
        raise BadAnswerError("an answer without choices") from None
    if len(choices) != request.n:
        raise BadAnswerError(f"{len(choices)} choices, not {request.n}, which this server may not support")
    texts = [each for choice in choices for each in (choice.text, choice.reasoning, choice.refusal)]
    if not all(text is None or isinstance(text, str) for text in texts):
        raise BadAnswerError("a choice is not text")
    model, fingerprint = (str(raw.get(name) or "") for name in ("model", "system_fingerprint"))
    return Answer(choices, read_usage(raw), model, fingerprint, server, raw)


def _choice(found: Mapping[str, Any], is_chat: bool) -> Choice:
    ended = found.get("finish_reason")
    if not is_chat:
        return Choice(found["text"], finish_reason=ended, logprobs=found.get("logprobs"))
    message = found["message"]
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    return Choice(message.get("content"), reasoning, ended, message.get("refusal"), found.get("logprobs"))


def is_filtered(raw: Any) -> bool:
    """Whether a reply says that a filter has refused the prompt, in Azure's format."""
    try:
        return bool(raw["error"]["code"] == FILTERED)
    except (LookupError, TypeError):
        return False


def read_usage(raw: Any) -> Usage | None:
    """The tokens of a reply as the server counts them, even if the reply is no answer; None if it does not say."""

    def count(*path: str) -> int:
        value = raw.get("usage")
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0

    if not isinstance(raw, dict) or not isinstance(raw.get("usage"), dict):
        return None
    return Usage(
        count("prompt_tokens"),
        count("completion_tokens"),
        count("prompt_tokens_details", "cached_tokens"),
        count("completion_tokens_details", "reasoning_tokens"),
    )

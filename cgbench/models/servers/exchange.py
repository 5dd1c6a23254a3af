"""Requests to a server and its answers: the fields of OpenAI's interface that other servers share.

Source: the API reference of OpenAI (chat completions, completions), and the servers of vLLM,
llama.cpp and transformers, which name reasoning ``reasoning_content`` or ``reasoning``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from cgbench.steps import hash_value
from cgbench.text.web import NoReply

FILTERED = "content_filter"
"""``finish_reason`` of a choice that a filter stopped, and the error code of a prompt that one
refused (Azure).
"""
THINKING_PARTS = ("thinking", "reasoning")
"""Types of the parts of a content that are reasoning (Mistral)."""
TOO_MANY = 1 << 40  # tokens: no count of a server
_TEMPLATE = 256  # tokens that a chat template and a server's own system message may add


class BadAnswerError(NoReply):
    """A reply that is no answer, for example because it has the wrong number of choices."""


@dataclass(frozen=True)
class Usage:
    """Tokens as the server counts them.

    ``cached`` are some of the ``input``, ``reasoning`` some of the ``output``.
    """

    input: int = 0
    output: int = 0
    cached: int = 0
    reasoning: int = 0

    def __add__(self, usage: Usage) -> Usage:
        return Usage(
            *(
                count + addend
                for count, addend in zip(vars(self).values(), vars(usage).values(), strict=True)
            )
        )

    @property
    def total(self) -> int:
        """Input and output."""
        return self.input + self.output


@dataclass(frozen=True)
class Request:
    """One request.

    ``body``: the JSON that is posted, a chat (``messages``) or a text to complete (``prompt``).
    """

    body: Mapping[str, Any]

    @property
    def is_chat(self) -> bool:
        """Whether it is a chat."""
        return "messages" in self.body

    @property
    def endpoint(self) -> str:
        """The part of the address after ``/v1``."""
        return "chat/completions" if self.is_chat else "completions"

    @property
    def n(self) -> int:
        """The number of choices in one reply."""
        return int(self.body.get("n", 1))

    @cached_property
    def key(self) -> str:
        """A hash of all that the answer depends on, except the server: 64 hex digits, and a
        ``custom_id`` of batches.

        Equal requests have one key and are sent once.
        """
        return hash_value({"endpoint": self.endpoint, "body": self.body})

    @property
    def limit(self) -> int | None:
        """The maximum number of tokens of a choice; None without a limit."""
        return self.body.get("max_completion_tokens", self.body.get("max_tokens"))

    @property
    def most(self) -> Usage:
        """An upper bound on its tokens: a token of the prompt has at least one byte.

        Without a limit, output is 0.
        """
        length = len(json.dumps(self.body, ensure_ascii=False).encode())
        return Usage(length + _TEMPLATE, (self.limit or 0) * self.n)


class ReplyChoice(NamedTuple):
    """One of the ``n`` texts of a reply, exactly as the server wrote it.

    ``text`` is None where it wrote none.
    """

    text: str | None
    reasoning: str | None = None
    finish_reason: str | None = None
    refusal: str | None = None


def read_answer(raw: Any, request: Request) -> tuple[ReplyChoice, ...]:
    """Read the choices in the reply to a request; a prompt that a filter refused has choices
    without text.

    :raises BadAnswerError: it has no choices, or another number than was asked for, or one is not
        text.
    """
    if is_filtered(raw):
        return (ReplyChoice(None, finish_reason=FILTERED),) * request.n
    try:
        choices = tuple(_choice(content, request.is_chat) for content in raw["choices"])
    except (LookupError, TypeError, AttributeError):
        raise BadAnswerError("an answer without choices") from None
    if len(choices) != request.n:
        raise BadAnswerError(
            f"{len(choices)} choices, not {request.n}, which this server may not support"
        )
    texts = [
        content for choice in choices for content in (choice.text, choice.reasoning, choice.refusal)
    ]
    if not all(text is None or isinstance(text, str) for text in texts):
        raise BadAnswerError("a choice is not text")
    return choices


def _choice(choice: Mapping[str, Any], is_chat: bool) -> ReplyChoice:
    ended = choice.get("finish_reason")
    if not is_chat:
        return ReplyChoice(choice["text"], finish_reason=ended)
    message = choice["message"]
    reasoning, refusal = (
        message.get("reasoning_content") or message.get("reasoning"),
        message.get("refusal"),
    )
    content = message.get("content")
    if isinstance(content, list):  # of parts: text, and perhaps reasoning or a refusal
        texts = [block["text"] for block in content if block["type"] in ("text", "output_text")]
        refusals = [block["refusal"] for block in content if block["type"] == "refusal"]
        reasoning = reasoning or next(
            (block["type"] for block in content if block["type"] in THINKING_PARTS), None
        )
        content, refusal = "".join(texts) if texts else None, refusal or "".join(refusals) or None
    return ReplyChoice(content, reasoning, ended, refusal)


def is_filtered(raw: Any) -> bool:
    """Whether a reply says that a filter has refused the prompt, in Azure's format."""
    try:
        return bool(raw["error"]["code"] == FILTERED)
    except (LookupError, TypeError):
        return False


def read_usage(raw: Any) -> Usage | None:
    """The tokens of a reply as the server counts them, even if the reply is no answer; None if it
    does not say, or says what cannot be."""

    def count(*path: str) -> int:
        value = raw["usage"]
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        return value if type(value) is int and value >= 0 else 0

    if not isinstance(raw, dict) or not isinstance(raw.get("usage"), dict):
        return None
    usage = Usage(
        count("prompt_tokens"),
        count("completion_tokens"),
        count("prompt_tokens_details", "cached_tokens"),
        count("completion_tokens_details", "reasoning_tokens"),
    )
    return usage if max(vars(usage).values()) < TOO_MANY else None

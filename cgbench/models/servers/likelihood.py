"""Log-probabilities of given texts from a server: a member of an ensemble in text space.

Two interfaces return them. ``completions`` with ``echo`` and ``logprobs`` (vLLM, llama-cpp-python) scores the tokens of
a text; ``chat`` with ``prompt_logprobs`` (vLLM) scores those of a conversation that ends with the answer. In both, the
prompt is scored alone first: its tokens must begin the tokens of prompt and answer, and the rest belongs to the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from cgbench.errors import InputError
from cgbench.models.servers.exchange import Answer, Request

Ask = Callable[[Sequence[Request]], Sequence[Answer]]
Token = tuple[str, float | None]
"""A token, and its log-probability given those before it: None for the first token of all."""


def log_probs(ask: Ask, prompts: Sequence[Request], answers: Sequence[str], end: str, where: str) -> list[float]:
    """log P(answer, end | prompt) for each pair, in nats.

    :param prompts: requests as they would be sent to get an answer; their sampling settings do not matter.
    :param end: the model's end token as text, for completions: ``</s>``. A chat template has its own.
    :param where: the server's address, for messages.
    :raises InputError: the server returns no log-probabilities, or prompt and answer share a token.
    """
    contexts = [_scoring(prompt) for prompt in prompts]
    whole = [_with_answer(prompt, answer, end) for prompt, answer in zip(prompts, answers, strict=True)]
    # What a chat template writes behind an answer is what remains of an empty one.
    empty = [_with_answer(prompt, "", "") for prompt in prompts[:1] if prompt.prompt is None]
    found = [_tokens(one, where) for one in ask([*contexts, *whole, *empty])]
    n = len(prompts)
    behind = len(found[2 * n]) - len(found[0]) if empty else 0
    values = []
    for row, (context, tokens) in enumerate(zip(found[:n], found[n : 2 * n], strict=True), 1):
        names = [name for name, _ in tokens]
        if names[: len(context)] != [name for name, _ in context]:
            raise InputError(
                f"{where}: line {row}: the end of the prompt and the beginning of the answer share a token, so the "
                "answer alone has no probability; end the prompt with a line break, or use another chat template"
            )
        last = len(tokens) - max(behind - 1, 0)  # of a template's end, the first token is the end of the answer
        values.append(sum(value or 0.0 for _, value in tokens[len(context) : last]))
    return values


def _scoring(request: Request) -> Request:
    """The request that scores its own prompt; one token is generated, as some servers generate at least one."""
    extra: Mapping[str, Any] = {"echo": True, "logprobs": 1} if request.prompt is not None else {"prompt_logprobs": 0}
    kept = {**request.extra, **extra}
    plain = {"n": 1, "temperature": 0.0, "top_p": None, "seed": None, "max_completion_tokens": None, "stop": ()}
    return replace(request, **plain, max_tokens=1, response_format=None, extra=kept, sample=0)  # type: ignore[arg-type]


def _with_answer(request: Request, answer: str, end: str) -> Request:
    scoring = _scoring(request)
    if request.prompt is not None:
        return replace(scoring, prompt=f"{request.prompt}{answer}{end}")
    spoken = (*request.messages, {"role": "assistant", "content": answer})
    return replace(scoring, messages=spoken, extra={**scoring.extra, "add_generation_prompt": False})


def _tokens(answer: Answer, where: str) -> list[Token]:
    """The tokens of a prompt; those that were generated are left out.

    :raises InputError: the answer has none.
    """
    try:
        if "prompt_logprobs" in answer.raw:  # one mapping per token, from its id; the token itself comes first
            rows = [next(iter(row.items())) if row else ("", {}) for row in answer.raw["prompt_logprobs"]]
            return [(str(name), _number(value.get("logprob"))) for name, value in rows]
        found = answer.logprobs
        made = answer.usage.output if answer.usage else 1
        pairs = list(zip(found["tokens"], map(_number, found["token_logprobs"]), strict=True))
        return pairs[: len(pairs) - made]
    except (LookupError, TypeError, AttributeError, ValueError):
        raise InputError(
            f"{where}: the server returns no log-probabilities of a given text (completions with echo, or "
            "prompt_logprobs of vLLM); measure samples instead (docs/how-to/prompts-and-answers.md)"
        ) from None


def _number(value: Any) -> float | None:
    return None if value is None else float(value)

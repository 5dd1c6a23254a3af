"""Log-probabilities of given texts from a server: a member of an ensemble in text space.

Two interfaces return them. ``completions`` with ``echo`` and ``logprobs`` (vLLM, llama-cpp-python) scores the tokens of
a text; ``chat`` with ``prompt_logprobs`` (vLLM) scores those of a conversation that ends with the answer. In both, the
prompt is scored alone first: its tokens must begin the tokens of prompt and answer, and the rest belongs to the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cgbench.errors import InputError
from cgbench.models.servers.exchange import Answer, Request, read_usage

Ask = Callable[[Sequence[Request]], Sequence[Answer]]
Token = tuple[str, float]
"""A token, and its log-probability given those before it: 0 for the first token of all, which has none."""
_KEPT = ("model", "messages", "prompt")  # of a request, whose sampling settings do not matter


def log_probs(ask: Ask, prompts: Sequence[Request], answers: Sequence[str], end: str, where: str) -> list[float]:
    """log P(answer, end | prompt) for each pair, in nats.

    :param prompts: requests as they would be sent to get an answer.
    :param end: the model's end token as text, for completions: ``</s>``. A chat template has its own.
    :param where: the server's address, for messages.
    :raises InputError: the server returns no log-probabilities, or prompt and answer share a token.
    """
    contexts = [_scoring(prompt) for prompt in prompts]
    whole = [_scoring(prompt, answer, end) for prompt, answer in zip(prompts, answers, strict=True)]
    # What a chat template writes behind an answer is what remains of an empty one.
    empty = [_scoring(prompt, "", "") for prompt in prompts[:1] if prompt.is_chat]
    found = [_tokens(one, where) for one in ask([*contexts, *whole, *empty])]
    n = len(prompts)
    behind = len(found[2 * n]) - len(found[0]) if empty else 0
    values = []
    for row, (context, tokens) in enumerate(zip(found[:n], found[n : 2 * n], strict=True), 1):
        if [name for name, _ in tokens[: len(context)]] != [name for name, _ in context]:
            raise InputError(
                f"{where}: line {row}: the end of the prompt and the beginning of the answer share a token, so the "
                "answer alone has no probability; end the prompt with a line break, or use another chat template"
            )
        last = len(tokens) - max(behind - 1, 0)  # of a template's end, the first token is the end of the answer
        values.append(sum(value for _, value in tokens[len(context) : last]))
    return values


def _scoring(request: Request, answer: str | None = None, end: str = "") -> Request:
    """The request that scores its own prompt, with an answer if there is one.

    One token is generated, as some servers generate at least one.
    """
    body: dict[str, Any] = {name: request.body[name] for name in _KEPT if name in request.body}
    body |= {"n": 1, "temperature": 0.0, "max_tokens": 1}
    if not request.is_chat:
        return Request({**body, "prompt": f"{body['prompt']}{answer or ''}{end}", "echo": True, "logprobs": 1})
    if answer is not None:
        body["messages"] = [*body["messages"], {"role": "assistant", "content": answer}]
        body["add_generation_prompt"] = False
    return Request({**body, "prompt_logprobs": 0})


def _tokens(answer: Answer, where: str) -> list[Token]:
    """The tokens of a prompt; those that were generated are left out.

    :raises InputError: the answer has none.
    """
    raw = answer.raw
    try:
        if "prompt_logprobs" in raw:  # one mapping per token, from its id; the token itself comes first
            rows = [next(iter(row.items())) for row in raw["prompt_logprobs"][1:]]
            return [("", 0.0), *((name, float(value["logprob"])) for name, value in rows)]
        found = raw["choices"][0]["logprobs"]
        used = read_usage(raw)
        values = [float(value) if place else 0.0 for place, value in enumerate(found["token_logprobs"])]
        pairs = list(zip(found["tokens"], values, strict=True))
        return pairs[: len(pairs) - (used.output if used else 1)]
    except (LookupError, TypeError, AttributeError, ValueError, StopIteration):
        raise InputError(
            f"{where}: the server returns no log-probabilities of a given text (completions with echo, or "
            "prompt_logprobs of vLLM); measure samples instead (docs/how-to/prompts-and-answers.md)"
        ) from None

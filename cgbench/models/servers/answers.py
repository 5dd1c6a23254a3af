"""From what a model wrote to a hypothesis: reasoning is cut, faults are counted, and only a named rule cuts more.

A fault that is counted but left in the text (a preface, quotes) changes the score of a system by a mistake of the
prompt. Removing it silently would hide how well the model follows its prompt, so the user chooses a rule.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from cgbench.errors import InputError, argument, require
from cgbench.models.servers.exchange import FILTERED, Choice

TAGS = (
    ("<think>", "</think>"),  # DeepSeek-R1 and V3, Qwen3, QwQ, GLM-4.5, Hunyuan, MiniMax-M2, Nemotron 3, Olmo 3, Step 3
    ("<mm:think>", "</mm:think>"),  # MiniMax-M3
    ("<seed:think>", "</seed:think>"),  # Seed-OSS
    ("[THINK]", "[/THINK]"),  # Magistral and other models of Mistral
    ("◁think▷", "◁/think▷"),  # Kimi
    ("<|START_THINKING|>", "<|END_THINKING|>"),  # Command A
    ("<|inner_prefix|>", "<|inner_suffix|>"),  # Apertus
    ("<|channel>", "<channel|>"),  # Gemma 4
    ("<|begin_of_thought|>", "<|end_of_thought|>"),  # OpenThinker
    ("<|thinking|>", "<|/thinking|>"), ("<thought>", "</thought>"), ("<thinking>", "</thinking>"),  # EXAONE Deep
    ("<reasoning>", "</reasoning>"),
)  # fmt: skip
"""Marks before and after reasoning, by model family.

Sources: the reasoning parsers of vLLM (vllm/reasoning) and SGLang (srt/parser/reasoning_parser.py), model cards.
"""
_ANSWERS = (
    ("<answer>", "</answer>"),  # Hunyuan A13B, and models trained on DeepSeek-R1's first template
    ("<|START_RESPONSE|>", "<|END_RESPONSE|>"), ("<|START_TEXT|>", "<|END_TEXT|>"),  # Command A
)  # fmt: skip
_GRANITE = re.compile(r"\AHere(?:'s| is) my thought process:.*?Here(?:'s| is) my response:", re.DOTALL)  # 3.2
_FINAL = re.compile(r"<\|channel\|>final(?: [^<]*)?<\|message\|>|\Aanalysis.*?assistantfinal", re.DOTALL)
_HARMONY = re.compile(r"<\|channel\|>(?:analysis|commentary)|\Aanalysis(?=[A-Z])")
"""gpt-oss: the final channel, and the others; where a server drops special tokens, only their names are left."""
_HARMONY_END = re.compile(r"<\|(?:return|end|call)\|>.*\Z", re.DOTALL)

_QUOTES = (*zip("\"'`“„«‹‘「『", "\"'`””»›’」』", strict=True), ("„", "“"), ("»", "«"), ("**", "**"))  # noqa: RUF001
_PREFACE = re.compile(
    r"(?:sure|certainly|of course|okay|absolutely)\b[^\n]{0,80}[!:.,]\s*\n"
    r"|[^\n]{0,60}?(?:here is|here's|here are|hier ist|voici|aquí|ecco|answer|translat|tradu[czç]|übersetz|перевод|翻译"
    r"|翻訳|번역)"
    r"[^\n]{0,40}?(?::\**\s|\uff1a)",
    re.IGNORECASE,
)
_REFUSAL = re.compile(
    r"(?:i['\u2019]m sorry|i am sorry|sorry|i apologi[sz]e)\b.{0,40}\b(?:can(?:no|['\u2019])t|unable|not able)\b"
    r"|i (?:can(?:no|['\u2019])t|am unable to|am not able to) (?:help|assist|translate|provide|comply)|as an ai\b",
    re.IGNORECASE | re.DOTALL,
)
NAMED = 5  # lines named in a warning
_SECONDS = 2.0  # of a regular expression on one answer

EMPTYING = {
    "unclosed": "whose reasoning does not end",
    "refused": "refused by the model",
    "filtered": "stopped by a filter",
    "unmatched": "without what {answer} looks for",
    "empty": "without text",
}
"""Causes of an empty hypothesis; each empty answer has one of them."""
FAULTS = {
    "cut": "cut short by the limit of tokens (raise it with ?max_tokens=N)",
    "refusal": "that read like a refusal",
    "preface": "with a preface such as 'Sure!' or 'Here is the translation:'",
    "quotes": "in quotes",
    "fence": "with a code fence",
    "lines": "of several lines",
}
"""What is counted and warned of, but left as it is."""


class Reading(NamedTuple):
    """The hypothesis in an answer, one line, and the ``causes``: ``reasoning`` if some was cut, and names of
    :data:`EMPTYING` and :data:`FAULTS`."""

    text: str
    causes: tuple[str, ...] = ()

    @property
    def is_incomplete(self) -> bool:
        """Whether the hypothesis is empty, or cut short by a limit."""
        return not self.text or "cut" in self.causes


class AnswerRule(NamedTuple):
    """Where the hypothesis is in an answer. ``text``: the rule as it was given; empty: the whole answer."""

    text: str = ""
    find: Callable[[str], str | None] = lambda text: text
    response_format: Mapping[str, Any] | None = None
    """Of ``json:FIELD``: the schema for the server (OpenAI's structured outputs)."""


def parse_rule(text: str | None) -> AnswerRule:
    """Parse ``--answer``: ``last-line``, ``tag:NAME``, ``regex:PATTERN`` or ``json:FIELD``.

    :raises InputError: there is no such rule, or its pattern is invalid.
    """
    if text is None:
        return AnswerRule()
    kind, _, value = text.partition(":")
    if text == "last-line":
        return AnswerRule(text, lambda found: next(iter(reversed(_lines(found))), None))
    if kind == "tag" and re.fullmatch(r"[A-Za-z_][\w.-]{0,63}", value):
        return AnswerRule(text, lambda found: _last_between(found, f"<{value}>", f"</{value}>"))
    if kind == "regex" and value:
        return AnswerRule(text, _search(text, value))
    if kind == "json" and value:
        schema = {
            "type": "object", "properties": {value: {"type": "string"}}, "required": [value],
            "additionalProperties": False,
        }  # fmt: skip
        asked = {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": schema}}
        return AnswerRule(text, lambda found: _field(found, value), asked)
    raise InputError(f"{argument('answer', text)}: use last-line, tag:NAME, regex:PATTERN or json:FIELD")


def read_choice(choice: Choice, rule: AnswerRule, source: str = "") -> Reading:
    """The hypothesis in one choice of an answer.

    :param source: the sentence; a mark of :data:`TAGS` that is in it is no mark of reasoning.
    :raises InputError: the rule's regular expression takes too long.
    """
    given = (choice.text or "").strip()
    text = cut_reasoning(given, source)
    causes = ["reasoning"] if choice.reasoning or text != given else []
    cut = ["cut"] if choice.finish_reason == "length" else []
    found = (rule.find(text) or "").strip() if text else ""
    if found:
        return Reading(" ".join(_lines(found)), (*causes, *cut, *_faults(found, source)))
    if choice.text:
        empty = "unclosed" if text is None else "unmatched" if text else "empty"
    else:
        empty = "filtered" if choice.finish_reason == FILTERED else "refused" if choice.refusal else "empty"
    return Reading("", (*causes, empty, *cut))


def cut_reasoning(text: str, source: str = "") -> str | None:
    """An answer without its reasoning; None if reasoning begins but does not end.

    Without the first mark, everything before the second one is reasoning: some chat templates write the first mark
    into the prompt.
    """
    if final := [*_FINAL.finditer(text)]:
        return _HARMONY_END.sub("", text[final[-1].end() :]).strip()
    if _HARMONY.search(text) and "<|" not in source:
        return None
    kept = _GRANITE.sub("", text)
    for start, end in TAGS:
        if (start in kept or end in kept) and start not in source and end not in source:
            outside = _outside(kept, start, end)
            if outside is None:
                return None
            kept = outside
    if kept == text:
        return text
    kept = kept.strip()
    for start, end in _ANSWERS:
        if kept.startswith(start):
            kept = kept.removeprefix(start).removesuffix(end).strip()
    return kept


def _outside(text: str, start: str, end: str) -> str | None:
    """The text outside marks, in time linear in its length; None if the last ``start`` has no ``end``."""
    kept, inside = list[str](), False
    for part in re.split(f"({re.escape(start)}|{re.escape(end)})", text):
        if part in (start, end):
            kept, inside = kept if inside or part == start else [], part == start
        elif not inside:
            kept.append(part)
    return None if inside else "".join(kept)


def count(readings: Iterable[Reading]) -> dict[str, Any]:
    """The counts of a sidecar: ``asked`` answers, the ``incomplete`` of them, and answers by cause."""
    found = list(readings)
    causes = Counter(cause for reading in found for cause in reading.causes)
    return {
        "asked": len(found),
        "incomplete": sum(reading.is_incomplete for reading in found),
        "causes": {cause: causes[cause] for cause in ("reasoning", *EMPTYING, *FAULTS) if causes[cause]},
    }


def warnings_of(counts: Mapping[str, Any], rule: AnswerRule, places: Sequence[int] = ()) -> list[str]:
    """One line each for empty answers, in the lines ``places``, and for those with faults."""
    causes, of = counts["causes"], f"of {counts['asked']:,} answers, "
    named = argument("answer", rule.text) if rule.text else argument("answer")
    empty = [f"{causes[name]:,} {what.format(answer=named)}" for name, what in EMPTYING.items() if name in causes]
    faulty = [f"{causes[name]:,} {what}" for name, what in FAULTS.items() if name in causes]
    where = ", ".join(map(str, places[:NAMED])) + (", ..." if len(places) > NAMED else "")
    lines = []
    if empty:
        lines.append(f"{of}these give an empty hypothesis{f' (line {where})' if where else ''}: {', '.join(empty)}")
    if faulty:
        lines.append(of + ", ".join(faulty))
    if {"preface", "quotes", "fence", "lines"} & {*causes}:
        lines[-1] += (
            f"; nothing was removed: change the prompt, or name a rule such as {argument('answer', 'last-line')} or "
            f"{argument('answer', 'tag:NAME')}"
        )
    return lines


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _last_between(text: str, start: str, end: str) -> str | None:
    before, closed, _ = text.rpartition(end)
    return before.rpartition(start)[2] if closed and start in before else None


def _search(rule: str, pattern: str) -> Callable[[str], str | None]:
    regex: Any = require("regex", "scores")
    try:
        compiled = regex.compile(pattern)
    except (regex.error, OverflowError) as error:
        raise InputError(f"{argument('answer', rule)}: not a valid regular expression ({error})") from None
    if compiled.groups > 1:
        raise InputError(f"{argument('answer', rule)}: use at most one group, which is the hypothesis")

    def find(text: str) -> str | None:
        try:
            found = compiled.search(text, timeout=_SECONDS)
        except TimeoutError:
            # Not a count: what a slower machine cuts off would differ.
            raise InputError(
                f"{argument('answer', rule)}: takes more than {_SECONDS:g} s on an answer that begins "
                f"{text[:40]!r}; simplify the pattern (the answers are kept)"
            ) from None
        return None if found is None else found[compiled.groups]

    return find


def _field(text: str, name: str) -> str | None:
    """A text field of the answer's JSON object, which may be in a code fence."""
    if fenced := re.fullmatch(r"```(?:json)?\s*\n(.*)\n\s*```", text.strip(), re.DOTALL):
        text = fenced[1]
    try:
        value = json.loads(text)
        found = value[name]
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    return found if isinstance(found, str) else None


def _faults(text: str, source: str) -> list[str]:
    """The :data:`FAULTS` of a text; a form that the sentence has too is none."""
    source = source.strip()

    def is_quoted(one: str) -> bool:
        return any(
            one.startswith(start) and one.endswith(end) and len(one) > len(start + end) for start, end in _QUOTES
        )

    found = {
        "refusal": _REFUSAL.match(text) and not _REFUSAL.match(source),
        "preface": _PREFACE.match(text) and ": " not in source and "\uff1a" not in source,
        "quotes": is_quoted(text) and not text.startswith("```") and not is_quoted(source),
        "fence": "```" in text and "```" not in source,
        "lines": len(_lines(text)) > 1,
    }
    return [name for name, is_so in found.items() if is_so]

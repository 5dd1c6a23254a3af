"""From what a model wrote to a hypothesis: reasoning is cut, faults are counted, and only the
user's pattern cuts more.

Removing a preface or quotes silently would hide how well a model follows its prompt, so the user
decides with a regular expression.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from cgbench.errors import InputError, argument, printable
from cgbench.models.servers.exchange import FILTERED, ReplyChoice

START, END = "<think>", "</think>"
"""Marks around reasoning where the server does not return it apart (DeepSeek, Qwen, GLM, Olmo and
others).
"""
NAMED = 5  # lines named in a warning
_SECONDS = 2.0  # of a regular expression on one answer

EMPTYING = {
    "unclosed": "whose reasoning does not end",
    "refused": "refused by the model",
    "filtered": "stopped by a filter",
    "unmatched": "without a match of {answer}",
    "empty": "without text",
}
"""Causes of an empty hypothesis; each empty answer has one of them."""
FAULTS = {
    "cut": "cut short by the limit of tokens (raise it with ?max_tokens=N)",
    "damaged": "with characters that are no text (replaced by U+FFFD)",
    "lines": "of several lines (joined by blanks: change the prompt, or cut with {answer})",
}
"""What is counted and warned of, but left as it is."""


class AnswerReading(NamedTuple):
    """The hypothesis in an answer, one line, and the ``causes``: ``reasoning`` if some was cut, and
    names of :data:`EMPTYING` and :data:`FAULTS`."""

    text: str
    causes: tuple[str, ...] = ()


AnswerRule: TypeAlias = Any
"""A compiled regular expression that finds the hypothesis in an answer; None: the whole answer."""


def parse_rule(pattern: str | None) -> AnswerRule:
    """Compile ``--answer``: the hypothesis is the first match, or its group if there is one.

    :raises InputError: it is not valid, or has several groups.
    """
    if pattern is None:
        return None
    import regex

    try:
        rule = regex.compile(pattern)
    except (regex.error, OverflowError) as error:
        raise InputError(
            f"{argument('answer', pattern)}: not a valid regular expression ({error})"
        ) from None
    if rule.groups > 1:
        raise InputError(
            f"{argument('answer', pattern)}: use at most one group, which is the hypothesis"
        )
    if not pattern:
        raise InputError(f"{argument('answer', pattern)}: the regular expression is empty")
    return rule


def _find(rule: AnswerRule, text: str) -> str:
    """The hypothesis in an answer, empty if there is none."""
    if rule is None:
        return text
    try:
        match = rule.search(text, timeout=_SECONDS)
    except TimeoutError:
        # An error and not a count, because a slower machine would count other answers.
        raise InputError(
            f"{argument('answer', rule.pattern)}: takes more than {_SECONDS:g} s on an answer that"
            f" begins {text[:40]!r}; simplify the pattern (the answers are kept)"
        ) from None
    return (match and match[rule.groups]) or ""


def read_choice(choice: ReplyChoice, rule: AnswerRule, source: str = "") -> AnswerReading:
    """The hypothesis in one choice of an answer.

    :param source: the sentence; if it contains a mark of reasoning, the marks of the answer have no
        meaning.
    :raises InputError: the rule's regular expression takes too long.
    """
    answer = (choice.text or "").strip()
    text = cut_reasoning(answer, source)
    causes = ["reasoning"] if choice.reasoning or text != answer else []
    cut = ["cut"] if choice.finish_reason == "length" else []
    lines = (
        [line.strip() for line in _find(rule, text).splitlines() if line.strip()] if text else []
    )
    if lines:
        answer = " ".join(lines)
        damaged = ["damaged"] if "\ufffd" in answer and "\ufffd" not in source else []
        several = ["lines"] if len(lines) > 1 else []
        return AnswerReading(answer, (*causes, *cut, *damaged, *several))
    if choice.text:
        cause = "unclosed" if text is None else "unmatched" if text else "empty"
    else:
        cause = (
            "filtered"
            if choice.finish_reason == FILTERED
            else "refused"
            if choice.refusal
            else "empty"
        )
    return AnswerReading("", (*causes, cause, *cut))


def cut_reasoning(text: str, source: str = "") -> str | None:
    """What follows the last end of reasoning; None if reasoning begins after it, and does not end.

    Text before the reasoning is also cut: a preface, or reasoning whose first mark a chat template
    wrote into the prompt. Exported tasks read answers in the same way
    (:mod:`cgbench.benchmark.release.export.lm_eval`).
    """
    if not (START in text or END in text) or START in source or END in source:
        return text
    answer = text.rpartition(END)[2]
    return None if START in answer else answer.strip()


def count(readings: Iterable[AnswerReading]) -> dict[str, Any]:
    """The counts of a sidecar: ``asked`` answers, the ``incomplete`` of them, and answers by
    cause.
    """
    answers = list(readings)
    causes = Counter(cause for reading in answers for cause in reading.causes)
    return {
        "asked": len(answers),
        "incomplete": sum(not reading.text or "cut" in reading.causes for reading in answers),
        "causes": {
            cause: causes[cause] for cause in ("reasoning", *EMPTYING, *FAULTS) if causes[cause]
        },
    }


def other_model(answered: str, requested: str) -> str:
    """That another model has answered than the requested one; empty if none has, or it is unknown.

    A date, a folder or an ending of the name makes no difference.
    """
    names = [name.casefold().rstrip("/").rpartition("/")[2] for name in (answered, requested)]
    if not answered or names[0] in names[1] or names[1] in names[0]:
        return ""
    return f"every answer names another model, {printable(answered)!r}; check what the server runs"


def warnings_of(
    counts: Mapping[str, Any], rule: AnswerRule, positions: Sequence[int] = ()
) -> list[str]:
    """One line each for empty answers, in the lines ``positions``, and for those with faults."""
    causes, total = counts["causes"], f"of {counts['asked']:,} answers, "
    option = argument("answer", rule.pattern) if rule else argument("answer")
    empty = [
        f"{causes[name]:,} {cause.format(answer=option)}"
        for name, cause in EMPTYING.items()
        if name in causes
    ]
    faulty = [
        f"{causes[name]:,} {cause.format(answer=option)}"
        for name, cause in FAULTS.items()
        if name in causes
    ]
    where = ", ".join(map(str, positions[:NAMED])) + (", ..." if len(positions) > NAMED else "")
    lines = []
    if empty:
        lines.append(
            f"{total}these give an empty hypothesis{f' (line {where})' if where else ''}:"
            f" {', '.join(empty)}"
        )
    if faulty:
        lines.append(total + ", ".join(faulty))
    return lines

"""Prompts with shots: for a translation, or as a file for any harness."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cgbench.benchmark.shots.choose import Choice, choose_shots
from cgbench.benchmark.shots.request import PromptOptions, ShotsOptions, ShotsRequest
from cgbench.errors import InputError, argument
from cgbench.files import check_output, write_atomic
from cgbench.models.servers.prompts import SHOTS, Prompt, messages, read_prompts, read_system_message
from cgbench.requests import as_path, fields_of
from cgbench.text.formats import Pair
from cgbench.text.inputs import files_of, lines_of


def shots_of(options: PromptOptions, sources: Any, reserved: Iterable[Pair]) -> list[Choice] | None:
    """The shots of each sentence; None if none are requested.

    :param reserved: pairs that are never shots.
    """
    given: frozenset[str] = options.given  # type: ignore[attr-defined]
    asked = {name: getattr(options, name) for name in fields_of(ShotsOptions) if name in given}
    return choose_shots(ShotsRequest(sources, exclude=list(reserved), **asked)) if asked else None


def prompt_rows(
    lines: Sequence[str], prompt: Prompt, system: Prompt | None = None, choices: Sequence[Choice] | None = None
) -> list[dict[str, Any]]:
    """One row per sentence: ``id`` (its number, from 1), ``source``, ``messages``; with shots, the numbers of their
    training pairs (``shots``, from 1), how many of them the cover has (``cover``) and ``prompt_degree``.

    :raises InputError: the prompt has columns, or shots and no place for them.
    """
    if (SHOTS in prompt.uses) != (choices is not None):
        what = "has no {shots}, the place of the shots" if choices is not None else "has {shots}, but there are none"
        raise InputError(f"{argument('prompt')}: {what}; see {argument('shots')}")
    if columns := sorted(prompt.columns | (system.columns if system else frozenset())):
        raise InputError(f"{argument('prompt')}: uses the column {columns[0]}, which {argument('write_prompts')} lacks")
    rows = []
    for number, line in enumerate(lines, 1):
        choice = choices[number - 1] if choices is not None else None
        row: dict[str, Any] = {"id": number, "source": line}
        if choice is not None:
            row |= {"shots": choice.rows, "cover": choice.cover, "prompt_degree": choice.prompt_degree}
        rows.append({**row, "messages": messages(prompt, system, line, choice.pairs if choice else ())})
    return rows


def write_prompts(
    options: PromptOptions, sources: Any, given: Sequence[str], system: str | None, choices: Sequence[Choice] | None
) -> int:
    """Write the prompts as JSON lines; returns their number.

    :param given: the one prompt; ``system``: the system message.
    :raises InputError: as :func:`prompt_rows`, or there is not one prompt.
    """
    prompts = read_prompts(given)
    if len(prompts) != 1:
        raise InputError(
            f"{argument('write_prompts')}: needs one {argument('prompt')}, with {{source}} for the sentence"
        )
    assert options.write_prompts is not None
    path = as_path(options.write_prompts)
    check_output(path, files_of(sources))
    message = None if system is None else read_system_message(system)
    rows: Sequence[Mapping[str, Any]] = prompt_rows(lines_of(sources, "sources")[0], prompts[0], message, choices)
    write_atomic(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    return len(rows)

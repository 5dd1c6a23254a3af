"""Prompts with shots: for a translation, or as a file for any harness."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from cgbench.benchmark.shots.choose import Choice, choose_shots
from cgbench.benchmark.shots.request import PromptOptions, ShotsOptions, ShotsRequest
from cgbench.errors import InputError, argument
from cgbench.files import check_output, write_atomic
from cgbench.models.servers.prompts import SHOTS, Prompt, messages, read_prompts, read_system_message
from cgbench.models.translation_request import TranslateRequest
from cgbench.requests import as_path, changed, fields_of
from cgbench.tables import counted
from cgbench.text.formats import Pair
from cgbench.text.inputs import files_of, lines_of
from cgbench.text.streams import is_stdin


def with_shots(
    request: TranslateRequest, options: PromptOptions, reserved: Iterable[Pair]
) -> tuple[TranslateRequest, str | None]:
    """A translation with its shots; and, if no model is to be asked, the line that says what was written.

    :param reserved: pairs that are never shots.
    :raises InputError: as :func:`~cgbench.benchmark.shots.choose.choose_shots` and :func:`prompt_rows`.
    """
    if is_stdin(request.sources):
        raise InputError(f"{argument('shots')}: standard input can be read once; give the sentences as a file")
    asked = {name: getattr(options, name) for name in fields_of(ShotsOptions) if name in options.given}
    choices = choose_shots(ShotsRequest(request.sources, exclude=list(reserved), **asked)) if asked else None
    if options.write_prompts is not None:
        number = write_prompts(as_path(options.write_prompts), request, choices)
        if request.system is None and not request.model:
            return request, f"{counted(number, 'prompt')} written to {options.write_prompts}"
    elif choices is None:
        raise InputError(f"{argument('release', options.release)} has no effect without {argument('shots')}")
    if choices is not None and request.system is None:
        raise InputError(f"{argument('shots')} needs {argument('system')}, or {argument('write_prompts')} alone")
    return (request if choices is None else changed(request, examples=[one.pairs for one in choices])), None


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


def write_prompts(path: Path, request: TranslateRequest, choices: Sequence[Choice] | None) -> int:
    """Write the prompts of a translation as JSON lines; returns their number.

    :raises InputError: as :func:`prompt_rows`, or there is not one prompt.
    """
    prompts = read_prompts(request.prompt)
    if len(prompts) != 1:
        raise InputError(
            f"{argument('write_prompts')} needs one {argument('prompt')}, with {{source}} for the sentence"
        )
    check_output(path, files_of(request.sources))
    system = None if request.system_message is None else read_system_message(request.system_message)
    rows = prompt_rows(lines_of(request.sources, "sources")[0], prompts[0], system, choices)
    write_atomic(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    return len(rows)

"""Prompts with shots: for a translation, or as a file for any harness."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from cgbench.argument_types import as_path
from cgbench.benchmark.release.shots.choose import ChosenShots, choose_shots
from cgbench.benchmark.release.shots.request import PromptOptions, ShotsRequest
from cgbench.errors import InputError, argument
from cgbench.files import check_output, write_json_lines
from cgbench.models.servers.prompt_templates import messages, read_prompts, read_system_message
from cgbench.models.translation_request import TranslateRequest
from cgbench.numbers_as_text import counted
from cgbench.request import changed
from cgbench.text.formats import Pair
from cgbench.text.inputs import files_of, lines_of
from cgbench.text.streams import is_stdin


def with_shots(
    request: TranslateRequest, options: PromptOptions, reserved: Iterable[Pair]
) -> tuple[TranslateRequest, str | None]:
    """A translation with its shots; and, if no model is to be asked, the line that says what was
    written.

    :param reserved: pairs that are never shots.
    :raises InputError: as :func:`~cgbench.benchmark.release.shots.choose.choose_shots` and
        :func:`write_prompts`.
    """
    if is_stdin(request.sources):
        raise InputError(
            f"{argument('shots')}: standard input can be read once; give the sentences as a file"
        )
    choices = None
    if options.choice.given:
        shots = ShotsRequest(
            request.sources,
            choice=options.choice,
            exclude=list(reserved),
            acceptance=request.acceptance,
        )
        choices = choose_shots(shots)
    if options.write_prompts is not None:
        count = write_prompts(as_path(options.write_prompts), request, choices)
        if request.system is None and not request.model:
            return request, f"{counted(count, 'prompt')} written to {options.write_prompts}"
    if choices is not None and request.system is None:
        raise InputError(
            f"{argument('shots')} needs {argument('system')}, or {argument('write_prompts')} alone"
        )
    return (
        request
        if choices is None
        else changed(request, examples=[choice.pairs for choice in choices])
    ), None


def write_prompts(
    path: Path, request: TranslateRequest, choices: Sequence[ChosenShots] | None
) -> int:
    """Write the prompts of a translation as JSON lines; returns their number.

    A row has ``id`` (the number of its sentence, from 1), ``source`` and ``messages``; with shots,
    the numbers of their training pairs (``shots``, from 1), how many of them the cover has
    (``cover``) and ``prompt_degree``.

    :raises InputError: there is not one prompt, or it does not fit the sentences or the shots.
    """
    prompts = read_prompts(request.prompting.prompt)
    if len(prompts) != 1:
        raise InputError(
            f"{argument('write_prompts')} needs one {argument('prompt')}, with {{source}} for the"
            " sentence"
        )
    check_output(path, files_of(request.sources))
    message = request.prompting.system_message
    system = None if message is None else read_system_message(message)
    lines, _ = lines_of(request.sources, "sources")
    shots = None if choices is None else [choice.pairs for choice in choices]
    prompts_of_lines = messages(prompts[0], system, lines, shots, request.sources)
    rows = []
    for index, (line, prompt) in enumerate(zip(lines, prompts_of_lines, strict=True), 1):
        row: dict[str, Any] = {"id": index, "source": line}
        if choices is not None:
            choice = choices[index - 1]
            row |= {
                "shots": choice.rows,
                "cover": choice.cover,
                "prompt_degree": choice.prompt_degree,
            }
        rows.append({**row, "messages": prompt})
    write_json_lines(path, rows)
    return len(rows)

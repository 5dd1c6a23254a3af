"""The command ``cgbench uncertainty``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from cgbench.commands.options import (
    Resumable,
    choose_device,
    engine_options,
    log_every_option,
    member_option,
    note,
    options,
    prompt_option,
)
from cgbench.errors import InputError
from cgbench.files import check_output
from cgbench.text.columns import read_text
from cgbench.text.streams import is_stdin, split_name

if TYPE_CHECKING:
    from cgbench.engines import Engine

limit_options = options(
    click.option(
        "--max-length-ratio", type=click.FloatRange(0), default=1.2, show_default=True,
        help="A translation has at most ratio x source tokens + extra tokens.",
    ),
    click.option("--max-length-extra", type=click.IntRange(0), default=10, show_default=True, help="See the ratio."),
)  # fmt: skip


@click.command("uncertainty", cls=Resumable)
@click.argument("source", type=click.Path(path_type=Path, allow_dash=True), default="-")
@member_option
@click.option("--output", "-o", type=click.Path(path_type=Path), required=True, help="A JSON object a sentence.")
@click.option(
    "--hypotheses", type=click.Path(path_type=Path), metavar="FILE", help="Translations made before, by anything."
)
@prompt_option
@click.option("--text-space", is_flag=True, help="Measures of texts, for members of different tokenisers.")
@click.option("--beam", type=click.IntRange(1), default=5, show_default=True, help="Of the first member's search.")
@limit_options
@engine_options
@click.option("--device", type=click.Choice(["auto", "cpu", "cuda"]), default="auto", show_default=True)
@log_every_option
def uncertainty_command(
    source: Path,
    members: tuple[str, ...],
    output: Path,
    hypotheses: Path | None,
    prompt: str | None,
    text_space: bool,
    beam: int,
    max_length_ratio: float,
    max_length_extra: int,
    engine: Engine,
    device: str,
) -> None:
    """Say how uncertain an ensemble is about each sentence of SOURCE: every measure, of models of any origin.

    SOURCE is plain (.gz, .zst too), TABLE:COLUMN, or standard input. Given again, the command goes on where it was
    stopped.
    """
    if not members:
        raise InputError("--member: give one at least: hf:ID@REVISION, hf:FOLDER, or the folder of a checkpoint")
    check_output(output, [split_name(path)[0] for path in (source, hypotheses) if path and not is_stdin(path)])
    from cgbench.models.external.opening import plan_member
    from cgbench.models.external.uncertainty import measure_text

    chosen = choose_device(device)
    lines = list(read_text(source))
    given = list(read_text(hypotheses)) if hypotheses else None
    planned = [plan_member(member, prompt) for member in members]
    if len(planned) == 1:
        note(
            "warning: one member: rmi, and whatever else says how far members disagree, is the same for every line but "
            "for rounding; give --member several times"
        )
    search = {"beam": beam, "max_length_ratio": max_length_ratio, "max_length_extra": max_length_extra}
    measure_text(
        planned,
        lines,
        output,
        hypotheses=given,
        text_space=text_space,
        device=chosen,
        engine=engine,
        search=search,
    )

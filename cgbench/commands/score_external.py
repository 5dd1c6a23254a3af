"""``cgbench score external`` and ``cgbench score comet``: scores by a program in an environment of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from cgbench.commands.options import Command, options
from cgbench.commands.score import (
    ACCEPT_TEXT,
    COMMON,
    HYPOTHESES,
    PATH,
    PUBLISHED,
    inputs_of,
    read_hypotheses,
    take_outputs,
)
from cgbench.commands.score_import import SAID
from cgbench.errors import InputError

PROGRAM = options(
    click.option("--model", required=True, help="The model that scores: for COMET its name, or a .ckpt."),
    click.option("--revision", required=True, help="Which of its revisions: scores are kept by model and revision."),
    HYPOTHESES,
    click.option("--ref", "references", multiple=True, metavar="FILE", help="References; repeatable."),
    click.option("--source", metavar="FILE", help="Sources."),
    click.option("--release", type=PATH, help="A release: its test set gives --ref, --source and --table."),
    ACCEPT_TEXT,
    click.option("--cache", type=PATH, help="The folder that keeps scores (default: scores in the data folder)."),
    click.option(
        "--timeout", type=click.FloatRange(min=0, min_open=True), default=600.0, show_default=True,
        help="Seconds without an answer, and the program is ended.",
    ),
)  # fmt: skip


@click.command("external", cls=Command)
@click.option("--scorer", required=True, metavar="COMMAND", help="A program: JSON lines in, JSON lines out.")
@PROGRAM
@SAID
@COMMON
def external_command(scorer: str, **given: Any) -> None:
    """Scores of a program of your own, kept by model, revision and texts."""
    from cgbench.benchmark.imported.external import command_of

    _score(command_of(scorer), given)


@click.command("comet", cls=Command)
@click.option("--python", default="python3", show_default=True, help="The Python of an environment with unbabel-comet.")
@click.option("--batch-size", type=click.IntRange(1), default=16, show_default=True, help="Sentences at a time.")
@click.option("--gpus", type=click.IntRange(0), default=0, show_default=True, help="GPUs.")
@PROGRAM
@SAID
@COMMON
def comet_command(python: str, batch_size: int, gpus: int, **given: Any) -> None:
    """COMET, in the environment that it is installed in."""
    from cgbench.benchmark.imported.external import command_of

    worker = Path(__file__).parents[1] / "benchmark" / "imported" / "comet_worker.py"
    words = ["--model", given["model"], "--batch-size", str(batch_size), "--gpus", str(gpus)]
    if given["name"] == "scores":
        given["name"] = "COMET"
    if not given["source"] and not given["release"]:
        raise InputError("COMET reads sources: --source FILE (or --release DIR)")
    _score((*command_of(python), str(worker), *words), given)


def _score(command: tuple[str, ...], given: dict[str, Any]) -> None:
    from cgbench.benchmark.imported.external import Scorer, score_systems
    from cgbench.benchmark.metrics.import_scores import Kind, read_scale
    from cgbench.text.columns import read_column

    wanted = take_outputs(given, inputs_of(given))
    if given["published"] == PUBLISHED:
        raise InputError("--published: of which benchmark? Name it, such as --published 'COGS gen'")
    scorer = Scorer(command, given.pop("model"), given.pop("revision"), given.pop("timeout"))
    names = ("name", "statistic", "scale", "lower_is_better", "drop_missing")
    name, statistic, scale, lower, drop = (given.pop(one) for one in names)
    systems = read_hypotheses(given.pop("systems"))
    references = [read_column(one, "reference", "target") for one in given.pop("references")]
    found = score_systems(
        scorer, systems, references or None, sources=given.pop("source"),
        kind=Kind(name, statistic, read_scale(scale), lower, drop), **given,
    )  # fmt: skip
    wanted.show(found)

"""``cgbench score import``: segment scores of any metric, and logs of harnesses."""

from __future__ import annotations

from typing import Any

import click

from cgbench.commands.options import Command, options
from cgbench.commands.score import (
    ACCEPT_TEXT,
    COMMON,
    PATH,
    PUBLISHED,
    inputs_of,
    read_hypotheses,
    split_systems,
    take_outputs,
)
from cgbench.errors import InputError

SAID = options(
    click.option("--name", default="scores", show_default=True, help="What the metric is called."),
    click.option(
        "--statistic", default="mean", show_default=True, metavar="mean|rms|geometric|harmonic|share:X",
        help="What the scores of a system become.",
    ),
    click.option("--scale", metavar="LOW:HIGH", help="The lowest and the highest score that there can be."),
    click.option("--lower-is-better", is_flag=True, help="As of error rates, and MetricX."),
    click.option("--drop-missing", is_flag=True, help="Leave out examples that a run has no finite score of."),
)  # fmt: skip
"""What a user says of scores."""


@click.command("import", cls=Command)
@click.option(
    "--scores", multiple=True, required=True, metavar="SYSTEM=FILE[,FILE...]",
    help="Scores of a system, one an example, a file a run (seed); repeatable.",
)  # fmt: skip
@click.option(
    "--control-scores", multiple=True, metavar="SYSTEM=FILE[,FILE...]",
    help="Scores of the same systems on the control set: what they lose from it.",
)  # fmt: skip
@SAID
@click.option("--hyp", "systems", multiple=True, metavar="SYSTEM=FILE[,FILE...]", help="What the systems said.")
@click.option("--ref", "references", multiple=True, metavar="FILE", help="References, for --by and the report.")
@click.option("--source", metavar="FILE", help="Sources, for --by ... --side source and the report.")
@click.option("--release", type=PATH, help="A release: its test set gives --ref, --source and --table.")
@ACCEPT_TEXT
@COMMON
def import_command(**given: Any) -> None:
    """Intervals, tests, bins and seeds for scores that other programs gave (COMET, MetricX, a judge, lm-eval)."""
    from cgbench.benchmark.metrics.import_scores import import_scores
    from cgbench.text.columns import read_column

    wanted = take_outputs(given, inputs_of(given))
    if given["published"] == PUBLISHED:
        raise InputError("--published: of which benchmark? Name it, such as --published 'COGS gen'")
    systems = paths_of(given.pop("scores"), "--scores")
    control = paths_of(given.pop("control_scores"), "--control-scores")
    ids = given["ids"]
    hypotheses = read_hypotheses(given.pop("systems"), ids=ids)
    references = [read_column(name, "reference", "target", ids=ids) for name in given["references"]]
    given["references"] = references or None
    given["sources"] = given.pop("source")
    wanted.show(import_scores(systems, control_systems=control or None, hypotheses=hypotheses, **given))


def paths_of(items: tuple[str, ...], option: str) -> dict[str, Any]:
    """The files of each system as the library takes them; under "" one that holds several systems.

    :raises InputError: a system or a file is given twice.
    """
    from pathlib import Path

    from cgbench.benchmark.metrics.score_files import is_of_systems, split_field
    from cgbench.text.columns import short_name

    systems: dict[str, Any] = {}
    for item in items:
        for name, names in split_systems([item], option, bare=True).items():
            of_all = not name and is_of_systems(split_field(names[0])[0])
            key = "" if of_all else name or short_name(names[0])
            if key in systems:
                what = (
                    f"the system {key} is given twice; join its runs" if key else "a file of all systems is given twice"
                )
                raise InputError(f"{option} {item}: {what} ({key}=FILE1,FILE2)")
            systems[key] = [Path(path) for path in names]
    return systems

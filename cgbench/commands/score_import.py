"""``cgbench score import``: segment scores of any metric, and logs of harnesses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from cgbench.benchmark.outputs.judgements import is_judgements
from cgbench.benchmark.outputs.score_files import is_of_systems, split_field
from cgbench.benchmark.score.import_scores import ImportRequest, evaluation_of_scores
from cgbench.commands.click_types import split_systems
from cgbench.commands.command import Command
from cgbench.commands.options import takes
from cgbench.commands.score_output import ScoreOutput
from cgbench.errors import InputError
from cgbench.text.columns import short_name


def scores_by_system(items: Sequence[str], option: str = "--scores") -> dict[str, Any]:
    """The files of each system as the library takes them; under "" one that holds several systems.

    :raises InputError: a system or a file is given twice.
    """
    systems: dict[str, Any] = {}
    for item in items:
        for name, names in split_systems([item], option, bare=True).items():
            path = split_field(names[0])[0]
            of_all = not name and (is_of_systems(path) or is_judgements(path))
            key = "" if of_all else name or short_name(names[0])
            if key in systems:
                fault = (
                    f"the system {key} is given twice; join its runs" if key else "a file of all systems is given twice"
                )
                raise InputError(f"{option} {item}: {fault} ({key}=FILE1,FILE2)")
            systems[key] = [Path(path) for path in names]
    return systems


@click.command(
    "import",
    cls=Command,
    example="cgbench score import --scores first=first.comet --scores second=second.comet --paired",
)
@takes(
    ImportRequest,
    but=("seed", "min_count", "normalise", "parts", "probe_systems", "known"),
    read={
        "systems": scores_by_system,
        "control_systems": lambda items: scores_by_system(items, "--control-scores"),
        "people": lambda items: scores_by_system(items, "--people"),
    },
)
@takes(ScoreOutput, but=("reasons",))
def import_command(values: Mapping[str, Any], output: Mapping[str, Any]) -> None:
    """Compare systems by segment scores of another program, such as COMET, MetricX, an LLM judge or lm-eval.

    Adds confidence intervals, significance tests and breakdowns to the scores.
    """
    request, printed = ImportRequest(**values), ScoreOutput(**output)
    printed.check(request)
    printed.show(evaluation_of_scores(request))

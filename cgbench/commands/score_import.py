"""``cgbench score import``: segment scores of any metric, and logs of harnesses."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from cgbench.benchmark.score.imported.import_scores import import_scores
from cgbench.benchmark.score.imported.request import ImportRequest
from cgbench.commands.click_types import split_systems
from cgbench.commands.metric_command import MetricCommand
from cgbench.commands.options import takes
from cgbench.commands.score_output import ScoreOutput
from cgbench.errors import InputError
from cgbench.text.columns import short_name


def scores_by_system(items: Sequence[str], option: str = "--scores") -> dict[str, Any]:
    """The files of each system as the library takes them; under "" those without a name.

    :raises InputError: a system is given twice.
    """
    systems: dict[str, Any] = {}
    for item in items:
        for name, names in split_systems([item], option, bare=True).items():
            key = (
                name if name or len(names) == 1 else short_name(names[0])
            )  # several files are seeds of one system
            if key and key in systems:
                raise InputError(
                    f"{option} {item}: the system {key} is given twice; join its runs"
                    f" ({key}=FILE1,FILE2)"
                )
            systems.setdefault(key, []).extend(map(Path, names))
    return systems


@click.command(
    "import",
    cls=MetricCommand,
    example="cgbench score import --scores first=first.comet --scores second=second.comet --paired",
)
@takes(
    ImportRequest,
    ScoreOutput,
    but=("seed", "min_count", "normalise", "reasons"),
    read={
        "systems": scores_by_system,
        "control_systems": lambda items: scores_by_system(items, "--control-scores"),
        "people": lambda items: scores_by_system(items, "--people"),
    },
)
def import_command(request: ImportRequest, output: ScoreOutput) -> None:
    """Compare systems by segment scores of another program, such as COMET, MetricX, an LLM judge or
    lm-eval.

    Adds confidence intervals, significance tests and breakdowns to the scores.
    """
    output.check_for(request)
    output.show(import_scores(request))

"""``cgbench power``: how many examples and seeds are enough."""

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from cgbench.benchmark.score.evaluation.evaluate import evaluation_of
from cgbench.benchmark.score.evaluation.request import ScoreRequest
from cgbench.benchmark.score.evaluation.result import Evaluation, ReportRequest
from cgbench.benchmark.score.imported.import_scores import import_scores
from cgbench.benchmark.score.imported.request import ImportRequest
from cgbench.commands.command import Command, grouped_option
from cgbench.commands.options import takes, takes_values
from cgbench.commands.score_import import scores_by_system
from cgbench.errors import InputError, argument
from cgbench.files import check_output
from cgbench.plots import Chart, Series, check_picture, draw_charts, save_figure
from cgbench.request import changed
from cgbench.studies.validity.power import PowerRequest, PowerResult, power
from cgbench.tables import render


@click.command(
    "power",
    cls=Command,
    example=(
        "cgbench power --metric bleu --ref test.en --hyp one=one.en --hyp two=two.en --difference 1"
    ),
)
@grouped_option(
    "Input",
    "--scores",
    multiple=True,
    metavar="SYSTEM=FILE[,FILE...]",
    help="Pilot scores of two systems",
)
@grouped_option(
    "Input", "--metric", default="exact", show_default=True, help="Metric of the hypotheses (--hyp)"
)
@takes_values(ReportRequest, "form")
@takes_values(
    ScoreRequest, "systems", "references", "accept_text", "ids", "sources", "table", "cluster"
)
@takes(PowerRequest)
@grouped_option(
    "Output", "--plot", type=Path, help="Plot the smallest differences (.svg, .png or .pdf)"
)
def power_command(
    output: Mapping[str, Any],
    pilot: Mapping[str, Any],
    request: PowerRequest,
    scores: Sequence[str],
    metric: str,
    plot: Path | None,
) -> None:
    """Compute the smallest difference a test set can show, and how many examples or seeds a
    difference needs.

    The variance comes from a pilot of two systems, given as hypotheses or scores, or from
    --variance. The test is the calibrated one (docs/explanation/significance.md).
    """
    if scores and "systems" in pilot:
        raise InputError("--scores and --hyp: give one pilot")
    if plot:
        check_picture(plot, argument("plot", str(plot)))
        check_output(plot, [])
    if scores:
        shared = {
            name: pilot[name] for name in ("ids", "sources", "table", "cluster") if name in pilot
        }
        pilot_request = ImportRequest(**{"systems": scores_by_system(scores), **shared})
        evaluation: Evaluation | None = import_scores(pilot_request)
    elif "systems" in pilot:
        evaluation = evaluation_of(ScoreRequest(**{"metric": metric, **pilot}))
    else:
        evaluation = None
    result = power(changed(request, pilot=evaluation))
    click.echo(_shown(result, output.get("form", "text")))
    if plot:
        save_figure(draw_charts([_chart(result)]), plot)


def _chart(result: PowerResult) -> Chart:
    """The smallest difference over the number of examples, whose axis is logarithmic."""
    points = sorted(
        (_examples(result, units) or 0, math.nan if difference is None else difference)
        for units, difference in result.smallest
        if units is not None
    )
    places = [math.log(max(1, examples)) for examples, _ in points]
    # A label too near the one before is left out; its point stays.
    labels, last = [], -math.inf
    for position, (examples, _) in zip(places, points, strict=True):
        near = position - last < 0.13 * (places[-1] - places[0])
        labels.append("" if near else f"{examples:,}")
        last = last if near else position
    title = f"{100 * result.test.power:g}% power; seeds: {result.runs}"
    series = [Series("", [difference for _, difference in points])]
    return Chart(
        labels, series, title, f"smallest difference, {result.metric}", "examples", places=places
    )


def _examples(result: PowerResult, units: int | None) -> int | None:
    """A number of units as examples, of which a cluster has several."""
    return None if units is None else round(units * result.variance.clusters.size)


def _shown(result: PowerResult, form: str) -> str:
    if form == "json":
        return json.dumps(
            {
                "metric": result.metric,
                "power": result.test.power,
                "level": result.test.level,
                "seeds": result.runs,
                "pilot": dataclasses.asdict(result.variance),
                "smallest": [
                    {"examples": _examples(result, units), "difference": value}
                    | (
                        {result.variance.clusters.name: units}
                        if result.variance.clusters.name
                        else {}
                    )
                    for units, value in result.smallest
                ],
                "needs": list(map(dataclasses.asdict, result.needs)),
            },
            indent=1,
        )
    # The smallest difference that is found, by number of examples.
    power_text = f"{100 * result.test.power:g}% power"
    name = result.variance.clusters.name
    rows = [
        [
            *([] if not name else ["any number" if units is None else f"{units:,}"]),
            "any number" if units is None else f"{_examples(result, units):,}",
            str(result.runs),
            "none" if difference is None else f"{difference:.3g}",
        ]
        for units, difference in result.smallest
    ]
    head = [*([f"clusters: {name}"] if name else []), "examples", "seeds"]
    tables = [
        render([*head, f"smallest difference in {result.metric} at {power_text}"], rows, form)
    ]
    # What the differences of interest need.
    if result.needs:
        rows = [
            [
                f"{need.difference:g}",
                f"{100 * need.power:.1f}%",
                "no number" if need.examples is None else f"{_examples(result, need.examples):,}",
                (
                    ""
                    if not result.variance.between
                    else "no number"
                    if need.runs is None
                    else f"{need.runs:,}"
                ),
            ]
            for need in result.needs
        ]
        head = ["difference", "power now", f"examples for {power_text}", f"seeds for {power_text}"]
        tables.append(render(head, rows, form))
    # What the variance consists of.
    if result.variance.between:
        now = result.variance.units
        total = result.variance.of(now, result.runs)
        rows = [
            ["examples", f"{100 * result.variance.shared / now / total:.0f}%"],
            [
                "luck of each run on them",
                f"{100 * result.variance.own / now / result.runs / total:.0f}%",
            ],
            [
                "seeds: more examples do not remove it",
                f"{100 * result.variance.between / result.runs / total:.0f}%",
            ],
        ]
        tables.append(
            render(
                [f"variance of the difference, {_examples(result, now):,} examples", "share"],
                rows,
                form,
            )
        )
    return "\n\n".join(tables)

"""``cgbench power``: how many examples and seeds are enough."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any

import click

from cgbench.benchmark.score.evaluate import evaluation_of
from cgbench.benchmark.score.import_scores import ImportRequest, ScoresAsked, evaluation_of_scores
from cgbench.benchmark.score.power import PowerRequest, PowerResult, power_of
from cgbench.benchmark.score.request import ScoreRequest
from cgbench.benchmark.score.result import Evaluation, ReportRequest
from cgbench.commands.command import Command, grouped
from cgbench.commands.options import takes
from cgbench.commands.score_import import scores_by_system
from cgbench.errors import InputError
from cgbench.tables import render


@click.command(
    "power",
    cls=Command,
    example="cgbench power --metric bleu --ref test.en --hyp one=one.en --hyp two=two.en --difference 1",
)
@grouped("Input", "--scores", multiple=True, metavar="SYSTEM=FILE[,FILE...]", help="Pilot scores of two systems")
@grouped("Input", "--metric", default="exact", show_default=True, help="Metric of the hypotheses (--hyp)")
@takes(ReportRequest, only=("form",))
@takes(ScoresAsked, only=("statistic", "scale", "drop_missing"))
@takes(ScoreRequest, only=("systems", "references", "preset", "accept_text", "ids", "sources", "table", "cluster"))
@takes(PowerRequest, but=("pilot",))
def power_command(
    output: Mapping[str, Any],
    said: Mapping[str, Any],
    pilot: Mapping[str, Any],
    values: Mapping[str, Any],
    scores: Sequence[str],
    metric: str,
) -> None:
    """Compute the smallest difference a test set can show, and how many examples or seeds a difference needs.

    The variance comes from a pilot of two systems, given as hypotheses or scores, or from --variance. The test is the
    calibrated one (docs/explanation/significance.md).
    """
    if bool(scores) + ("systems" in pilot) + ("variance" in values) != 1:
        raise InputError("give a pilot, --scores or --hyp of two systems, or --variance")
    if scores:
        shared = {name: pilot[name] for name in ("ids", "sources", "table", "cluster") if name in pilot}
        shown: Evaluation | None = evaluation_of_scores(ImportRequest(scores_by_system(scores), **shared, **said))
    elif "systems" in pilot:
        if "references" not in pilot:
            raise InputError("references are needed: --ref FILE")
        shown = evaluation_of(ScoreRequest(metric, **pilot))
    else:
        shown = None
    found, form = power_of(PowerRequest(shown, **values)), output.get("form", "text")
    click.echo(_shown(found, form))


def _examples(found: PowerResult, units: int | None) -> int | None:
    """A number of units as examples, of which a cluster has several."""
    return None if units is None else round(units * found.variance.clusters.size)


def _shown(found: PowerResult, form: str) -> str:
    if form == "json":
        return json.dumps(
            {
                "metric": found.metric, "power": found.test.power, "level": found.test.level, "seeds": found.runs,
                "pilot": dataclasses.asdict(found.variance),
                "smallest": [
                    {"examples": _examples(found, units), "difference": value}
                    | ({found.variance.clusters.name: units} if found.variance.clusters.name else {})
                    for units, value in found.smallest
                ],
                "needs": [dataclasses.asdict(one) for one in found.needs],
            },
            indent=1,
        )  # fmt: skip
    share = f"{100 * found.test.power:g} % power"
    name = found.variance.clusters.name
    rows = [
        [
            *([] if not name else ["any number" if units is None else f"{units:,}"]),
            "any number" if units is None else f"{_examples(found, units):,}",
            str(found.runs), "none" if one is None else f"{one:.3g}",
        ]
        for units, one in found.smallest
    ]  # fmt: skip
    head = [*([f"clusters: {name}"] if name else []), "examples", "seeds"]
    parts = [render([*head, f"smallest difference in {found.metric} at {share}"], rows, form)]
    if found.needs:
        rows = [
            [
                f"{one.difference:g}", f"{100 * one.power:.1f} %",
                "no number" if one.examples is None else f"{_examples(found, one.examples):,}",
                ("" if not found.variance.between else "no number" if one.runs is None else f"{one.runs:,}"),
            ]
            for one in found.needs
        ]  # fmt: skip
        head = ["difference", "power now", f"examples for {share}", f"seeds for {share}"]
        parts.append(render(head, rows, form))
    if found.variance.between:
        now = found.variance.units
        total = found.variance.of(now, found.runs)
        rows = [
            ["examples", f"{100 * found.variance.shared / now / total:.0f} %"],
            ["luck of each run on them", f"{100 * found.variance.own / now / found.runs / total:.0f} %"],
            ["seeds: more examples do not remove it", f"{100 * found.variance.floor(found.runs) / total:.0f} %"],
        ]
        parts.append(render([f"variance of the difference, {_examples(found, now):,} examples", "share"], rows, form))
    return "\n\n".join(parts)

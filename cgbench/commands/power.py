"""``cgbench power``: how many examples and seeds are enough."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any

import click

from cgbench.commands.options import Command
from cgbench.commands.score import ACCEPT_TEXT, read_hypotheses
from cgbench.commands.score_import import SAID, paths_of
from cgbench.errors import InputError

if TYPE_CHECKING:
    from cgbench.benchmark.metrics.power import Enough
    from cgbench.benchmark.metrics.result import Evaluation


@click.command("power", cls=Command)
@click.option("--scores", multiple=True, metavar="SYSTEM=FILE[,FILE...]", help="A pilot: scores of two systems.")
@click.option("--hyp", "systems", multiple=True, metavar="SYSTEM=FILE[,FILE...]", help="A pilot: their hypotheses.")
@click.option("--ref", "references", multiple=True, metavar="FILE", help="References of these; repeatable.")
@click.option(
    "--metric", type=click.Choice(["bleu", "chrf", "ter", "exact"]), default="exact", show_default=True,
    help="The metric of --hyp.",
)  # fmt: skip
@click.option("--preset", help="Of the metric, as score has it.")
@ACCEPT_TEXT
@SAID
@click.option("--id", "ids", metavar="COLUMN", help="Join the rows of all tables of the pilot by this column.")
@click.option("--variance", type=float, metavar="V", help="No pilot: the variance of an example's difference.")
@click.option("--binary", is_flag=True, help="The variance is of answers that are right or wrong, in percent.")
@click.option("--seed-variance", type=float, metavar="V", help="No pilot: the variance between runs, of both systems.")
@click.option("--examples", type=click.IntRange(2), multiple=True, metavar="N", help="So many examples; repeatable.")
@click.option("--seeds", type=click.IntRange(1), metavar="K", help="So many runs of each system.")
@click.option(
    "--difference", "differences", type=float, multiple=True, metavar="D", help="What does D need? Repeatable."
)
@click.option("--power", default=0.8, show_default=True, help="How often a difference shall be significant.")
@click.option("--level", default=0.05, show_default=True, help="How often equal systems may differ significantly.")
@click.option("--samples", type=click.IntRange(2), help="Resamples of the pilot (default 1000).")
@click.option("--format", "form", type=click.Choice(["text", "json", "tsv", "markdown", "latex"]), default="text",
              show_default=True, help="What is printed.")  # fmt: skip
def power_command(
    variance: float | None,
    binary: bool,
    seed_variance: float | None,
    examples: tuple[int, ...],
    seeds: int | None,
    differences: tuple[float, ...],
    power: float,
    level: float,
    samples: int | None,
    form: str,
    **given: Any,
) -> None:
    """The smallest difference that a test set shows, and how many examples or seeds a difference needs.

    A pilot of two systems, as hypotheses or as scores, tells the variance; or --variance states it. What is significant
    is said by the calibrated test (docs/significance.md).
    """
    from cgbench.benchmark.metrics.power import power as find_power

    pilots = [name for name in ("scores", "systems") if given[name]]
    if len(pilots) + (variance is not None) != 1:
        raise InputError("give a pilot, --scores or --hyp of two systems, or --variance")
    found = find_power(
        _pilot(given) if pilots else None,
        variance=variance,
        binary=binary,
        seed_variance=seed_variance,
        examples=examples,
        seeds=seeds,
        differences=differences,
        power=power,
        level=level,
        samples=samples,
    )
    click.echo(_shown(found, form))


def _pilot(given: dict[str, Any]) -> Evaluation:
    """The scores of the pilot, without any test."""
    said = {name: given.pop(name) for name in ("name", "statistic", "scale", "lower_is_better", "drop_missing")}
    ids = given["ids"]
    if given["scores"]:
        from cgbench.benchmark.metrics.import_scores import import_scores

        return import_scores(paths_of(given["scores"], "--scores"), ids=ids, **said)
    from cgbench.benchmark.metrics.evaluate import evaluate

    if not given["references"]:
        raise InputError("references are needed: --ref FILE")
    options = {"accept_text": given["accept_text"]} | ({"preset": given["preset"]} if given["preset"] else {})
    from cgbench.text.columns import read_column

    references = [read_column(name, "reference", "target", ids=ids) for name in given["references"]]
    return evaluate(given["metric"], read_hypotheses(given["systems"], ids=ids), references, ids=ids, **options)


def _shown(found: Enough, form: str) -> str:
    from cgbench.tables import render

    if form == "json":
        return json.dumps(
            {
                "metric": found.metric, "power": found.test.power, "level": found.test.level, "seeds": found.runs,
                "pilot": dataclasses.asdict(found.variance),
                "smallest": [{"examples": units, "difference": value} for units, value in found.smallest],
                "needs": [dataclasses.asdict(one) for one in found.needs],
            },
            indent=1,
        )  # fmt: skip
    share = f"{100 * found.test.power:g} % power"
    rows = [
        ["any number" if units is None else f"{units:,}", str(found.runs), "none" if one is None else f"{one:.3g}"]
        for units, one in found.smallest
    ]
    parts = [render(["examples", "seeds", f"smallest difference in {found.metric} at {share}"], rows, form)]
    if found.needs:
        rows = [
            [
                f"{one.difference:g}", f"{100 * one.power:.1f} %",
                "no number" if one.examples is None else f"{one.examples:,}",
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
        parts.append(render([f"variance of the difference, {now:,} examples", "share"], rows, form))
    return "\n\n".join(parts)

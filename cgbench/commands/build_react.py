"""``cgbench build-react``: build a benchmark."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cgbench.benchmark.build.react.request import BuildRequest
from cgbench.commands.click_types import corpora_words, corpus_words
from cgbench.commands.command import (
    Resumable,
    format_option,
    grouped_option,
)
from cgbench.commands.lines import cost_table, note, show
from cgbench.commands.options import takes
from cgbench.steps import in_short

if TYPE_CHECKING:
    from cgbench.benchmark.build.react.cost import Forecast

READERS: dict[str, Callable[[Any], Any]] = {
    "train": corpus_words,
    "pools": corpora_words,
    "corpus": corpus_words,
    "exclude": corpora_words,
}


@click.command(
    "build-react",
    cls=Resumable,
    example=(
        "cgbench build-react --train train.de train.en --pool pool.de pool.en --out release"
        " --dry-run"
    ),
)
@takes(BuildRequest, read=READERS)
@grouped_option("Execution", "--dry-run", is_flag=True, help="Print the plan and write nothing")
@format_option
def build_react_command(request: BuildRequest, dry_run: bool, form: str) -> None:
    """Build a test set of pairs that combine known words in new ways and are hard for a model.

    The pairs come from a pool that was not trained on. The same command resumes an interrupted
    build: it keeps finished steps whose inputs have not changed.
    """
    from cgbench.benchmark.build.react import build_react as build
    from cgbench.benchmark.build.react.build_plan import plan_build
    from cgbench.benchmark.build.react.cost import forecast
    from cgbench.commands.build_report import report

    engine = request.execution.tasks.workers
    workspace = build.workspace_of(request)
    if dry_run:
        with tempfile.TemporaryDirectory() as texts:
            plan = plan_build(request, Path(texts))
            division, steps = build.division_lines(plan), build.explain(plan, workspace)
            ahead = forecast(plan, workspace, engine)
        cost = ahead.seconds
        estimate = {"seconds": sum(filter(None, cost.values())), "steps": cost} if cost else None
        values = {
            "steps": [*division, *steps],
            "estimate": estimate,
            "counts": ahead.counts or None,
        }
        text = "\n".join([*division, *in_short(steps)])
        return show(form, values, "\n\n".join([text, *_blocks(ahead)]))
    plan = plan_build(request, build.texts_of(request))
    for line in build.division_lines(plan):
        note(line)
    # Steps without models take less than the estimate of them would.
    if plan.uncertainty and (blocks := _blocks(forecast(plan, workspace, engine))):
        note("\n" + "\n\n".join(blocks) + "\n")
    release = build.run_build(plan, engine, note if request.execution.explain else None)
    show(form, {"out": str(request.out), **release.manifest}, report(release))


def _blocks(ahead: Forecast) -> list[str]:
    """What a build will give, and what it will take, as far as they are known."""
    size = [ahead.size] if ahead.size else []
    return [*size, cost_table(ahead.seconds)] if ahead.seconds else size

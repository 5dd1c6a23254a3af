"""``cgbench build-react``: build a benchmark."""

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


@click.command(
    "build-react",
    cls=Resumable,
    example=(
        "cgbench build-react --train train.de train.en --pool pool.de pool.en --out release"
        " --dry-run"
    ),
)
@takes(BuildRequest, read={"train": corpus_words, "pools": corpora_words, "exclude": corpora_words})
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
    plan, workspace = plan_build(request), build.workspace_of(request)
    # Steps without models take less than the estimate of them would.
    cost = forecast(plan, workspace, engine) if dry_run or plan.uncertainty else {}
    if dry_run:
        lines = build.explain(plan, workspace)
        estimate = {"seconds": sum(filter(None, cost.values())), "steps": cost} if cost else None
        text = "\n".join([*lines, *([f"\n{cost_table(cost)}"] if cost else [])])
        return show(form, {"steps": lines, "estimate": estimate}, text)
    if cost:
        note(f"\n{cost_table(cost)}\n")
    release = build.run_build(plan, engine, note if request.execution.explain else None)
    show(form, {"out": str(request.out), **release.manifest}, report(release))

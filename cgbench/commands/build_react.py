"""``cgbench build-react``: build a benchmark."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, cast

import click

from cgbench.benchmark.react.request import BuildRequest
from cgbench.commands.options import (
    Resumable,
    corpora_words,
    corpus_words,
    engine_options,
    format_option,
    log_every_option,
    note,
    say_if,
)
from cgbench.commands.requests import takes
from cgbench.errors import InputError, argument, printable_json

if TYPE_CHECKING:
    from cgbench.benchmark.cost import Forecast
    from cgbench.engines import Engine


@click.command("build-react", cls=Resumable)
@engine_options
@takes(BuildRequest, read={"train": corpus_words, "pools": corpora_words, "exclude": corpora_words})
@click.option("--dry-run", is_flag=True, help="Print what would run, and why; write nothing.")
@click.option("--explain", is_flag=True, help="Print for each step why it runs or is kept.")
@log_every_option
@format_option
def build_react_command(request: BuildRequest, dry_run: bool, explain: bool, form: str) -> None:
    """Build a benchmark: the pairs of a pool that combine known words in new ways and are hard for a model.

    An interrupted build resumes when the same command is given again: finished steps are kept as long as nothing they
    depend on has changed.
    """
    from cgbench.benchmark.cost import estimates_wanted, forecast
    from cgbench.benchmark.react import build_react as build
    from cgbench.benchmark.react.plan import plan_build

    _check_members(request)
    engine = cast("Engine", request.engine)
    plan, workspace = plan_build(request), build.workspace_of(request)
    cost = forecast(plan, workspace, engine) if estimates_wanted() else None
    if dry_run:
        lines = build.explain(plan, workspace)
        if form == "json":
            found = {"estimate": cost.as_dict(), "advice": cost.advice} if cost else {}
            click.echo(json.dumps({"steps": lines, **found}, indent=1))
            return
        note("\n".join(lines))
    if cost:
        _print_cost(cost)
    if dry_run:
        return
    release = build.run_build(plan, engine, say_if(explain))
    if form == "json":
        shown = {"out": str(request.out), **release.manifest}
        click.echo(printable_json(json.dumps(shown, ensure_ascii=False, indent=1)))
    else:
        from cgbench.commands.build_report import report

        click.echo(report(release))


def _check_members(request: BuildRequest) -> None:
    """Refuse options about members that are not trained; ``--set`` may hold what a manifest's command repeats."""
    given = click.get_current_context().params
    taken = "ensemble" if request.ensemble else "member" if request.member else ""
    for name in ("members", "model", "arch", "method", "gpus_per_member"):
        if taken and given.get(name) is not None:
            raise InputError(f"{argument(taken)} takes members as they are; leave {argument(name)} out")


def _print_cost(cost: Forecast) -> None:
    note(f"\n{cost}\n")
    if cost.advice:
        note(f"warning: {cost.advice}")

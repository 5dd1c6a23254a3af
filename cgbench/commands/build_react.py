"""``cgbench build-react``: build a benchmark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cgbench.commands.options import (
    FilesType,
    Resumable,
    changed_settings,
    corpus,
    format_option,
    gpus_per_member_option,
    language_pair,
    member_option,
    note,
    prompt_option,
    run_options,
    say_if,
    text_options,
    train_option,
    work_option,
)
from cgbench.errors import InputError, printable_json

if TYPE_CHECKING:
    from cgbench.benchmark.cost import Forecast
    from cgbench.benchmark.react.plan import Plan
    from cgbench.engines import Engine
    from cgbench.steps import Workspace

PATH = click.Path(path_type=Path)


@click.command("build-react", cls=Resumable)
@train_option
@click.option(
    "--pool", type=FilesType(), required=True, multiple=True, help="Pool of pairs to choose from; repeatable."
)
@click.option("--exclude", type=FilesType(), multiple=True, help="Corpus whose sentences must not occur; repeatable.")
@click.option("--out", type=PATH, required=True, help="Folder of the release.")
@work_option
@click.option("--preset", default="react", show_default=True, help="Settings to start from: react, small or demo.")
@click.option("--ensemble", type=PATH, help="Members trained before; else they are trained.")
@click.option("--reverse-ensemble", type=PATH, help="Members of the other direction: dual conditional cross-entropy.")
@member_option
@prompt_option
@click.option("--members", "number", type=click.IntRange(1), help="How many members to train.")
@click.option("--model", help="Model preset of the members.")
@click.option("--arch", help="Another architecture than the preset's.")
@click.option("--method", help="Training method of the members: none, seqmix, creg or bow.")
@gpus_per_member_option
@click.option("--ngrams", type=PATH, help="Known n-grams from a file, a phrase a line, instead of the training text.")
@click.option(
    "--known-from", multiple=True, metavar="[SIDE=]FOLDER",
    help="What cgbench overlap --out found the pool to be made of, instead of that side of the training text.",
)  # fmt: skip
@click.option(
    "--control",
    is_flag=True,
    default=None,
    help="Also draw a control set, matched in corpus, length and word frequency.",
)
@click.option("--lm", type=PATH, help="Language model (lm train) that gives each candidate a perplexity.")
@click.option(
    "--difficulty", type=PATH, multiple=True, metavar="F",
    help="A value a line of the pool, from any model; one for each --pool (--set select_by=difficulty).",
)  # fmt: skip
@click.option("--accept-text", is_flag=True, help="Go on with text that would spoil the benchmark.")
@click.option("--licence", help="Licence of the inputs, for the card.")
@click.option("--text", "release_text", type=click.Choice(["all", "none"]), help="none: indices and figures alone.")
@click.option("--card-notes", type=PATH, metavar="FILE", help="What only you know, for the card (YAML: origin, ...).")
@click.option(
    "--until",
    type=click.Choice(["candidates", "uncertainty"]),
    help="Stop early: after filter and degree (no model), or before the selection.",
)
@text_options
@run_options
@format_option
def build_react_command(
    train: tuple[Path, ...],
    pool: tuple[tuple[Path, ...], ...],
    exclude: tuple[tuple[Path, ...], ...],
    out: Path,
    preset: str,
    ensemble: Path | None,
    members: tuple[str, ...],
    prompt: str | None,
    number: int | None,
    gpus_per_member: int | None,
    reverse_ensemble: Path | None,
    ngrams: Path | None,
    known_from: tuple[str, ...],
    lm: Path | None,
    difficulty: tuple[Path, ...],
    arch: str | None,
    method: str | None,
    until: str | None,
    accept_text: bool,
    work: Path | None,
    card_notes: Path | None,
    columns: str | None,
    languages: str | None,
    config: Path | None,
    assignments: tuple[str, ...],
    engine: Engine,
    device: str,
    dry_run: bool,
    explain: bool,
    form: str,
    **given: Any,
) -> None:
    """Build a benchmark: the pairs of a pool that combine known words in new ways and are hard for a model.

    Given again, the command goes on where it was stopped; finished steps are kept as long as nothing they depend on
    has changed.
    """
    from cgbench.benchmark.cost import estimates_wanted, forecast
    from cgbench.benchmark.react.build_react import build_react, explain_react

    train_spec = corpus(train, columns)
    given["members"] = number
    for option, value in (
        ("members", number),
        ("model", given["model"]),
        ("arch", arch),
        ("method", method),
        ("gpus-per-member", gpus_per_member),
    ):
        if (ensemble or members) and value is not None:
            taken = "--ensemble" if ensemble else "--member"
            raise InputError(f"{taken} takes members as they are; leave --{option} out")
    given |= {"model.architecture": arch, "method.name": method}
    changed = changed_settings(config, assignments, **given)
    in_file = changed.pop("known_from", ())  # an input of several words, which a file may hold for its settings
    arguments: dict[str, Any] = {
        "train": train_spec,
        "pools": [corpus(paths, columns) for paths in pool],
        "exclude": [corpus(paths, columns) for paths in exclude],
        "out": out,
        "preset": preset,
        "until": until or "release",
        "ngrams": ngrams,
        "known_from": known_from or in_file,
        "ensemble": ensemble,
        "reverse_ensemble": reverse_ensemble,
        "lm": lm,
        "difficulty": difficulty,
        "member": members,
        "prompt": prompt,
        "languages": language_pair(languages, train_spec),
        "device": device,
        "gpus_per_member": gpus_per_member or 1,
        "accept_text": accept_text,
        "work": work,
        "card_notes": card_notes,
        "settings": changed,
    }
    costs: list[Forecast] = []

    def price(plan: Plan, workspace: Workspace, engine: Engine) -> None:
        if cost := forecast(plan, workspace, engine):
            costs.append(cost)
            if not dry_run:
                _say_cost(cost)

    on_plan = price if estimates_wanted() else None
    if dry_run:
        lines = explain_react(**arguments, engine=engine, on_plan=on_plan)
        if form == "json":
            found = {"estimate": costs[0].as_dict(), "advice": costs[0].advice} if costs else {}
            click.echo(json.dumps({"steps": lines, **found}, indent=1))
        else:
            note("\n".join(lines))
            for cost in costs:
                _say_cost(cost)
        return
    release = build_react(**arguments, engine=engine, say=say_if(explain), on_plan=on_plan)
    if form == "json":
        click.echo(printable_json(json.dumps({"out": str(out), **release.manifest}, ensure_ascii=False, indent=1)))
    else:
        from cgbench.commands.build_report import report

        click.echo(report(release))


def _say_cost(cost: Forecast) -> None:
    note(f"\n{cost}\n")
    if cost.advice:
        note(f"warning: {cost.advice}")

"""``cgbench reproduce``: reproduce published tables."""

import textwrap
from pathlib import Path
from typing import Any

import click

from cgbench.commands.click_types import spans
from cgbench.commands.command import (
    Command,
    Group,
    Resumable,
    format_option,
    formats,
    grouped_option,
)
from cgbench.commands.lines import note, print_json
from cgbench.commands.options import takes
from cgbench.errors import InputError, argument
from cgbench.numbers_as_text import counted
from cgbench.reproduction.plan import ReproduceRequest, hub_name, plan
from cgbench.reproduction.tables import (
    PublishedTable,
    TableRow,
    all_benchmarks,
    all_tables,
    find_table,
    named_table,
)
from cgbench.request import changed
from cgbench.tables import as_text, render
from cgbench.terminal import columns

MOST_SEEDS = 10_000


@click.group("reproduce", cls=Group, example="cgbench reproduce run lexicon-8 --seeds 5 --out runs")
def reproduce_group() -> None:
    """Reproduce published tables: train the systems and compare the scores with the published
    ones.
    """


@reproduce_group.command("list", cls=Command, example="cgbench reproduce list lexicon-8")
@click.argument("name", metavar="[TABLE]", required=False)
@format_option
def list_command(name: str | None, form: str) -> None:
    """List the tables and what cannot be run, or with TABLE all rows of one table."""
    if name and form == "text":
        click.echo(_details(named_table(name)))
        return
    tables = [named_table(name)] if name else list(all_tables().values())
    if form == "json":
        print_json([_as_json(table) for table in tables])
        return
    # Each table under its paper: its rows that run, those that need a pretrained model, those that
    # do not run.
    width = max(len(table.name) for table in tables)
    paper, indent = "", " " * (width + 4)

    def say(line: str) -> None:
        click.echo(
            textwrap.fill(line, columns(), initial_indent=indent, subsequent_indent=f"{indent}  ")
        )

    for table in tables:
        if table.paper != paper:
            paper = table.paper
            click.echo(("" if table is tables[0] else "\n") + textwrap.fill(paper, columns()))
        click.echo(
            textwrap.fill(
                f"  {table.name:{width}}  {table.title}", columns(), subsequent_indent=f"{indent}  "
            )
        )
        if table.why:
            say(f"not run: {table.why}")
            continue
        rows = table.rows
        if known := sum(not row.why for row in rows):
            first = table.benchmarks if len(table.benchmarks) <= 4 else table.benchmarks[:3]
            more = (
                ""
                if first is table.benchmarks
                else f" and {len(table.benchmarks) - len(first)} more"
            )
            say(
                f"{', '.join(first)}{more}; {known} of {counted(len(rows), 'row')};"
                f" {_seed_counts(table)}"
            )
        for init in dict.fromkeys(row.init for row in rows if row.init and not row.why):
            names = list(
                dict.fromkeys(row.system for row in rows if row.init == init and not row.why)
            )
            say(f"with --init {hub_name(init)}: {', '.join(names)}")
        for why in dict.fromkeys(row.why for row in rows if row.why):
            names = list(dict.fromkeys(table.left(row) for row in rows if row.why == why))
            say(f"not run: {', '.join(names)}: {why}")
        for remark in table.notes:
            say(remark)
    click.echo(
        "\nnext:  cgbench reproduce list lexicon-8, for its rows\n"
        "       cgbench reproduce run lexicon-8 --seeds 5 --out DIR"
    )


def _as_json(table: PublishedTable) -> dict[str, Any]:
    return {
        "table": table.name,
        "title": table.title,
        "paper": table.paper,
        "benchmarks": list(table.benchmarks),
        "systems": table.systems,
        "seeds": {name: table.seeds_of(name) for name in table.benchmarks},
        "rows": [
            {
                "benchmark": row.benchmark,
                "system": row.system,
                "figures": {figure.metric: float(figure.value) for figure in row.figures},
                "why": row.why,
                **({"init": row.init} if row.init else {}),
            }
            for row in table.rows
        ],
        "why": table.why,
        "notes": table.notes,
    }


def _seed_counts(table: PublishedTable) -> str:
    """``10 seeds (Colors: 20)``."""
    counts = {name: len(table.seeds_of(name)) for name in table.benchmarks}
    usual = max(counts.values(), key=lambda count: (list(counts.values()).count(count), -count))
    exceptions = ", ".join(f"{name}: {count}" for name, count in counts.items() if count != usual)
    return counted(usual, "seed") + (f" ({exceptions})" if exceptions else "")


def _details(table: PublishedTable) -> str:
    """Every row of a table, with its published scores."""
    lines = [f"{table.name}: {table.title}", table.paper]
    lines += [_seed_counts(table)] if table.benchmarks else []
    lines += [f"\n{remark}" for remark in table.notes]
    if table.why:
        return "\n".join([*lines, f"\nnot run: {table.why}"])
    rows = [
        (
            row.benchmark,
            row.system,
            _published(row),
            f"not run: {row.why}" if row.why else _how(table, row),
        )
        for row in table.rows
    ]
    lines += ["", render(("benchmark", "system", "published", "runs"), rows, left=4)]
    known = [name for benchmark in table.benchmarks for name in all_benchmarks()[benchmark].systems]
    if extra_names := [
        name for name in dict.fromkeys(known) if name not in table.systems and name != "test set"
    ]:
        lines += ["", "not in the table, but can be run by name:"] + [
            f"  {name}" for name in extra_names
        ]
    return "\n".join(lines)


def _published(row: TableRow) -> str:
    """The published scores of a row; of more than three, their number."""
    scores = [
        figure.value + (f" ± {figure.spread}" if figure.spread else "") for figure in row.figures
    ]
    if len(scores) <= 1:
        return "".join(scores)
    if len(scores) > 3:
        return counted(len(scores), "score")
    metrics = [figure.metric for figure in row.figures]
    return ", ".join(f"{metric} {score}" for metric, score in zip(metrics, scores, strict=True))


def _how(table: PublishedTable, row: TableRow) -> str:
    systems, system = table.parts(row.benchmark, row.system), row.system
    if row.init:
        return f"with --init {hub_name(row.init)}"
    return (
        "yes"
        if list(systems) == [system]
        else f"best of {', '.join(systems)}"
        if len(systems) > 1
        else systems[0]
    )


def _names(words: tuple[str, ...]) -> list[str]:
    return [name.strip() for text in words for name in text.split(",") if name.strip()]


def _seeds(words: tuple[str, ...]) -> list[int]:
    """``5`` for the first five, ``3,4`` or ``6-10`` for these."""
    text, ranges = ",".join(words), spans(words)
    if len(ranges) == 1 and "-" not in text:
        ranges = [range(1, ranges[0].stop)]
    if not any(ranges) or min(span.start for span in ranges) < 1:
        raise InputError(
            f"{argument('seeds', text, text=text)}: write how many (5), or which (3,4 or 6-10)"
        )
    if (count := sum(map(len, ranges))) > MOST_SEEDS:
        raise InputError(
            f"{argument('seeds', text, text=text)}: {count:,} seeds, where {MOST_SEEDS:,} are the"
            " most"
        )
    return [seed for span in ranges for seed in span]


@reproduce_group.command(
    "run", cls=Resumable, example="cgbench reproduce run lexicon-8 --seeds 5 --out runs"
)
@click.argument("table")
@takes(ReproduceRequest, read={"systems": _names, "benchmarks": _names, "seeds": _seeds})
@grouped_option("Execution", "--dry-run", is_flag=True, help="List the runs and write nothing")
def run_command(request: ReproduceRequest, dry_run: bool) -> None:
    """Run the missing experiments of TABLE: prepare data, train, translate and score.

    The same command resumes. Several machines may share the folder; each experiment runs once.
    """
    published, scale, out = find_table(request.table), request.scale, request.out
    runs = plan(request)
    for omitted, why in dict.fromkeys(
        (published.left(row), row.why) for row in published.rows if row.why
    ):
        note(f"without {omitted}: {why}")
    if dry_run:
        for run in runs:
            preset = run.system.preset
            click.echo(
                f"{run.name}  {run.preset.training.max_updates:,} updates of {preset}"
                if preset
                else run.name
            )
        return
    from cgbench.reproduction.running import run_all

    if failed := run_all(runs, changed(request, say=note)):
        raise InputError(
            f"{counted(len(failed), 'problem')}, listed above; finished runs are in {out}"
        )
    option = "" if scale == "full" else f" --scale {scale}"
    click.echo(f"{counted(len(runs), 'run')} in {out}\nnext:  cgbench reproduce show {out}{option}")


@reproduce_group.command(
    "show", cls=Command, example="cgbench reproduce show runs --table lexicon-8"
)
@click.argument("folder", type=click.Path(path_type=Path), metavar="FOLDER")
@click.option(
    "--table", "names", multiple=True, metavar="TABLE", help="Show only this table; repeatable"
)
@click.option(
    "--scale",
    type=click.Choice(["full", "short", "smoke"]),
    default="full",
    show_default=True,
    help="Training schedule of the runs to show",
)
@formats("text", "markdown", "json")
def show_command(folder: Path, names: tuple[str, ...], scale: str, form: str) -> None:
    """Compare the scores of the runs in FOLDER with the published ones."""
    from cgbench.reproduction import report

    tables = [find_table(name) for name in names]
    results, warnings = report.read_results(folder)
    for warning in warnings:
        note(f"warning: {warning}")
    lines = report.compare_runs(results, scale, tables)
    if not lines:
        there = sorted(
            {f"{result.benchmark}, {result.system} (--scale {result.scale})" for result in results}
        )
        raise InputError(
            f"{folder}: no run with --scale {scale}{' that --table shows' if names else ''}; there"
            f" is {'; '.join(there[:5])}{'; ...' if len(there) > 5 else ''}"
        )
    if form == "json":
        print_json(report.lines_as_json(lines))
    else:
        blocks = report.tables_of(lines, columns()) if form == "text" else report.tables_of(lines)
        click.echo(as_text(blocks, form))

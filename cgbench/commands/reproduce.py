"""``cgbench reproduce``: the tables of papers, made again."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cgbench.commands.options import Command, Group, Resumable, choose_device, default_jobs, format_option
from cgbench.errors import InputError
from cgbench.settings import did_you_mean

if TYPE_CHECKING:
    from cgbench.reproduction.tables import Table

PATH = click.Path(path_type=Path)


@click.group("reproduce", cls=Group)
def reproduce_group() -> None:
    """Published tables: make the runs, and show our figures beside the published ones."""


@reproduce_group.command("list", cls=Command)
@click.argument("name", metavar="[TABLE]", required=False)
@format_option
def list_command(name: str | None, form: str) -> None:
    """Show the tables, and what cannot be run, with the reason; or all systems and benchmarks of TABLE."""
    from cgbench.reproduction.tables import all_tables, find_table

    if name and form == "text":
        click.echo(_details(find_table(name)))
        return
    tables = [find_table(name)] if name else list(all_tables().values())
    if form == "json":
        rows = [
            {
                "table": table.name,
                "title": table.title,
                "paper": table.paper,
                "benchmarks": list(table.benchmarks),
                "systems": table.systems,
                "seeds": table.seeds,
                "left_out": dict(table.left_out),
                "why": table.why,
                "note": table.note,
            }
            for table in tables
        ]
        click.echo(json.dumps(rows, ensure_ascii=False, indent=1))
        return
    width = max(len(table.name) for table in tables)
    paper = ""
    for table in tables:
        if table.paper != paper:
            paper = table.paper
            click.echo(f"\n{paper}" if table is not tables[0] else paper)
        click.echo(f"  {table.name:{width}}  {table.title}")
        indent = " " * (width + 4)
        if table.why:
            click.echo(f"{indent}cannot be run: {table.why}")
            continue
        counts = (_count(len(table.systems), "system"), _count(table.seeds, "seed"))
        click.echo(f"{indent}{'; '.join((_short(table.benchmarks), *counts))}")
        if table.note:
            click.echo(f"{indent}{table.note}")
        for system, why in table.left_out.items():
            click.echo(f"{indent}without {system}: {why}")
    click.echo(
        "\nnext:  cgbench reproduce list lexicon-8, for its systems and benchmarks\n"
        "       cgbench reproduce run lexicon-8 --seeds 5 --out DIR"
    )


def _details(table: Table) -> str:
    """Everything that --systems and --benchmarks can name."""
    from cgbench.reproduction.tables import all_benchmarks

    lines = [f"{table.name}: {table.title}", f"{table.paper}; {_count(table.seeds, 'seed')}", "", "benchmarks"]
    lines += [f"  {name}" for name in table.benchmarks] + ["", "systems"]
    lines += [f"  {name}" for name in table.systems]
    known = [name for benchmark in table.benchmarks for name in all_benchmarks()[benchmark].systems]
    if others := [name for name in dict.fromkeys(known) if name not in table.systems]:
        lines += ["", "not in the table, can be run by name"] + [f"  {name}" for name in others]
    lines += [f"\nwithout {system}: {why}" for system, why in table.left_out.items()]
    return "\n".join(lines + ([f"\n{table.note}"] if table.note else []))


def _short(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 4 else f"{', '.join(names[:3])} and {len(names) - 3} more"


@reproduce_group.command("run", cls=Resumable)
@click.argument("table")
@click.option("--systems", metavar="A,B,...", help="Only these systems (default: all that can be run).")
@click.option("--benchmarks", metavar="A,B,...", help="Only these benchmarks.")
@click.option("--seeds", metavar="N|A,B|A-B", help="So many seeds, or these (default: as many as the paper).")
@click.option(
    "--scale", type=click.Choice(["full", "short", "smoke"]), default="full", show_default=True,
    help="The paper's schedule, a stated part of it, or a few updates to see that everything works.",
)  # fmt: skip
@click.option("--out", type=PATH, default=Path("reproduction"), show_default=True, help="Folder of runs and data.")
@click.option("--mirror", metavar="DIR|URL", help="Take the data's sources from here, and from nowhere else.")
@click.option("--offline", is_flag=True, help="Use no network.")
@click.option("--jobs", type=click.IntRange(1), help="Runs at once (default: the cores; one on a GPU).")
@click.option("--device", type=click.Choice(["auto", "cpu", "cuda"]), default="auto", show_default=True)
@click.option("--keep-models", is_flag=True, help="Keep the checkpoint of every run.")
@click.option("--dry-run", is_flag=True, help="Only list the runs.")
def run_command(
    table: str,
    systems: str | None,
    benchmarks: str | None,
    seeds: str | None,
    scale: str,
    out: Path,
    mirror: str | None,
    offline: bool,
    jobs: int | None,
    device: str,
    keep_models: bool,
    dry_run: bool,
) -> None:
    """Make the runs of TABLE that are not there yet: data, training, translation, figures.

    Given again, the command goes on where it was stopped. Several machines may share the folder: each run is made
    once.
    """
    from cgbench.reproduction.plan import plan
    from cgbench.reproduction.tables import find_table

    found = find_table(table)
    runs = plan(found, _names(systems), _seeds(seeds, found.seeds), scale)
    if benchmarks:
        wanted = _names(benchmarks)
        unknown = [name for name in wanted if name not in found.benchmarks]
        if unknown:
            near = did_you_mean(unknown[0], found.benchmarks)
            raise InputError(f"--benchmarks {unknown[0]}: not in {table}{near}")
        runs = [run for run in runs if run.benchmark.name in wanted]
    if not runs:
        raise InputError(f"{table}: no run fits --systems and --benchmarks")
    for system, why in found.left_out.items():
        click.echo(f"without {system}: {why}", err=True)
    if dry_run:
        for run in runs:
            what = f"{run.preset.training.max_updates:,} updates of {run.system.preset}" if run.system.preset else ""
            click.echo(f"{run.name}  {what}".rstrip())
        return
    from cgbench.reproduction.running import run_all

    device = choose_device(device)
    failed = run_all(
        runs,
        out,
        device=device,
        jobs=jobs or (default_jobs(None) if device == "cpu" else 1),
        mirror=mirror,
        offline=offline,
        keep_models=keep_models,
        say=lambda line: click.echo(line, err=True),
    )
    if failed:
        raise InputError(f"{_count(len(failed), 'problem')}, said above; what was made is in {out}")
    others = any(run.system.name not in found.systems for run in runs)
    options = _scale_option(scale) + (" --others" if others else "")
    click.echo(f"{_count(len(runs), 'run')} in {out}\nnext:  cgbench reproduce show {out}{options}")


@reproduce_group.command("show", cls=Command)
@click.argument("folder", type=PATH, metavar="DIR")
@click.option("--table", "names", multiple=True, metavar="TABLE", help="Only this table; repeatable.")
@click.option(
    "--scale", type=click.Choice(["full", "short", "smoke"]), default="full", show_default=True,
    help="Which runs; they are never mixed.",
)  # fmt: skip
@click.option("--others", is_flag=True, help="Also figures of ours without a published one beside them.")
@click.option("--out", type=PATH, multiple=True, help="Also write a file: .md, .json, .png or .svg; repeatable.")
@format_option
def show_command(
    folder: Path, names: tuple[str, ...], scale: str, others: bool, out: tuple[Path, ...], form: str
) -> None:
    """Show what the runs in DIR gave, beside the published figures."""
    from cgbench.errors import require
    from cgbench.files import check_output, write_atomic
    from cgbench.reproduction.report import (
        HEAD,
        as_json,
        compare,
        extra_lines,
        grouped,
        markdown,
        read_results,
        rows_of,
    )
    from cgbench.reproduction.tables import all_tables, find_table
    from cgbench.tables import render

    tables = [find_table(name) for name in names]
    for path in out:
        check_output(path, [folder])
        if path.suffix not in (".md", ".json", ".png", ".svg"):
            raise InputError(f"--out {path}: the name must end in .md, .json, .png or .svg")
        if path.suffix in (".png", ".svg"):
            require("matplotlib", "plots")
    results, warnings = read_results(folder)
    for warning in warnings:
        click.echo(f"warning: {warning}", err=True)
    lines = compare(results, scale, tables)
    if others:
        lines += extra_lines(results, scale, lines)
    if not lines:
        there = sorted({f"{result.benchmark}, {result.system} (--scale {result.scale})" for result in results})
        raise InputError(
            f"{folder}: no run with --scale {scale} that {'--table' if names else 'a table'} shows; there is "
            + f"{'; '.join(there[:5])}{'; ...' if len(there) > 5 else ''}"
            + ("" if others else "; --others shows what no table does")
        )
    listed = json.dumps(as_json(lines), ensure_ascii=False, indent=1)
    for path in out:
        if path.suffix in (".png", ".svg"):
            from cgbench.reproduction.plot import draw

            write_atomic(path, draw(lines, path.suffix[1:]))
        else:
            write_atomic(path, listed + "\n" if path.suffix == ".json" else markdown(lines))
    if form == "json":
        click.echo(listed)
        return
    texts = []
    for (table, benchmark, schedule), group in grouped(lines).items():
        title = f"{table}: {all_tables()[table].title}" if table else "not in a table"
        texts.append(f"{title}\n{benchmark}; schedule: {schedule}\n\n" + render(HEAD, rows_of(group)))
    click.echo("\n\n".join(texts) + "\n\nin percent; within: the difference is at most the larger standard deviation")
    for path in out:
        click.echo(f"written to {path}")


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def _names(text: str | None) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()] if text else []


def _seeds(text: str | None, default: int) -> list[int]:
    """``5`` for the first five, ``3,4`` or ``6-10`` for these."""
    if text is None:
        return list(range(1, default + 1))
    parts = [re.fullmatch(r"(\d+)(?:-(\d+))?", part.strip()) for part in text.split(",")]
    numbers = [number for part in parts if part for number in range(int(part[1]), int(part[2] or part[1]) + 1)]
    if None in parts or not numbers or min(numbers) < 1:
        raise InputError(f"--seeds {text}: write how many (5), or which (3,4 or 6-10)")
    return list(range(1, numbers[0] + 1)) if text.strip().isdigit() else numbers


def _scale_option(scale: str) -> str:
    return "" if scale == "full" else f" --scale {scale}"

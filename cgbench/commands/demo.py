"""``cgbench demo``: a small corpus, and a benchmark from it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cgbench.commands.options import Resumable, engine_options, format_option

if TYPE_CHECKING:
    from cgbench.engines import Engine

PATH = click.Path(path_type=Path)


@click.command("demo", cls=Resumable)
@click.option(
    "--out", type=PATH, default=Path("demo"), show_default=True, help="Folder for the corpus and the release."
)
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of the corpus and of the build.")
@click.option("--set", "assignments", multiple=True, metavar="KEY=VALUE", help="Change one setting of the build.")
@engine_options
@format_option
def demo_command(out: Path, seed: int, assignments: tuple[str, ...], engine: Engine, form: str) -> None:
    """Write a small German-English corpus with planted kinds of pairs, build a benchmark, make a page about it."""
    from cgbench.benchmark.react.demo import run_demo
    from cgbench.files import write_atomic
    from cgbench.report.release_page import release_page
    from cgbench.settings import parse_assignments

    demo = run_demo(out, seed, parse_assignments(assignments), engine)
    page = out / "report.html"
    write_atomic(page, release_page(demo.release))
    if form == "json":
        found = {"out": str(demo.release.folder), "report": str(page), "kinds": demo.kinds, "noise": demo.noise}
        figures = {**found, **demo.release.manifest}
        click.echo(json.dumps(figures, ensure_ascii=False, indent=1))
    else:
        from cgbench.commands.build_report import kinds_table, noise_table, report

        tables = [kinds_table(demo.kinds), noise_table(demo.noise)]
        click.echo("\n\n".join([report(demo.release), *tables, f"a page to look at: {page}"]))

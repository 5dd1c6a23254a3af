"""``cgbench demo``: a small synthetic corpus, and a test set from it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from cgbench.commands.command import Resumable, engine_options, format_option, grouped_option
from cgbench.commands.lines import cost_table, note, show
from cgbench.commands.options import parse_assignments, set_option

if TYPE_CHECKING:
    from cgbench.engines import Engine


@click.command("demo", cls=Resumable, example="cgbench demo --out demo")
@grouped_option(
    "Output",
    "--out",
    type=click.Path(path_type=Path),
    default=Path("demo"),
    show_default=True,
    metavar="FOLDER",
    help="Folder for the corpus and the release",
)
@grouped_option(
    "Selection",
    "--seed",
    type=int,
    default=1,
    show_default=True,
    metavar="N",
    help="Random seed of the corpus and the build",
)
@set_option("Selection")
@engine_options
@format_option
def demo_command(
    out: Path, seed: int, assignments: tuple[str, ...], engine: Engine, form: str
) -> None:
    """Build a test set from a small synthetic German-English corpus with known noise, and write a
    report.
    """
    from cgbench.benchmark.build.react.demo import run_demo
    from cgbench.commands.build_report import kinds_table, noise_table, report
    from cgbench.files import write_atomic
    from cgbench.report.release_page import release_page

    settings = parse_assignments(assignments)
    demo = run_demo(out, seed, settings, engine, lambda times: note(f"\n{cost_table(times)}\n"))
    page = str(out / "report.html") if demo.release.has_text else None
    if page:
        write_atomic(Path(page), release_page(demo.release))
    summary = {
        "out": str(demo.release.folder),
        "report": page,
        "kinds": demo.kinds,
        "known_noise": demo.noise,
    }
    last = f"report: {page or 'none, because the release has no text'}"
    blocks = [report(demo.release), kinds_table(demo.kinds), noise_table(demo.noise), last]
    show(form, {**summary, **demo.release.manifest}, "\n\n".join(blocks))

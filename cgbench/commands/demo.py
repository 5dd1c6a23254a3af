"""``cgbench demo``: a small synthetic corpus, and a test set from it."""

from pathlib import Path

import click

from cgbench.argument_types import as_path
from cgbench.benchmark.build.react.demo_request import DemoRequest
from cgbench.commands.command import Resumable, format_option
from cgbench.commands.lines import cost_table, note, show
from cgbench.commands.options import takes


@click.command("demo", cls=Resumable, example="cgbench demo --out demo")
@takes(DemoRequest)
@format_option
def demo_command(request: DemoRequest, form: str) -> None:
    """Build a test set from a small synthetic German-English corpus with known noise, and write a
    report.
    """
    from cgbench.benchmark.build.react.demo import run_demo
    from cgbench.commands.build_report import kinds_table, noise_table, report
    from cgbench.files import write_atomic
    from cgbench.report.release_page import release_page

    demo = run_demo(request, lambda times: note(f"\n{cost_table(times)}\n"))
    page = str(as_path(request.out) / "report.html") if demo.release.has_text else None
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

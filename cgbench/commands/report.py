"""``cgbench report``: an HTML report on a release."""

from pathlib import Path

import click

from cgbench.benchmark.release.release import Release
from cgbench.commands.command import Command, command_line
from cgbench.commands.options import takes
from cgbench.files import check_output, write_atomic
from cgbench.report.curves_page import curves_page, find_logs
from cgbench.report.release_page import ReleasePageRequest, release_page


@click.command("report", cls=Command, example="cgbench report release --out release.html")
@takes(ReleasePageRequest)
@click.argument("release", metavar="RELEASE", type=click.Path())
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FILE.html",
    help="Report, one HTML file",
)
def report_command(request: ReleasePageRequest, out: Path) -> None:
    """Write an HTML report on a release: selection funnel, distributions, novelty, examples and
    checks.

    Of a training folder or an ensemble, it draws the learning curves.
    """
    folder = Path(request.release)
    if logs := find_logs(folder):
        check_output(out, logs)
        write_atomic(out, curves_page(logs, command_line()))
    else:
        files = [
            folder / name
            for name in (*Release.open(folder, check=False).manifest["files"], "manifest.json")
        ]
        check_output(
            out,
            [*(request.train or ()), *(path for pool in request.pools for path in pool), *files],
        )
        write_atomic(out, release_page(request))
    click.echo(f"written to {out}")

"""``cgbench concur``: do benchmarks rank systems alike?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from cgbench.benchmark.validity.concur_request import ConcurRequest
from cgbench.commands.options import Command, command_line, format_option, grouped
from cgbench.commands.requests import takes


@click.command("concur", cls=Command, example="cgbench concur cogs=cogs.json cfq=cfq.json --report concur.html")
@click.argument("results", nargs=-1, metavar="[[NAME=]RESULTS]...", type=click.Path())
@takes(ConcurRequest, but=("results",))
@grouped(
    "Output", "--report", "page", type=click.Path(path_type=Path), metavar="FILE.html",
    help="Write an HTML report, with a plot of tau and its intervals",
)  # fmt: skip
@format_option
def concur_command(found: dict[str, Any], results: tuple[str, ...], page: Path | None, form: str) -> None:
    """Compare how benchmarks rank the systems they share: Kendall's tau, its intervals, and the tau that chance allows.

    RESULTS are files of `cgbench score --format json`, one per benchmark, or folders of Every Eval Ever. A benchmark
    has the name of its file, or NAME.
    """
    from cgbench.benchmark.validity.concur import concur
    from cgbench.files import check_output, write_atomic

    if page:
        check_output(page, [Path(word.rpartition("=")[2]) for word in results])
    result = concur(ConcurRequest(list(results) or None, **found))
    if page:
        from cgbench.report.table_pages import concur_page

        write_atomic(page, concur_page(result, command_line()))
    click.echo(result.report(form))

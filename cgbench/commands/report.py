"""``cgbench report``: a page about a release."""

from __future__ import annotations

from pathlib import Path

import click

from cgbench.commands.options import Command, FilesType

PATH = click.Path(path_type=Path)


@click.command("report", cls=Command)
@click.argument("folder", type=PATH, metavar="RELEASE")
@click.option("--out", type=PATH, required=True, metavar="FILE.html", help="The page: one file, which opens offline.")
@click.option("--train", type=FilesType(), help="Where the training text is now, if it has moved.")
@click.option("--pool", "pools", type=FilesType(), multiple=True, help="Where a pool is now; repeatable, all or none.")
@click.option("--force", is_flag=True, help="Report a release that fails its checks, as it is.")
def report_command(
    folder: Path, out: Path, train: tuple[Path, ...] | None, pools: tuple[tuple[Path, ...], ...], force: bool
) -> None:
    """Make a page about a release (funnel, figures, novelty, examples with their covers, checks)."""
    from cgbench.benchmark.release.release import Release
    from cgbench.files import check_output, write_atomic
    from cgbench.report.release_page import release_page

    release = Release.open(folder)
    named = [*(train or ()), *(path for pool in pools for path in pool)]
    check_output(out, [*named, *(folder / name for name in (*release.manifest["files"], "manifest.json"))])
    write_atomic(out, release_page(release, train=train or (), pools=pools, force=force))
    click.echo(f"written to {out}")

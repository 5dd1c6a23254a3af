"""``cgbench clean``: sweep what a finished release does not need."""

from __future__ import annotations

import json
from pathlib import Path

import click

from cgbench.commands.options import Command, format_option, work_option

PATH = click.Path(path_type=Path)


@click.command("clean", cls=Command)
@click.argument("folder", type=PATH, metavar="DIR")
@click.option("--all", "everything", is_flag=True, help="The finished steps, too; the release stays.")
@click.option("--dry-run", is_flag=True, help="Say what would go; remove nothing.")
@work_option
@format_option
def clean_command(folder: Path, everything: bool, dry_run: bool, work: Path | None, form: str) -> None:
    """Remove results that a release is not made of (of other settings, partial ones), from where it was built."""
    from cgbench.benchmark.release.clean import clean

    swept = clean(folder, work=work, everything=everything, dry_run=dry_run)
    if form == "json":
        rows = [{"path": str(one.path), "bytes": one.size} for one in swept]
        click.echo(json.dumps({"removed": not dry_run, "found": rows}, ensure_ascii=False, indent=1))
        return
    for one in swept:
        click.echo(f"{'would go' if dry_run else 'removed'}  {one.path} ({one.size:,} bytes)")
    total = sum(one.size for one in swept)
    click.echo(f"{total:,} bytes {'to free' if dry_run else 'freed'}" if swept else "nothing to remove")

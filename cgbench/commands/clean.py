"""``cgbench clean``: delete what a finished release does not need."""

from __future__ import annotations

import json

import click

from cgbench.benchmark.release.clean import CleanRequest, clean
from cgbench.commands.options import Command, format_option
from cgbench.commands.requests import takes


@click.command("clean", cls=Command)
@takes(CleanRequest)
@click.argument("folder", metavar="DIR")
@format_option
def clean_command(request: CleanRequest, form: str) -> None:
    """Remove results that a release is not made of (of other settings, partial ones), from where it was built."""
    removed, dry_run = clean(request), request.dry_run
    if form == "json":
        rows = [{"path": str(one.path), "bytes": one.size} for one in removed]
        click.echo(json.dumps({"removed": not dry_run, "found": rows}, ensure_ascii=False, indent=1))
        return
    for one in removed:
        click.echo(f"{'would go' if dry_run else 'removed'}  {one.path} ({one.size:,} bytes)")
    total = sum(one.size for one in removed)
    click.echo(f"{total:,} bytes {'to free' if dry_run else 'freed'}" if removed else "nothing to remove")

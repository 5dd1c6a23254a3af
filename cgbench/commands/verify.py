"""``cgbench verify``: check a release."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from cgbench.commands.options import Command, format_option, work_option
from cgbench.errors import printable, printable_json

PATH = click.Path(path_type=Path)


@click.command("verify", cls=Command)
@click.argument("folder", type=PATH, metavar="DIR")
@click.option(
    "--recompute", type=click.IntRange(0), default=0, metavar="N", help="Make N random candidates again, and compare."
)
@work_option
@format_option
def verify_command(folder: Path, recompute: int, work: Path | None, form: str) -> None:
    """Recompute hashes, counts and the split of a release; exit 1 and say what differs."""
    from cgbench.benchmark.release.release import Release

    checks = Release.open(folder, work).verify(again=recompute)
    if form == "json":
        rows = [{"check": check.name, "ok": check.ok, "detail": check.detail} for check in checks]
        click.echo(printable_json(json.dumps({"ok": checks.ok, "checks": rows}, ensure_ascii=False, indent=1)))
    else:
        words = {True: "ok", False: "DIFFERS", None: "skipped"}
        for check in checks:
            click.echo(
                f"{words[check.ok]:8}{printable(check.name)}" + (f": {printable(check.detail)}" if check.detail else "")
            )
    sys.exit(0 if checks.ok else 1)

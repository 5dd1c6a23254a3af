"""``cgbench export``: a release in the form that another tool reads."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import click

from cgbench.commands.options import Command, format_option

PATH = click.Path(path_type=Path)


@click.command("export", cls=Command)
@click.argument("folder", type=PATH, metavar="DIR")
@click.option(
    "--to",
    required=True,
    metavar="TARGET",
    help="lm-eval, mt-metrics-eval, subset2evaluate, wmt-testsuite, or a target of another package.",
)
@click.option(
    "--out", type=PATH, required=True, help="Folder of the export; an earlier one to this target is replaced."
)
@click.option("--force", is_flag=True, help="Of a release that does not pass verify, too.")
@format_option
def export_command(folder: Path, to: str, out: Path, force: bool, form: str) -> None:
    """Write the test set of a release in the form that another tool reads; nothing is fetched or sent."""
    from cgbench.benchmark.release.export.export import export
    from cgbench.benchmark.release.release import Release

    files = export(Release.open(folder), to, out, force=force)
    if form == "json":
        click.echo(json.dumps({"out": str(out), "to": to, "files": files}, ensure_ascii=False, indent=1))
    else:
        click.echo(f"written to {out}: {', '.join(files)}")
        click.echo(
            f"the release itself as a data set:  hf upload ORG/NAME {shlex.quote(str(folder))} . --repo-type dataset"
        )

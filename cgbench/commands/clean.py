"""``cgbench clean``: delete unused build results."""

import click

from cgbench.benchmark.release.clean import CleanRequest, clean
from cgbench.commands.command import Command, format_option, show
from cgbench.commands.options import takes


@click.command("clean", cls=Command, example="cgbench clean release --dry-run")
@takes(CleanRequest)
@click.argument("folder", metavar="FOLDER", type=click.Path())
@format_option
def clean_command(request: CleanRequest, form: str) -> None:
    """Delete build results that the release does not use, such as those of other settings.

    FOLDER is a release, its workspace (RELEASE.work), or the folder of a trained ensemble or model.
    """
    removed, dry_run = clean(request), request.dry_run
    total, done = sum(entry.size for entry in removed), "would delete" if dry_run else "deleted"
    lines = [f"{done}  {entry.path} ({entry.size:,} bytes)" for entry in removed]
    lines.append(
        f"{total:,} bytes {'to free' if dry_run else 'freed'}" if removed else "nothing to delete"
    )
    rows = [{"path": str(entry.path), "bytes": entry.size} for entry in removed]
    show(form, {"removed": not dry_run, "found": rows}, "\n".join(lines))

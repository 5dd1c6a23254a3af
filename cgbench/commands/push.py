"""``cgbench push``: publish a release on a hub of data sets."""

from __future__ import annotations

import json
from pathlib import Path

import click

from cgbench.commands.options import Command, format_option
from cgbench.errors import printable
from cgbench.tables import render

PATH = click.Path(path_type=Path)


@click.command("push", cls=Command)
@click.argument("folder", type=PATH, metavar="DIR")
@click.argument("name", metavar="ORG/NAME")
@click.option("--upload", is_flag=True, help="Do it; without, the command says what it would do.")
@click.option("--private", is_flag=True, help="A repository that is made is seen by its owners alone.")
@click.option("--force", is_flag=True, help="Of a release that does not pass verify, too.")
@format_option
def push_command(folder: Path, name: str, upload: bool, private: bool, force: bool, form: str) -> None:
    """Upload a release to the Hugging Face hub, the files that it lists and no others; by default a dry run."""
    from cgbench.benchmark.release.push import push
    from cgbench.benchmark.release.release import Release

    pushed = push(Release.open(folder), name, upload=upload, private=private, force=force)
    if form == "json":
        files = [{"path": file, "bytes": size} for file, size in pushed.files]
        rows = {"repository": name, "uploaded": upload, "url": pushed.url, "files": files}
        click.echo(json.dumps(rows, ensure_ascii=False, indent=1))
        return
    click.echo(render(("file", "bytes"), [(printable(file), f"{size:,}") for file, size in pushed.files]))
    if upload:
        click.echo(f"\npublished as {name}: {printable(pushed.url)}")
    else:
        click.echo(f"\nnothing was sent; with --upload this becomes the data set {name}")

"""``cgbench restore``: put the text back into a release that was published without."""

from __future__ import annotations

import json

import click

from cgbench.benchmark.release.restore import RestoreRequest, restore
from cgbench.commands.options import Command, corpora_words, corpus_words, format_option
from cgbench.commands.requests import takes


@click.command("restore", cls=Command)
@takes(RestoreRequest, read={"pools": corpora_words, "train": corpus_words})
@click.argument("release", metavar="DIR")
@format_option
def restore_command(request: RestoreRequest, form: str) -> None:
    """Put the text back into a release without text, from your own copies, each pair checked by its hash."""
    release = restore(request)
    folder = release.folder
    if form == "json":
        click.echo(json.dumps({"out": str(folder), "signature": release.signature}, ensure_ascii=False, indent=1))
    else:
        pairs = release.table().num_rows
        click.echo(f"the text of {pairs:,} pairs is back in {folder} ({release.signature}); cgbench verify {folder}")

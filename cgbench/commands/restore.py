"""``cgbench restore``: put the text back into a release that was published without."""

from __future__ import annotations

import json
from pathlib import Path

import click

from cgbench.commands.options import Command, FilesType, format_option

PATH = click.Path(path_type=Path)


@click.command("restore", cls=Command)
@click.argument("folder", type=PATH, metavar="DIR")
@click.option(
    "--pool", type=FilesType(), required=True, multiple=True, help="Your copy of a pool; as many as the release has."
)
@click.option("--train", type=FilesType(), help="Your copy of the training text: is it the one?")
@click.option("--columns", metavar="S,T", help="Source and target column of a file with both sides (TSV: from 1).")
@format_option
def restore_command(
    folder: Path, pool: tuple[tuple[Path, ...], ...], train: tuple[Path, ...] | None, columns: str | None, form: str
) -> None:
    """Put the text back into a release without text, from your own copies, each pair checked by its hash."""
    from cgbench.benchmark.release.release import Release
    from cgbench.benchmark.release.restore import restore
    from cgbench.benchmark.splits.split import corpus_or_split
    from cgbench.requests import fields_of, read_field
    from cgbench.text.normalisation import PairOptions

    pair = read_field(fields_of(PairOptions)["columns"], columns)
    release = restore(
        Release.open(folder),
        [corpus_or_split(paths, pair) for paths in pool],
        corpus_or_split(train, pair) if train else None,
    )
    if form == "json":
        click.echo(json.dumps({"out": str(folder), "signature": release.signature}, ensure_ascii=False, indent=1))
    else:
        pairs = release.table().num_rows
        click.echo(f"the text of {pairs:,} pairs is back in {folder} ({release.signature}); cgbench verify {folder}")

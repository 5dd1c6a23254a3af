"""``cgbench degree``: the compositional degree of sentences."""

from __future__ import annotations

import json
from pathlib import Path

import click

from cgbench.benchmark.stats.degree import DegreeRequest, degree_rows
from cgbench.commands.options import Command, format_option, warn_of
from cgbench.commands.requests import takes


@click.command("degree", cls=Command)
@takes(DegreeRequest)
@click.option("--cover", is_flag=True, help="Print the pieces of each sentence.")
@click.argument("texts", metavar="[TEXT]", default="-")
@format_option
def degree_command(request: DegreeRequest, cover: bool, form: str) -> None:
    """Print pieces, length and compositional degree of each sentence of TEXT (or of standard input).

    TEXT is plain (.gz, .zst too), or TABLE:COLUMN.

    The degree is the smallest number of n-grams known from the training text that cover the sentence, over its
    length in words. A word that is not known is a piece of its own.
    """
    from cgbench.text.inspection import look_at_texts

    if request.train is not None:
        warn_of(look_at_texts(Path(request.train), [Path(request.texts)], request.normalisation))
    for number, row in enumerate(degree_rows(request)):
        if form == "text" and not number:
            click.echo("pieces\tlength\tdegree" + ("\tcover" if cover else ""))
        if not cover:
            del row["cover"]
        if form == "json":
            click.echo(json.dumps(row, ensure_ascii=False))
        else:
            shown = "\t" + " | ".join(row["cover"]) if cover else ""
            click.echo(f"{row['pieces']}\t{row['length']}\t{row['degree']:.4f}{shown}")

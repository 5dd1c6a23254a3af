"""``cgbench degree``: the compositional degree of sentences."""

import json
from pathlib import Path

import click

from cgbench.benchmark.build.stats.degree import DegreeRequest, degree_rows
from cgbench.commands.command import Command, format_option, grouped_option
from cgbench.commands.lines import warn_of_texts
from cgbench.commands.options import takes


@click.command("degree", cls=Command, example="cgbench degree test.en --train train.en --cover")
@takes(DegreeRequest)
@grouped_option("Output", "--cover", is_flag=True, help="Print the pieces of each sentence")
@click.argument("texts", metavar="[TEXT]", default="-", type=click.Path())
@format_option
def degree_command(request: DegreeRequest, cover: bool, form: str) -> None:
    """Print the compositional degree of each sentence of TEXT, with its pieces and length.

    The degree is the number of pieces divided by the length in words. Pieces are the fewest n-grams
    that cover the sentence and are known from the training text; an unknown word is a piece of its
    own.

    TEXT is a plain or compressed file, TABLE:COLUMN, or standard input.
    """
    if request.train is not None:
        warn_of_texts(Path(request.train), [Path(request.texts)], request.text.normalisation)
    for row_number, row in enumerate(degree_rows(request)):
        if form == "text" and not row_number:
            click.echo("pieces\tlength\tdegree" + ("\tcover" if cover else ""))
        if not cover:
            del row["cover"]
        if form == "json":
            click.echo(json.dumps(row, ensure_ascii=False))
        else:
            cover_text = "\t" + " | ".join(row["cover"]) if cover else ""
            click.echo(f"{row['pieces']}\t{row['length']}\t{row['degree']:.4f}{cover_text}")

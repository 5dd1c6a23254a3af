"""``cgbench degree``: the compositional degree of sentences."""

from __future__ import annotations

import json
from pathlib import Path

import click

from cgbench.commands.ahead import DEGREE, expect
from cgbench.commands.options import Command, format_option, tokenize_options, warn_of
from cgbench.errors import InputError

PATH = click.Path(path_type=Path)


@click.command("degree", cls=Command)
@click.option("--train", type=PATH, help="Training text: a sentence a line, or TABLE:COLUMN.")
@click.option("--ngrams", type=PATH, help="Known n-grams from a file, a phrase a line, instead of the training text.")
@click.option("--known-from", type=PATH, metavar="FOLDER", help="What cgbench overlap --out found TEXT to be made of.")
@click.option("--min-count", type=click.IntRange(1), default=3, show_default=True, help="Known: at least so often.")
@click.option("--cover", is_flag=True, help="Show the pieces.")
@tokenize_options
@click.option("--language", default="en", show_default=True, help="Language code, for moses and --detokenize.")
@click.option("--lowercase", is_flag=True, help="Normalise all text: lower case.")
@click.argument("text", type=click.Path(path_type=Path, allow_dash=True), default="-")
@format_option
def degree_command(
    train: Path | None,
    ngrams: Path | None,
    known_from: Path | None,
    min_count: int,
    cover: bool,
    tokenize: str | None,
    detokenize: bool | None,
    language: str,
    lowercase: bool,
    text: Path,
    form: str,
) -> None:
    """Print pieces, length and compositional degree of each sentence of TEXT (or of standard input).

    TEXT is plain (.gz, .zst too), or TABLE:COLUMN.

    The degree is the smallest number of n-grams known from the training text that cover the sentence, over its
    length in words. A word that is not known is a piece of its own.
    """
    if train is None and ngrams is None and known_from is None:
        raise InputError("name a training text with --train, or known n-grams with --ngrams or --known-from")
    if known_from and (train or ngrams):
        raise InputError("--known-from stands for --train and --ngrams; leave these out")
    from cgbench.benchmark.known_ngrams.degree import degrees, degrees_from, known_ngrams_of
    from cgbench.text.columns import read_text
    from cgbench.text.inspection import look_at_texts
    from cgbench.text.normalisation import Normalisation

    normalisation = Normalisation(tokenize or "none", lowercase, (language, language), bool(detokenize))
    if train is not None:
        warn_of(look_at_texts(train, [text], normalisation))
    if ngrams is None and known_from is None:
        expect(DEGREE)
    if known_from:
        from cgbench.benchmark.overlap.saved import KnownOfTest

        rows = degrees_from(KnownOfTest.load(known_from), read_text(text), min_count, normalisation)
    else:
        rows = degrees(known_ngrams_of(train, ngrams, min_count, normalisation), read_text(text), normalisation)
    for number, row in enumerate(rows):
        if form == "text" and not number:
            click.echo("pieces\tlength\tdegree" + ("\tcover" if cover else ""))
        if not cover:
            del row["cover"]
        if form == "json":
            click.echo(json.dumps(row, ensure_ascii=False))
        else:
            shown = "\t" + " | ".join(row["cover"]) if cover else ""
            click.echo(f"{row['pieces']}\t{row['length']}\t{row['degree']:.4f}{shown}")

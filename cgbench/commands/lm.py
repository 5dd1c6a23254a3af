"""The ``cgbench lm`` commands: train an n-gram language model, and score sentences with one."""

import json
from pathlib import Path

import click

from cgbench.commands.command import Command, Group, format_option, show
from cgbench.commands.options import takes
from cgbench.errors import InputError, warn
from cgbench.lm.training import LmRequest, train_lm
from cgbench.numbers_as_text import counted
from cgbench.tables import render
from cgbench.text.columns import read_text
from cgbench.text.streams import shown

PATH = click.Path(path_type=Path)
EXAMPLE = "cgbench lm train train.en --order 3 --out model.arpa"


@click.group("lm", cls=Group, example=EXAMPLE)
def lm_group() -> None:
    """Train n-gram language models and score sentences."""


@lm_group.command("train", cls=Command, example=EXAMPLE)
@click.argument("corpus", type=click.Path())
@takes(LmRequest)
@format_option
def train_command(request: LmRequest, form: str) -> None:
    """Train an n-gram language model with interpolated modified Kneser-Ney smoothing, as KenLM's
    lmplz does.

    CORPUS contains one sentence per line: a plain or compressed file, TABLE:COLUMN, or
    - (standard input).
    """
    trained = train_lm(request)
    for warning in trained.warnings:
        warn(warning)
    figures = trained.figures
    rows = [
        (str(order), f"{ngrams:,}", *(f"{discount:.4f}" for discount in discounts))
        for order, (ngrams, discounts) in enumerate(
            zip(figures["ngrams"], figures["discounts"], strict=True), 1
        )
    ]
    text_size = (
        f"{counted(figures['tokens'], 'word')} in {counted(figures['sentences'], 'sentence')}"
    )
    table = render(("order", "n-grams", "D1", "D2", "D3+"), rows)
    then = f"{figures['signature']}\nnext:  cgbench lm score --lm {request.out} TEXT"
    show(form, figures, f"{text_size}\nSHA-256 {figures['sha256']}\n\n{table}\n\n{then}")


@lm_group.command("score", cls=Command, example="cgbench lm score test.en --lm model.arpa")
@click.option(
    "--lm",
    type=PATH,
    required=True,
    metavar="FILE",
    help="Language model: an ARPA file or a KenLM binary file",
)
@click.argument("text", type=click.Path(path_type=Path, allow_dash=True), default="-")
@format_option
def score_command(lm: Path, text: Path, form: str) -> None:
    """Print log10 probability, number of words, number of unknown words and perplexity of each
    sentence of TEXT.

    TEXT is a plain or compressed file, TABLE:COLUMN, or standard input. The scores of
    the whole text go to standard error.
    """
    from cgbench.lm.language_model import CorpusScore, LanguageModel

    model = LanguageModel.load(lm)
    total = CorpusScore()
    for row_number, score in enumerate(model.scores(read_text(text), total)):
        if form == "json":
            click.echo(json.dumps(score.as_dict()))
        else:
            if not row_number:
                click.echo("log10\twords\toovs\tperplexity")
            click.echo(f"{score.log10:.4f}\t{score.words}\t{score.oovs}\t{score.perplexity:.4f}")
    if not total.sentences:
        raise InputError(f"{shown(text)}: there is no sentence in it")
    if form == "json":
        click.echo(json.dumps(total.as_dict()), err=True)
        return
    click.echo(
        f"{counted(total.sentences, 'sentence')}, {counted(total.tokens, 'token')} with </s>,"
        f" {total.oovs:,} unknown; perplexity {total.perplexity:.4f}, without unknown words"
        f" {total.perplexity_without_oovs:.4f}",
        err=True,
    )

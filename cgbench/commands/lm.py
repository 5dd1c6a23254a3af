"""The ``cgbench lm`` commands: train an n-gram language model, and score sentences with one."""

from __future__ import annotations

import json
from pathlib import Path

import click

from cgbench.commands.options import Command, Group, default_jobs, format_option, log_every_option, note
from cgbench.errors import InputError

PATH = click.Path(path_type=Path)
DASH = click.Path(path_type=Path, allow_dash=True)


@click.group("lm", cls=Group)
def lm_group() -> None:
    """Train n-gram language models, and score sentences with them."""


@lm_group.command("train", cls=Command)
@click.argument("corpus", type=DASH)
@click.option("--out", type=PATH, required=True, help="The model: F.arpa (text) or F.binary (KenLM's format).")
@click.option("--order", type=click.IntRange(1), default=5, show_default=True, help="Words of the longest n-grams.")
@click.option(
    "--prune", default="0", show_default=True, metavar="'0 0 1'", help="Drop n-grams that occur so often, by order."
)
@click.option("--min-count", type=click.IntRange(1), default=1, show_default=True, help="Rarer words become <unk>.")
@click.option("--skip-symbols", is_flag=True, help="Take <s>, </s> and <unk> in the text for white space.")
@click.option(
    "--discount-fallback", default="0.5 1 1.5", show_default=True, metavar="'D1 D2 D3'",
    help="Discounts of an order whose counts give none.",
)  # fmt: skip
@click.option("--jobs", type=click.IntRange(1), help="Threads (default: the cores); changes no byte.")
@log_every_option
@format_option
def train_command(
    corpus: Path,
    out: Path,
    order: int,
    prune: str,
    min_count: int,
    skip_symbols: bool,
    discount_fallback: str,
    jobs: int | None,
    form: str,
) -> None:
    """Train a language model on CORPUS, a sentence a line (.gz, .zst too), TABLE:COLUMN, or - for standard input.

    Interpolated modified Kneser-Ney smoothing, the same model as KenLM's lmplz makes.
    """
    from cgbench.lm.training import train

    discounts = _numbers("--discount-fallback", discount_fallback, float)
    trained = train(
        corpus,
        out,
        order=order,
        prune=_numbers("--prune", prune, int),
        min_count=min_count,
        skip_symbols=skip_symbols,
        fallback=tuple(discounts),
        jobs=default_jobs(jobs),
    )
    for warning in trained.warnings:
        note(f"warning: {warning}")
    figures = trained.figures
    if form == "json":
        click.echo(json.dumps(figures, ensure_ascii=False, indent=1))
        return
    from cgbench.tables import render

    rows = [
        (str(number), f"{ngrams:,}", f"{pruned:,}", *(f"{value:.4f}" for value in values))
        for number, (ngrams, pruned, values) in enumerate(
            zip(figures["ngrams"], figures["pruned"], figures["discounts"], strict=True), 1
        )
    ]
    click.echo(f"{figures['tokens']:,} words in {figures['sentences']:,} sentences, sha256 {figures['sha256']}\n")
    click.echo(render(("order", "n-grams", "pruned", "D1", "D2", "D3+"), rows))
    click.echo(f"\n{figures['signature']}\nnext:  cgbench lm score --lm {out} TEXT")


@lm_group.command("score", cls=Command)
@click.option("--lm", type=PATH, required=True, help="The model: an ARPA file or a KenLM binary file.")
@click.option("--summary", is_flag=True, help="Print the figures of the whole text alone.")
@click.argument("text", type=DASH, default="-")
@format_option
def score_command(lm: Path, summary: bool, text: Path, form: str) -> None:
    """Print log10 probability, words, unknown words and perplexity of each sentence of TEXT (or standard input).

    TEXT is plain (.gz, .zst too), or TABLE:COLUMN. The figures of the whole text follow on standard error.
    """
    from cgbench.lm.language_model import CorpusScore, LanguageModel
    from cgbench.text.columns import read_text
    from cgbench.text.streams import shown

    model = LanguageModel.load(lm)
    total = CorpusScore()
    for number, score in enumerate(model.scores(read_text(text), total)):
        if summary:
            continue
        if form == "json":
            click.echo(json.dumps(score.as_dict()))
        else:
            if not number:
                click.echo("log10\twords\toovs\tperplexity")
            click.echo(f"{score.log10:.4f}\t{score.words}\t{score.oovs}\t{score.perplexity:.4f}")
    if not total.sentences:
        raise InputError(f"{shown(text)}: there is no sentence in it")
    if form == "json":
        click.echo(json.dumps(total.as_dict()), err=not summary)
        return
    click.echo(
        f"{total.sentences:,} sentences, {total.tokens:,} tokens with </s>, {total.oovs:,} unknown; perplexity "
        f"{total.perplexity:.4f}, without unknown words {total.perplexity_without_oovs:.4f}",
        err=not summary,
    )


def _numbers(option: str, given: str, kind: type) -> list:
    try:
        return [kind(word) for word in given.replace(",", " ").split()]
    except ValueError:
        raise InputError(f"{option} {given!r}: numbers are needed, separated by blanks") from None

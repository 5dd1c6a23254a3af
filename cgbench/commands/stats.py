"""``cgbench stats``: what is new in a test text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from cgbench.commands.options import (
    Command,
    FilesType,
    column_pair,
    log_every_option,
    safe_tsv_option,
    tokenize_options,
    warn_of,
)
from cgbench.errors import InputError

PATH = click.Path(path_type=Path)


@click.command("stats", cls=Command)
@click.option("--train", type=FilesType(), help="Training text: a file, two (source, target), a table, TABLE:COLUMN.")
@click.option("--known-from", type=PATH, metavar="FOLDER", help="Of a larger training text: of cgbench overlap --out.")
@click.option("--test", "tests", type=FilesType(), multiple=True, metavar="[NAME=]FILES", help="Test text; repeatable.")
@click.option("--release", type=PATH, metavar="DIR", help="The test set of a release, both sides; no --test.")
@click.option("--side", type=click.Choice(["source", "target", "both"]), help="Of a corpus (default: source).")
@click.option("--orders", default="2,3", show_default=True, metavar="N,N,...", help="Lengths of the novel n-grams.")
@click.option("--pos", metavar="MODEL|conllu:F,F", help="Tags: a spaCy pipeline, or CoNLL-U of train and each test.")
@click.option("--trust", is_flag=True, help="Load a spaCy pipeline from a folder: it may run any code.")
@click.option("--tags", type=click.Choice(["xpos", "upos"]), default="xpos", show_default=True, help="Of CoNLL-U.")
@click.option("--curve", type=click.IntRange(0, 64), default=0, metavar="N", help="Novelty for each order up to N.")
@click.option("--histogram", type=click.IntRange(0, 1000), default=0, metavar="N", help="Degrees in N equal bins.")
@click.option("--show", type=click.IntRange(0), default=0, metavar="N", help="The N most frequent novel n-grams.")
@click.option("--divergence", metavar="KIND[:F,F]", help="Of atoms and compounds: words:2,3, triples:F,F, scan, ...")
@click.option(
    "--weights",
    type=click.Choice(["specific", "count"]),
    default="specific",
    show_default=True,
    help="Of compounds: Keysers et al. 2020, or 1 each.",
)
@click.option("--published", is_flag=True, help="Table 2 of the R-Dangle paper, too.")
@click.option("--min-count", type=click.IntRange(1), help="Known n-gram: at least so often (default 3).")
@click.option("--columns", metavar="S,T", help="Source and target column of a table (TSV: from 1).")
@tokenize_options
@click.option("--language", help="Language code, for moses and --detokenize (default en).")
@click.option("--lowercase", is_flag=True, help="Normalise all text: lower case.")
@click.option(
    "--format", "form", type=click.Choice(["text", "json", "tsv", "markdown", "latex"]), default="text",
    show_default=True, help="What is printed.",
)  # fmt: skip
@log_every_option
@safe_tsv_option
def stats_command(
    release: Path | None,
    train: tuple[Path, ...] | None,
    tests: tuple[tuple[Path, ...], ...],
    orders: str,
    curve: int,
    histogram: int,
    show: int,
    published: bool,
    form: str,
    safe_tsv: bool,
    **given: Any,
) -> None:
    """Print what is new in a test text: examples, degree, novel n-grams over words and parts of speech.

    A row a test text, as in Table 2 of Zheng and Lapata 2023. An n-gram is novel when it never occurs in the
    training text; each is counted once.
    """
    from cgbench.benchmark.stats.stats import stats
    from cgbench.benchmark.stats.texts import split_label
    from cgbench.text.inspection import look_at_texts
    from cgbench.text.normalisation import Normalisation

    if safe_tsv and form != "tsv":
        raise InputError("--safe-tsv belongs to --format tsv")
    lengths = _orders(orders)
    if not release and not ((train or given["known_from"]) and tests):
        raise InputError("two texts are needed: --train FILE --test FILE (or --release DIR)")
    given["columns"] = column_pair(given["columns"])
    named = [split_label(paths) for paths in tests]
    if train and len(train) == 1:
        code = given["language"] or "en"
        normalisation = Normalisation(
            given["tokenize"] or "none", given["lowercase"], (code, code), bool(given["detokenize"])
        )
        warn_of(look_at_texts(train[0], [paths[0] for _, paths in named if len(paths) == 1], normalisation))
    found = stats(
        train,
        named,
        release=release,
        orders=lengths,
        curve=curve,
        show=show,
        published=published,
        **given,
    )
    click.echo(found.report(form, histogram, safe_tsv))


def _orders(given: str) -> tuple[int, ...]:
    try:
        orders = tuple(int(part) for part in given.split(","))
    except ValueError:
        raise InputError(f"--orders {given}: numbers with a comma between are needed, such as 2,3") from None
    return tuple(sorted(set(orders)))

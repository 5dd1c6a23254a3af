"""``cgbench lexicon``: lexicons for models with lexical translation."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import click

from cgbench.commands.options import Command, Group, corpus, format_option, normalisation_of, text_options
from cgbench.errors import InputError
from cgbench.settings import parse_assignments

PATH = click.Path(path_type=Path)

SHOWN = 20  # words of a lexicon on the screen


@click.group("lexicon", cls=Group)
def lexicon_group() -> None:
    """Lexicons: which target words a source word stands for."""


@lexicon_group.command("learn", cls=Command)
@click.argument("train", type=PATH, nargs=-1, required=True)
@click.option(
    "--method", type=click.Choice(["simple", "pmi", "ibm1", "ibm2", "bayesian"]), default="simple", show_default=True,
    help="How to learn it.",
)  # fmt: skip
@click.option("--out", type=PATH, required=True, help="The lexicon: F.json, or F.tsv.")
@click.option("--set", "assignments", multiple=True, metavar="KEY=VALUE", help="Change one setting of the method.")
@click.option("--show", type=PATH, metavar="PICTURE", help="Draw it, too: to a .svg, .png or .pdf file.")
@click.option("--words", metavar="W,W,...", help="Source words in the picture (default: all).")
@text_options
@format_option
def learn_command(
    train: tuple[Path, ...],
    method: str,
    out: Path,
    assignments: tuple[str, ...],
    show: Path | None,
    words: str | None,
    columns: str | None,
    form: str,
    **given: Any,
) -> None:
    """Learn a lexicon from TRAIN: two files (source, target), or one with both sides.

    Words are separated by blanks. The learners are those of Akyürek and Andreas (2021).
    """
    from cgbench.files import check_output
    from cgbench.machine import check_memory
    from cgbench.models.lexicons.bitext import BYTES_A_WORD
    from cgbench.models.lexicons.lexicon import check_suffix, learn_lexicon
    from cgbench.models.lexicons.matrix import lexicon_heatmap
    from cgbench.plots import draw_heatmaps, is_picture, save
    from cgbench.text.formats import read_pairs
    from cgbench.text.normalisation import normalise_pairs
    from cgbench.text.word_counts import estimate_words

    spec = corpus(train, columns)
    if words and not show:
        raise InputError("--words belongs to --show")
    for path in (out, show):
        if path:
            check_output(path, spec.files)
    check_suffix(out)
    if show:
        is_picture(show, f"--show {show}")
        if show.absolute() == out.absolute():
            raise InputError(f"--show {show}: the lexicon itself is written there; give another name")
    known = sum(estimate_words(path) or 0 for path in spec.paths)
    check_memory(f"{spec}: a lexicon of about {known:,} words", BYTES_A_WORD * known, "learn from a part of the text")
    pairs = normalise_pairs(read_pairs(spec), normalisation_of(given, spec), str(spec))
    learned = learn_lexicon(method, pairs, parse_assignments(assignments))
    lexicon = learned.lexicon
    if not len(lexicon):
        raise InputError(f"{spec}: no word stands for another by the rules of {method}; nothing was written")
    lexicon.save(out)
    if show:
        try:
            save(draw_heatmaps([lexicon_heatmap(lexicon, words.split(",") if words else ())], "source", "target"), show)
        except InputError as error:
            raise InputError(f"{error}; the lexicon is in {out}, the picture was not drawn") from None
    figures = {
        "out": str(out),
        "method": method,
        "pairs": learned.pairs,
        "source_words": learned.source_words,
        "target_words": learned.target_words,
        "words": len(lexicon.source_words),
        "entries": len(lexicon),
        "signature": learned.signature,
    }
    if form == "json":
        click.echo(json.dumps(figures, ensure_ascii=False, indent=1))
        return
    from cgbench.tables import render

    shown = list(islice(lexicon.items(), SHOWN))
    width = max(len(word) for word, _ in shown)
    click.echo(render((), [(f"{word:{width}}  {_targets(row)}",) for word, row in shown]))
    if len(lexicon.source_words) > SHOWN:
        click.echo(f"[... {len(lexicon.source_words) - SHOWN:,} more]")
    click.echo(
        f"\n{len(lexicon):,} entries of {len(lexicon.source_words):,} source words; the text has "
        f"{learned.source_words:,} and {learned.target_words:,} target words in {learned.pairs:,} pairs\n"
        f"{learned.signature}\nwritten to {out}" + (f" and {show}" if show else "")
    )


def _targets(row: Mapping[str, float]) -> str:
    """The strongest entries of a word, with their values."""
    first = [f"{target} {value:,.6g}" for target, value in list(row.items())[:4]]
    return ", ".join(first) + (", ..." if len(row) > len(first) else "")

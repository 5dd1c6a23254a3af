"""``cgbench lexicon`` and ``cgbench augment``: lexicons for models with lexical translation, and new training pairs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import click

from cgbench.commands.options import Command, FilesType, Group, corpus, format_option, language_pair, text_options
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
    help="How it is learnt.",
)  # fmt: skip
@click.option("--out", type=PATH, required=True, help="The lexicon: F.json, or F.tsv.")
@click.option("--set", "assignments", multiple=True, metavar="KEY=VALUE", help="Change one setting of the method.")
@click.option("--show", type=PATH, metavar="PICTURE", help="Draw it, too: to a .svg or .png file.")
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
    languages: str | None,
    tokenize: str | None,
    lowercase: bool | None,
    form: str,
) -> None:
    """Learn a lexicon from TRAIN: two files (source, target), or one with both sides.

    Words are what blanks separate. The learners are those of Akyürek and Andreas (2021).
    """
    from cgbench.files import check_output
    from cgbench.models.lexicons.lexicon import check_suffix, learn_lexicon
    from cgbench.models.lexicons.picture import check_picture, draw_lexicon
    from cgbench.text.formats import read_pairs
    from cgbench.text.normalisation import Normalisation, normalise_pairs

    spec = corpus(train, columns)
    if words and not show:
        raise InputError("--words belongs to --show")
    for path in (out, show):
        if path:
            check_output(path, train)
    check_suffix(out)
    if show:
        check_picture(show)
        if show.absolute() == out.absolute():
            raise InputError(f"--show {show}: the lexicon itself is written there; give another name")
    normalisation = Normalisation(tokenize or "none", bool(lowercase), language_pair(languages, spec))
    pairs = normalise_pairs(read_pairs(spec), normalisation, 1, str(spec))
    learnt = learn_lexicon(method, pairs, parse_assignments(assignments))
    lexicon = learnt.lexicon
    if not len(lexicon):
        raise InputError(f"{spec}: no word stands for another by the rules of {method}; nothing was written")
    lexicon.save(out)
    if show:
        try:
            draw_lexicon(lexicon, show, words.split(",") if words else ())
        except InputError as error:
            raise InputError(f"{error}; the lexicon is in {out}, the picture was not drawn") from None
    figures = {
        "out": str(out),
        "method": method,
        "pairs": learnt.pairs,
        "source_words": learnt.source_words,
        "target_words": learnt.target_words,
        "words": len(lexicon.source_words),
        "entries": len(lexicon),
        "signature": learnt.signature,
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
        f"{learnt.source_words:,} and {learnt.target_words:,} target words in {learnt.pairs:,} pairs\n"
        f"{learnt.signature}\nwritten to {out}" + (f" and {show}" if show else "")
    )


def _targets(row: Mapping[str, float]) -> str:
    """The strongest entries of a word, with their values."""
    first = [f"{target} {value:,.6g}" for target, value in list(row.items())[:4]]
    return ", ".join(first) + (", ..." if len(row) > len(first) else "")


@click.group("augment", cls=Group)
def augment_group() -> None:
    """New training pairs from those there are."""


@augment_group.command("geca", cls=Command)
@click.argument("train", type=PATH, nargs=-1, required=True)
@click.option("--out", type=FilesType(), required=True, help="The new pairs: two plain files, or one F.tsv.")
@click.option("--size", type=click.IntRange(1), default=4, show_default=True, help="Words of the longest fragment.")
@click.option("--holes", type=click.IntRange(1, 100), default=2, show_default=True, help="Of a template, at most.")
@click.option("--limit", type=click.IntRange(0), default=0, help="Only fragments that occur at most so often.")
@click.option("--max-length", type=click.IntRange(0), default=0, help="Only pairs of fewer words give templates.")
@click.option(
    "--window", type=click.IntRange(0), default=0, help="Templates are alike when so many words beside the holes are."
)
@click.option(
    "--variants", type=click.IntRange(0), default=2, show_default=True, help="Tries for each template; 0: all."
)
@click.option("--samples", type=click.IntRange(0), default=1000, show_default=True, help="New pairs; 0: all.")
@click.option(
    "--mix", type=click.FloatRange(0, 1, min_open=True, max_open=True), metavar="SHARE",
    help="Write the training text with this share of new pairs in it, repeating what is too few.",
)  # fmt: skip
@click.option("--unique", is_flag=True, help="Count repeated training pairs once.")
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="Seed of all random choices.")
@click.option("--test", "tests", type=FilesType(), multiple=True, help="Count its pairs among the new; repeatable.")
@click.option("--columns", metavar="S,T", help="Source and target column of files with both sides (TSV: from 1).")
@format_option
def geca_command(
    train: tuple[Path, ...],
    out: tuple[Path, ...],
    tests: tuple[tuple[Path, ...], ...],
    columns: str | None,
    mix: float | None,
    form: str,
    **given: Any,
) -> None:
    """Make new pairs from TRAIN: fragments put where others were seen that occur in the same surroundings.

    TRAIN is two files (source, target), or one with both sides. The method is GECA (Andreas, 2020).
    """
    from cgbench.data_recipes.geca import Settings, augment, mixed, overlap
    from cgbench.text.formats import read_pairs

    spec = corpus(train, columns)
    test_specs = [corpus(paths, columns) for paths in tests]
    _check_pairs_output(out, train + tuple(path for paths in tests for path in paths))
    test_pairs = [list(read_pairs(test)) for test in test_specs]
    training = list(read_pairs(spec))
    augmented = augment(training, Settings(**given))
    if not augmented.pairs:
        raise InputError(f"{spec}: no new pair can be made with these settings; try more --holes or a larger --size")
    shares = [overlap(augmented.pairs, pairs) for pairs in test_pairs]
    written = augmented.pairs if mix is None else mixed(training, augmented.pairs, mix)
    _write_pairs(out, written)
    figures = {
        "out": [str(path) for path in out],
        "pairs": len(augmented.pairs),
        "written": len(written),
        "training_pairs": augmented.training_pairs,
        "templates": augmented.templates,
        "shared_templates": augmented.shared,
        "tuples": augmented.tuples,
        "settings": given,
        "tests": [{"test": str(test), **vars(share)} for test, share in zip(test_specs, shares, strict=True)],
    }
    if form == "json":
        click.echo(json.dumps(figures, ensure_ascii=False, indent=1))
        return
    click.echo(
        f"{augmented.training_pairs:,} pairs, {augmented.templates:,} templates, {augmented.tuples:,} tuples of "
        f"fragments; {augmented.shared:,} templates fit several\n"
        f"{len(augmented.pairs):,} new pairs, "
        + (f"in a training text of {len(written):,} " if mix else "")
        + f"written to {' '.join(map(str, out))}"
    )
    for test, share in zip(test_specs, shares, strict=True):
        click.echo(
            f"{test}: {share.pairs:,} of {share.rows:,} pairs are among the new ones, and {share.sources:,} sources "
            f"({share.sources / max(share.rows, 1):.1%})"
        )


def _check_pairs_output(out: tuple[Path, ...], inputs: tuple[Path, ...]) -> None:
    from cgbench.files import check_output
    from cgbench.text.formats import CorpusSpec
    from cgbench.text.formats import form as form_of

    spec = CorpusSpec(out)
    if len(out) == 1 and (form_of(out[0]) != "tsv" or out[0].suffix != ".tsv"):
        raise InputError(f"--out {out[0]}: one file with both sides must end in .tsv; or name two")
    if len(out) == 2 and not spec.is_plain:
        raise InputError(f"--out {spec}: new pairs are written as plain text; leave .gz or .zst out")
    if len(out) == 2 and out[0].absolute() == out[1].absolute():
        raise InputError(f"--out {spec}: two different files are needed")
    for path in out:
        check_output(path, inputs)


def _write_pairs(out: tuple[Path, ...], pairs: list[tuple[str, str]]) -> None:
    from cgbench.files import write_atomic

    if len(out) == 1:
        write_atomic(out[0], "".join(f"{source}\t{target}\n" for source, target in pairs))
        return
    for side, path in enumerate(out):
        write_atomic(path, "".join(f"{pair[side]}\n" for pair in pairs))

"""``cgbench augment``: new training pairs from those there are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from cgbench.commands.options import Command, FilesType, Group, corpus, format_option
from cgbench.errors import InputError

PATH = click.Path(path_type=Path)


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
    from cgbench.text.streams import form as form_of

    if len(out) == 2 and len(train) == 1 and form_of(train[0]) == "plain":
        raise InputError(
            f"--out took {out[0]} and {out[1]}, which leaves {train[0]} alone for TRAIN; put TRAIN first, and name two "
            "files behind --out, or one that ends in .tsv"
        )
    spec = corpus(train, columns)
    test_specs = [corpus(paths, columns) for paths in tests]
    _check_pairs_output(out, tuple(file for one in (spec, *test_specs) for file in one.files))
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
    from cgbench.text.streams import form as form_of

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

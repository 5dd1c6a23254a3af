"""``cgbench stats`` and ``cgbench tagger``: what is new in a test text, and a tagger where none can be had."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cgbench.commands.options import Command, FilesType, Group, column_pair, format_option
from cgbench.errors import InputError

if TYPE_CHECKING:
    from cgbench.benchmark.stats.pos import Tags
    from cgbench.benchmark.stats.rows import Row, Wanted

PATH = click.Path(path_type=Path)


@click.command("stats", cls=Command)
@click.option("--train", type=FilesType(), help="Training text: a file, two (source, target), a table, TABLE:COLUMN.")
@click.option("--test", "tests", type=FilesType(), multiple=True, metavar="[NAME=]FILES", help="Test text; repeatable.")
@click.option("--release", type=PATH, metavar="DIR", help="The test set of a release, both sides; no --test.")
@click.option("--side", type=click.Choice(["source", "target", "both"]), help="Of a corpus (default: source).")
@click.option("--orders", default="2,3", show_default=True, metavar="N,N,...", help="Lengths of the novel n-grams.")
@click.option("--pos", metavar="MODEL|conllu:F,F", help="Tags: a spaCy pipeline, or CoNLL-U of train and each test.")
@click.option("--tags", type=click.Choice(["xpos", "upos"]), default="xpos", show_default=True, help="Of CoNLL-U.")
@click.option("--curve", type=click.IntRange(0, 64), default=0, metavar="N", help="Novelty for each order up to N.")
@click.option("--histogram", type=click.IntRange(0, 1000), default=0, metavar="N", help="Degrees in N equal bins.")
@click.option("--show", type=click.IntRange(0), default=0, metavar="N", help="The N most frequent novel n-grams.")
@click.option("--published", is_flag=True, help="Table 2 of the R-Dangle paper, too.")
@click.option("--min-count", type=click.IntRange(1), help="Known n-gram: at least so often (default 3).")
@click.option("--columns", metavar="S,T", help="Source and target column of a table (TSV: from 1).")
@click.option("--tokenize", type=click.Choice(["none", "moses"]), help="Normalise all text: Moses tokenisation.")
@click.option("--language", help="Language code, for --tokenize moses (default en).")
@click.option("--lowercase", is_flag=True, help="Normalise all text: lower case.")
@click.option(
    "--format", "form", type=click.Choice(["text", "json", "tsv", "markdown", "latex"]), default="text",
    show_default=True, help="What is printed.",
)  # fmt: skip
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
    **given: Any,
) -> None:
    """Print what is new in a test text: examples, degree, novel n-grams over words and parts of speech.

    A row a test text, as in Table 2 of Zheng and Lapata 2023. An n-gram is novel when it never occurs in the
    training text; each is counted once.
    """
    from cgbench.benchmark.stats.report import report
    from cgbench.benchmark.stats.rows import Wanted, published_rows

    wanted = Wanted(_orders(orders), curve, show)
    if release:
        rows = _release(release, train, tests, wanted, given)
    else:
        if not train or not tests:
            raise InputError("two texts are needed: --train FILE --test FILE (or --release DIR)")
        rows = _texts(train, tests, wanted, given)
    click.echo(report(rows, published_rows() if published else [], histogram, form))


def _orders(given: str) -> tuple[int, ...]:
    try:
        orders = tuple(int(part) for part in given.split(","))
    except ValueError:
        raise InputError(f"--orders {given}: numbers with a comma between are needed, such as 2,3") from None
    return tuple(sorted(set(orders)))


def _tags(given: dict[str, Any], tests: int, sides: int) -> Tags | None:
    from cgbench.benchmark.stats.pos import tags_from

    if not given["pos"]:
        if given["tags"] != "xpos":
            raise InputError(f"--tags {given['tags']} belongs to --pos conllu:FILES")
        return None
    if sides > 1:
        raise InputError("--pos: tags are those of one language; choose --side source or --side target")
    return tags_from(given["pos"], given["tags"], tests)


def _release(
    folder: Path, train: tuple[Path, ...] | None, tests: tuple[Any, ...], wanted: Wanted, given: dict[str, Any]
) -> list[Row]:
    from cgbench.benchmark.stats.of_release import open_release, release_rows

    settings = ("min_count", "columns", "tokenize", "language", "lowercase")
    for name, value in (("test", tests), *((key, given[key]) for key in settings)):
        if value:
            raise InputError(f"--{name.replace('_', '-')}: the release says this itself; leave it out")
    release = open_release(folder, train or ())
    tags = _tags(given, 1, 2 if given["side"] in (None, "both") else 1)
    return list(release_rows(release, wanted, given["side"], tags))


def _texts(
    train: tuple[Path, ...], tests: tuple[tuple[Path, ...], ...], wanted: Wanted, given: dict[str, Any]
) -> list[Row]:
    from cgbench.benchmark.stats.rows import text_rows
    from cgbench.text.normalisation import Normalisation

    sides = ("source", "target") if given["side"] == "both" else (given["side"],)
    language = given["language"] or "en"
    normalisation = Normalisation(given["tokenize"] or "none", given["lowercase"], (language, language))
    if len(sides) > 1 and normalisation.tokenize != "none":
        raise InputError(f"--tokenize {normalisation.tokenize}: has rules of one language; choose one --side")
    return list(
        text_rows(
            train,
            tests,
            wanted,
            sides=sides,
            columns=column_pair(given["columns"]),
            normalisation=normalisation,
            min_count=given["min_count"] or 3,
            tags=_tags(given, len(tests), len(sides)),
        )
    )


@click.group("tagger", cls=Group)
def tagger_group() -> None:
    """Part-of-speech taggers, for `cgbench stats --pos`."""


@tagger_group.command("train", cls=Command)
@click.argument("treebank", type=PATH, metavar="TREEBANK.conllu")
@click.option("--dev", type=PATH, required=True, help="CoNLL-U file to try the tagger on; the best one is kept.")
@click.option("--out", type=PATH, required=True, help="Folder of the tagger.")
@click.option("--tags", type=click.Choice(["xpos", "upos"]), default="xpos", show_default=True, help="Tags to learn.")
@click.option("--language", default="en", show_default=True, help="Code of a spaCy language; xx for any other.")
@click.option("--steps", type=click.IntRange(1), default=2400, show_default=True, help="Updates.")
@click.option("--every", type=click.IntRange(1), default=200, show_default=True, help="Updates between two trials.")
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="Seed of all random choices.")
@format_option
def train_command(
    treebank: Path, dev: Path, out: Path, tags: str, language: str, steps: int, every: int, seed: int, form: str
) -> None:
    """Train a part-of-speech tagger from a treebank, with spaCy: for where no pipeline can be downloaded."""
    from cgbench.benchmark.stats.tagger import Report, train_tagger

    def say(found: Report) -> None:
        click.echo(f"step {found.step:,}: loss {found.loss:,.1f}, accuracy on dev {found.accuracy:.2f} %", err=True)

    record = train_tagger(
        treebank, dev, out, tags=tags, language=language, steps=steps, every=every, seed=seed, say=say
    )
    if form == "json":
        click.echo(json.dumps({"out": str(out), **record}, ensure_ascii=False, indent=1))
        return
    click.echo(
        f"{record['accuracy']:.2f} % of {record['dev']['words']:,} words of {record['dev']['file']} right, "
        f"after {record['step']:,} of {steps:,} updates ({record['labels']} {tags} tags, seed {seed})\n"
        f"written to {out}\n"
        f"next:  cgbench stats --train TRAIN --test TEST --pos {out}"
    )

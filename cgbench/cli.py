"""The ``cgbench`` command: each command parses, calls one function, prints."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from cgbench import __version__
from cgbench.commands.augment import augment_group, lexicon_group
from cgbench.commands.data import data_group
from cgbench.commands.lm import lm_group
from cgbench.commands.options import (
    Command,
    FilesType,
    Group,
    Resumable,
    changed_settings,
    choose_device,
    corpus,
    default_jobs,
    format_option,
    language_pair,
    run_options,
    say_if,
    text_options,
)
from cgbench.commands.reproduce import reproduce_group
from cgbench.commands.score import score_group
from cgbench.commands.stats import stats_command, tagger_group
from cgbench.commands.train import (
    average_command,
    inspect_command,
    models_command,
    train_command,
    train_ensemble_command,
)
from cgbench.commands.translate import translate_command
from cgbench.errors import InputError

PATH = click.Path(path_type=Path)


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def main() -> None:
    """Build benchmarks of compositional generalisation from real text, score systems, train the models."""


for command in (
    score_group,
    stats_command,
    lm_group,
    tagger_group,
    models_command,
    train_command,
    train_ensemble_command,
    translate_command,
    average_command,
    inspect_command,
    data_group,
    lexicon_group,
    augment_group,
    reproduce_group,
):
    main.add_command(command)


@main.command("build-react", cls=Resumable)
@click.option("--train", type=FilesType(), required=True, help="Training corpus: two files, or one with both sides.")
@click.option(
    "--pool", type=FilesType(), required=True, multiple=True, help="Pool of pairs to choose from; repeatable."
)
@click.option("--exclude", type=FilesType(), multiple=True, help="Corpus whose sentences must not occur; repeatable.")
@click.option("--out", type=PATH, required=True, help="Folder of the release; also holds the finished steps.")
@click.option("--preset", default="react", show_default=True, help="Settings to start from: react, small or demo.")
@click.option("--ensemble", type=PATH, help="Members trained before; else they are trained.")
@click.option("--members", type=click.IntRange(1), help="How many members to train.")
@click.option("--model", help="Model preset of the members.")
@click.option("--arch", help="Another architecture than the preset's.")
@click.option("--method", help="Training method of the members: none, seqmix, creg or bow.")
@click.option("--ngrams", type=PATH, help="Known n-grams from a file, a phrase a line, instead of the training text.")
@click.option("--lm", type=PATH, help="Language model (lm train) that gives each candidate a perplexity.")
@click.option("--licence", help="Licence of the inputs, for the card.")
@click.option(
    "--until",
    type=click.Choice(["candidates", "uncertainty"]),
    help="Stop early: after filter and degree (no model), or before the selection.",
)
@text_options
@run_options
@format_option
def build_react_command(
    train: tuple[Path, ...],
    pool: tuple[tuple[Path, ...], ...],
    exclude: tuple[tuple[Path, ...], ...],
    out: Path,
    preset: str,
    ensemble: Path | None,
    ngrams: Path | None,
    lm: Path | None,
    arch: str | None,
    method: str | None,
    until: str | None,
    columns: str | None,
    languages: str | None,
    config: Path | None,
    assignments: tuple[str, ...],
    jobs: int | None,
    device: str,
    dry_run: bool,
    explain: bool,
    form: str,
    **given: Any,
) -> None:
    """Build a benchmark: the pairs of a pool that combine known words in new ways and are hard for a model.

    Given again, the command goes on where it was stopped; finished steps are kept as long as nothing they depend on
    has changed.
    """
    from cgbench.benchmark.build import build
    from cgbench.benchmark.react import Inputs
    from cgbench.benchmark.react_config import make_config

    train_spec = corpus(train, columns)
    for option, value in (("members", given["members"]), ("model", given["model"]), ("arch", arch), ("method", method)):
        if ensemble and value is not None:
            raise InputError(f"--ensemble takes members as they are; leave --{option} out")
    given |= {"model.architecture": arch, "method.name": method}
    pair = language_pair(languages, train_spec)
    inputs = Inputs(
        train=train_spec,
        pools=tuple(corpus(paths, columns) for paths in pool),
        exclude=tuple(corpus(paths, columns) for paths in exclude),
        phrases=ngrams,
        ensemble=ensemble,
        lm=lm,
        languages=pair,
    )
    settings = make_config(preset, changed_settings(config, assignments, **given))
    if until == "candidates":
        device = "cpu"
    said: list[str] = []
    say = said.append if dry_run and form == "json" else say_if(explain or dry_run)
    built = build(
        inputs,
        settings,
        out,
        until=until or "release",
        jobs=default_jobs(jobs),
        device=choose_device(device),
        dry_run=dry_run,
        say=say,
    )
    if not built:
        if form == "json":
            click.echo(json.dumps({"steps": said}, indent=1))
        return
    manifest, known = built
    for warning in manifest["warnings"]:
        click.echo(f"warning: {warning}", err=True)
    if form == "json":
        click.echo(json.dumps({"out": str(out), **manifest}, ensure_ascii=False, indent=1))
    else:
        from cgbench.commands.build_report import report

        click.echo(report(out, manifest, known))


@main.command("degree", cls=Command)
@click.option("--train", type=PATH, required=True, help="Training text, one sentence a line.")
@click.option("--ngrams", type=PATH, help="Known n-grams from a file, a phrase a line, instead of the training text.")
@click.option("--min-count", type=click.IntRange(1), default=3, show_default=True, help="Known: at least so often.")
@click.option("--cover", is_flag=True, help="Show the pieces.")
@click.option("--tokenize", type=click.Choice(["none", "moses"]), default="none", help="Normalise all text: Moses.")
@click.option("--language", default="en", show_default=True, help="Language code, for --tokenize moses.")
@click.option("--lowercase", is_flag=True, help="Normalise all text: lower case.")
@click.argument("text", type=click.Path(path_type=Path, allow_dash=True), default="-")
@format_option
def degree_command(
    train: Path,
    ngrams: Path | None,
    min_count: int,
    cover: bool,
    tokenize: str,
    language: str,
    lowercase: bool,
    text: Path,
    form: str,
) -> None:
    """Print pieces, length and compositional degree of each sentence of TEXT (or of standard input).

    The degree is the smallest number of n-grams known from the training text that cover the sentence, over its
    length in words. A word that is not known is a piece of its own.
    """
    from cgbench.benchmark.degree import degrees, known_ngrams_of
    from cgbench.text.normalisation import Normalisation

    normalisation = Normalisation(tokenize, lowercase, (language, language))
    known = known_ngrams_of(train, ngrams, min_count, normalisation)
    for number, row in enumerate(degrees(known, _lines(text), normalisation)):
        if form == "text" and not number:
            click.echo("pieces\tlength\tdegree" + ("\tcover" if cover else ""))
        if not cover:
            del row["cover"]
        if form == "json":
            click.echo(json.dumps(row, ensure_ascii=False))
        else:
            shown = "\t" + " | ".join(row["cover"]) if cover else ""
            click.echo(f"{row['pieces']}\t{row['length']}\t{row['degree']:.4f}{shown}")


@main.command("verify", cls=Command)
@click.argument("folder", type=PATH, metavar="DIR")
@format_option
def verify_command(folder: Path, form: str) -> None:
    """Recompute hashes, counts and the split of a release; exit 1 and say what differs."""
    from cgbench.benchmark.verify import verify

    checks = verify(folder)
    failed = [check for check in checks if check.ok is False]
    if form == "json":
        rows = [{"check": check.name, "ok": check.ok, "detail": check.detail} for check in checks]
        click.echo(json.dumps({"ok": not failed, "checks": rows}, ensure_ascii=False, indent=1))
    else:
        words = {True: "ok", False: "DIFFERS", None: "skipped"}
        for check in checks:
            click.echo(f"{words[check.ok]:8}{check.name}" + (f": {check.detail}" if check.detail else ""))
    sys.exit(1 if failed else 0)


@main.command("demo", cls=Resumable)
@click.option(
    "--out", type=PATH, default=Path("demo"), show_default=True, help="Folder for the corpus and the release."
)
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of the corpus and of the build.")
@click.option("--set", "assignments", multiple=True, metavar="KEY=VALUE", help="Change one setting of the build.")
@click.option("--jobs", type=click.IntRange(1), help="Worker processes (default: the cores); changes no byte.")
@format_option
def demo_command(out: Path, seed: int, assignments: tuple[str, ...], jobs: int | None, form: str) -> None:
    """Write a small German-English corpus with planted kinds of pairs, and build a benchmark from it."""
    from cgbench.benchmark.demo import run_demo
    from cgbench.settings import parse_assignments

    demo = run_demo(out, seed, parse_assignments(assignments), default_jobs(jobs))
    if form == "json":
        figures = {"out": str(demo.release), "kinds": demo.kinds, **demo.manifest}
        click.echo(json.dumps(figures, ensure_ascii=False, indent=1))
    else:
        from cgbench.commands.build_report import kinds_table, report

        click.echo(report(demo.release, demo.manifest, demo.ngrams) + "\n\n" + kinds_table(demo.kinds))


def _lines(path: Path) -> Iterator[str]:
    """The lines of a text file, or of standard input for ``-``."""
    if str(path) != "-":
        from cgbench.text.formats import read_lines

        yield from read_lines(path)
        return
    from cgbench.text.formats import decode_line

    for number, line in enumerate(sys.stdin.buffer, 1):
        yield decode_line(line, Path("standard input"), number)

"""``cgbench split``: splits for compositional generalisation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from cgbench.commands.options import (
    Command,
    FilesType,
    changed_settings,
    column_pair,
    corpus,
    format_option,
    language_pair,
    log_every_option,
    note,
)
from cgbench.errors import InputError, printable_json

PATH = click.Path(path_type=Path)


@click.command("split", cls=Command)
@click.option("--corpus", "given", type=FilesType(), required=True, help="Corpus: two files, or one with both sides.")
@click.option("--train", type=FilesType(), help="A training set as it is: the test set is chosen from --corpus.")
@click.option("--out", type=PATH, required=True, help="Folder of the split; of several --divergence, of all of them.")
@click.option("--method", help="random, length, template, mcd (default), tmcd or dbca.")
@click.option(
    "--elements", metavar="KIND[:FILES]", help="Atoms and compounds: words:2,3, triples:FILE, scan, cogs, ..."
)
@click.option("--trust", is_flag=True, help="Load the spaCy pipeline of --elements from a folder: it may run any code.")
@click.option("--weights", type=click.Choice(["specific", "count"]), help="Of compounds (default: specific).")
@click.option("--divergence", metavar="D[,D...]", help="Compound divergence to reach; several: a split each.")
@click.option("--atom-divergence", type=float, help="At most this (mcd: 0.02); dbca: as near it as can be (0).")
@click.option("--train-size", type=float, help="Pairs of training: a number, or a share (default 0.8).")
@click.option("--test-size", type=float, help="Pairs of the test set: a number, or a share (default 0.2).")
@click.option("--candidates", type=int, help="Pairs drawn at each step, of which the best is taken (default 100).")
@click.option("--exchanges", type=int, help="Exchanges tried per pair afterwards (mcd, tmcd: 10; dbca: 0).")
@click.option(
    "--nearest", is_flag=True, default=None, help="Write the nearest split if --divergence cannot be reached."
)
@click.option("--side", type=click.Choice(["source", "target"]), help="Whose elements count (tmcd: target).")
@click.option("--columns", metavar="S,T", help="Source and target column of a table (TSV: from 1).")
@click.option("--languages", metavar="S,T", help="Language codes; default: the file names' last parts.")
@click.option("--licence", default="", help="Licence of the corpus, for the card.")
@click.option("--config", type=PATH, help="Settings from a YAML file.")
@click.option("--set", "assignments", multiple=True, metavar="KEY=VALUE", help="Change one setting.")
@click.option("--seed", type=click.IntRange(0), help="Seed of every random choice (default 1).")
@log_every_option
@format_option
def split_command(
    given: tuple[Path, ...],
    train: tuple[Path, ...] | None,
    out: Path,
    divergence: str | None,
    side: str | None,
    columns: str | None,
    languages: str | None,
    licence: str,
    trust: bool,
    config: Path | None,
    assignments: tuple[str, ...],
    form: str,
    **settings: Any,
) -> None:
    """Split a corpus so that its test set asks for new combinations of what training has."""
    from cgbench.benchmark.splits.split import curve, split
    from cgbench.benchmark.splits.split_config import SplitConfig
    from cgbench.settings import apply_settings

    targets = _numbers(divergence) if divergence else []
    if len(targets) == 1:
        settings["divergence"] = targets[0]
    chosen = apply_settings(SplitConfig(), changed_settings(config, assignments, **settings))
    spec, other = corpus(given, columns), corpus(train, columns) if train else None
    column_pair(columns)
    made = split(
        spec,
        out,
        chosen,
        targets=targets if len(targets) > 1 else (),
        train=other,
        side=side,
        languages=language_pair(languages, spec),
        licence=licence,
        trust=trust,
    )
    for one in made:
        for warning in one.warnings:
            note(f"warning: {warning}")
    if form == "json":
        click.echo(printable_json(json.dumps([one.release.manifest for one in made], ensure_ascii=False, indent=1)))
        return
    click.echo(curve(made, "text") + f"\n\nwritten to {out}")


def _numbers(text: str) -> list[float]:
    try:
        return [float(one) for one in text.split(",")]
    except ValueError:
        raise InputError(f"--divergence {text}: numbers from 0 to 1 with commas between are needed") from None

"""``cgbench tagger``: train a part-of-speech tagger of one's own."""

from __future__ import annotations

import json
from pathlib import Path

import click

from cgbench.commands.options import Command, Group, format_option

PATH = click.Path(path_type=Path)


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
        f"next:  cgbench stats --train TRAIN --test TEST --pos {out} --trust"
    )

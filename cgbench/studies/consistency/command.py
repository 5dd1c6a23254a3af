"""``cgbench consistency``: how alike systems translate what sentences share, without references."""

from pathlib import Path

import click

from cgbench.commands.command import Command, Group
from cgbench.commands.options import takes
from cgbench.commands.score_output import ScoreOutput
from cgbench.errors import InputError
from cgbench.studies.consistency.request import ConsistencyRequest, ItemsRequest

EXAMPLE = "cgbench consistency make mono.en --pieces test.jsonl:compound --out items.tsv"
SCORE = "cgbench consistency score items.tsv --hyp first=first.zh --hyp second=second.zh --paired"


@click.group("consistency", cls=Group, example=EXAMPLE)
def consistency_group() -> None:
    """Score how consistently systems translate the same piece, without references."""


@consistency_group.command("make", cls=Command, example=EXAMPLE)
@click.argument("text", metavar="TEXT", type=click.Path(path_type=Path))
@takes(ItemsRequest)
def make_command(request: ItemsRequest) -> None:
    """Draw or change sentences of TEXT that share pieces, for systems to translate.

    TEXT is monolingual, with one sentence per line.
    """
    from cgbench.studies.consistency.make import make_items

    click.echo(make_items(request).report())


@consistency_group.command("score", cls=Command, example=SCORE)
@click.argument("items", metavar="ITEMS", type=click.Path(path_type=Path))
@takes(ConsistencyRequest, ScoreOutput, but=("seed", "reasons"))
def score_command(request: ConsistencyRequest, output: ScoreOutput) -> None:
    """Score how consistently systems translate the words that the sentences of ITEMS share.

    ITEMS is a table of `cgbench consistency make`, or another with the columns source and piece. If
    it is a folder of `cgbench parts --side source`, the command scores the residual composition
    error instead, which needs --probe-hyp.
    """
    from cgbench.studies.consistency.linked_translations import consistency

    if output.per_example and Path(request.items).is_dir():
        raise InputError(
            "--per-example needs a table of items: a folder has no score of single sentences"
        )
    output.check_for(request)
    output.show(consistency(request))

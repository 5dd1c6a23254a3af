"""``cgbench average``: the mean of checkpoints."""

from pathlib import Path

import click

from cgbench.commands.command import Command, format_option, show
from cgbench.errors import InputError, warn
from cgbench.tables import render

PATH = click.Path(path_type=Path)


@click.command(
    "average", cls=Command, example="cgbench average models/run --last 5 --out models/averaged"
)
@click.argument("folders", type=PATH, nargs=-1, required=True, metavar="CHECKPOINT...")
@click.option(
    "--last", type=click.IntRange(2), metavar="N", help="Average the last N checkpoints of a run"
)
@click.option(
    "--out", type=PATH, required=True, metavar="FOLDER", help="Folder of the new checkpoint"
)
@format_option
def average_command(folders: tuple[Path, ...], last: int | None, out: Path, form: str) -> None:
    """Average the parameters of checkpoints of one training run.

    The average often translates slightly better than the last checkpoint. With --last, CHECKPOINT
    is the folder of the run.
    """
    from cgbench.models.averaging import average, last_checkpoints

    if last is not None:
        if len(folders) != 1:
            raise InputError("--last takes the checkpoints of one run; name one folder")
        folders = tuple(last_checkpoints(folders[0], last))
    record = average(folders, out)
    if len({row["seed"] for row in record}) > 1:
        warn("these are of different runs (seeds); a mean of their parameters is hardly a model")
    rows = [(row["folder"], str(row["seed"]), f"{row['updates']:,}") for row in record]
    table = render(("checkpoint", "seed", "updates"), rows)
    then = f"written to {out}\nnext:  cgbench translate --model {out} < source > hypotheses"
    show(form, {"out": str(out), "checkpoints": record}, f"{table}\n\n{then}")

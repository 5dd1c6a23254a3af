"""The command ``cgbench uncertainty``."""

import click

from cgbench.argument_types import as_path
from cgbench.commands.command import Resumable
from cgbench.commands.options import takes
from cgbench.models.external.ensemble_uncertainty import UncertaintyRequest, measure_uncertainty


@click.command(
    "uncertainty",
    cls=Resumable,
    example=(
        "cgbench uncertainty test.de --member models/one --member models/two --output scores.jsonl"
    ),
)
@click.argument("sources", metavar="[SOURCE]", default="-", type=click.Path())
@takes(UncertaintyRequest, required=("output",))
def uncertainty_command(request: UncertaintyRequest) -> None:
    """Measure the uncertainty of an ensemble about each sentence of SOURCE, with native or external
    models.

    SOURCE is a plain or compressed file, TABLE:COLUMN, or standard input. The same
    command resumes.
    """
    measure_uncertainty(request, as_path(request.output or ""))

"""The command ``cgbench uncertainty``."""

import click

from cgbench.argument_types import as_path
from cgbench.commands.command import Resumable
from cgbench.commands.options import takes
from cgbench.errors import InputError, argument
from cgbench.models.external.ensemble_uncertainty import UncertaintyRequest, measure_uncertainty


@click.command(
    "uncertainty",
    cls=Resumable,
    example=(
        "cgbench uncertainty test.de --member models/one --member models/two --output scores.jsonl"
    ),
)
@click.argument("sources", metavar="[SOURCE]", default="-", type=click.Path())
@takes(UncertaintyRequest)
def uncertainty_command(request: UncertaintyRequest) -> None:
    """Measure the uncertainty of an ensemble about each sentence of SOURCE, with native or external
    models.

    SOURCE is a plain or compressed file (.gz, .zst), TABLE:COLUMN, or standard input. The same
    command resumes.
    """
    if request.output is None:
        raise InputError(f"{argument('output')}: it is missing; name the file of the measures")
    measure_uncertainty(request, as_path(request.output))

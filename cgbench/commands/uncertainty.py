"""The command ``cgbench uncertainty``."""

from __future__ import annotations

import click

from cgbench.commands.options import Resumable, engine_options, log_every_option
from cgbench.commands.requests import takes
from cgbench.errors import InputError, argument
from cgbench.models.external.uncertainty import UncertaintyRequest
from cgbench.requests import as_path


@click.command("uncertainty", cls=Resumable)
@click.argument("sources", metavar="[SOURCE]", default="-")
@engine_options
@takes(UncertaintyRequest)
@log_every_option
def uncertainty_command(request: UncertaintyRequest) -> None:
    """Print how uncertain an ensemble is about each sentence of SOURCE: every measure, of models of any origin.

    SOURCE is plain (.gz, .zst too), TABLE:COLUMN, or standard input. Given again, the command resumes.
    """
    from cgbench.models.external.uncertainty import measure

    if request.output is None:
        raise InputError(f"{argument('output')}: it is missing; name the file of the measures")
    measure(request, as_path(request.output))

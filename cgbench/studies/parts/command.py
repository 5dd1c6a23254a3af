"""``cgbench parts``: probes for the pieces of a test set."""

import click

from cgbench.commands.command import Command, format_option, show
from cgbench.commands.options import takes
from cgbench.studies.parts.request import PartsRequest


@click.command("parts", cls=Command, example="cgbench parts release --out parts")
@click.argument("release", required=False, type=click.Path())
@takes(PartsRequest)
@format_option
def parts_command(request: PartsRequest, form: str) -> None:
    """Find probes: pairs that show whether a system knows the parts of a test set.

    The parts are the pieces of each test sentence: the fewest n-grams that cover it and are known
    from the training text. A probe is a short pair in which pieces occur next to words with which
    they are known. Translate probes.source of the output folder; `cgbench score --parts` scores the
    result.

    RELEASE is the folder of a release or a split; give --test and --train instead for other text.
    """
    from cgbench.studies.parts.parts import parts, report

    result = parts(request)
    show(form, result.manifest, f"{report(result)}\n\nwritten to {result.folder}")

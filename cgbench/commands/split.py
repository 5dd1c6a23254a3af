"""``cgbench split``: splits for compositional generalisation."""

import click

from cgbench.benchmark.build.splits.request import SplitRequest
from cgbench.commands.command import Command, format_option, note, show
from cgbench.commands.options import takes


@click.command(
    "split", cls=Command, example="cgbench split --corpus all.de all.en --method mcd --out split"
)
@takes(SplitRequest)
@format_option
def split_command(request: SplitRequest, form: str) -> None:
    """Split a corpus so that the test set contains new combinations of known parts."""
    from cgbench.benchmark.build.splits.split import split, split_summary

    result = split(request)
    for warning in result.warnings:
        note(f"warning: {warning}")
    show(form, result.release.manifest, f"{split_summary(result)}\n\nwritten to {request.out}")

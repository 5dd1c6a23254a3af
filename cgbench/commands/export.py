"""``cgbench export``: a release in the form that another tool reads."""

import shlex

import click

from cgbench.benchmark.release.export.export import ExportRequest, export
from cgbench.commands.command import Command, format_option, show
from cgbench.commands.options import takes


def export_command() -> click.Command:
    """The command, with the options of all targets that are installed now."""

    @click.command(
        "export", cls=Command, example="cgbench export release --to lm-eval --out exported"
    )
    @takes(ExportRequest, more=ExportRequest.added_fields(packages=True))
    @click.argument("release", metavar="RELEASE", type=click.Path())
    @format_option
    def command(request: ExportRequest, form: str) -> None:
        """Export the test set of a release to the format of another tool, without network
        access.
        """
        files, folder = export(request), shlex.quote(request.release)
        text = (
            f"the release itself as a data set:  hf upload ORG/NAME {folder} . --repo-type dataset"
        )
        summary = {"out": str(request.out), "to": request.to, "files": files}
        show(form, summary, f"written to {request.out}: {', '.join(files)}\n{text}")

    return command

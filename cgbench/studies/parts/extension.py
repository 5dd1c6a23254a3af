"""What the study of parts adds: the command ``parts`` and the analysis ``score --parts``."""

from typing import TYPE_CHECKING

import click

from cgbench.extensions import Extension, StudyCommand

if TYPE_CHECKING:
    from cgbench.benchmark.score.evaluation.analysis import Analysis


def _command() -> click.Command:
    from cgbench.studies.parts.command import parts_command

    return parts_command


def _analysis() -> "Analysis":
    from cgbench.studies.parts.analysis import PARTS

    return PARTS


EXTENSION = Extension(
    commands={
        "parts": StudyCommand("Data", "Find probes of the parts of a test set", _command),
    },
    analyses={"parts": _analysis},
)

"""What the study of validity adds: the commands ``validate`` and ``power``."""

import click

from cgbench.extensions import Extension, StudyCommand


def _validate() -> click.Command:
    from cgbench.studies.validity.command import validate_command

    return validate_command


def _power() -> click.Command:
    from cgbench.studies.validity.power_command import power_command

    return power_command


EXTENSION = Extension(
    commands={
        "validate": StudyCommand(
            "Build", "Check whether a test set is compositional or only hard", _validate
        ),
        "power": StudyCommand("Score", "Compute how many examples and seeds are enough", _power),
    },
)

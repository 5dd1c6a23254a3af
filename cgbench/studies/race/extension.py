"""What the study of early stopping adds: the command ``race``."""

import click

from cgbench.extensions import Extension, StudyCommand


def _command() -> click.Command:
    from cgbench.studies.race.command import race_command

    return race_command


EXTENSION = Extension(
    commands={
        "race": StudyCommand(
            "Score", "Ask servers until it is certain which one is better", _command
        ),
    },
)

"""What the study of consistency adds: the commands ``consistency make`` and ``consistency
score``.
"""

import click

from cgbench.extensions import Extension, StudyCommand


def _commands() -> click.Command:
    from cgbench.studies.consistency.command import consistency_group

    return consistency_group


EXTENSION = Extension(
    commands={
        "consistency": StudyCommand(
            "Score", "Score how alike systems translate the same piece", _commands
        ),
    },
)

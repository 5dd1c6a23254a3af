"""What the study of agreement adds: the command ``score agreement``."""

import click

from cgbench.extensions import Extension


def _command() -> click.Command:
    from cgbench.studies.agreement.command import agreement_command

    return agreement_command


EXTENSION = Extension(score_commands={"agreement": _command})

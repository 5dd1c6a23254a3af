"""What the study of rules adds: the command ``score rules`` and the target ``export --to
rules``.
"""

from typing import TYPE_CHECKING

import click

from cgbench.extensions import Extension

if TYPE_CHECKING:
    from cgbench.benchmark.release.export.target import ExportTarget


def _command() -> click.Command:
    from cgbench.studies.rules.command import rules_command

    return rules_command


def _export() -> "ExportTarget":
    from cgbench.studies.rules.export_rules import RULES

    return RULES


EXTENSION = Extension(score_commands={"rules": _command}, exports={"rules": _export})

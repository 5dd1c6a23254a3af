"""The ``cgbench`` command: the commands of :mod:`cgbench.commands`, each imported when it is used."""

from __future__ import annotations

from importlib import import_module

import click

from cgbench import __version__
from cgbench.commands.options import Group

COMMANDS = {
    "augment": "augment:augment_group",
    "average": "average:average_command",
    "build-react": "build_react:build_react_command",
    "clean": "clean:clean_command",
    "data": "data:data_group",
    "degree": "degree:degree_command",
    "demo": "demo:demo_command",
    "export": "export:export_command",
    "inspect": "inspect:inspect_command",
    "lexicon": "lexicon:lexicon_group",
    "lm": "lm:lm_group",
    "models": "models:models_command",
    "overlap": "overlap:overlap_command",
    "power": "power:power_command",
    "report": "report:report_command",
    "reproduce": "reproduce:reproduce_group",
    "restore": "restore:restore_command",
    "score": "score:score_group",
    "split": "split:split_command",
    "stats": "stats:stats_command",
    "train": "train:train_command",
    "train-ensemble": "train:train_ensemble_command",
    "translate": "translate:translate_command",
    "uncertainty": "uncertainty:uncertainty_command",
    "validate": "validate:validate_command",
    "verify": "verify:verify_command",
    "warm-up": "warm_up:warm_up_command",
}
"""Where each command is: the file in ``commands/`` and the name in it."""


class Commands(Group):
    """The commands of :data:`COMMANDS`; only ``--help`` imports them all."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Their names."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """One of them; None where there is none of that name."""
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name].partition(":")
        found: click.Command = getattr(import_module(f"cgbench.commands.{module}"), name)
        return found


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def main() -> None:
    """Build benchmarks of compositional generalisation from real text, score systems, train the models."""

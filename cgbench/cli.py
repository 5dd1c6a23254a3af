"""The ``cgbench`` command: the commands of :mod:`cgbench.commands`, each imported when it is used."""

from __future__ import annotations

from importlib import import_module

import click

from cgbench import __version__
from cgbench.commands.options import Group

COMMANDS = {
    "augment": ("augment:augment_group", "Make new training pairs from those there are"),
    "average": ("average:average_command", "Average the parameters of checkpoints of one run"),
    "build-react": ("build_react:build_react_command", "Build a benchmark from the pairs of a pool"),
    "clean": ("clean:clean_command", "Delete build results that the release does not use"),
    "data": ("data:data_group", "Download data sets of the field in the form of the papers"),
    "degree": ("degree:degree_command", "Measure the compositional degree of sentences"),
    "demo": ("demo:demo_command", "Write a small German-English corpus with planted noise"),
    "export": ("export:export_command", "Write a test set in the form of another program"),
    "inspect": ("inspect:inspect_command", "Show what the layers of a model read"),
    "lexicon": ("lexicon:lexicon_group", "Learn lexicons: translations of source words"),
    "lm": ("lm:lm_group", "Train n-gram language models and score sentences"),
    "models": ("models:models_command", "List architectures, training methods and presets"),
    "overlap": ("overlap:overlap_command", "Measure how much of a test set is in a corpus"),
    "power": ("power:power_command", "Compute how many examples and seeds are enough"),
    "report": ("report:report_command", "Write a page about a release"),
    "reproduce": ("reproduce:reproduce_group", "Reproduce published tables"),
    "restore": ("restore:restore_command", "Restore the text of a text-free release"),
    "score": ("score:score_group", "Score systems, with significance tests and breakdowns"),
    "split": ("split:split_command", "Split a corpus for compositional generalisation"),
    "stats": ("stats:stats_command", "Measure what is new in a test set"),
    "train": ("train:train_command", "Train one model"),
    "train-ensemble": ("train:train_ensemble_command", "Train models that differ only in their seed"),
    "translate": ("translate:translate_command", "Translate sentences by beam search"),
    "uncertainty": ("uncertainty:uncertainty_command", "Measure the uncertainty of an ensemble"),
    "validate": ("validate:validate_command", "Check whether a release is compositional or only hard"),
    "verify": ("verify:verify_command", "Recompute checksums, counts and split of a release"),
    "warm-up": ("warm_up:warm_up_command", "Compile code before it is needed"),
}
"""Where each command is (the file in ``commands/`` and the name in it), and what ``cgbench --help`` says of it."""


class Commands(Group):
    """The commands of :data:`COMMANDS`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Their names."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """One of them; None where there is none of that name."""
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        found: click.Command = getattr(import_module(f"cgbench.commands.{module}"), name)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List them without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def main() -> None:
    """Build benchmarks of compositional generalisation from real text, score systems, train the models."""

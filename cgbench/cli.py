"""The ``cgbench`` command: the commands of :mod:`cgbench.commands`, each imported when it is
used.
"""

from importlib import import_module

import click
from click.shell_completion import CompletionItem

from cgbench import __version__
from cgbench.commands.command import Group

COMMANDS = {
    "Build": {
        "demo": ("demo:demo_command", "Build a test set from a synthetic corpus with known noise"),
        "build-react": (
            "build_react:build_react_command",
            "Build a test set from a pool of sentence pairs",
        ),
        "split": ("split:split_command", "Split a corpus for compositional generalisation"),
        "validate": (
            "validate:validate_command",
            "Check whether a test set is compositional or only hard",
        ),
        "report": ("report:report_command", "Write an HTML report on a release"),
        "export": ("export:export_command", "Export a test set to the format of another tool"),
    },
    "Score": {
        "score": ("score:score_group", "Score systems, with significance tests and breakdowns"),
        "consistency": (
            "consistency:consistency_group",
            "Score how alike systems translate the same piece",
        ),
        "race": ("race:race_command", "Ask servers until it is certain which one is better"),
        "power": ("power:power_command", "Compute how many examples and seeds are enough"),
        "reproduce": ("reproduce:reproduce_group", "Reproduce published tables"),
    },
    "Models": {
        "models": ("models:models_command", "List architectures, training methods and presets"),
        "train": ("train:train_command", "Train one model"),
        "train-ensemble": (
            "train:train_ensemble_command",
            "Train models that differ only in their seed",
        ),
        "translate": (
            "translate:translate_command",
            "Translate sentences with one model or an ensemble",
        ),
        "uncertainty": (
            "uncertainty:uncertainty_command",
            "Measure the uncertainty of an ensemble per sentence",
        ),
        "average": ("average:average_command", "Average the checkpoints of a training run"),
        "lm": ("lm:lm_group", "Train n-gram language models and score sentences"),
        "lexicon": ("lexicon:lexicon_group", "Learn word-translation lexicons"),
    },
    "Data": {
        "data": ("data:data_group", "Download and prepare published data sets"),
        "augment": ("augment:augment_group", "Generate new training pairs"),
        "stats": ("stats:stats_command", "Count novel n-grams and compounds in a test set"),
        "degree": ("degree:degree_command", "Measure the compositional degree of sentences"),
        "overlap": ("overlap:overlap_command", "Measure how much of a test set occurs in a corpus"),
        "parts": ("parts:parts_command", "Find probes of the parts of a test set"),
    },
    "Maintain": {
        "verify": ("verify:verify_command", "Check the checksums, counts and split of a release"),
        "restore": ("restore:restore_command", "Restore text to a text-free release"),
        "clean": ("clean:clean_command", "Delete unused build files"),
        "warm-up": ("warm_up:warm_up_command", "Precompile and cache code"),
    },
}
"""By group of ``cgbench --help``: the place of each command (``FILE:NAME`` in ``commands/``) and
its summary.
"""
_ALL = {name: entry for commands in COMMANDS.values() for name, entry in commands.items()}


class Commands(Group):
    """The commands of :data:`COMMANDS`; help and completion import none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Their names."""
        return list(_ALL)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command; None if no command has that name."""
        if cmd_name not in _ALL:
            return None
        module, _, name = _ALL[cmd_name][0].partition(":")
        return getattr(import_module(f"cgbench.commands.{module}"), name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands by group."""
        for group, commands in COMMANDS.items():
            with formatter.section(group):
                formatter.write_dl(
                    [
                        (name.ljust(max(map(len, _ALL))), text)
                        for name, (_, text) in commands.items()
                    ]
                )

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete the name of a command."""
        items = [
            CompletionItem(name, help=text)
            for name, (_, text) in _ALL.items()
            if name.startswith(incomplete)
        ]
        return items or click.Command.shell_complete(self, ctx, incomplete)


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
    example="cgbench score bleu --ref test.en --hyp first=first.en --hyp second=second.en --paired",
)
@click.version_option(__version__)
def main() -> None:
    """Build benchmarks of compositional generalisation from real text, score systems, train
    models.
    """

"""The ``cgbench`` command: the commands of :mod:`cgbench.commands`, those of studies, and those of
other packages, each imported when it is used.
"""

import click
from click.shell_completion import CompletionItem

from cgbench import __version__
from cgbench.commands.command import Group
from cgbench.commands.lines import warnings_as_lines
from cgbench.extensions import all_of_packages, load_from_package, of_packages, of_studies

COMMANDS = {
    "Build": {
        "demo": "Build a test set from a synthetic corpus with known noise",
        "build-react": "Build a test set from a pool of sentence pairs",
        "split": "Split a corpus for compositional generalisation",
        "report": "Write an HTML report on a release",
        "export": "Export a test set to the format of another tool",
    },
    "Score": {
        "score": "Score systems, with significance tests and breakdowns",
        "reproduce": "Reproduce published tables",
    },
    "Models": {
        "models": "List architectures, training methods, pipelines and presets",
        "train": "Train one model",
        "train-ensemble": "Train models that differ only in their seed",
        "translate": "Translate sentences with one model or an ensemble",
        "uncertainty": "Measure the uncertainty of an ensemble per sentence",
        "average": "Average the checkpoints of a training run",
        "lm": "Train n-gram language models and score sentences",
        "lexicon": "Learn word-translation lexicons",
    },
    "Data": {
        "data": "Download and prepare published data sets",
        "augment": "Generate new training pairs",
        "stats": "Count novel n-grams and compounds in a test set",
        "degree": "Measure the compositional degree of sentences",
        "overlap": "Measure how much of a test set occurs in a corpus",
    },
    "Maintain": {
        "verify": "Check the checksums, counts and split of a release",
        "restore": "Restore text to a text-free release",
        "clean": "Delete unused build files",
        "warm-up": "Precompile and cache code",
    },
}
"""By heading of ``cgbench --help``: the commands of this package and their summaries."""
ADDED = "Added"
"""The heading of commands of other packages."""


def load(name: str) -> click.Command | None:
    """Import a command of :data:`COMMANDS`; None for another name."""
    match name:
        case "demo":
            from cgbench.commands.demo import demo_command

            return demo_command
        case "build-react":
            from cgbench.commands.build_react import build_react_command

            return build_react_command
        case "split":
            from cgbench.commands.split import split_command

            return split_command
        case "report":
            from cgbench.commands.report import report_command

            return report_command
        case "export":
            from cgbench.commands.export import export_command

            return export_command()
        case "score":
            from cgbench.commands.score import score_group

            return score_group
        case "reproduce":
            from cgbench.commands.reproduce import reproduce_group

            return reproduce_group
        case "models":
            from cgbench.commands.models import models_command

            return models_command
        case "train":
            from cgbench.commands.train import train_command

            return train_command
        case "train-ensemble":
            from cgbench.commands.train import train_ensemble_command

            return train_ensemble_command
        case "translate":
            from cgbench.commands.translate import translate_command

            return translate_command
        case "uncertainty":
            from cgbench.commands.uncertainty import uncertainty_command

            return uncertainty_command
        case "average":
            from cgbench.commands.average import average_command

            return average_command
        case "lm":
            from cgbench.commands.lm import lm_group

            return lm_group
        case "lexicon":
            from cgbench.commands.lexicon import lexicon_group

            return lexicon_group
        case "data":
            from cgbench.commands.data import data_group

            return data_group
        case "augment":
            from cgbench.commands.augment import augment_group

            return augment_group
        case "stats":
            from cgbench.commands.stats import stats_command

            return stats_command
        case "degree":
            from cgbench.commands.degree import degree_command

            return degree_command
        case "overlap":
            from cgbench.commands.overlap import overlap_command

            return overlap_command
        case "verify":
            from cgbench.commands.verify import verify_command

            return verify_command
        case "restore":
            from cgbench.commands.restore import restore_command

            return restore_command
        case "clean":
            from cgbench.commands.clean import clean_command

            return clean_command
        case "warm-up":
            from cgbench.commands.warm_up import warm_up_command

            return warm_up_command
    return None


class Commands(Group):
    """The commands of :data:`COMMANDS`, of studies and of packages; help and completion import no
    others than those of packages.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Their names."""
        return [name for commands in summaries().values() for name in commands]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command; None if no command has that name."""
        if command := load(cmd_name):
            return command
        if study := of_studies("commands").get(cmd_name):
            return study.load()
        if point := of_packages("commands").get(cmd_name):
            return load_from_package("commands", point, click.Command, "a command of click")
        return None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands by heading."""
        groups = summaries()
        width = max(len(name) for commands in groups.values() for name in commands)
        for group, commands in groups.items():
            with formatter.section(group):
                formatter.write_dl([(name.ljust(width), text) for name, text in commands.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete the name of a command."""
        items = [
            CompletionItem(name, help=text)
            for commands in summaries().values()
            for name, text in commands.items()
            if name.startswith(incomplete)
        ]
        return items or click.Command.shell_complete(self, ctx, incomplete)


def summaries() -> dict[str, dict[str, str]]:
    """The summaries of all commands by name, by heading."""
    groups = {group: dict(commands) for group, commands in COMMANDS.items()}
    for name, study in of_studies("commands").items():
        groups.setdefault(study.group, {})[name] = study.summary
    with warnings_as_lines():  # help is printed before a command runs
        added = dict(all_of_packages("commands", click.Command, "a command of click"))
    for name, command in added.items():
        groups.setdefault(ADDED, {})[name] = command.get_short_help_str(1000).rstrip(".")
    return groups


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

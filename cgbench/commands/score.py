"""``cgbench score METRIC``: one command per metric, made from the metric's class and the
request.
"""

import inspect
from importlib import import_module
from itertools import takewhile
from pathlib import Path

import click

from cgbench.benchmark.measure.metrics.registry import METRICS, is_metric, metric_class, registered
from cgbench.benchmark.score.evaluation.evaluate import evaluation_of
from cgbench.benchmark.score.evaluation.request import ScoreRequest
from cgbench.commands.command import Command, Group
from cgbench.commands.options import takes
from cgbench.commands.score_output import ScoreOutput
from cgbench.errors import InputError
from cgbench.machine import usable_cores

OF_SOURCES = ("control_sources", "control_compounds")
OF_REFERENCES = ("references", "control_references", "normalise")
"""Fields of metrics that are made for sources, and of those that are made for references."""


EXAMPLES = {
    "cter": (
        "cgbench score cter --source test.en --compounds compounds.txt --hyp system.zh --lexicon"
        " cognition"
    ),
    "exact": "cgbench score exact --ref test.out --hyp system=seed1.out,seed2.out --by length",
}


def _example(name: str) -> str:
    return (
        f"cgbench score {name} --ref test.en --hyp first=first.en --hyp second=second.en --paired"
    )


_FILES_BY_NAME = "name the files: cgbench score {metric} --ref REFERENCES --hyp NAME=HYPOTHESES"
_SCORES_BY_NAME = "name the files: cgbench score import --scores NAME=FILE"
_METRIC_FIRST = (
    "the metric is the command: cgbench score bleu --ref REFERENCES --hyp NAME=HYPOTHESES"
)
HINTS = {
    **dict.fromkeys(
        ("comet", "xcomet", "metricx", "bertscore", "bleurt"),
        "its own program computes this metric; compare its segment scores: cgbench score import"
        " --scores NAME=SCORES",
    ),
    **dict.fromkeys(("-m", "--metric", "--metrics", "sacrebleu"), _METRIC_FIRST),
    **dict.fromkeys(("-i", "--input", "-r", "-t"), _FILES_BY_NAME),
    **dict.fromkeys(
        ("--lang", "-l", "--language-pair"),
        "no language is needed; a tokeniser is named: cgbench score bleu --tokenize ja-mecab --ref"
        " REFERENCES --hyp NAME=HYPOTHESES",
    ),
}
"""What to write instead of words that other programs take (sacrebleu, bert-score)."""


class Hinting(click.Command):
    """A command whose errors tell users of other programs what to write."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words of the command line."""
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            hint = HINTS.get(getattr(error, "option_name", ""))
            if hint is None and "extra argument" in error.message:
                hint = _SCORES_BY_NAME if self.name == "import" else _FILES_BY_NAME
            if hint is None:
                raise
            metric = self.name if self.name in METRICS else "bleu"
            text = error.format_message().split(" (Did")[0].rstrip(".")
            ctx.fail(f"{text}: {hint.format(metric=metric)}")


class MetricCommand(Hinting, Command):
    """The command of a metric."""


class Scores(Hinting, Group):
    """One command per metric, ignoring the case of its name (``CTER``, ``BLEU``), and
    ``import``.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The metrics; those of other packages only if they can be loaded."""
        names = [*METRICS, "import", "rules"]
        for name in registered():
            try:
                metric_class(name)
                names.append(name)
            except InputError:
                continue
        return sorted(names)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a metric."""
        name = cmd_name.lower()
        if name in ("import", "rules"):
            return getattr(import_module(f"cgbench.commands.score_{name}"), f"{name}_command")
        return score_command(name) if is_metric(name) else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The same, for click's own look-up of the name; several metrics are one command."""
        name = args[0].lower() if args else ""
        if (
            args
            and self.get_command(ctx, name) is None
            and (Path(args[0]).is_file() or name in HINTS)
        ):
            ctx.fail(f"{args[0]}: {HINTS.get(name, _FILES_BY_NAME).format(metric='bleu')}")
        words = takewhile(lambda word: not word.startswith("-"), map(str.lower, args))
        if len(names := list(takewhile(is_metric, words))) > 1:
            return " ".join(names), score_command(*names), args[len(names) :]
        return super().resolve_command(ctx, [name, *args[1:]] if args else args)


@click.group("score", cls=Scores, example=_example("bleu"))
def score_group() -> None:
    """Score systems, with confidence intervals, significance tests and breakdowns.

    Several metrics make one table: cgbench score bleu chrf ter --ref ...
    """


def score_command(*names: str) -> click.Command:
    """The command of one or more metrics: the options of the request that these take."""
    name, kind = " ".join(names), metric_class(names[0])
    needs = {metric_class(name).needs for name in names}
    unused = () if len(needs) > 1 else OF_REFERENCES if kind.needs == "sources" else OF_SOURCES
    settings = {
        option: field
        for name in names
        for option, field in metric_class(name).option_fields().items()
    }
    jobs = {"jobs": usable_cores()} if "jobs" in settings else {}
    help = inspect.getdoc(kind) if len(names) == 1 else f"Score systems by {', '.join(names)}."

    @click.command(name, cls=MetricCommand, help=help, example=EXAMPLES.get(name, _example(name)))
    @takes(
        ScoreRequest, but=("metric", *unused), settings=settings, defaults={"metric": names, **jobs}
    )
    @takes(ScoreOutput, but=() if kind.needs == "sources" else ("reasons",))
    def command(request: ScoreRequest, output: ScoreOutput) -> None:
        if kind.needs == "references" and not request.references and not request.release:
            raise InputError("references are needed: --ref FILE (or --release DIR)")
        output.check(request)
        output.show(evaluation_of(request))

    return command

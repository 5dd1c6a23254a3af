"""``cgbench score METRIC``: one command per metric, made from the metric's class and the
request.
"""

import inspect
from itertools import takewhile
from pathlib import Path

import click

from cgbench.benchmark.measure.metrics.registry import (
    is_metric,
    metric_class,
    metric_names,
)
from cgbench.benchmark.score.evaluation.evaluate import evaluation_of
from cgbench.benchmark.score.evaluation.request import ScoreRequest
from cgbench.commands.command import Group
from cgbench.commands.metric_command import FILES_BY_NAME, HINTS, Hinting, MetricCommand
from cgbench.commands.options import takes
from cgbench.commands.score_output import ScoreOutput
from cgbench.extensions import of_studies
from cgbench.machine import usable_cores

OF_SOURCES = ("control_sources", "control_compounds")
OF_REFERENCES = ("references", "control_references", "normalise", "by_word")
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


class Scores(Hinting, Group):
    """One command per metric, ignoring the case of its name (``CTER``, ``BLEU``), and
    ``import``; and those of studies.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The metrics; those of other packages only if they can be loaded."""
        return sorted([*metric_names(), "import", *of_studies("score_commands")])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a metric, of a study, or ``import``."""
        name = cmd_name.lower()
        if name == "import":
            from cgbench.commands.score_import import import_command

            return import_command
        if load := of_studies("score_commands").get(name):
            command: click.Command = load()
            return command
        return score_command(name) if is_metric(name) else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The same, for click's own look-up of the name; several metrics are one command."""
        words = takewhile(lambda word: not word.startswith("-"), map(str.lower, args))
        metrics = list(takewhile(is_metric, words))
        if not metrics:
            return self._resolve_other(ctx, args)
        command, further = score_command(*metrics), args[len(metrics) :]
        known = {flag for param in command.params for flag in param.opts}
        flags = {word.partition("=")[0] for word in further if word.startswith("-")}
        if flags - known:  # of the analysis of a package, or --help
            command = score_command(*metrics, packages=True)
        return command.name, command, further

    def _resolve_other(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """A command that is not that of a metric; an error tells users of other programs what to
        write.
        """
        if not args:
            return super().resolve_command(ctx, args)
        name = args[0].lower()
        is_foreign = Path(args[0]).is_file() or name in HINTS
        if is_foreign and self.get_command(ctx, name) is None:
            ctx.fail(f"{args[0]}: {HINTS.get(name, FILES_BY_NAME).format(metric='bleu')}")
        return super().resolve_command(ctx, [name, *args[1:]])


@click.group("score", cls=Scores, example=_example("bleu"))
def score_group() -> None:
    """Score systems, with confidence intervals, significance tests and breakdowns.

    Several metrics make one table: cgbench score bleu chrf ter --ref ...
    """


def score_command(*names: str, packages: bool = False) -> click.Command:
    """The command of one or more metrics: the options of the request that these take.

    :param packages: also those of the analyses of other packages, which take time to list.
    """
    name, kind = " ".join(names), metric_class(names[0])
    needs = {metric_class(name).needs for name in names}
    unused = () if len(needs) > 1 else OF_REFERENCES if kind.needs == "sources" else OF_SOURCES
    settings = ScoreRequest.added_fields(packages)
    for metric in names:
        settings |= metric_class(metric).option_fields()
    jobs = {"jobs": usable_cores()} if "jobs" in settings else {}
    help = inspect.getdoc(kind) if len(names) == 1 else f"Score systems by {', '.join(names)}."

    @click.command(name, cls=MetricCommand, help=help, example=EXAMPLES.get(name, _example(name)))
    @takes(
        ScoreRequest,
        ScoreOutput,
        but=("metric", *unused, *(() if kind.needs == "sources" else ("reasons",))),
        more=settings,
        fixed={"metric": names, **jobs},
    )
    def command(request: ScoreRequest, output: ScoreOutput) -> None:
        output.check_for(request)
        output.show(evaluation_of(request))

    return command

"""The class of ``cgbench score METRIC``, whose errors tell users of other programs what to
write.
"""

import click

from cgbench.benchmark.measure.metrics.registry import METRICS
from cgbench.commands.command import Command

FILES_BY_NAME = "name the files: cgbench score {metric} --ref REFERENCES --hyp NAME=HYPOTHESES"
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
    **dict.fromkeys(("-i", "--input", "-r", "-t"), FILES_BY_NAME),
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
                hint = _SCORES_BY_NAME if self.name == "import" else FILES_BY_NAME
            if hint is None:
                raise
            metric = self.name if self.name in METRICS else "bleu"
            text = error.format_message().split(" (Did")[0].rstrip(".")
            ctx.fail(f"{text}: {hint.format(metric=metric)}")


class MetricCommand(Hinting, Command):
    """The command of a metric."""

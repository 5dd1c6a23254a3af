"""``cgbench score rules``: handwritten rules of each example, and verdicts of a judge."""

import click

from cgbench.commands.command import Command
from cgbench.commands.options import takes
from cgbench.commands.score_output import ScoreOutput
from cgbench.studies.rules.rule_scores import RulesRequest, rules


@click.command(
    "rules",
    cls=Command,
    example=(
        "cgbench score rules --rules rules.jsonl --hyp first=first.de --hyp second=second.de"
        " --paired"
    ),
)
@takes(
    RulesRequest,
    ScoreOutput,
    but=(
        "differences",
        "estimate",
        "exposure",
        "min_count",
        "normalise",
        "published",
        "reasons",
    ),
)
def rules_command(request: RulesRequest, output: ScoreOutput) -> None:
    """Score systems by the rules of each example: what an output must contain, exclude, match or
    equal.

    An example passes if all of its rules do. For rules that need a judge, give its verdicts as a
    table.
    """
    output.check_for(request)
    output.show(rules(request))

"""An analysis of scores: ``cgbench score bleu --repeats``."""

from cgbench.benchmark.score.evaluation.analysis import Analysis
from cgbench.benchmark.score.forms.rows import Row
from cgbench.request import Request, option


class RepeatsOptions(Request):
    """Options of the analysis of repeated outputs."""

    repeats: bool = option(
        "--repeats",
        default=False,
        help="Print how many outputs are the same",
    )


def repeated_outputs(context):
    """How many outputs of a system are the same as another of its outputs."""
    rows, name = [], "repeated outputs in %"
    for system in context.systems:
        repeats = sum(len(run) - len(set(run)) for run in system.runs)
        n = sum(map(len, system.runs))
        rows.append(Row(context.metric.name, name, system.name, n=n, value=100 * repeats / n))
    return rows


REPEATS = Analysis("repeats", repeated_outputs, options=RepeatsOptions)

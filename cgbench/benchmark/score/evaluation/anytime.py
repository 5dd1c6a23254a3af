"""Differences from the baseline that are valid at any look, for results that grow: ``cgbench score
--anytime``.
"""

import numpy as np

from cgbench.benchmark.score.comparison.sequential import sequential_clusters
from cgbench.benchmark.score.evaluation.analysis import Analysis
from cgbench.benchmark.score.evaluation.scoring_context import ScoringContext
from cgbench.benchmark.score.forms.rows import Row
from cgbench.errors import InputError, argument


def anytime_rows(context: ScoringContext) -> list[Row] | str:
    """The difference of each system from the baseline, with the p-value and interval after the last
    example.

    Examples count in the order of the rows, which must be random. A cluster counts as one, by the
    sum of its scores, so that the difference is that between the means over examples, as in the
    table of scores. Sums are scaled by the largest cluster so far.

    :raises InputError: the score is no mean of bounded scores of single examples.
    """
    comparison, metric, results = context.comparison, context.metric, context.results
    sampling = context.sampling
    top, bottom = metric.limits(metric.figures[0])
    rows = sampling.counted(np.arange(metric.n))
    means = [
        np.mean([metric.compute(run[rows])[:, 0] for run in result.statistics], axis=0)
        for result in results
    ]
    scores_of_all = [
        np.mean([metric.value(run, rows)[0] for run in result.statistics]) for result in results
    ]
    if (
        metric.as_sacrebleu
        or top is None
        or bottom is None
        or not np.allclose([scores.mean() for scores in means], scores_of_all)
    ):
        raise InputError(
            f"{argument('anytime')}: {metric.name} is no mean of scores of single examples between"
            " known limits; use exact match, or import the scores of sentences with"
            f" {argument('scale')}"
        )
    if len(results) < 2:
        return "a difference at any look needs two systems"
    # Without clusters, every example is one of its own; n is the number of clusters.
    labels = rows if sampling.clusters is None else sampling.clusters.of_rows(rows)[0]
    sizes = np.unique(labels, return_counts=True)[1].tolist()
    baseline = next(
        (index for index, result in enumerate(results) if result.system == comparison.baseline), 0
    )
    level = 0.05 / (len(results) - 1)
    differences = []
    for result, scores in zip(results, means, strict=True):
        if result is results[baseline]:
            continue
        values = scores - means[baseline]
        known = sequential_clusters(
            values, labels, bottom - top, top - bottom, sizes=sizes, level=level
        )
        differences.append(
            Row(
                metric.name,
                f"any look: {known.decision}",
                result.system,
                n=len(sizes),
                runs=len(result.statistics),
                difference=float(values.mean()),
                difference_low=float(known.low[-1]),
                difference_high=float(known.high[-1]),
                p_value=min(1.0, float(known.p[-1]) * (len(results) - 1)),
                baseline=results[baseline].system,
                analysis="anytime",
            )
        )
    return differences


ANYTIME = Analysis("anytime", anytime_rows)

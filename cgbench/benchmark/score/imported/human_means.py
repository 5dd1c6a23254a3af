"""The mean judgement of people over all examples, from some judgements and the scores."""

from dataclasses import replace

import numpy as np

from cgbench.benchmark.measure.metrics.metric import Metric
from cgbench.benchmark.measure.metrics.segment_scores import (
    SegmentScores,
    scores_of,
)
from cgbench.benchmark.score.comparison.prediction_powered import HumanMean, human_means
from cgbench.benchmark.score.evaluation.features import table_column
from cgbench.benchmark.score.evaluation.request import (
    ExampleOptions,
)
from cgbench.benchmark.score.evaluation.result import Evaluation
from cgbench.benchmark.score.imported.scores import Columns, table_of
from cgbench.benchmark.score.outputs.score_files import (
    ScoreColumn,
)
from cgbench.errors import InputError, argument, warn
from cgbench.text.joins import Examples


def human_means_of(
    evaluation: Evaluation,
    scores: Columns,
    people: Columns,
    options: ExampleOptions,
    by_strata: str | None,
    exact: np.ndarray | None = None,
    scale: tuple[float, float] | None = None,
) -> list[HumanMean]:
    """The mean judgements of the systems that people judged, by their scores.

    :param by_strata: a column of the table.
    :param exact: bool ``[n]``: examples whose judgement is known without people.
    :param scale: the lowest and highest possible judgement.
    """
    metric, inputs = evaluation.scored.metric, evaluation.inputs
    assert inputs is not None
    # The judgements and the scores of the same examples.
    human, proxy, examples = {}, {}, Examples(options.ids)
    first = examples.join(next(iter(scores.values()))[0])
    for name, columns in people.items():
        if name not in scores:
            raise InputError(
                f"{argument('people', name)}: there are no scores of a system of that name"
            )
        if len(columns) > 1 or len(scores[name]) > 1:
            raise InputError(
                f"{argument('people', name)}: give the scores and judgements of one run per system"
            )
        human[name] = _judgements(columns[0], examples, len(first))
        proxy[name] = scores_of(examples.join(scores[name][0]).values, scores[name][0].name)
    human, scale = _on_scale(human, scale, metric)
    # Strata and clusters of the examples that count.
    sampling = evaluation.scored.sampling
    rows, strata, clusters = sampling.counted(np.arange(metric.n)), None, sampling.clusters
    if by_strata:
        features = replace(inputs.features, table=options.table or table_of(first))
        labels = table_column(
            features, argument("strata", by_strata), (by_strata,), metric.n
        ).values
        strata = np.array(labels)[rows]
    comparison = inputs.comparison
    baseline = comparison.baseline or (next(iter(human)) if comparison.paired else None)
    if baseline is not None and baseline not in human:
        raise InputError(f"{argument('people')}: the baseline {baseline} has no judgements")
    human, proxy = (
        {name: judgements[rows] for name, judgements in of.items()} for of in (human, proxy)
    )
    if clusters:
        clusters = replace(
            clusters, labels=tuple(labels[rows] for labels in clusters.labels), rows=None
        )
    return human_means(
        human,
        proxy,
        clusters=clusters,
        strata=strata,
        exact=None if exact is None else exact[rows],
        baseline=baseline,
        scale=scale,
    )


def _on_scale(
    human: dict[str, np.ndarray], scale: tuple[float, float] | None, metric: Metric
) -> tuple[dict[str, np.ndarray], tuple[float, float] | None]:
    """The judgements, in percent if they are right or wrong, and their scale.

    Judgements that are all equal do not show their scale, since 0 is the best of MQM and the worst
    of right or wrong. The scores may: 0 and 1.
    """
    every = np.concatenate([values[np.isfinite(values)] for values in human.values()])
    if scale is not None and len(every) and (every.min() < scale[0] or every.max() > scale[1]):
        outside = every.min() if every.min() < scale[0] else every.max()
        raise InputError(
            f"{argument('people_scale')}: a judgement of {outside:g} is outside the scale"
            f" {scale[0]:g} to {scale[1]:g}"
        )
    constant = len(every) > 0 and every.min() == every.max()
    if scale is None and np.isin(every, (0.0, 1.0)).all():
        of_scores = metric.binary if isinstance(metric, SegmentScores) else metric.unit == "%"
        scale = (0.0, 1.0) if of_scores or not constant else None
    if scale is None and constant:
        warn(
            f"{argument('people')}: all {len(every):,} judgements are {every[0]:g}, which does not"
            f" show their scale, so there is no interval; give it ({argument('people_scale')}),"
            " such as -25:0 for MQM"
        )
    if scale == (0.0, 1.0):
        return {name: 100 * values for name, values in human.items()}, (0.0, 100.0)
    return human, scale


def _judgements(column: ScoreColumn, examples: Examples, n: int) -> np.ndarray:
    """The judgements of each of ``n`` examples; NaN where there is none."""
    rows = np.array(examples.rows_of(column, fewer=True, sorts=column.columns is not None))
    examples.check()
    if len(rows) != n:
        raise InputError(
            f"{column.name} has {len(rows):,} rows for {n:,} examples: leave a cell empty where"
            f" nobody judged, or join by {argument('ids')}"
        )
    return np.where(rows < 0, np.nan, scores_of(column.values, column.name)[rows])

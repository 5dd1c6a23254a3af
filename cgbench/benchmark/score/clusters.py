"""The clusters of examples that are not independent, by name: ``--cluster document``, ``--cluster compound``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from cgbench.benchmark.comparison.comparison import CALIBRATED, Comparison
from cgbench.benchmark.comparison.dependence import cluster_numbers, widening
from cgbench.benchmark.comparison.design import Clusters, Sampling
from cgbench.benchmark.metrics.metric import Metric
from cgbench.benchmark.score.example_sets import ExampleSet
from cgbench.benchmark.score.features import FeatureInputs, table_column
from cgbench.errors import InputError, argument

if TYPE_CHECKING:
    from cgbench.benchmark.metrics.cter import Cter

OF_CTER = ("compound", "context")
"""The clusters of CTER, unless others are named."""
WIDER = 1.05
"""Unused clusters are reported if they would widen an interval by this factor."""


def clusters_of(comparison: Comparison, test: ExampleSet, inputs: FeatureInputs) -> Clusters | None:
    """The clusters of a test set (compounds and contexts for CTER); None if all examples are independent.

    :raises InputError: more than two kinds of clusters are named, or one cannot be formed.
    """
    names = list(dict.fromkeys(name.removeprefix("column:") for name in comparison.cluster))  # as in --by column:NAME
    if len(names) > 2:
        raise InputError(
            f"{argument('cluster', names[2])}: at most two ways to form clusters are supported; leave one out"
        )
    if comparison.test not in (None, CALIBRATED):
        if not names:
            return None
        raise InputError(
            f"{argument('paired', comparison.test)} treats examples as independent; with {argument('cluster')} use "
            f"{argument('paired', CALIBRATED)}"
        )
    rows = test.metric.counted(np.arange(test.metric.n))
    found = {}
    for name in names or (OF_CTER if _as_cter(test.metric) else ()):
        labels = cluster_numbers(_labels(name, test, inputs))
        if len(np.unique(labels[rows])) > 1:
            found[name] = labels
        elif names:
            raise InputError(
                f"{argument('cluster', name)}: all {len(rows):,} examples are in one cluster, but intervals need at "
                "least two; leave it out"
            )
    return Clusters(tuple(found), tuple(found.values()), rows) if found else None


def _labels(name: str, test: ExampleSet, inputs: FeatureInputs) -> Sequence[str]:
    metric = test.metric
    if name == "source":
        if test.sources is None:
            raise InputError(f"{argument('cluster', name)} needs the sources; give {argument('sources')}")
        return test.sources.values
    if name in OF_CTER and (cter := _as_cter(metric)):
        if name == "compound":
            return cter.compounds
        return [
            source.replace(compound, "\0", 1) for source, compound in zip(cter.sources, cter.compounds, strict=True)
        ]
    try:
        column = table_column(inputs, argument("cluster", name), (name,), metric.n)
    except InputError:
        if inputs.table is not None or not test.control:
            raise
        raise InputError(
            f"{argument('cluster', name)}: the control set has no column {name}; give its texts or scores as columns "
            "of a table that has one (TABLE:COLUMN)"
        ) from None
    if (empty := next((row for row, label in enumerate(column.values) if not label.strip()), None)) is not None:
        raise InputError(
            f"{column.row(empty)}: it is empty; name the cluster of each example (one of its own if it is independent)"
        )
    return column.values


def _as_cter(metric: Metric) -> Cter | None:
    if metric.needs != "sources":
        return None
    from cgbench.benchmark.metrics.cter import Cter

    return metric if isinstance(metric, Cter) else None


def unused_clusters(
    metric: Metric, sampling: Sampling, statistics: Sequence[np.ndarray], sources: Sequence[str] | None
) -> list[str]:
    """A warning if several examples have the same source, but are treated as independent.

    :param statistics: of each system ``[runs, n, k]``.
    """
    if sampling.clusters or sources is None or len(set(sources)) in (1, len(sources)):
        return []
    wider = widening(metric, sampling, statistics, Clusters(("source",), (cluster_numbers(sources),)))
    if wider < WIDER:
        return []
    return [
        f"{len(sources) - len(set(sources)):,} examples repeat the source of another and are not independent: with "
        f"{argument('cluster', 'source')} intervals are up to {wider:.2f} times as wide"
    ]

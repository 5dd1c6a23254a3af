"""The clusters of examples that are not independent, by name: ``--cluster document``, ``--cluster compound``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cgbench.benchmark.metrics.comparison import CALIBRATED, Comparison
from cgbench.benchmark.metrics.cter import Cter
from cgbench.benchmark.metrics.example_sets import ExampleSet
from cgbench.benchmark.metrics.features import FeatureInputs, table_column
from cgbench.benchmark.metrics.metric import Clusters, Metric
from cgbench.benchmark.metrics.variance import covariance_of_clusters, design_effects
from cgbench.errors import InputError, argument

OF_CTER = ("compound", "context")
"""The clusters of CTER, unless others are named."""
WIDER = 1.05
"""Unused clusters are reported if they would widen an interval by this factor."""


def clusters_of(comparison: Comparison, test: ExampleSet, inputs: FeatureInputs) -> Clusters | None:
    """The clusters of a test set (compounds and contexts for CTER); None if all examples are independent.

    :raises InputError: more than two kinds of clusters are named, or one cannot be formed.
    """
    names = list(dict.fromkeys(comparison.cluster))
    if not names and isinstance(test.metric, Cter) and comparison.test in (None, CALIBRATED):
        names = [*OF_CTER]
    if len(names) > 2:
        raise InputError(
            f"{argument('cluster', names[2])}: at most two ways to form clusters are supported; leave one out"
        )
    if not names:
        return None
    if comparison.test not in (None, CALIBRATED):
        raise InputError(
            f"{argument('paired', comparison.test)} treats examples as independent; with {argument('cluster')} use "
            f"{argument('paired', CALIBRATED)}"
        )
    return Clusters(tuple(names), tuple(_numbered(_labels(name, test, inputs)) for name in names))


def _labels(name: str, test: ExampleSet, inputs: FeatureInputs) -> Sequence[str]:
    metric = test.metric
    if name == "source":
        if test.sources is None:
            raise InputError(f"{argument('cluster', name)} needs the sources; give {argument('sources')}")
        return test.sources.values
    if name in OF_CTER and isinstance(metric, Cter):
        if name == "compound":
            return metric.compounds
        return [
            source.replace(compound, "\0", 1) for source, compound in zip(metric.sources, metric.compounds, strict=True)
        ]
    return table_column(inputs, argument("cluster", name), (name,), metric.n).values


def _numbered(labels: Sequence[str]) -> np.ndarray:
    return np.unique(np.array(labels, dtype=object).astype(str), return_inverse=True)[1]


def unused_clusters(metric: Metric, statistics: Sequence[np.ndarray], sources: Sequence[str] | None) -> list[str]:
    """A warning if several examples have the same source, but are treated as independent.

    :param statistics: of each system ``[runs, n, k]``.
    """
    if metric.clusters or sources is None or len(set(sources)) in (1, len(sources)):
        return []
    rows = metric.counted(np.arange(metric.n))
    clustered = covariance_of_clusters(metric, statistics, rows, Clusters(("source",), (_numbered(sources),)))
    if clustered is None:
        return []
    wider = float(np.sqrt(np.nanmax(design_effects(metric, statistics, rows, clustered)[:, 0])))
    if not wider >= WIDER:
        return []
    return [
        f"{len(sources) - len(set(sources)):,} examples repeat the source of another and are not independent: with "
        f"{argument('cluster', 'source')} intervals are up to {wider:.2f} times as wide"
    ]

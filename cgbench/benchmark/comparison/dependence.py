"""Labels of clusters as numbers, and how much clusters widen intervals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cgbench.benchmark.comparison.design import Clusters, Sampling
from cgbench.benchmark.comparison.variance import covariance_of_clusters, design_effects
from cgbench.benchmark.metrics.metric import Metric


def cluster_numbers(labels: Sequence[str]) -> np.ndarray:
    """The labels as int64 ``[n]``, numbered from 0 in the order in which they occur."""
    numbers = {label: index for index, label in enumerate(dict.fromkeys(labels))}
    return np.array([numbers[label] for label in labels], np.int64)


def widening(metric: Metric, sampling: Sampling, statistics: Sequence[np.ndarray], clusters: Clusters) -> float:
    """By which factor ``clusters`` widen the interval of the first score, at most over the systems; 0 if unknown.

    :param statistics: of each system ``[runs, n, k]``.
    """
    rows = sampling.counted(np.arange(metric.n))
    clustered = covariance_of_clusters(metric, statistics, rows, clusters)
    if clustered is None:
        return 0.0
    effects = design_effects(metric, statistics, rows, clustered)[:, 0]
    return float(np.sqrt(np.nan_to_num(effects).max()))

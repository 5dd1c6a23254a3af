"""How much the scores of systems vary over draws of the examples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cgbench.benchmark.comparison.design import Clusters, Sampling
from cgbench.benchmark.comparison.significance import resampled_runs
from cgbench.benchmark.comparison.variance import (
    ExampleCovariance,
    covariance_of_clusters,
    covariance_of_design,
    covariance_of_samples,
    design_effects,
)
from cgbench.benchmark.metrics.metric import Metric


@dataclass(frozen=True)
class ExampleDraws:
    """The statistics of systems on some examples, and how to resample them.

    ``statistics``: of each system ``[runs, n, k]``, weighted if there is a design; ``units``: of each system
    ``[runs, units, k]``; ``rows``: the examples; ``samples``: the number of resamples.
    """

    metric: Metric
    sampling: Sampling
    statistics: Sequence[np.ndarray]
    units: Sequence[np.ndarray]
    rows: np.ndarray
    samples: int
    seed: int


@dataclass(frozen=True)
class Variation:
    """The covariance of all runs, and where there are any, bootstrap samples (of each system
    ``[samples, runs, scores]``) and design effects of clusters ``[systems, scores]``."""

    covariance: ExampleCovariance | None = None
    samples: list[np.ndarray] | None = None
    effects: np.ndarray | None = None


def variation_of(draws: ExampleDraws, confidence: bool) -> Variation:
    """The variation over draws of the examples; none if intervals were not requested (``confidence``), or if there is a
    single unit, which is the same in every sample."""
    if not confidence:
        return Variation()
    if draws.sampling.clusters:
        return _of_clusters(draws, draws.sampling.clusters)
    if draws.sampling.design is not None:
        return Variation(covariance_of_design(draws.metric, draws.statistics, draws.rows, draws.sampling.design))
    units = draws.units[0].shape[1]
    if units == 1:
        return Variation()
    samples = resampled_runs(draws.units, draws.metric.compute, draws.samples, draws.seed)
    return Variation(covariance_of_samples(samples, units), samples)


def _of_clusters(draws: ExampleDraws, clusters: Clusters) -> Variation:
    """Of examples in clusters; design effects only without a design, which has its own weights."""
    metric, statistics, rows = draws.metric, draws.statistics, draws.rows
    covariance = covariance_of_clusters(metric, statistics, rows, clusters)
    if covariance is None or draws.sampling.design is not None:
        return Variation(covariance)
    return Variation(covariance, effects=design_effects(metric, statistics, rows, covariance))

"""How much the scores of systems vary over draws of the examples: one function per kind of draw, with one signature."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from cgbench.benchmark.comparison.design import Sampling
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
    ``[runs, units, k]``; ``rows``: the examples; ``samples``: the requested number of resamples, ``default_samples``
    without a request.
    """

    metric: Metric
    sampling: Sampling
    statistics: Sequence[np.ndarray]
    units: Sequence[np.ndarray]
    rows: np.ndarray
    samples: int | None
    default_samples: int
    seed: int


@dataclass(frozen=True)
class Variation:
    """The covariance of all runs, and where there are any, bootstrap samples (of each system
    ``[samples, runs, scores]``) and design effects of clusters ``[systems, scores]``."""

    covariance: ExampleCovariance | None = None
    samples: list[np.ndarray] | None = None
    effects: np.ndarray | None = None


def no_variation(draws: ExampleDraws) -> Variation:
    """Intervals were not requested, or there is a single unit, which is the same in every sample."""
    return Variation()


def bootstrap_of_units(draws: ExampleDraws) -> Variation:
    """Independent units, drawn alike."""
    samples = resampled_runs(draws.units, draws.metric.compute, draws.samples or draws.default_samples, draws.seed)
    return Variation(covariance_of_samples(samples, draws.units[0].shape[1]), samples)


def jackknife_of_clusters(draws: ExampleDraws) -> Variation:
    """Examples in clusters; design effects only without a design, which has its own weights."""
    assert draws.sampling.clusters is not None
    metric, statistics, rows = draws.metric, draws.statistics, draws.rows
    covariance = covariance_of_clusters(metric, statistics, rows, draws.sampling.clusters)
    if covariance is None or draws.sampling.design is not None:
        return Variation(covariance)
    return Variation(covariance, effects=design_effects(metric, statistics, rows, covariance))


def jackknife_of_design(draws: ExampleDraws) -> Variation:
    """Examples that were drawn from a population."""
    assert draws.sampling.design is not None
    return Variation(covariance_of_design(draws.metric, draws.statistics, draws.rows, draws.sampling.design))


def bootstrap_of_design(draws: ExampleDraws) -> Variation:
    """The same by resampling; examples outside ``rows`` count as a domain of zeros."""
    design = draws.sampling.design
    assert design is not None
    inside = np.isin(np.arange(draws.metric.n), draws.rows)[:, None]
    in_domain = [system * inside for system in draws.statistics]
    samples = resampled_runs(in_domain, draws.metric.compute, draws.samples or 0, draws.seed, design)
    return Variation(covariance_of_samples(samples, len(draws.rows), design))


def kind_of_variation(draws: ExampleDraws, confidence: bool) -> Callable[[ExampleDraws], Variation]:
    """The function for these draws; ``confidence``: intervals or tests were requested."""
    if not confidence:
        return no_variation
    if draws.sampling.clusters:
        return jackknife_of_clusters
    if draws.sampling.design is not None:
        return jackknife_of_design if draws.samples is None else bootstrap_of_design
    return bootstrap_of_units if draws.units[0].shape[1] > 1 else no_variation

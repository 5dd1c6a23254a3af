"""How much scores vary from one draw of the examples to another: examples alone, or in clusters, one way or two.

Examples of one document, source or compound are not independent. A variance that takes them so is too small: what
counts is how *clusters* vary. Without clusters the covariance of scores is that of bootstrap samples. With clusters it
is that of the delete-one-cluster jackknife (CV3 of MacKinnon, Nielsen and Webb 2023), which any metric has: leave the
examples of a cluster out, and score the rest. On means of clusters of equal size this is the CR1 of econometrics. With
clusters of unequal sizes it is larger, where CR1 rejects too often. Student's t has one degree of freedom less than the
number of equal clusters that the sizes are worth (Kish 1965).

Two-way clusters (a row has a compound and a context) have the variance A + B - AB of Cameron, Gelbach and Miller
(2011), AB of the rows that share both, and never less than A or B alone (MacKinnon, Nielsen and Webb 2024). Its degrees
of freedom are Satterthwaite's (1946). ``perf/clusters.py`` measures the levels of tests that are made from all this.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from cgbench.benchmark.metrics.metric import Clusters


class Summed(Protocol):
    """What has scores that come from sums over examples, as every metric does."""

    def compute(self, sums: np.ndarray) -> np.ndarray:
        """Scores of sums ``[m, k]``, ``[m, scores]``."""

    def collect(self, statistics: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """The statistics of some examples, one row per unit."""

    def collect_clusters(self, statistics: np.ndarray, rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Their sums by cluster, ``[clusters, k]``."""


Functional = Callable[[np.ndarray], np.ndarray]
"""A number that is linear in a covariance matrix ``[..., runs, runs]``, such as its mean."""


@dataclass(frozen=True)
class Ways:
    """The covariance over draws of one set of examples.

    ``parts`` are arrays ``[..., runs, runs]``: one, or with two-way clusters those of the first, of the second, and of
    both together. ``degrees``: the degrees of freedom of the first, and of the second.
    """

    parts: tuple[np.ndarray, ...]
    degrees: tuple[float, ...]

    def variance(self, functional: Functional) -> tuple[np.ndarray, np.ndarray]:
        """A variance and its degrees of freedom, from what ``functional`` makes of each part."""
        found = [np.asarray(functional(part)) for part in self.parts]
        if len(found) == 1:
            return found[0], np.full(found[0].shape, self.degrees[0])
        first, second, both = found
        value = np.maximum(np.maximum(first, second), first + second - both)
        weighted = np.maximum(first, 0) ** 2 / self.degrees[0] + np.maximum(second, 0) ** 2 / self.degrees[1]
        with np.errstate(divide="ignore", invalid="ignore"):
            degrees = np.where(weighted > 0, value**2 / weighted, np.inf)
        return value, np.clip(degrees, min(self.degrees), sum(self.degrees))


@dataclass(frozen=True)
class ExampleCovariance:
    """The covariance of scores of runs over draws of the examples, the sum over ``sets`` of examples that have none in
    common (a test set and a control set).

    ``examples``: their number, ``units``: that of what varies, the examples themselves or the clusters of the way that
    has fewer; of several sets the least.
    """

    sets: tuple[Ways, ...]
    examples: int
    units: int

    def select(self, function: Functional) -> ExampleCovariance:
        """The same with ``function`` of each part, such as the block of some runs."""
        return replace(self, sets=tuple(Ways(tuple(map(function, one.parts)), one.degrees) for one in self.sets))

    def variance(self, functional: Functional) -> tuple[np.ndarray, np.ndarray]:
        """A variance and its degrees of freedom, Satterthwaite's (1946) of several sets.

        :param functional: makes the variance of a covariance, and is linear.
        """
        found = [one.variance(functional) for one in self.sets]
        if len(found) == 1:
            return found[0]
        value = np.asarray(sum(one for one, _ in found))
        with np.errstate(divide="ignore", invalid="ignore"):
            degrees = value**2 / sum(one**2 / of for one, of in found)
        return value, np.clip(np.nan_to_num(degrees, nan=1.0), 1.0, None)

    def of_runs(self, score: int | slice, runs: slice) -> ExampleCovariance:
        """That of some runs, of one score or several of them, where this is ``[scores, runs, runs]``."""
        return self.select(lambda part: part[score, runs, runs])

    def block(self, runs: slice) -> ExampleCovariance:
        """That of some runs, where this is of one score, ``[runs, runs]``."""
        return self.select(lambda part: part[runs, runs])

    def trace(self) -> np.ndarray:
        """The size of it all, which rounding is small against."""
        return np.asarray(sum(np.trace(one.parts[0], axis1=-2, axis2=-1) for one in self.sets))


def independent(*sets: ExampleCovariance) -> ExampleCovariance:
    """The covariance of a sum or a difference of the same runs' scores on sets that have no example in common."""
    ways = tuple(way for one in sets for way in one.sets)
    return ExampleCovariance(ways, min(one.examples for one in sets), min(one.units for one in sets))


def covariance_of_examples(matrix: np.ndarray, examples: int) -> ExampleCovariance:
    """An estimated covariance ``[..., runs, runs]`` over draws of independent examples."""
    return ExampleCovariance((Ways((matrix,), (examples - 1.0,)),), examples, examples)


def covariance_of_samples(samples: Sequence[np.ndarray], units: int) -> ExampleCovariance:
    """The covariance ``[scores, runs of all, runs of all]`` from bootstrap samples.

    :param samples: of each system ``[samples, runs, scores]``, on the same draws of ``units`` examples.
    """
    joined = np.concatenate(samples, axis=1)
    apart = (joined - joined.mean(axis=0)).transpose(2, 1, 0)  # [scores, runs of all, samples]
    # The bootstrap of n units varies (n - 1) / n as much as new units do.
    return covariance_of_examples(apart @ apart.swapaxes(-1, -2) / (len(joined) - 1) * (units / (units - 1)), units)


def covariance_of_clusters(
    metric: Summed, statistics: Sequence[np.ndarray], rows: np.ndarray, clusters: Clusters
) -> ExampleCovariance | None:
    """The covariance ``[scores, runs of all, runs of all]`` from the jackknife that leaves out a cluster at a time.

    :param statistics: of each system ``[runs, n, k]``.
    :param rows: the examples that count.
    :returns: None where there is a single cluster.
    """
    ways = clusters.of_rows(rows)
    counts = [np.bincount(way) for way in ways]
    least = min(map(len, counts[:2]))
    if least < 2:
        return None
    runs = [run for system in statistics for run in system]
    parts = tuple(_jackknife(metric, runs, rows, way) for way in ways)
    degrees = tuple(max(len(rows) ** 2 / float((sizes.astype(np.float64) ** 2).sum()) - 1, 1.0) for sizes in counts[:2])
    return ExampleCovariance((Ways(parts, degrees),), len(rows), least)


def design_effects(
    metric: Summed, statistics: Sequence[np.ndarray], rows: np.ndarray, clustered: ExampleCovariance
) -> np.ndarray:
    """How many times the variance of each system's scores is that of independent examples (Kish 1965),
    ``[systems, scores]``; NaN where nothing varies."""
    runs = [run for system in statistics for run in system]
    alone = covariance_of_examples(_jackknife(metric, runs, rows, np.arange(len(rows))), len(rows))
    found, start = [], 0
    for system in statistics:
        own = slice(start, start := start + len(system))
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.divide(*(one.of_runs(slice(None), own).variance(_mean)[0] for one in (clustered, alone)))
        found.append(np.where(np.isfinite(ratio), ratio, np.nan))
    return np.stack(found)


def _mean(covariance: np.ndarray) -> np.ndarray:
    return np.asarray(covariance.mean(axis=(-2, -1)))


def _jackknife(metric: Summed, runs: Sequence[np.ndarray], rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
    left = []
    for run in runs:
        sums = metric.collect_clusters(run, rows, labels)
        left.append(metric.compute(metric.collect(run, rows).sum(axis=0) - sums))  # [clusters, scores]
    scores = np.stack(left)
    apart = (scores - scores.mean(axis=1, keepdims=True)).transpose(2, 0, 1)  # [scores, runs of all, clusters]
    clusters = scores.shape[1]
    return np.asarray(apart @ apart.swapaxes(-1, -2) * ((clusters - 1) / clusters))


def shared_by_runs(covariance: np.ndarray) -> np.ndarray:
    """What two runs of a system share: the mean covariance of two different ones ``[..., runs, runs]``."""
    runs = covariance.shape[-1]
    trace = np.trace(covariance, axis1=-2, axis2=-1)
    return (covariance.sum(axis=(-2, -1)) - trace) / (runs * (runs - 1)) if runs > 1 else trace

"""The variance of scores over random draws of the examples: independent examples, or one-way or
two-way clusters.

Examples of one document, source or compound are not independent, and a variance that ignores this
is too small. Without clusters, the covariance of scores is that of bootstrap samples. With
clusters, it is that of the delete-one-cluster jackknife (CV3 of MacKinnon, Nielsen and Webb 2023):
leave out the examples of one cluster, and score the rest. This works for any metric. For means over
clusters of equal size it equals CR1 of econometrics; for unequal sizes, where CR1 rejects too
often, it is larger. Student's t has one degree of freedom less than the effective number of
clusters (Kish 1965).

Two-way clusters (an example has a compound and a context) have the variance A + B - AB of Cameron,
Gelbach and Miller (2011), where AB is that of examples that share both, but at least A and at least
B (MacKinnon, Nielsen and Webb 2024). The degrees of freedom are Satterthwaite's (1946).
``lab/clusters.py`` measures how often the tests reject.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from cgbench.benchmark.score.comparison.design import Clusters, Design, Sampling
from cgbench.benchmark.score.comparison.significance import resampled_runs
from cgbench.records import Record


class Summed(Protocol):
    """Scores that are computed from sums over examples, like every metric; by default, an example
    is a unit.
    """

    def compute(self, sums: np.ndarray) -> np.ndarray:
        """Scores of sums ``[m, k]``, ``[m, scores]``."""

    def collect(self, statistics: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """The statistics of some examples, one row per unit."""
        return statistics[rows]

    def collect_clusters(
        self, statistics: np.ndarray, rows: np.ndarray, labels: np.ndarray
    ) -> np.ndarray:
        """The sums by cluster, ``[clusters, k]``."""
        return np.stack([np.bincount(labels, column) for column in statistics[rows].T], axis=1)


Functional = Callable[[np.ndarray], np.ndarray]
"""A number that is linear in a covariance matrix ``[..., runs, runs]``, such as its mean."""


class Ways(Record):
    """The covariance over draws of one set of examples.

    ``parts`` are arrays ``[..., runs, runs]``: one, or for two-way clusters three (first, second,
    both together). A score that clusters do not divide (CTER of groups, by context) has NaN there,
    and the variance of the other part. ``degrees``: the degrees of freedom of the first, and of the
    second.
    """

    parts: tuple[np.ndarray, ...]
    degrees: tuple[float, ...]

    def variance(self, functional: Functional) -> tuple[np.ndarray, np.ndarray]:
        """The variance from ``functional`` of each part, and its degrees of freedom."""
        variances = [np.asarray(functional(matrix)) for matrix in self.parts]
        if len(variances) == 1:
            return variances[0], np.full(variances[0].shape, self.degrees[0])
        first, second, joint = variances
        value = np.fmax(np.fmax(first, second), first + second - joint)
        weighted = (
            np.fmax(first, 0) ** 2 / self.degrees[0] + np.fmax(second, 0) ** 2 / self.degrees[1]
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            degrees = np.where(weighted > 0, value**2 / weighted, np.inf)
        return value, np.clip(degrees, min(self.degrees), sum(self.degrees))


class ExampleCovariance(Record):
    """The covariance of the scores of runs over draws of the examples: the sum of disjoint
    ``sets``.

    ``examples`` and ``units`` are numbers, of several sets the smallest; a unit is an example, or a
    cluster if there are clusters (for two-way clusters, of the kind with fewer).
    """

    sets: tuple[Ways, ...]
    examples: int
    units: int

    def select(self, function: Functional) -> ExampleCovariance:
        """Apply ``function`` to each part, such as to select some runs."""
        return replace(
            self,
            sets=tuple(Ways(tuple(map(function, ways.parts)), ways.degrees) for ways in self.sets),
        )

    def variance(self, functional: Functional) -> tuple[np.ndarray, np.ndarray]:
        """The variance from ``functional``, and its degrees of freedom: for several sets,
        Satterthwaite's (1946).
        """
        terms = [ways.variance(functional) for ways in self.sets]
        if len(terms) == 1:
            return terms[0]
        value = np.asarray(sum(variance for variance, _ in terms))
        with np.errstate(divide="ignore", invalid="ignore"):
            degrees = value**2 / sum(variance**2 / of for variance, of in terms)
        return value, np.clip(np.nan_to_num(degrees, nan=1.0), 1.0, None)

    def of_runs(self, score: int | slice, runs: slice) -> ExampleCovariance:
        """Select scores and runs from ``[scores, runs, runs]``."""
        return self.select(lambda matrix: matrix[score, runs, runs])

    def trace(self) -> np.ndarray:
        """The total variance, the scale of rounding errors."""
        traces = [
            [np.trace(matrix, axis1=-2, axis2=-1) for matrix in ways.parts[:2]]
            for ways in self.sets
        ]
        return np.asarray(sum(np.fmax(pair[0], pair[-1]) for pair in traces))


def independent(*sets: ExampleCovariance) -> ExampleCovariance:
    """The covariance of the sum or difference of the same runs' scores on disjoint sets."""
    ways = tuple(way for source in sets for way in source.sets)
    return ExampleCovariance(
        ways, min(source.examples for source in sets), min(source.units for source in sets)
    )


def covariance_of_examples(matrix: np.ndarray, examples: int) -> ExampleCovariance:
    """An estimated covariance ``[..., runs, runs]`` over draws of independent examples."""
    return ExampleCovariance((Ways((matrix,), (examples - 1.0,)),), examples, examples)


def covariance_of_samples(samples: Sequence[np.ndarray], units: int) -> ExampleCovariance:
    """The covariance ``[scores, runs of all, runs of all]`` from bootstrap samples.

    :param samples: of each system ``[samples, runs, scores]``, on the same draws of ``units``
        examples.
    """
    joined = np.concatenate(samples, axis=1)
    apart = (joined - joined.mean(axis=0)).transpose(2, 1, 0)  # [scores, runs of all, samples]
    matrix = apart @ apart.swapaxes(-1, -2) / (len(joined) - 1)
    # The variance of a bootstrap of n units is (n - 1) / n of that of new units.
    return covariance_of_examples(matrix * (units / (units - 1)), units)


class DrawnScores:
    """Systems on the same examples: the scores of their runs, and how these vary over draws of the
    examples.

    ``rows`` int64: the examples; of each system ``statistics`` ``[runs, n, k]``, weighted if there
    is a design, ``units`` ``[runs, units, k]`` and ``values`` ``[runs, scores]``. ``covariance``
    ``[scores, runs of all, runs of all]`` is by cluster, by design, or else of bootstrap
    ``samples``, of each system ``[samples, runs, scores]``; None if not requested, or for a single
    cluster or unit, which is the same in every sample.
    """

    covariance: ExampleCovariance | None = None
    samples: list[np.ndarray] | None = None

    def __init__(
        self,
        metric: Summed,
        sampling: Sampling,
        statistics: Sequence[np.ndarray],
        rows: np.ndarray,
        samples: int | None,
        seed: int | Sequence[int],
    ) -> None:
        """
        :param statistics: of each system ``[runs, n, k]``.
        :param rows: examples, of which those count that ``sampling`` says.
        :param samples: the number of bootstrap samples; None: no covariance.
        """
        design = sampling.design
        self.rows = rows = sampling.counted(rows)
        self.statistics = (
            statistics
            if design is None
            else [system * design.weights[:, None] for system in statistics]
        )
        self.units = [
            np.stack([metric.collect(run, rows) for run in system]) for system in self.statistics
        ]
        self.values = [metric.compute(system.sum(axis=1)) for system in self.units]
        if samples is None:
            return
        if sampling.clusters:
            self.covariance = covariance_of_clusters(
                metric, self.statistics, rows, sampling.clusters
            )
        elif design is not None:
            self.covariance = covariance_of_design(metric, self.statistics, rows, design)
        elif sampling.jackknife:
            alone = Clusters(("example",), (np.arange(rows.max() + 1),))
            self.covariance = covariance_of_clusters(metric, self.statistics, rows, alone)
        elif self.count > 1:
            self.samples = resampled_runs(self.units, metric.compute, samples, seed)
            self.covariance = covariance_of_samples(self.samples, self.count)

    @property
    def count(self) -> int:
        """The number of units."""
        return self.units[0].shape[1]

    def runs_of(self, system: int) -> slice:
        """The runs of a system among those of all, as in the covariance."""
        before = sum(map(len, self.values[:system]))
        return slice(before, before + len(self.values[system]))

    def of(self, system: int, score: int) -> tuple[ExampleCovariance, np.ndarray] | None:
        """The covariance of the scores of a system's runs, and these scores; None without a
        covariance.
        """
        if self.covariance is None:
            return None
        return self.covariance.of_runs(score, self.runs_of(system)), self.values[system][:, score]


def covariance_of_clusters(
    metric: Summed, statistics: Sequence[np.ndarray], rows: np.ndarray, clusters: Clusters
) -> ExampleCovariance | None:
    """The covariance ``[scores, runs of all, runs of all]`` from the jackknife that leaves out one
    cluster at a time.

    :param statistics: of each system ``[runs, n, k]``.
    :param rows: the examples to use.
    :returns: None for a single cluster.
    """
    ways = clusters.of_rows(rows)
    counts = [np.bincount(way) for way in ways]
    least = min(map(len, counts[:2]))
    if least < 2:
        return None
    runs = [run for system in statistics for run in system]
    matrices = tuple(_jackknife(metric, runs, rows, way) for way in ways)
    degrees = tuple(
        max(len(rows) ** 2 / float((sizes.astype(np.float64) ** 2).sum()) - 1, 1.0)
        for sizes in counts[:2]
    )
    return ExampleCovariance((Ways(matrices, degrees),), len(rows), least)


def covariance_of_design(
    metric: Summed, statistics: Sequence[np.ndarray], rows: np.ndarray, design: Design
) -> ExampleCovariance | None:
    """The covariance ``[scores, runs of all, runs of all]`` over draws of the design: linearised by
    the stratified jackknife, with finite population correction (Jones 1974; Wolter 2007,
    "Introduction to Variance Estimation", section 4.5). Each stratum is a set with its own degrees
    of freedom.

    :param statistics: of each system ``[runs, n, k]``, weighted.
    :param rows: the examples to use; the others count as a domain of zeros, so the size of a bin
        may vary.
    :returns: None if a single unit of a stratum was drawn.
    """
    inside, of_unit = np.isin(np.arange(len(design.units)), rows), design.stratum_of_unit
    if ((design.drawn < 2) & (design.unsampled > 0)).any():
        return None
    factor = (design.drawn / np.maximum(design.drawn - 1, 1))[of_unit, None]
    replicates = []
    for run in (run for system in statistics for run in system):
        sums = metric.collect_clusters(run * inside[:, None], np.arange(len(inside)), design.units)
        stratum_sums = np.stack(
            [np.bincount(of_unit, column, len(design.sizes)) for column in sums.T], axis=1
        )[of_unit]
        replicates.append(
            metric.compute(sums.sum(axis=0) - stratum_sums + (stratum_sums - sums) * factor)
        )
    scores, sets = np.stack(replicates).transpose(2, 0, 1), []  # [scores, runs of all, units]
    for stratum, (drawn, unsampled) in enumerate(
        zip(design.drawn.tolist(), design.unsampled.tolist(), strict=True)
    ):
        in_stratum = scores[:, :, of_unit == stratum]
        centred = in_stratum - in_stratum.mean(axis=-1, keepdims=True)
        matrix = centred @ centred.swapaxes(-1, -2) * (unsampled * (drawn - 1) / drawn)
        sets.append(Ways((matrix,), (max(drawn - 1.0, 1.0),)))
    return ExampleCovariance(tuple(sets), len(rows), len(np.unique(design.units[rows])))


def design_effects(
    metric: Summed, statistics: Sequence[np.ndarray], rows: np.ndarray, clustered: ExampleCovariance
) -> np.ndarray:
    """The variance of each system's scores divided by that of independent examples (Kish 1965),
    ``[systems, scores]``.

    NaN if nothing varies.
    """
    runs = [run for system in statistics for run in system]
    alone = covariance_of_examples(_jackknife(metric, runs, rows, np.arange(len(rows))), len(rows))
    effects, start = [], 0
    for system in statistics:
        of_system = slice(start, start := start + len(system))
        covariances = [
            covariance.of_runs(slice(None), of_system) for covariance in (clustered, alone)
        ]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.divide(
                *(
                    of_runs.variance(lambda block: block.mean(axis=(-2, -1)))[0]
                    for of_runs in covariances
                )
            )
        effects.append(np.where(np.isfinite(ratio), ratio, np.nan))
    return np.stack(effects)


def _jackknife(
    metric: Summed, runs: Sequence[np.ndarray], rows: np.ndarray, labels: np.ndarray
) -> np.ndarray:
    rest = (
        metric.collect(run, rows).sum(axis=0) - metric.collect_clusters(run, rows, labels)
        for run in runs
    )
    scores = np.stack([metric.compute(sums) for sums in rest])  # [runs of all, clusters, scores]
    centred = scores - scores.mean(axis=1, keepdims=True)
    centred = centred.transpose(2, 0, 1)  # [scores, runs of all, clusters]
    clusters = scores.shape[1]
    return np.asarray(centred @ centred.swapaxes(-1, -2) * ((clusters - 1) / clusters))


def shared_by_runs(covariance: np.ndarray) -> np.ndarray:
    """The variance that runs of a system share: the mean covariance of two different runs ``[...,
    runs, runs]``.
    """
    runs = covariance.shape[-1]
    trace = np.trace(covariance, axis1=-2, axis2=-1)
    return (covariance.sum(axis=(-2, -1)) - trace) / (runs * (runs - 1)) if runs > 1 else trace

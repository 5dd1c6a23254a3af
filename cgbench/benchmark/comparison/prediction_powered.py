"""The mean human judgement from few judgements and a metric of all examples: prediction-powered inference.

A metric that agrees with people tells something about the examples that nobody judged. The estimate is the metric's
mean on these examples, corrected by its mean error on the judged ones (PPI; Angelopoulos et al. 2023):

    mean(human - w * metric), over judged examples  +  w * mean(metric), over the others

The weight w gives the smallest variance (PPI++; Angelopoulos, Duchi and Zrnic 2023, equation 7): an uninformative
metric has weight 0. The metric may have any scale. Judged examples must be a random sample, in each stratum if there
are strata. Without clusters the estimates, weights and standard errors are those of glide-py; with clusters the
variance is that of :mod:`cgbench.benchmark.comparison.variance`, with the same weights. Like all intervals here, these
are for the population that the examples are from, not for these examples alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from cgbench.benchmark.comparison.design import Clusters
from cgbench.benchmark.comparison.intervals import student_quantile
from cgbench.benchmark.comparison.seeds_test import LEAST
from cgbench.benchmark.comparison.variance import covariance_of_clusters
from cgbench.errors import InputError, argument

FEWEST_JUDGED = 10
"""The fewest judgements, in all and in a stratum, that a variance is estimated from."""


@dataclass(frozen=True)
class HumanMean:
    """The mean human judgement of a system, or its difference from that of the baseline.

    ``alone``: from judgements only; ``powered``: with the metric; both with 95 % intervals, None if no judgement
    differs. ``weight`` of the metric, by stratum. ``p_value`` of a difference.
    """

    system: str
    judged: int
    examples: int
    alone: float
    alone_low: float | None
    alone_high: float | None
    powered: float
    powered_low: float | None
    powered_high: float | None
    weight: tuple[float, ...]
    against: str | None = None
    p_value: float | None = None

    @property
    def narrower(self) -> float | None:
        """The share by which the interval with the metric is shorter than that of judgements alone."""
        if self.alone_low is None or self.alone_high is None or self.powered_low is None or self.powered_high is None:
            return None
        return 1 - (self.powered_high - self.powered_low) / (self.alone_high - self.alone_low)


def human_means(
    human: Mapping[str, np.ndarray],
    proxy: Mapping[str, np.ndarray],
    *,
    clusters: Clusters | None = None,
    strata: np.ndarray | None = None,
    baseline: str | None = None,
) -> list[HumanMean]:
    """Estimate the mean judgement of every system, then every difference from the baseline.

    :param human: of each system ``[n]``, NaN where nobody judged.
    :param proxy: the metric's scores of the same examples, ``[n]``.
    :param strata: the stratum of each example, ``[n]``.
    :param baseline: a system that all others are compared with, on the examples judged for both.
    :raises InputError: there are too few judgements, or all are of one cluster.
    """
    found = [_estimate(name, human[name], proxy[name], clusters, strata) for name in human]
    if baseline is not None:
        ours, theirs = human[baseline], proxy[baseline]
        found += [
            _estimate(name, human[name] - ours, proxy[name] - theirs, clusters, strata, baseline)
            for name in human
            if name != baseline
        ]
    return found


def _estimate(
    system: str,
    human: np.ndarray,
    proxy: np.ndarray,
    clusters: Clusters | None,
    strata: np.ndarray | None,
    against: str | None = None,
) -> HumanMean:
    judged = np.isfinite(human)
    names, strata = np.unique(np.zeros(len(human)) if strata is None else strata, return_inverse=True)
    shares = np.bincount(strata) / len(strata)
    for number, name in enumerate(names):
        _check(system if against is None else f"{system} and {against}", judged, strata == number, clusters,
               f" of stratum {name}" if len(names) > 1 else "")  # fmt: skip
    weights = np.array([tuning_weight(human[rows & judged], proxy[rows & judged], proxy[rows & ~judged])
                        for rows in (strata == one for one in range(len(shares)))])  # fmt: skip
    tuned = _Sums(human, proxy * weights[strata], judged, strata, shares)
    plain = _Sums(human, np.zeros(len(proxy)), judged, strata, shares)
    (low, high), powered = _interval(plain, clusters), _interval(tuned, clusters)
    p_value = None
    if against is not None:
        from scipy.special import stdtr

        error, degrees = tuned.error(clusters)
        p_value = max(2 * float(stdtr(degrees, -abs(tuned.value) / error)), LEAST) if error > 0 else None
    return HumanMean(
        system, int(judged.sum()), len(human), plain.value, low, high, tuned.value, *powered,
        tuple(weights.tolist()), against, p_value,
    )  # fmt: skip


def tuning_weight(human: np.ndarray, metric: np.ndarray, others: np.ndarray) -> float:
    """The weight of the metric with the smallest variance of the estimate (PPI++); 0 if the metric never varies.

    :param human: the judgements; ``metric``: scores of the same examples; ``others``: scores of examples not judged.
    """
    spread = float(np.var(np.concatenate([metric, others]), ddof=1))
    if not len(others) or spread == 0:
        return 0.0
    return float(np.cov(human, metric, ddof=1)[0, 1]) / ((1 + len(human) / len(others)) * spread)


class _Sums:
    """An estimate as sums over examples, so that a cluster can be left out: of each stratum the judgements less the
    weighted metric, their number, the weighted metric of the others, and their number, ``[n, 4 * strata]``."""

    def __init__(
        self, human: np.ndarray, metric: np.ndarray, judged: np.ndarray, strata: np.ndarray, shares: np.ndarray
    ) -> None:
        """``metric``: times its weight; ``shares`` of the strata."""
        self.strata, self.judged, self.shares = strata, judged, shares
        self.corrected = np.where(judged, np.nan_to_num(human) - metric, 0.0)
        self.others = np.where(judged, 0.0, metric)
        columns = np.stack([self.corrected, judged, self.others, ~judged], axis=1)
        self.statistics = np.zeros((len(human), 4 * len(shares)))
        for stratum in range(len(shares)):
            rows = strata == stratum
            self.statistics[rows, 4 * stratum : 4 * stratum + 4] = columns[rows]
        self.value = float(self.compute(self.statistics.sum(axis=0, keepdims=True))[0, 0])

    def compute(self, sums: np.ndarray) -> np.ndarray:
        """The estimate from sums ``[m, 4 * strata]``, ``[m, 1]``."""
        corrected, judged, others, rest = sums.reshape(len(sums), -1, 4).transpose(2, 0, 1)
        with np.errstate(invalid="ignore", divide="ignore"):
            means = corrected / judged + np.where(rest > 0, others / rest, 0.0)
        return np.asarray(means @ self.shares)[:, None]

    def collect(self, statistics: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """One example is one unit."""
        return statistics[rows]

    def collect_clusters(self, statistics: np.ndarray, rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """The sums by cluster."""
        return np.stack([np.bincount(labels, column) for column in statistics[rows].T], axis=1)

    def error(self, clusters: Clusters | None) -> tuple[float, float]:
        """The standard error, and its degrees of freedom."""
        if clusters is None:
            variance = sum(
                share**2 * sum(np.var(values[rows & kept], ddof=1) / kept[rows].sum()
                               for values, kept in ((self.corrected, self.judged), (self.others, ~self.judged))
                               if kept[rows].sum() > 1)
                for share, rows in ((share, self.strata == one) for one, share in enumerate(self.shares))
            )  # fmt: skip
            return math.sqrt(float(variance)), math.inf
        covariance = covariance_of_clusters(self, [self.statistics[None]], np.arange(len(self.judged)), clusters)
        assert covariance is not None  # there are several clusters
        value, degrees = covariance.variance(lambda part: part[0, 0, 0])
        error = math.sqrt(float(value))
        return error if error > 1e-12 * abs(self.value) else 0.0, float(degrees)  # the rest is rounding


def _interval(sums: _Sums, clusters: Clusters | None) -> tuple[float | None, float | None]:
    error, degrees = sums.error(clusters)
    half = student_quantile(degrees) * error
    return (sums.value - half, sums.value + half) if error > 0 else (None, None)


def _check(system: str, judged: np.ndarray, rows: np.ndarray, clusters: Clusters | None, where: str) -> None:
    """Check that the ``rows`` of a stratum have judgements of several examples and clusters."""
    known = rows & judged
    if known.sum() < FEWEST_JUDGED:
        raise InputError(
            f"{argument('people', system)}: {known.sum():,} of {rows.sum():,} examples{where} have a judgement; at "
            f"least {FEWEST_JUDGED} are needed"
        )
    for name, labels in zip(clusters.names, clusters.labels, strict=True) if clusters else ():
        if len(np.unique(labels[known])) == 1:
            raise InputError(
                f"{argument('people', system)}: all examples{where} with a judgement are in one cluster "
                f"({argument('cluster', name)}); intervals need at least two"
            )

"""The mean human judgement from few judgements and a metric of all examples: prediction-powered
inference.

A metric that agrees with people tells something about the examples that nobody judged. The estimate
is the metric's mean on these examples, corrected by its mean error on the judged ones (PPI;
Angelopoulos et al. 2023):

    mean(human - w * metric), over judged examples  +  w * mean(metric), over the others

The weight w is the slope of the regression of judgements on the metric, over the judged examples,
which gives the smallest variance (PPI++; Angelopoulos, Duchi and Zrnic 2023). The slope does not
change with the share of rare judgements that happen to be judged, and the metric may have any
scale. As few judgements show little of the slope, it is shrunk by 1 - 4 / F, where F tests whether
it is zero (a positive-part Stein estimate): a metric that does not agree with people gets weight 0.
Judged examples must be a random sample, in each stratum if there are strata. Like all intervals
here, these are for the population that the examples are from, not for these examples alone. They
stay within the scale of the judgements; those of right or wrong (0/1) are Wilson's, with the
effective number of examples, and assume half a disagreement with the metric that was not seen.
``lab/prediction_powered.py`` measures errors and coverage.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from cgbench.benchmark.score.comparison.design import Clusters
from cgbench.benchmark.score.comparison.intervals import student_quantile, within_scale
from cgbench.benchmark.score.comparison.variance import Summed, covariance_of_clusters
from cgbench.benchmark.score.comparison.variance_components import LEAST
from cgbench.errors import InputError, argument

FEWEST_JUDGED = 10
"""The fewest judgements, in all and in a stratum, that a variance is estimated from."""
FEWEST_CLUSTERS = 5
"""The fewest clusters with a judgement: with fewer, tests reject up to 23% of equal means
(docs/lab/clusters.md).
"""
SHRINK = 4.0
UNSEEN = 0.5
SCALES = ((0.0, 1.0), (0.0, 100.0), (-25.0, 0.0))
"""Scales of judgements that are recognised: shares, percentages and MQM."""


@dataclass(frozen=True)
class HumanMean:
    """The mean human judgement of a system, or its difference from that of the baseline.

    ``alone``: from judgements only; ``powered``: with the metric; both with 95% intervals, None if
    no judgement differs. ``weight`` of the metric, by stratum: 0 where it does not help.
    ``p_value`` of a difference.
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
        """The share by which the interval with the metric is shorter than that of judgements
        alone.
        """
        if (
            self.alone_low is None
            or self.alone_high is None
            or self.powered_low is None
            or self.powered_high is None
        ):
            return None
        return 1 - (self.powered_high - self.powered_low) / (self.alone_high - self.alone_low)


def human_means(
    human: Mapping[str, np.ndarray],
    proxy: Mapping[str, np.ndarray],
    *,
    clusters: Clusters | None = None,
    strata: np.ndarray | None = None,
    baseline: str | None = None,
    scale: tuple[float, float] | None = None,
) -> list[HumanMean]:
    """Estimate the mean judgement of every system, then every difference from the baseline.

    :param human: of each system ``[n]``, NaN where nobody judged.
    :param proxy: the metric's scores of the same examples, ``[n]``.
    :param strata: the stratum of each example, ``[n]``.
    :param scale: the lowest and highest possible judgement; None: the first of :data:`SCALES` that
        holds all of them.
    :param baseline: a system that all others are compared with, on the examples judged for both.
    :raises InputError: there are too few judgements, or all are of one cluster.
    """
    judged = np.concatenate([values[np.isfinite(values)] for values in human.values()])
    fitting = (
        ends
        for ends in SCALES
        if len(judged) and ends[0] <= judged.min() and judged.max() <= ends[1]
    )
    scale = scale or next(fitting, None)
    means = [_estimate(name, human[name], proxy[name], clusters, strata, scale) for name in human]
    if baseline is not None:
        of_differences = scale and (scale[0] - scale[1], scale[1] - scale[0])
        means += [
            _estimate(
                name,
                human[name] - human[baseline],
                proxy[name] - proxy[baseline],
                clusters,
                strata,
                of_differences,
                baseline,
            )
            for name in human
            if name != baseline
        ]
    return means


def _estimate(
    system: str,
    human: np.ndarray,
    proxy: np.ndarray,
    clusters: Clusters | None,
    strata: np.ndarray | None,
    scale: tuple[float, float] | None,
    against: str | None = None,
) -> HumanMean:
    # Check the strata, and weigh the metric in each.
    judged = np.isfinite(human)
    names, strata = np.unique(
        np.zeros(len(human)) if strata is None else strata, return_inverse=True
    )
    shares = np.bincount(strata) / len(strata)
    weights = np.zeros(len(names))
    for stratum, name in enumerate(names):
        rows = strata == stratum
        _check(
            system if against is None else f"{system} and {against}",
            judged,
            rows,
            clusters,
            f" of stratum {name}" if len(names) > 1 else "",
        )
        known = rows & judged
        weights[stratum] = regression_weight(
            human[known], proxy[known], int((rows & ~judged).sum())
        )
    # The estimates, their intervals and the test.
    tuned = _Sums(human, proxy * weights[strata], judged, strata, shares, int(weights.any()))
    plain = _Sums(human, np.zeros(len(proxy)), judged, strata, shares)
    binary = against is None and scale is not None and bool(np.isin(human[judged], scale).all())
    (low, high), powered = (
        _interval(plain, clusters, scale, binary),
        _interval(tuned, clusters, scale, binary),
    )
    value = tuned.value if scale is None else min(max(tuned.value, scale[0]), scale[1])
    p_value = None
    if against is not None:
        from scipy.special import stdtr

        error, degrees = tuned.error(clusters)
        p_value = (
            max(2 * float(stdtr(degrees, -abs(tuned.value) / error)), LEAST) if error > 0 else None
        )
    return HumanMean(
        system,
        int(judged.sum()),
        len(human),
        plain.value,
        low,
        high,
        value,
        *powered,
        tuple(weights.tolist()),
        against,
        p_value,
    )


def regression_weight(human: np.ndarray, metric: np.ndarray, unjudged: int) -> float:
    """The weight of the metric: the shrunk slope of the regression of judgements on it; 0 if the
    metric never varies.

    :param human: the judgements; ``metric``: scores of the same examples; ``unjudged``: how many
        are not judged.
    """
    n = len(human)
    covariance = np.cov(human, metric)
    if not unjudged or n < 3 or covariance[0, 0] == 0 or covariance[1, 1] == 0:
        return 0.0
    explained = min(1.0, covariance[0, 1] ** 2 / (covariance[0, 0] * covariance[1, 1]))
    f = math.inf if explained > 1 - 1e-12 else (n - 2) * explained / (1 - explained)
    shrunk = max(0.0, 1 - SHRINK / f) if f > 0 else 0.0
    return float(covariance[0, 1] / covariance[1, 1]) * shrunk * unjudged / (n + unjudged)


class _Sums(Summed):
    """An estimate as sums over examples, so that a cluster can be left out: of each stratum the
    judgements less the weighted metric, their number, the weighted metric of the others, and their
    number, ``[n, 4 * strata]``.
    """

    def __init__(
        self,
        human: np.ndarray,
        metric: np.ndarray,
        judged: np.ndarray,
        strata: np.ndarray,
        shares: np.ndarray,
        slopes: int = 0,
    ) -> None:
        """``metric``: times its weight; ``shares`` of the strata; ``slopes``: 1 if each stratum has
        a slope.
        """
        self.strata, self.judged, self.shares, self.slopes = strata, judged, shares, slopes
        self.corrected = np.where(judged, np.nan_to_num(human) - metric, 0.0)
        self.others = np.where(judged, 0.0, metric)
        columns = np.stack([self.corrected, judged, self.others, ~judged], axis=1)
        of_stratum = strata[:, None, None] == np.arange(len(shares))[:, None]  # [n, strata, 1]
        self.statistics = np.where(of_stratum, columns[:, None], 0.0).reshape(len(human), -1)
        self.value = float(self.compute(self.statistics.sum(axis=0, keepdims=True))[0, 0])

    def compute(self, sums: np.ndarray) -> np.ndarray:
        """The estimate from sums ``[m, 4 * strata]``, ``[m, 1]``."""
        corrected, judged, unjudged_metric, unjudged = sums.reshape(len(sums), -1, 4).transpose(
            2, 0, 1
        )
        with np.errstate(invalid="ignore", divide="ignore"):
            means = corrected / judged + np.where(unjudged > 0, unjudged_metric / unjudged, 0.0)
        return np.asarray(means @ self.shares)[:, None]

    def error(self, clusters: Clusters | None, unseen: float = 0.0) -> tuple[float, float]:
        """The standard error, and its degrees of freedom.

        :param unseen: a squared deviation that is added to those of the judged examples of each
            stratum.
        """
        if clusters is None:
            variance = 0.0
            for stratum, stratum_share in enumerate(self.shares):
                of_stratum = self.strata == stratum
                judged, proxies = (
                    self.corrected[of_stratum & self.judged],
                    self.others[of_stratum & ~self.judged],
                )
                squares = len(judged) * float(np.var(judged)) + unseen
                variance += (
                    stratum_share**2 * squares / ((len(judged) - 1 - self.slopes) * len(judged))
                )
                variance += (
                    stratum_share**2 * float(np.var(proxies)) / len(proxies)
                    if len(proxies)
                    else 0.0
                )
            return math.sqrt(variance), float(
                self.judged.sum() - (1 + self.slopes) * len(self.shares)
            )
        covariance = covariance_of_clusters(
            self, [self.statistics[None]], np.arange(len(self.judged)), clusters
        )
        assert covariance is not None  # there are several clusters
        value, degrees = covariance.variance(lambda block: block[0, 0, 0])
        # Only clusters with a judgement show how far judgements vary, so the jackknife counts
        # these.
        judged, every = min(
            (len(np.unique(labels[self.judged])), len(np.unique(labels)))
            for labels in clusters.labels
        )
        error = math.sqrt(float(value) * (1 - 1 / judged) / (1 - 1 / every))
        return error if error > 1e-12 * abs(self.value) else 0.0, min(float(degrees), judged - 1.0)


def _interval(
    sums: _Sums, clusters: Clusters | None, scale: tuple[float, float] | None, binary: bool
) -> tuple[float | None, float | None]:
    """The 95% interval within the scale, Wilson's for right or wrong; None if nothing varies."""
    width = 1.0 if scale is None else scale[1] - scale[0]
    error, degrees = sums.error(clusters, UNSEEN * width**2 if binary and sums.slopes else 0.0)
    half = student_quantile(degrees) * error
    if binary and scale is not None:
        value = min(max(sums.value, scale[0]), scale[1])
        low, high = within_scale(value - scale[0], half**2, int(sums.judged.sum()), width)
        return low + scale[0], high + scale[0]
    if error == 0:
        return None, None
    low, high = scale or (-math.inf, math.inf)
    return max(sums.value - half, low), min(sums.value + half, high)


def _check(
    system: str, judged: np.ndarray, rows: np.ndarray, clusters: Clusters | None, where: str
) -> None:
    """Check that the ``rows`` of a stratum have judgements of several examples and clusters."""
    known = rows & judged
    if known.sum() < FEWEST_JUDGED:
        raise InputError(
            f"{argument('people', system)}: {known.sum():,} of {rows.sum():,} examples{where} have"
            f" a judgement; at least {FEWEST_JUDGED} are needed"
        )
    for name, labels in zip(clusters.names, clusters.labels, strict=True) if clusters else ():
        if (count := len(np.unique(labels[known]))) < FEWEST_CLUSTERS:
            raise InputError(
                f"{argument('people', system)}: the examples{where} with a judgement are in {count}"
                f" cluster(s) ({argument('cluster', name)}); intervals need at least"
                f" {FEWEST_CLUSTERS}"
            )

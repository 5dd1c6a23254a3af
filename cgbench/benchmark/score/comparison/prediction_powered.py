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
Judged examples must be a random sample, in each stratum if there are strata. Examples whose score
needs no people are a stratum of their own, in which nothing is estimated from a sample. Like all
intervals here, these are for the population that the examples are from, not for these examples
alone, so sizes of strata vary too (two-phase sampling; Cochran 1977, *Sampling Techniques*, 12.2).
They stay within the scale of the judgements; those of right or wrong (0/1) are Wilson's, with the
effective number of examples, and assume half a disagreement with the metric that was not seen.
Other judgements may be rarely very bad, as those of MQM are, and a sample without such a judgement
shows neither its mean nor its variance. So their limits assume one judgement at each end of the
scale that was not seen, if that end is more than :data:`FAR` standard deviations away. For
several strata, the distances from the estimate to the limits of each are combined (MOVER; Zou and
Donner 2008), since a stratum without a wrong judgement shows no variance.
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
FEWEST_JUDGED_CLUSTERS = 5
"""The fewest clusters with a judgement: with fewer, tests reject up to 23% of equal means
(docs/lab/clusters.md).
"""
SHRINK = 4.0
UNSEEN = 0.5
FAR = 5.0
"""Standard deviations of judgements: an end of the scale that is farther away may be that of rare
judgements that nobody saw.
"""
SCALES = ((0.0, 1.0), (0.0, 100.0), (-25.0, 0.0))
"""Scales of judgements that are recognised: shares, percentages and MQM."""
STARS = 10.0
"""Positive judgements that are never above are of 5 or 10 points, whose end is unknown."""


@dataclass(frozen=True)
class HumanMean:
    """The mean human judgement of a system, or its difference from that of the baseline.

    ``alone``: from judgements only; ``powered``: with the metric; both with 95% intervals, None if
    no judgement differs and the scale is unknown. ``weight`` of the metric, by stratum: 0 where it
    does not help. ``p_value`` of a difference.
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
    exact: np.ndarray | None = None,
    baseline: str | None = None,
    scale: tuple[float, float] | None = None,
) -> list[HumanMean]:
    """Estimate the mean judgement of every system, then every difference from the baseline.

    :param human: of each system ``[n]``, NaN where nobody judged.
    :param proxy: the metric's scores of the same examples, ``[n]``.
    :param strata: the stratum of each example, ``[n]``.
    :param exact: bool ``[n]``: examples whose judgement in ``human`` is known without people.
    :param scale: the lowest and highest possible judgement; None: :func:`scale_of` the judgements
        of all systems.
    :param baseline: a system that all others are compared with, on the examples judged for both.
    :raises InputError: there are too few judgements, or all are of one cluster.
    """
    every = np.concatenate([values[np.isfinite(values)] for values in human.values()])
    scale = scale or scale_of(every)
    binary = scale is not None and scale[0] == 0 and bool(np.isin(every, scale).all())
    of_strata = _strata(len(next(iter(human.values()))), strata, exact)
    means = [
        _estimate(name, human[name], proxy[name], clusters, of_strata, scale, binary)
        for name in human
    ]
    if baseline is not None:
        of_differences = scale and (scale[0] - scale[1], scale[1] - scale[0])
        means += [
            _estimate(
                name,
                human[name] - human[baseline],
                proxy[name] - proxy[baseline],
                clusters,
                of_strata,
                of_differences,
                False,
                baseline,
            )
            for name in human
            if name != baseline
        ]
    return means


def scale_of(judgements: np.ndarray) -> tuple[float, float] | None:
    """The first of :data:`SCALES` that contains all judgements; None if there is none, or if they
    never vary: a judgement of 0 is on each scale, the best of one and the worst of another.
    """
    if not len(judgements) or judgements.min() == judgements.max():
        return None
    if 1 < judgements.max() <= STARS:
        return None
    fitting = (
        (low, high) for low, high in SCALES if low <= judgements.min() and judgements.max() <= high
    )
    return next(fitting, None)


@dataclass(frozen=True)
class _Strata:
    """The stratum of each example, ``[n]`` from 0, their names, and which are known exactly."""

    of_example: np.ndarray
    names: tuple[str, ...]
    exact: np.ndarray
    """bool ``[strata]``: the judgement of each example is known without people."""

    def __len__(self) -> int:
        return len(self.names)


def _strata(n: int, labels: np.ndarray | None, exact: np.ndarray | None) -> _Strata:
    """The strata by label; the examples that are known exactly are the last one."""
    labels = np.zeros(n) if labels is None else labels
    exact = np.zeros(n, bool) if exact is None else exact
    of_example = np.zeros(n, int)
    names, of_example[~exact] = np.unique(labels[~exact], return_inverse=True)
    of_example[exact] = len(names)
    is_exact = np.arange(len(names) + bool(exact.any())) == len(names)
    return _Strata(of_example, (*map(str, names), "exact")[: len(is_exact)], is_exact)


def _estimate(
    system: str,
    human: np.ndarray,
    proxy: np.ndarray,
    clusters: Clusters | None,
    strata: _Strata,
    scale: tuple[float, float] | None,
    binary: bool,
    against: str | None = None,
) -> HumanMean:
    # Check the strata, and weigh the metric in each.
    judged = np.isfinite(human)
    weights = np.zeros(len(strata))
    several = np.count_nonzero(~strata.exact) > 1
    for stratum in np.flatnonzero(~strata.exact):
        rows = strata.of_example == stratum
        _check(
            system if against is None else f"{system} and {against}",
            judged,
            rows,
            clusters,
            f" of stratum {strata.names[stratum]}" if several else "",
        )
        known = rows & judged
        weights[stratum] = regression_weight(
            human[known], proxy[known], int((rows & ~judged).sum())
        )
    # The estimates, their intervals and the test.
    tuned = _Sums(human, proxy * weights[strata.of_example], judged, strata, int(weights.any()))
    plain = _Sums(human, np.zeros(len(proxy)), judged, strata)
    unseen = None
    if scale is not None and against is None:
        unseen = plain.unseen_at_ends(scale, plain.error(clusters)[0])
    low, high = _interval(plain, clusters, scale, binary, unseen)
    powered = _interval(tuned, clusters, scale, binary, unseen)
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
        int(np.count_nonzero(judged & ~strata.exact[strata.of_example])),
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
        strata: _Strata,
        slopes: int = 0,
    ) -> None:
        """``metric``: times its weight; ``slopes``: 1 if each stratum has a slope."""
        self.strata, self.judged, self.slopes = strata, judged, slopes * ~strata.exact
        self.corrected = np.where(judged, np.nan_to_num(human) - metric, 0.0)
        self.others = np.where(judged, 0.0, metric)
        columns = np.stack([self.corrected, judged, self.others, ~judged], axis=1)
        of_stratum = strata.of_example[:, None, None] == np.arange(len(strata))[:, None]
        self.statistics = np.where(of_stratum, columns[:, None], 0.0).reshape(len(human), -1)
        sums = self.statistics.sum(axis=0, keepdims=True)
        means, shares = self.of_strata(sums)
        self.means, self.shares = means[0], shares[0]
        self.value = float(self.compute(sums)[0, 0])

    def of_strata(self, sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The estimate and the share of examples of each stratum, ``[m, strata]``."""
        corrected, judged, unjudged_metric, unjudged = sums.reshape(len(sums), -1, 4).transpose(
            2, 0, 1
        )
        sizes = judged + unjudged
        with np.errstate(invalid="ignore", divide="ignore"):
            means = corrected / judged + np.where(unjudged > 0, unjudged_metric / unjudged, 0.0)
        return np.where(sizes > 0, means, 0.0), sizes / sizes.sum(axis=1, keepdims=True)

    def compute(self, sums: np.ndarray) -> np.ndarray:
        """The estimate from sums ``[m, 4 * strata]``, ``[m, 1]``."""
        means, shares = self.of_strata(sums)
        return np.asarray((means * shares).sum(axis=1, keepdims=True))

    def judged_in(self, stratum: int) -> int:
        """The number of judged examples of a stratum."""
        return int(np.count_nonzero(self.judged & (self.strata.of_example == stratum)))

    def unseen_at_ends(self, scale: tuple[float, float], error: float) -> tuple[float, float]:
        """The variance by one judgement at each end of the scale that was not seen, beyond what
        :data:`FAR` standard deviations of the judgements explain.

        :param error: the standard error of the estimate.
        """
        by_people = ~self.strata.exact[self.strata.of_example]
        judged = int(np.count_nonzero(self.judged & by_people))

        def variance(end: float) -> float:
            distance = (end - self.value) * float(by_people.mean())
            beyond = max(0.0, distance**2 - FAR**2 * judged * error**2)
            return beyond / (judged * (judged - 1))

        return variance(scale[0]), variance(scale[1])

    def between(self) -> float:
        """The variance of the estimate because the sizes of strata vary from sample to sample."""
        deviations = (self.means - self.value) ** 2
        return float(self.shares @ deviations) / len(self.judged)

    def stratum_error(self, stratum: int, unseen: float = 0.0) -> tuple[float, float]:
        """The variance of the estimate of a stratum, and its degrees of freedom.

        :param unseen: a squared deviation that is added to those of the judged examples, unless all
            are known exactly.
        """
        of_stratum = self.strata.of_example == stratum
        judged, proxies = (
            self.corrected[of_stratum & self.judged],
            self.others[of_stratum & ~self.judged],
        )
        degrees = max(len(judged) - 1 - self.slopes[stratum], 1)
        added = 0.0 if self.strata.exact[stratum] else unseen
        squares = len(judged) * float(np.var(judged)) + added
        variance = squares / (degrees * len(judged))
        if len(proxies):
            variance += float(np.var(proxies)) / len(proxies)
        return variance, float(degrees)

    def error(self, clusters: Clusters | None, unseen: float = 0.0) -> tuple[float, float]:
        """The standard error, and its degrees of freedom (Welch and Satterthwaite's).

        :param unseen: a squared deviation that is added to those of the judged examples of each
            stratum.
        """
        if clusters is None:
            errors = [self.stratum_error(stratum, unseen) for stratum in range(len(self.strata))]
            of_strata, degrees_of_strata = np.array(errors).T
            variances = self.shares**2 * of_strata
            within = float(variances.sum())
            if within == 0:
                return math.sqrt(self.between()), float(degrees_of_strata.sum())
            welch = within**2 / float((variances**2 / degrees_of_strata).sum())
            return math.sqrt(within + self.between()), welch
        covariance = covariance_of_clusters(
            self, [self.statistics[None]], np.arange(len(self.judged)), clusters
        )
        assert covariance is not None  # there are several clusters
        value, degrees = covariance.variance(lambda block: block[0, 0, 0])
        # Only clusters with a judgement show how far judgements vary, so the jackknife counts
        # these.
        by_people = self.judged & ~self.strata.exact[self.strata.of_example]
        asked = by_people if by_people.any() else self.judged
        judged, every = min(
            (len(np.unique(labels[asked])), len(np.unique(labels))) for labels in clusters.labels
        )
        error = math.sqrt(float(value) * (1 - 1 / judged) / (1 - 1 / every))
        return error if error > 1e-12 * abs(self.value) else 0.0, min(float(degrees), judged - 1.0)


def _interval(
    sums: _Sums,
    clusters: Clusters | None,
    scale: tuple[float, float] | None,
    binary: bool,
    unseen_at_ends: tuple[float, float] | None,
) -> tuple[float | None, float | None]:
    """The 95% interval within the scale, Wilson's for right or wrong; None if nothing varies and
    the scale is unknown.

    :param unseen_at_ends: of judgements alone, since the metric may fail where they are rare; None
        for a difference, whose interval agrees with its test.
    """
    width = 1.0 if scale is None else scale[1] - scale[0]
    unseen = UNSEEN * width**2 if binary and sums.slopes.any() else 0.0
    error, degrees = sums.error(clusters, unseen)
    half = student_quantile(degrees) * error
    if binary and scale is not None and len(sums.strata) == 1:
        value = min(max(sums.value, scale[0]), scale[1])
        low, high = within_scale(value - scale[0], half**2, int(sums.judged.sum()), width)
        return low + scale[0], high + scale[0]
    if binary and scale is not None:
        low, high = _stratified(sums, scale, unseen)
        if clusters is not None:  # they show nothing of a stratum in which all are right
            low, high = min(low, sums.value - half), max(high, sums.value + half)
        return max(low, scale[0]), min(high, scale[1])
    if error == 0 and unseen_at_ends is None:
        return None, None
    low, high = scale or (-math.inf, math.inf)
    below, above = (
        student_quantile(degrees) * math.sqrt(error**2 + variance)
        for variance in unseen_at_ends or (0.0, 0.0)
    )
    return max(sums.value - below, low), min(sums.value + above, high)


def _stratified(sums: _Sums, scale: tuple[float, float], unseen: float) -> tuple[float, float]:
    """The limits of the mean of right or wrong over several strata, from those of each stratum."""
    width = scale[1] - scale[0]
    below = above = student_quantile(len(sums.judged) - 1) ** 2 * sums.between()
    for stratum, stratum_share in enumerate(sums.shares):
        variance, degrees = sums.stratum_error(stratum, unseen)
        mean = min(max(float(sums.means[stratum]) - scale[0], 0.0), width)
        squared_half = student_quantile(degrees) ** 2 * variance
        units = max(sums.judged_in(stratum), 2)
        low, high = within_scale(mean, squared_half, units, width)
        below += (stratum_share * (mean - low)) ** 2
        above += (stratum_share * (high - mean)) ** 2
    return sums.value - math.sqrt(below), sums.value + math.sqrt(above)


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
        if (count := len(np.unique(labels[known]))) < FEWEST_JUDGED_CLUSTERS:
            raise InputError(
                f"{argument('people', system)}: the examples{where} with a judgement are in {count}"
                f" cluster(s) ({argument('cluster', name)}); intervals need at least"
                f" {FEWEST_JUDGED_CLUSTERS}"
            )

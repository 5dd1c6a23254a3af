"""Power of the calibrated test: the variance of a difference between two systems, and the examples
and seeds with which the test finds it.

The variance has three parts. That of the units (examples, or groups of them) is shared by both
systems and falls with more units. That of each run's chance results on them falls with more units
and more runs. That of the runs themselves (training seeds) does not fall with more examples. A
pilot separates the parts, by a bootstrap of its units and the variance of its runs; single runs do
not show the last part.

Power is that of the calibrated test (:func:`.significance.calibrated_test`). Single runs are tested
by approximate randomisation. For binary examples its power is that of McNemar's exact test, summed
exactly if few examples differ, else that of a normal variable. Several runs are tested with
variance components: standard errors and degrees of freedom are drawn from chi-squares, since few
runs estimate variances badly. ``lab/power.py`` compares this with simulated tests of single
runs, ``lab/intervals.py --only power`` with those of several runs.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from statistics import NormalDist

import numpy as np

from cgbench.benchmark.measure.metrics.metric import Metric
from cgbench.benchmark.score.comparison.design import Sampling
from cgbench.benchmark.score.comparison.results import SystemScores
from cgbench.benchmark.score.comparison.significance import LEVEL, SAMPLES, SEED
from cgbench.benchmark.score.comparison.variance import (
    DrawnScores,
    ExampleCovariance,
    shared_by_runs,
)
from cgbench.benchmark.score.comparison.variance_components import degrees_of_seeds, half_width
from cgbench.errors import InputError, argument

POWER = 0.8
MOST_UNITS, MOST_RUNS = 10**9, 10_000
DRAWS = 2000  # of the estimated variance of a few runs
EXACT = 200
"""Number of examples on which two systems differ, up to which the power of binary examples is
summed exactly.
"""


@dataclass(frozen=True)
class Shape:
    """Clusters of examples: their name, examples per cluster, and the share of clusters that they
    count as (Kish), which is 1 for clusters of equal size."""

    name: str = ""
    size: float = 1.0
    equal: float = 1.0


@dataclass(frozen=True)
class Variance:
    """The variance of the difference between the scores of two systems, in squared points.

    ``shared``: of the units, times their number; ``own``: of chance results of each run on them,
    times units and runs; ``between``: of runs, times their number. ``units`` and ``runs`` (of each
    system) are those of the pilot. ``step``: 100 where a unit is right or wrong, so that a
    difference, in percent, changes in steps; else 0. With ``clusters``, these are the units.
    """

    shared: float
    own: float = 0.0
    between: float = 0.0
    units: int = 0
    runs: int = 1
    step: float = 0.0
    clusters: Shape = Shape()

    def of(self, units: float, runs: int) -> float:
        """The variance with these numbers of units and runs."""
        return self.shared / units + self.own / (units * runs) + self.between / runs


def variance_of(
    metric: Metric,
    results: Sequence[SystemScores],
    sampling: Sampling | None = None,
    *,
    samples: int | None = None,
) -> Variance:
    """The parts of the variance of the difference between two systems, from a pilot.

    :raises InputError: there are not two systems, the numbers of runs differ, there is nothing to
        resample, or differences do not vary.
    """
    if len(results) != 2:
        raise InputError(
            f"a pilot needs two systems, not {len(results)}; give {argument('systems')} twice"
        )
    first, second = results
    if first.runs != second.runs:
        raise InputError(
            f"a pilot needs the same number of runs of each system: {first.system} {first.runs},"
            f" {second.system} {second.runs}"
        )
    # The covariance of the scores of all runs over draws of examples.
    sampling = replace(sampling or Sampling.of(metric), design=None)
    statistics, count = [result.statistics for result in results], samples or SAMPLES["bootstrap"]
    drawn = DrawnScores(metric, sampling, statistics, np.arange(metric.n), count, SEED)
    if drawn.covariance is None:
        raise InputError("one example, or one cluster of them: there is nothing to resample")
    covariance, rows, runs = drawn.covariance.of_runs(0, slice(None)), drawn.rows, first.runs
    values = np.stack(drawn.values)[:, :, 0]  # [2, runs]
    units, trace = covariance.units, float(covariance.trace())
    if math.isnan(trace) or np.isnan(values).any():
        raise InputError(
            "the score is not defined on every sample of these examples; more examples are needed"
        )
    # The variance of the difference; none means that the systems differ by a constant.
    signs = np.repeat((1.0, -1.0), runs) / runs
    of_units = float(covariance.variance(lambda matrix: np.asarray(signs @ matrix @ signs))[0])
    if trace <= 0 or (
        runs == 1 and of_units <= (1e-9 * np.abs(values).max()) ** 2
    ):  # 1e-9: rounding
        raise InputError(
            "the two systems of the pilot differ by the same amount on every example, so the"
            f" variance of differences is unknown; give more examples, or {argument('variance')}"
        )
    clusters = _shape(sampling, rows, covariance)
    if runs == 1:
        right_or_wrong = (
            metric.outcomes(results[0].statistics[0], rows) is not None and len(metric.figures) == 1
        )
        right_or_wrong &= metric.top == 100.0 and sampling.clusters is None
        return Variance(
            of_units * units, units=units, step=100.0 if right_or_wrong else 0.0, clusters=clusters
        )
    # With several seeds: the luck of a run on its examples, the spread of seeds, and what runs
    # share.
    within = between = 0.0
    for index, figure in enumerate(values):
        block = drawn.covariance.of_runs(0, drawn.runs_of(index))
        total = float(block.variance(lambda matrix: np.trace(matrix) / runs)[0])
        luck = max(0.0, total - float(block.variance(shared_by_runs)[0]))
        within += luck
        between += max(0.0, float(figure.var(ddof=1)) - luck)
    shared = max(0.0, of_units - within / runs)
    return Variance(shared * units, within * units, between, units, runs, clusters=clusters)


def _shape(sampling: Sampling, rows: np.ndarray, covariance: ExampleCovariance) -> Shape:
    """The clusters of a pilot; for two-way clusters, those of which there are fewer."""
    if sampling.clusters is None:
        return Shape()
    counts = sampling.clusters.counts
    name = min(counts, key=lambda name: counts[name])
    size = len(rows) / counts[name]
    return Shape(name, size, (covariance.sets[0].degrees[[*counts].index(name)] + 1) / counts[name])


@dataclass(frozen=True)
class PowerTest:
    """A test of a difference: its ``level``, and the required ``power``."""

    level: float = LEVEL
    power: float = POWER

    def __post_init__(self) -> None:
        for name, value in (("level", self.level), ("power", self.power)):
            if not 0 < value < 1:
                raise InputError(f"{argument(name, value)} is a share, between 0 and 1")
        if self.power <= self.level:
            raise InputError(
                f"{argument('power', self.power)} is not above the level, {self.level:g}"
            )

    @cached_property
    def critical(self) -> float:
        """The number of standard errors that is significant."""
        return NormalDist().inv_cdf(1 - self.level / 2)

    def power_of(self, difference: float, variance: Variance, units: float, runs: int) -> float:
        """How often the test rejects where the true difference is ``difference``."""
        if runs == 1 and not variance.clusters.name:
            return self._power_of_single(abs(difference), variance, units)
        total = variance.of(units, runs)
        if total <= 0:
            return 1.0 if difference else self.level
        error = math.sqrt(total)
        if runs == 1:
            return self._power_of_clusters(
                abs(difference) / error, variance.clusters.equal * units - 1
            )
        common = np.array(variance.shared / units)
        # equal variances of seeds are assumed; fixed draws of two chi-squares divided by their
        # degrees of freedom
        chi_squares = np.random.default_rng([SEED, runs - 1]).chisquare(runs - 1, (2, DRAWS)) / (
            runs - 1
        )
        first_variance, second_variance = (total - common) / 2 * chi_squares
        of_seeds = degrees_of_seeds(first_variance, second_variance, runs, runs)
        degrees = variance.clusters.equal * units - 1
        critical = half_width(
            first_variance + second_variance,
            common,
            of_seeds,
            degrees,
            np.full(first_variance.shape, self.level),
        )
        return _rejects(critical / error, abs(difference) / error)

    def _power_of_clusters(self, shift: float, degrees: float) -> float:
        """The power of Student's t with the degrees of freedom of clusters; ``shift`` is in
        standard errors.
        """
        from scipy.special import nctdtr, stdtrit

        if math.isinf(degrees) or degrees > MOST_UNITS / 10:
            return _rejects(np.array([self.critical]), shift)
        degrees = max(degrees, 1.0)
        critical = -float(stdtrit(degrees, self.level / 2))
        power = (
            1 - float(nctdtr(degrees, shift, critical)) + float(nctdtr(degrees, shift, -critical))
        )
        return power if math.isfinite(power) else 1.0

    def _power_of_single(self, difference: float, variance: Variance, units: float) -> float:
        if 2.0 ** (1 - min(units, 1000)) >= self.level:
            return 0.0  # swapping all examples gives the same difference, so p is at least this
        of_example = variance.shared + variance.own
        if variance.step:
            apart = difference / variance.step
            differ = min(
                1.0, max(of_example / variance.step**2 + apart**2, apart)
            )  # examples where systems differ
            if units * differ <= EXACT:
                return _mcnemar_power(int(units), differ, apart, self.level)
        if of_example <= 0:
            return 1.0 if difference else 0.0
        # Differences with random signs vary around 0, not around their mean. With steps, an equal
        # difference counts as larger, which loses half a step.
        error = math.sqrt(of_example / units)
        seen = math.sqrt((of_example + difference**2) / of_example)
        lost = variance.step / units / error
        return _rejects(np.array([self.critical * seen + lost]), difference / error)

    def smallest(self, variance: Variance, units: float, runs: int) -> float | None:
        """The smallest difference that is significant with the required power, or None."""
        error = math.sqrt(variance.of(units, runs))
        top = variance.step if runs == 1 and variance.step else 1000.0 * error
        if self.power_of(top, variance, units, runs) < self.power:
            return None
        low, high = 0.0, top
        for _ in range(40):
            middle = (low + high) / 2
            is_enough = self.power_of(middle, variance, units, runs) >= self.power
            low, high = (low, middle) if is_enough else (middle, high)
        return high

    def units_for(self, difference: float, variance: Variance, runs: int) -> int | None:
        """The number of units that a difference needs; None if no number is enough."""
        return _least_whole(
            lambda units: self.power_of(difference, variance, units, runs) >= self.power, MOST_UNITS
        )

    def runs_for(self, difference: float, variance: Variance, units: int) -> int | None:
        """The number of runs of each system that a difference needs; None if no number is
        enough.
        """
        return _least_whole(
            lambda runs: self.power_of(difference, variance, units, runs) >= self.power, MOST_RUNS
        )


def _rejects(critical: np.ndarray, shift: float) -> float:
    """How often a normal variable around ``shift`` is beyond the critical values, on either
    side.
    """
    from scipy.special import ndtr

    return float(np.mean(ndtr(shift - critical) + ndtr(-shift - critical)))


@lru_cache
def _criticals(level: float) -> np.ndarray:
    """For 0 to ``2 * EXACT`` examples on which two systems differ: the largest number that may
    favour one system if McNemar's exact test rejects; -1 if it never does.
    """
    from scipy.special import bdtr

    two_sided = (
        2 * bdtr(np.arange(differ // 2 + 1), differ, 0.5) for differ in range(2 * EXACT + 1)
    )
    return np.array([int(np.searchsorted(probabilities, level)) - 1 for probabilities in two_sided])


def _mcnemar_power(units: int, differ: float, apart: float, level: float) -> float:
    """The power of McNemar's exact test; ``differ``: the probability that the systems differ on an
    example; ``apart``: the difference of their probabilities to be right.
    """
    from scipy.special import bdtr, bdtrc

    counts = np.arange(min(units, 2 * EXACT) + 1)
    weights = np.diff(bdtr(counts, units, differ), prepend=0.0)
    criticals = _criticals(level)[: len(counts)]
    tested = (weights > 1e-9) & (criticals >= 0)
    counts, criticals = counts[tested], criticals[tested]
    first = (1 + apart / differ) / 2 if differ else 0.5
    rejects = bdtr(criticals, counts, first) + bdtrc(counts - criticals - 1, counts, first)
    return float(weights[tested] @ rejects)


def _least_whole(holds: Callable[[int], bool], most: int) -> int | None:
    """The smallest whole number from 2 for which something holds that also holds for all larger
    ones; None if not for ``most``."""
    return 2 + bisect_left(range(2, most), True, key=holds) if holds(most) else None

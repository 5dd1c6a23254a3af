"""How many examples and seeds are enough: the smallest difference that a test set shows, and what a difference needs.

The variance of a difference between two systems has three parts. Of the units (examples, or groups of them) that both
systems share: it falls with more of them. Of each run's own luck on them: it falls with more units and more runs. And
of the runs themselves (training seeds): no number of examples removes it. A pilot tells them apart, by the bootstrap of
its units and by the figures of its runs; a single run a system tells nothing of the last.

Power is that of the calibrated test (:func:`~cgbench.benchmark.metrics.significance.calibrated_test`). Single runs are
tested by approximate randomisation. Where every example is right or wrong, its power is that of McNemar's exact test,
which randomisation approaches, and is summed exactly while few examples differ; otherwise it is that of a normal
variable. With several runs the test is that of variance components: its standard error and its degrees of freedom are
those of variances that few runs show, drawn from chi-squares. ``perf/power_single.py`` compares what is stated here
with simulated tests of single runs, ``perf/interval_coverage.py --only power`` with those of several.
"""

from __future__ import annotations

import math
import warnings
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from statistics import NormalDist
from typing import Annotated, Any, TypeAlias

import numpy as np

from cgbench.benchmark.metrics.comparison import SystemScores
from cgbench.benchmark.metrics.contrast import degrees_of_seeds, half_width
from cgbench.benchmark.metrics.metric import Metric
from cgbench.benchmark.metrics.result import Evaluation
from cgbench.benchmark.metrics.significance import LEVEL, SAMPLES, SEED, resampled_runs
from cgbench.errors import InputError, InputWarning, argument
from cgbench.requests import KW_ONLY, Kind, accepts, option, request

POWER = 0.8
MOST_UNITS, MOST_RUNS = 10**9, 10_000
DRAWS = 2000  # of the variance that few runs show
EXACT = 200
"""Examples on which two systems differ, up to which the power of right and wrong examples is summed exactly."""
_NORMAL = NormalDist()


@dataclass(frozen=True)
class Variance:
    """The variance of a difference between two systems' figures, in points of the figure squared.

    ``shared``: of the units, times their number; ``own``: of each run's luck on them, times units and runs;
    ``between``: of runs, times their number. ``units`` and ``runs`` (of each system) are those of the pilot.
    ``step``: 100 where a unit is right or wrong, so that a difference, in percent, changes in steps; else 0.
    """

    shared: float
    own: float = 0.0
    between: float = 0.0
    units: int = 0
    runs: int = 1
    step: float = 0.0

    def of(self, units: float, runs: int) -> float:
        """The variance with so many units and runs."""
        return self.shared / units + self.own / (units * runs) + self.between / runs

    def floor(self, runs: int) -> float:
        """The part that more examples cannot remove."""
        return self.between / runs


def variance_of(
    metric: Metric, results: Sequence[SystemScores], *, samples: int | None = None, seed: int = SEED
) -> Variance:
    """The parts of the variance of the difference between two systems, from a pilot.

    :raises InputError: there are not two systems, runs differ in number, there is nothing to resample, or differences
        do not vary.
    """
    if len(results) != 2:
        raise InputError(f"a pilot has two systems, and {len(results)} are given; give {argument('systems')} twice")
    first, second = results
    if first.runs != second.runs:
        raise InputError(
            f"a pilot has as many runs of each system: {first.system} {first.runs}, {second.system} {second.runs}"
        )
    rows = metric.counted(np.arange(metric.n))
    systems = [np.stack([metric.collect(run, rows) for run in result.statistics]) for result in results]
    units, runs = systems[0].shape[1], first.runs
    if units < 2:
        raise InputError("one example: there is nothing to resample")
    drawn = resampled_runs(systems, metric.compute, samples or SAMPLES["bootstrap"], seed)
    figures = np.concatenate([one[:, :, 0] for one in drawn], axis=1)  # [samples, runs of both]
    values = [metric.compute(system.sum(axis=1))[:, 0] for system in systems]
    if np.isnan(figures).any() or any(np.isnan(one).any() for one in values):
        raise InputError("the figure is not defined on every sample of these examples; more examples are needed")
    covariance = np.cov(figures.T, ddof=1).reshape(2 * runs, 2 * runs) * (units / (units - 1))
    signs = np.repeat((1.0, -1.0), runs) / runs
    of_units = float(signs @ covariance @ signs)
    size = max(float(np.abs(one).max()) for one in values)
    if covariance.trace() <= 0 or (runs == 1 and of_units <= (1e-9 * size) ** 2):  # 1e-9: rounding
        raise InputError(
            "the two systems of the pilot differ by the same amount on every example: such a pilot says nothing of how "
            "differences vary; take one with more examples, or state the variance"
        )
    if runs == 1:
        right_or_wrong = metric.outcomes(results[0].statistics[0], rows) is not None and len(metric.figures) == 1
        right_or_wrong &= metric.top == 100.0
        return Variance(of_units * units, units=units, step=100.0 if right_or_wrong else 0.0)
    own = between = 0.0
    for place, figure in enumerate(values):
        block = covariance[place * runs : (place + 1) * runs, place * runs : (place + 1) * runs]
        common = float(block.sum() - np.trace(block)) / (runs * (runs - 1))
        luck = max(0.0, float(np.trace(block)) / runs - common)
        own += luck
        between += max(0.0, float(figure.var(ddof=1)) - luck)
    shared = max(0.0, of_units - own / runs)
    return Variance(shared * units, own * units, between, units, runs)


@dataclass(frozen=True)
class PowerTest:
    """A test of a difference: its ``level``, and the ``power`` that is asked for."""

    level: float = LEVEL
    power: float = POWER

    def __post_init__(self) -> None:
        for name, value in (("level", self.level), ("power", self.power)):
            if not 0 < value < 1:
                raise InputError(f"{argument(name, value)} is a share, between 0 and 1")
        if self.power <= self.level:
            raise InputError(f"{argument('power', self.power)} is not above the level, {self.level:g}")

    @cached_property
    def critical(self) -> float:
        """So many standard errors are significant."""
        return _NORMAL.inv_cdf(1 - self.level / 2)

    def power_of(self, difference: float, variance: Variance, units: float, runs: int) -> float:
        """How often the test rejects where the true difference is ``difference``."""
        if runs == 1:
            return self._power_of_single(abs(difference), variance, units)
        total = variance.of(units, runs)
        if total <= 0:
            return 1.0 if difference else self.level
        error = math.sqrt(total)
        common = np.array(variance.shared / units)
        ours, theirs = (total - common) / 2 * _chi_squares(runs - 1)  # seeds of both systems are taken to vary alike
        of_seeds = degrees_of_seeds(ours, theirs, runs, runs)
        critical = half_width(ours + theirs, common, of_seeds, units - 1, np.full(ours.shape, self.level))
        return _rejects(critical / error, abs(difference) / error)

    def _power_of_single(self, difference: float, variance: Variance, units: float) -> float:
        """That of approximate randomisation."""
        if 2.0 ** (1 - min(units, 1000)) >= self.level:
            return 0.0  # where all examples change sides the difference is as large, so that p is at least this
        of_example = variance.shared + variance.own
        if variance.step:
            apart = difference / variance.step
            differ = min(1.0, max(of_example / variance.step**2 + apart**2, apart))  # examples where systems differ
            if units * differ <= EXACT:
                return _mcnemar_power(int(units), differ, apart, self.level)
        if of_example <= 0:
            return 1.0 if difference else 0.0
        # Differences that change their signs vary around 0, not around their mean; and of steps, one that is as
        # large as what was observed counts as larger: half a step is lost.
        error = math.sqrt(of_example / units)
        seen = math.sqrt((of_example + difference**2) / of_example)
        lost = variance.step / units / error
        return _rejects(np.array([self.critical * seen + lost]), difference / error)

    def smallest(self, variance: Variance, units: float, runs: int) -> float | None:
        """The smallest difference that is significant with the power asked for; None where none is."""
        error = math.sqrt(variance.of(units, runs))
        top = variance.step if runs == 1 and variance.step else 1000.0 * error
        if self.power_of(top, variance, units, runs) < self.power:
            return None
        return _least(lambda one: self.power_of(one, variance, units, runs) >= self.power, 0.0, top)

    def units_for(self, difference: float, variance: Variance, runs: int) -> int | None:
        """So many units show a difference; None where no number does."""
        if self.power_of(difference, variance, MOST_UNITS, runs) < self.power:
            return None
        return _least_whole(lambda units: self.power_of(difference, variance, units, runs) >= self.power, 2, MOST_UNITS)

    def runs_for(self, difference: float, variance: Variance, units: int) -> int | None:
        """So many runs of each system show a difference on so many units; None where no number does."""
        if self.power_of(difference, variance, units, MOST_RUNS) < self.power:
            return None
        return _least_whole(lambda runs: self.power_of(difference, variance, units, runs) >= self.power, 2, MOST_RUNS)


def _chi_squares(degrees: int) -> np.ndarray:
    """Draws of two chi-squares over their degrees of freedom ``[2, draws]``, always the same."""
    return np.random.default_rng([SEED, degrees]).chisquare(degrees, (2, DRAWS)) / degrees


def _rejects(critical: np.ndarray, shift: float) -> float:
    """How often a normal variable around ``shift`` is beyond the critical values, of either sign."""
    from scipy.special import ndtr

    return float(np.mean(ndtr(shift - critical) + ndtr(-shift - critical)))


@lru_cache
def _criticals(level: float) -> np.ndarray:
    """Of 0 to ``2 * EXACT`` examples on which two systems differ: up to how many of them may favour one system where
    McNemar's exact test rejects; -1 where it never does.
    """
    two_sided = (2 * np.cumsum(_binomial(differ // 2, differ, 0.5)) for differ in range(2 * EXACT + 1))
    return np.array([int(np.searchsorted(one, level)) - 1 for one in two_sided])


def _mcnemar_power(units: int, differ: float, apart: float, level: float) -> float:
    """The power of McNemar's exact test: ``differ`` is the chance that the systems differ on an example, ``apart`` the
    difference of their chances to be right.
    """
    weights = _binomial(min(units, 2 * EXACT), units, differ)
    criticals = _criticals(level)[: len(weights)]
    first = (1 + apart / differ) / 2 if differ else 0.5
    power = 0.0
    for count in np.flatnonzero((weights > 1e-9) & (criticals >= 0)).tolist():
        favour = _binomial(count, count, first)
        tail = int(criticals[count]) + 1
        power += float(weights[count] * (favour[:tail].sum() + favour[-tail:].sum()))
    return power


def _binomial(most: int, of: int, chance: float) -> np.ndarray:
    """The binomial distribution at 0 to ``most`` of ``of``."""
    if chance in (0.0, 1.0):
        return (np.arange(most + 1) == of * chance).astype(np.float64)
    counts = np.arange(most)
    logs = np.concatenate([[0.0], np.cumsum(np.log((of - counts) / (counts + 1)))])
    counts = np.arange(most + 1)
    return np.asarray(np.exp(logs + counts * math.log(chance) + (of - counts) * math.log1p(-chance)))


def _least(holds: Callable[[float], bool], low: float, high: float) -> float:
    """The least number for which something holds that holds for all above it."""
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _least_whole(holds: Callable[[int], bool], low: int, high: int) -> int:
    """The same of whole numbers."""
    return low + bisect_left(range(low, high), True, key=holds)


@dataclass(frozen=True)
class DifferenceNeeds:
    """What a difference needs: ``examples`` with the pilot's number of runs, ``runs`` on the pilot's examples, and its
    power with both. None: no number is enough, or the pilot does not tell."""

    difference: float
    power: float
    examples: int | None
    runs: int | None


@dataclass(frozen=True)
class PowerResult:
    """What ``cgbench power`` prints: the smallest differences by number of units, and what given differences need."""

    metric: str
    variance: Variance
    test: PowerTest
    runs: int
    smallest: tuple[tuple[int | None, float | None], ...]
    """By units (None: any number of them); a difference is None where none is found with that power."""
    needs: tuple[DifferenceNeeds, ...]


def enough(
    variance: Variance,
    test: PowerTest,
    *,
    metric: str = "",
    units: Sequence[int] = (),
    runs: int | None = None,
    differences: Sequence[float] = (),
) -> PowerResult:
    """Everything that a variance says of so many units and runs.

    :param units: numbers of units; by default half, once, twice, four and ten times those of the pilot.
    :param runs: of each system; by default those of the pilot.
    :raises InputError: a number is not above 0, differences do not vary, runs are asked about that the pilot says
        nothing of, or one run of each system with a variance between runs.
    """
    count = variance.runs if runs is None else runs
    if variance.runs == 1 and count > 1 and not variance.between:
        raise InputError(
            f"{argument('seeds', count)}: a pilot of one run a system says nothing of the variance between runs; give "
            f"several files a system, or {argument('seed_variance')}"
        )
    if count == 1 and variance.between:
        raise InputError(
            "one run of each system is tested by randomisation of the examples, which leaves the variance between runs "
            f"out: a test that counts it needs {argument('seeds', 2)} or more"
        )
    if variance.of(1, 1) <= 0:
        raise InputError("a variance of 0 says nothing of how differences vary; a number above 0 is needed")
    if variance.step and (bad := [one for one in differences if abs(one) > variance.step]):
        raise InputError(f"{argument('differences', bad[0])}: a difference in percent is at most {variance.step:g}")
    numbers = sorted(set(units) or {max(2, round(variance.units * times)) for times in (0.5, 1, 2, 4, 10)})
    bad = [one for one in (*numbers, count) if one < 1] + [one for one in differences if not 0 < abs(one) < math.inf]
    if bad:
        raise InputError(f"{bad[0]:g}: numbers of examples and of seeds, and differences, are above 0")
    smallest: list[tuple[int | None, float | None]] = [(one, test.smallest(variance, one, count)) for one in numbers]
    if variance.floor(count):
        smallest.append((None, test.smallest(variance, math.inf, count)))
    own = variance.units or numbers[0]
    needs = tuple(
        DifferenceNeeds(
            one,
            test.power_of(one, variance, own, count),
            test.units_for(one, variance, count),
            test.runs_for(one, variance, own) if variance.between else None,
        )
        for one in differences
    )
    return PowerResult(metric, variance, test, count, tuple(smallest), needs)


Pilot: TypeAlias = Annotated[
    Any, Kind("pilot", "what evaluate or import_scores returns", lambda value: isinstance(value, Evaluation))
]


@request
class PowerRequest:
    """What :func:`power` is asked for."""

    pilot: Pilot | None = option(
        default=None, help="Pilot scores of two systems, from evaluate or import_scores", python_only=True
    )
    _: KW_ONLY
    variance: float | None = option(
        default=None, help="Variance of the difference on one example, without a pilot", group="Variance", least=0
    )
    binary: bool = option(default=False, help="The variance is of right or wrong answers, in percent", group="Variance")
    seed_variance: float | None = option(
        default=None, help="Variance between seeds, of both systems, without a pilot", group="Variance",
        least=0,
    )  # fmt: skip
    examples: tuple[int, ...] = option(
        default=(), help="Numbers of test examples [default: 0.5, 1, 2, 4 and 10 times the pilot's]", least=2,
        group="Design",
    )  # fmt: skip
    seeds: int | None = option(
        default=None, help="Number of seeds per system [default: the pilot's]", least=1, group="Design"
    )
    differences: tuple[float, ...] = option(
        default=(), help="True differences to plan for", flag="difference", group="Design"
    )
    power: float = option(default=POWER, help="Probability that a true difference is significant", group="Design")
    level: float = option(default=LEVEL, help="Probability that equal systems differ significantly", group="Design")
    samples: int | None = option(
        default=None, help="Number of resamples of the pilot [default: 1000]", least=2, group="Advanced"
    )


@accepts(PowerRequest)
def power(request: PowerRequest) -> PowerResult:
    """The smallest difference that a test set shows, and what differences need: what ``cgbench power`` prints.

    :raises InputError: neither or both of a pilot and a variance are given, or a value does not fit.
    """
    return power_of(request)


def power_of(request: PowerRequest) -> PowerResult:
    """:func:`power` of a request."""
    test = PowerTest(request.level, request.power)
    pilot, variance, examples, seeds = request.pilot, request.variance, request.examples, request.seeds
    if (pilot is None) == (variance is None):
        raise InputError(f"give a pilot of two systems, or {argument('variance')}")
    if variance is not None:
        if request.binary and variance > 10_000:
            raise InputError(
                f"{argument('variance', variance)} {argument('binary')}: right or wrong, in percent, has at most 10,000"
            )
        if not examples:
            raise InputError(f"{argument('variance')} needs the number of examples: {argument('examples')}")
        step, between = 100.0 if request.binary else 0.0, request.seed_variance or 0.0
        found = Variance(variance, between=between, units=examples[0], runs=seeds or 1, step=step)
        return enough(found, test, metric="score", units=examples, runs=seeds, differences=request.differences)
    assert pilot is not None
    for name, given in (("seed_variance", request.seed_variance is not None), ("binary", request.binary)):
        if given:
            raise InputError(f"{argument(name)} belongs to {argument('variance')}; a pilot shows it")
    metric = pilot.scored.metric
    found = variance_of(metric, pilot.results, samples=request.samples)
    if found.runs == 1:
        message = (
            "one run per system: nothing is known of the variance between seeds, which no number of examples removes"
        )
        warnings.warn(InputWarning(message), stacklevel=3)
    return enough(found, test, metric=metric.name, units=examples, runs=seeds, differences=request.differences)

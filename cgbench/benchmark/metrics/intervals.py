"""95 % intervals of figures: they stay within the range of the figure, and know how few runs there are.

A figure is a mean over runs (training seeds), each over the same units. Its variance has two parts: of the units, from
the bootstrap, and of the runs, from the figures of the runs themselves. Each comes with the quantile of Student's t
that its own number of units or runs asks for, as in intervals of sums of variance components (Graybill and Wang 1980):
three runs know little of how runs vary, and the quantiles of means of draws from three runs hide it.

The range is kept by Wilson's score interval (1927) with as many examples as the variance is worth, as survey statistics
has it (Korn and Graubard 1998): the variance at a limit of the interval is that of a figure which stands there, so that
it vanishes at 0 and at 100, and the interval reaches neither unless the figure does. How often such intervals hold the
truth is measured by ``perf/interval_coverage.py``; docs/reference/score.md has the figures.
"""

from __future__ import annotations

import math

import numpy as np

from cgbench.benchmark.metrics.variance import ExampleCovariance, Functional, independent, shared_by_runs

CONFIDENCE = 0.95
FEWEST = 40
"""An interval needs at least so many samples."""
_CLOSE = 1e-9  # in percent points: rounding of sums


def percentile_interval(values: np.ndarray) -> tuple[float, float] | None:
    """The 95 % percentile interval of samples ``[samples]``: sacrebleu's, for single runs of its metrics.

    None where the figure is undefined on one of them, or where a 40th of them is less than one.
    """
    if np.isnan(values).any() or len(values) < FEWEST:
        return None
    ordered = np.sort(values)
    cut = len(ordered) // 40
    return float(ordered[cut]), float(ordered[-1 - cut])


def score_interval(
    covariance: ExampleCovariance, figures: np.ndarray, top: float | None = 100.0, bottom: float | None = 0.0
) -> tuple[float, float] | None:
    """The 95 % interval of the mean of several runs, or of one.

    :param covariance: of the figures of the runs over draws of the examples, ``[runs, runs]``.
    :param figures: ``[runs]``, as they are.
    :param top: the highest value that the figure can have, None for no limit (TER); ``bottom``: the lowest. Without a
        lowest value the interval is symmetrical.
    :returns: None where the figure is undefined on a sample.
    """
    if np.isnan(covariance.trace()):
        return None
    mean, error = float(figures.mean()), _squared_error(covariance, figures)
    if bottom is None:
        return mean - math.sqrt(error), mean + math.sqrt(error)
    low, high = _within(mean - bottom, error, covariance.units, None if top is None else top - bottom)
    return low + bottom, high + bottom


OfRuns = tuple[ExampleCovariance, np.ndarray]
"""What :func:`score_interval` takes: the covariance of the figures of runs, and these figures."""


def difference_interval(
    first: OfRuns, second: OfRuns, *, top: float | None = 100.0, bottom: float | None = 0.0
) -> tuple[float, float] | None:
    """The 95 % interval of the first figure minus the second, of the same runs on two sets that share no unit.

    Of a single run it is made from the score intervals of both figures (Newcombe 1998, his method 10; Zou and Donner
    2008 for figures of any kind), which holds near the limits, too. Several runs give a difference each, and how these
    vary is known from them alone: a run that is good on one set is good on the other.

    :returns: None where a figure is undefined on a sample.
    """
    if any(np.isnan(covariance.trace()) for covariance, _ in (first, second)):
        return None
    difference = float(first[1].mean() - second[1].mean())
    error = 0.0
    if len(first[1]) > 1:
        error = _squared_error(independent(first[0], second[0]), first[1] - second[1])
    if error < _CLOSE**2:
        one, other = (score_interval(*figure, top=top, bottom=bottom) for figure in (first, second))
        if one is None or other is None:
            return None
        a, b = float(first[1].mean()), float(second[1].mean())
        return difference - math.hypot(a - one[0], other[1] - b), difference + math.hypot(one[1] - a, b - other[0])
    return difference - math.sqrt(error), difference + math.sqrt(error)


def student_quantile(degrees: float) -> float:
    """The quantile of Student's t that a two-sided interval of :data:`CONFIDENCE` has."""
    from scipy.special import stdtrit

    return float(stdtrit(degrees, (1 + CONFIDENCE) / 2))


def _squared_error(covariance: ExampleCovariance, figures: np.ndarray) -> float:
    """The square of half an interval of the mean of several runs, or of one; as for :func:`score_interval`."""
    runs = len(figures)

    def part(functional: Functional) -> float:
        variance, degrees = covariance.variance(functional)
        return student_quantile(float(degrees)) ** 2 * float(variance)

    error = part(lambda block: block.mean(axis=(-2, -1)))
    if runs > 1:
        # Two runs share what their units have in common; the rest of each run's variance is in that of the runs.
        own = student_quantile(runs - 1) ** 2 * float(figures.var(ddof=1)) / runs
        error = max(error, own + max(part(shared_by_runs), 0.0))
    # Runs whose luck cancels out leave the rounding of their sums, which is no variance.
    return error if error > 1e-12 * float(covariance.trace()) else 0.0


def _within(mean: float, error: float, units: int, top: float | None) -> tuple[float, float]:
    """The ends x of the interval of a figure whose squared error is ``error``: (mean - x)² = error · h(x) / h(mean).

    h is how the variance goes with the figure: x (top - x), or x where there is no top.
    """
    mean = 0.0 if abs(mean) < _CLOSE else top if top is not None and abs(top - mean) < _CLOSE else mean
    height = mean if top is None else mean * (top - mean)
    error = 0.0 if error < _CLOSE**2 else error
    if height < 0 or (error > 0 and height == 0):  # no figure of this range
        return mean - math.sqrt(error), mean + math.sqrt(error)
    # No variance: every unit is right, or wrong, or the same mean of runs; each is worth one draw, as in Wilson's.
    alone = student_quantile(units - 1) ** 2 * (100.0 if top is None else 1.0) / units
    ratio = error / height if error else alone
    if top is None:
        middle, root = mean + ratio / 2, math.sqrt(ratio * mean + ratio**2 / 4)
        return max(0.0, middle - root), middle + root
    middle = (mean + ratio * top / 2) / (1 + ratio)
    root = math.sqrt(ratio * mean * (top - mean) + ratio**2 * top**2 / 4) / (1 + ratio)
    # The end at the limit itself, not a rounding of it.
    return max(0.0, middle - root) if mean else 0.0, min(top, middle + root) if mean < top else top

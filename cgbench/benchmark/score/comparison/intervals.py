"""95% confidence intervals of scores that stay within the range of the score and account for few
runs.

A score is a mean over runs (training seeds), each over the same units. Its variance has two parts:
that of the units, from the bootstrap, and that of the runs, from the scores of the runs. Each is
multiplied by the quantile of Student's t for its number of units or runs, as in intervals of sums
of variance components (Graybill and Wang 1980): three runs show little of the variance of runs, and
percentiles of resampled runs would hide that.

Wilson's score interval (1927), with the effective number of examples as in survey statistics (Korn
and Graubard 1998), keeps the range: the variance vanishes at 0 and 100, and the interval reaches
neither unless the score does. ``lab/intervals.py`` measures the coverage;
docs/reference/score.md has the results.
"""

import math

import numpy as np

from cgbench.benchmark.score.comparison.variance import (
    ExampleCovariance,
    Functional,
    independent,
    shared_by_runs,
)

CONFIDENCE = 0.95
FEWEST = 40
"""Minimum number of samples for an interval."""
_CLOSE = 1e-9  # in percentage points: rounding of sums


def percentile_interval(values: np.ndarray) -> tuple[float, float] | None:
    """The 95% percentile interval of samples ``[samples]``, as in sacrebleu for single runs.

    None if the score is undefined on a sample, or for fewer than 40 samples.
    """
    if np.isnan(values).any() or len(values) < FEWEST:
        return None
    ordered = np.sort(values)
    cut = len(ordered) // 40
    return float(ordered[cut]), float(ordered[-1 - cut])


def score_interval(
    covariance: ExampleCovariance,
    figures: np.ndarray,
    top: float | None = 100.0,
    bottom: float | None = 0.0,
) -> tuple[float, float] | None:
    """The 95% confidence interval of the mean of one or more runs.

    :param covariance: of the scores of the runs over samples of the examples, ``[runs, runs]``.
    :param figures: ``[runs]``, scores of the runs.
    :param top: the highest possible score, None for no limit (TER); ``bottom``: the lowest. Without
        a lowest score the interval is symmetrical.
    :returns: None if the score is undefined on a sample
    """
    if np.isnan(covariance.trace()):
        return None
    mean, error = float(figures.mean()), _squared_error(covariance, figures)
    if bottom is None:
        return mean - math.sqrt(error), mean + math.sqrt(error)
    low, high = within_scale(
        mean - bottom, error, covariance.units, None if top is None else top - bottom
    )
    return low + bottom, high + bottom


OfRuns = tuple[ExampleCovariance, np.ndarray]
"""The covariance of the scores of runs, and these scores, as for :func:`score_interval`."""


def difference_interval(
    first: OfRuns, second: OfRuns, *, top: float | None = 100.0, bottom: float | None = 0.0
) -> tuple[float, float] | None:
    """The 95% confidence interval of the first score minus the second, for the same runs on two
    disjoint sets.

    For a single run it combines the score intervals of both (Newcombe 1998, method 10; Zou and
    Donner 2008 for scores of any kind), which is also valid near the limits. For several runs it
    uses the variance of their differences, since a run that is good on one set is good on the
    other.

    :returns: None if a score is undefined on a sample
    """
    if any(np.isnan(covariance.trace()) for covariance, _ in (first, second)):
        return None
    a, b = float(first[1].mean()), float(second[1].mean())
    error = 0.0
    if len(first[1]) > 1:
        error = _squared_error(independent(first[0], second[0]), first[1] - second[1])
    if error < _CLOSE**2:
        first_interval = score_interval(*first, top=top, bottom=bottom)
        second_interval = score_interval(*second, top=top, bottom=bottom)
        assert first_interval and second_interval  # their scores are defined on all samples
        below = math.hypot(a - first_interval[0], second_interval[1] - b)
        above = math.hypot(first_interval[1] - a, b - second_interval[0])
        return a - b - below, a - b + above
    return a - b - math.sqrt(error), a - b + math.sqrt(error)


def student_quantile(degrees: float) -> float:
    """The quantile of Student's t for a two-sided interval of :data:`CONFIDENCE`."""
    from scipy.special import stdtrit

    return float(stdtrit(degrees, (1 + CONFIDENCE) / 2))


def _squared_error(covariance: ExampleCovariance, figures: np.ndarray) -> float:
    """The squared half-width of the interval of the mean of one or more runs; as for
    :func:`score_interval`.
    """
    runs = len(figures)

    def part(functional: Functional) -> float:
        variance, degrees = covariance.variance(functional)
        return student_quantile(float(degrees)) ** 2 * float(variance)

    error = part(lambda block: block.mean(axis=(-2, -1)))
    if runs > 1:
        # The covariance is common to runs; the rest of each run's variance is part of that between
        # runs.
        between_runs = student_quantile(runs - 1) ** 2 * float(figures.var(ddof=1)) / runs
        error = max(error, between_runs + max(part(shared_by_runs), 0.0))
    # If chance cancels out, the rest is rounding, not variance.
    return error if error > 1e-12 * float(covariance.trace()) else 0.0


def within_scale(mean: float, error: float, units: int, top: float | None) -> tuple[float, float]:
    """The ends x of the interval of a score with squared half-width ``error``: (mean - x)² = error
    · h(x) / h(mean).

    h is the variance as a function of the score: x (top - x), or x without a top.
    """
    mean = (
        0.0 if abs(mean) < _CLOSE else top if top is not None and abs(top - mean) < _CLOSE else mean
    )
    height = mean if top is None else mean * (top - mean)
    error = 0.0 if error < _CLOSE**2 else error
    if height < 0 or (error > 0 and height == 0):  # outside the range
        return mean - math.sqrt(error), mean + math.sqrt(error)
    # No variance: all units have the same value, and each counts as one draw, as in Wilson's
    # interval.
    alone = student_quantile(units - 1) ** 2 * (100.0 if top is None else 1.0) / units
    ratio = error / height if error else alone
    if top is None:
        middle, root = mean + ratio / 2, math.sqrt(ratio * mean + ratio**2 / 4)
        return max(0.0, middle - root), middle + root
    middle = (mean + ratio * top / 2) / (1 + ratio)
    root = math.sqrt(ratio * mean * (top - mean) + ratio**2 * top**2 / 4) / (1 + ratio)
    # Exactly the limit, without rounding.
    return max(0.0, middle - root) if mean else 0.0, min(top, middle + root) if mean < top else top

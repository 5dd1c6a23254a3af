"""Test and confidence interval of the difference between two systems with several runs (training
seeds).

The variance of the difference has two parts. That of the examples is what runs of a system have in
common; it is estimated from many examples. That of the seeds is how runs of a system differ,
including chance on the examples; it is estimated from few runs. Each part is estimated separately,
and Student's t has the degrees of freedom of the mixture:

    1 / degrees = share ** (2 - 1.3 / s) / s + (1 - share) ** 2 / e

``e`` are the degrees of freedom of the examples (their number less one; for clusters, see
:mod:`variance`). ``share`` is the seeds' share of the variance. ``s`` are the degrees of freedom of
the seeds: Welch's (1947) for two systems whose seeds vary differently, with 3 / (runs - 1) instead
of 2. With many seeds this is Satterthwaite's (1946) formula. With two or three it rejects less
often, because a small variance of seeds is then often luck. Both constants were chosen on the
normal model so that the test rejects between 3.5 and 6% of equal systems at 5%, for two to ten runs
per system and any share; ``lab/significance.py`` measures this and
docs/explanation/significance.md has the results.

A p-value is below 0.05 exactly if the 95% interval excludes zero: both use the same t. For levels
below 5%, as in Holm's correction, see :func:`half_width`.
"""

from collections.abc import Sequence

import numpy as np

from cgbench.benchmark.score.comparison.intervals import CONFIDENCE
from cgbench.benchmark.score.comparison.significance import LEVEL
from cgbench.benchmark.score.comparison.variance import ExampleCovariance, shared_by_runs
from cgbench.records import Record

LEAST = 1e-16
"""The smallest p-value distinguished from zero."""
FEWEST_UNITS = 6
"""Fewer examples are never significant at 5%: five that all favour one system have p = 0.0625 by
randomisation.
"""
FEWEST_CLUSTERS = 4
"""With fewer clusters, tests of several seeds reject up to 13% of true nulls
(docs/lab/clusters.md).
"""
_CLOSE = 1e-9  # in percent points: rounding of sums


class Contrast(Record):
    """Differences ``value``, and the parts of their variance.

    ``seeds`` has ``of_seeds`` degrees of freedom; ``common``, the variance of examples, has
    ``of_examples``. ``examples`` and ``units`` are numbers; a unit is an example, or a cluster if
    there are clusters.
    """

    value: np.ndarray
    seeds: np.ndarray
    common: np.ndarray
    of_seeds: np.ndarray
    of_examples: np.ndarray | float
    examples: int
    units: int

    @property
    def error(self) -> np.ndarray:
        """The standard error of each difference."""
        return np.sqrt(self.seeds + self.common)

    @property
    def is_tested(self) -> bool:
        """Whether there are enough examples and clusters for a test."""
        return self.examples >= FEWEST_UNITS and self.units >= FEWEST_CLUSTERS

    def p_value(self) -> np.ndarray:
        """Two-sided p-values of a zero difference; NaN where a score is undefined or there are too
        few examples or clusters.

        The smallest is 2 / 2^examples, as for randomisation, or 2 / 2^units if nothing varies.
        """
        from scipy.special import stdtr

        distance, error = np.abs(self.value), self.error
        with np.errstate(divide="ignore", invalid="ignore"):
            degrees = degrees_of_freedom(self.seeds, self.common, self.of_seeds, self.of_examples)
            p = 2 * stdtr(degrees, -distance / error)
        # Below LEVEL, p is the level at which the interval ends at zero; it is between this p and
        # LEVEL.
        low, high = np.log(np.clip(p, LEAST, LEVEL)), np.full(p.shape, np.log(LEVEL))
        for _ in range(50):
            middle = (low + high) / 2
            outside = distance > self._half(np.exp(middle))
            low, high = np.where(outside, low, middle), np.where(outside, middle, high)
        p = np.where(p < LEVEL, np.exp(high), p)
        least = [2.0 ** max(1 - count, -1000) for count in (self.examples, self.units)]
        p = np.maximum(np.where(error > _CLOSE, p, least[1]), least[0])
        p = np.where(distance <= _CLOSE, 1.0, p)
        return np.where(np.isnan(self.value + error) | (not self.is_tested), np.nan, p)

    def interval(self, confidence: float = CONFIDENCE) -> tuple[np.ndarray, np.ndarray]:
        """The ends of the interval of the difference; NaN where :meth:`p_value` is, or where
        nothing varies.
        """
        half = self._half(np.full(self.value.shape, 1 - confidence))
        half = np.where((self.error > _CLOSE) & self.is_tested, half, np.nan)
        return self.value - half, self.value + half

    def _half(self, level: np.ndarray) -> np.ndarray:
        return half_width(self.seeds, self.common, self.of_seeds, self.of_examples, level)


def contrast(
    first: np.ndarray,
    second: np.ndarray,
    covariance: ExampleCovariance,
    *,
    shared_seeds: bool = False,
) -> Contrast:
    """The difference of two means over runs.

    :param first: figures of the runs of one system, ``[..., a]``; ``second``: of the other, ``[...,
        b]``.
    :param covariance: of these figures over draws of the examples, ``[..., a + b, a + b]``.
    :param shared_seeds: run i of both systems has the same seed or checkpoint; their difference is
        taken run by run.
    :raises ValueError: ``shared_seeds`` with different numbers of runs.
    """
    a, b = first.shape[-1], second.shape[-1]
    if shared_seeds:
        if a != b:
            raise ValueError(f"{a} and {b} runs cannot be compared run by run")
        between = _spread(first - second)
        seeds, of_seeds = between / a, np.full(between.shape, max(a - 1.0, 0.0))
    else:
        spreads = [_spread(first), _spread(second)]
        if 1 in (a, b):  # a single run has no spread: that of the other system is assumed
            total = spreads[0] + spreads[1]
            spreads = [
                total if runs == 1 else spread for runs, spread in zip((a, b), spreads, strict=True)
            ]
        seeds = spreads[0] / a + spreads[1] / b
        of_seeds = degrees_of_seeds(spreads[0] / a, spreads[1] / b, a, b)

    def common_of(block: np.ndarray) -> np.ndarray:
        first_block, second_block, cross = (
            block[..., :a, :a],
            block[..., a:, a:],
            block[..., :a, a:],
        )
        if shared_seeds:
            return shared_by_runs(first_block + second_block - cross - np.swapaxes(cross, -1, -2))
        first_shared, second_shared = shared_by_runs(first_block), shared_by_runs(second_block)
        if a == 1 < b:
            first_shared = first_block[..., 0, 0] - _luck(second_block)
        if b == 1 < a:
            second_shared = second_block[..., 0, 0] - _luck(first_block)
        return np.asarray(first_shared + second_shared - 2 * cross.mean(axis=(-2, -1)))

    common, of_examples = covariance.variance(common_of)
    # If chance results cancel out, only rounding errors are left.
    rounding = 1e-12 * covariance.trace()
    common = np.where(common <= rounding, 0.0, common)
    value, counts = (
        first.mean(axis=-1) - second.mean(axis=-1),
        (
            covariance.examples,
            covariance.units,
        ),
    )
    return Contrast(value, seeds, common, of_seeds, of_examples, *counts)


class Contrasts:
    """The differences between any two of several systems, of all figures."""

    def __init__(
        self,
        values: Sequence[np.ndarray],
        covariance: ExampleCovariance,
        *,
        shared_seeds: bool = False,
    ) -> None:
        """
        :param values: the figures of each system's runs, ``[runs, figures]``.
        :param covariance: ``[figures, runs of all, runs of all]``.
        """
        self.figures, self.covariance, self.shared_seeds = (
            np.concatenate(values).T,
            covariance,
            shared_seeds,
        )
        self._runs = np.split(
            np.arange(self.figures.shape[1]), np.cumsum([len(figures) for figures in values])[:-1]
        )

    def of(self, first: int, second: int) -> Contrast:
        """System ``first`` minus system ``second``; arrays ``[figures]``."""
        return self._of_runs(self._runs[first], self._runs[second])

    def of_pairs(self, pairs: Sequence[tuple[int, int]]) -> Contrast:
        """The differences of pairs, all with the same numbers of runs; arrays ``[figures,
        pairs]``.
        """
        first, second = zip(*pairs, strict=True)
        return self._of_runs(
            *(np.stack([self._runs[system] for system in systems]) for systems in (first, second))
        )

    def _of_runs(self, first: np.ndarray, second: np.ndarray) -> Contrast:
        runs = np.concatenate([first, second], axis=-1)
        covariance = self.covariance.select(
            lambda block: block[:, runs[..., :, None], runs[..., None, :]]
        )
        return contrast(
            self.figures[:, first],
            self.figures[:, second],
            covariance,
            shared_seeds=self.shared_seeds,
        )


def half_width(
    seeds: np.ndarray,
    common: np.ndarray,
    of_seeds: np.ndarray,
    of_examples: np.ndarray | float,
    level: np.ndarray,
) -> np.ndarray:
    """The smallest difference that is significant at ``level``; arguments as for :class:`Contrast`.

    At 5% and above it follows from Student's t. Below, the t of each part is weighted more and more
    (Graybill and Wang 1980), and from 0.1% on used alone: with two or three seeds, one in a hundred
    variances of seeds is nearly zero by chance, and t with degrees of freedom for the mixture would
    treat that chance as certainty.
    """
    from scipy.special import stdtrit

    def quantile(degrees: np.ndarray | float) -> np.ndarray:
        return np.asarray(stdtrit(degrees, level / 2)) ** 2  # the lower tail, which is more exact

    mixed = quantile(degrees_of_freedom(seeds, common, of_seeds, of_examples)) * (seeds + common)
    separate = np.where(seeds > 0, quantile(np.maximum(of_seeds, 1.0)) * seeds, 0.0)
    separate = separate + quantile(np.maximum(of_examples, 1.0)) * common
    with np.errstate(divide="ignore"):
        weight = np.clip(np.log(LEVEL / level) / np.log(LEVEL / 0.001), 0.0, 1.0)
    return np.sqrt(mixed + weight * np.maximum(separate - mixed, 0.0))


def degrees_of_freedom(
    seeds: np.ndarray, common: np.ndarray, of_seeds: np.ndarray, of_examples: np.ndarray | float
) -> np.ndarray:
    """Degrees of freedom of a variance ``seeds + common``, of which the parts have ``of_seeds`` and
    ``of_examples``.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        weight = np.where(seeds > 0, seeds / (seeds + common), 0.0)
        few = np.where(
            of_seeds > 0,
            weight ** (2 - 1.3 / np.maximum(of_seeds, 1.0)) / np.maximum(of_seeds, 1.0),
            0.0,
        )
    return 1 / np.maximum(few + (1 - weight) ** 2 / np.maximum(of_examples, 1.0), 1e-12)


def degrees_of_seeds(first: np.ndarray, second: np.ndarray, a: int, b: int) -> np.ndarray:
    """Welch's degrees of freedom of ``first + second``, variances of means of ``a`` and ``b``
    runs.
    """
    if min(a, b) == 1:
        return np.full(first.shape, max(a, b) - 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        extra = 3 / (max(a, b) - 1)
        degrees = (first + second) ** 2 / (
            first**2 / (a - 1 + extra) + second**2 / (b - 1 + extra)
        ) - extra
    return np.clip(np.nan_to_num(degrees, nan=a + b - 2.0), min(a, b) - 1, a + b - 2)


def _spread(figures: np.ndarray) -> np.ndarray:
    """The variance of runs ``[..., runs]``; 0 for a single one."""
    return figures.var(axis=-1, ddof=1) if figures.shape[-1] > 1 else np.zeros(figures.shape[:-1])


def _luck(covariance: np.ndarray) -> np.ndarray:
    """The part of a run's variance that it does not share with other runs of the system."""
    return np.diagonal(covariance, axis1=-2, axis2=-1).mean(axis=-1) - shared_by_runs(covariance)

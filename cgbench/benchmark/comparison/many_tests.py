"""Tests of many small differences at once, such as those of every n-gram, and their false discovery rate.

A difference between two systems counts if it is larger than chance on the examples *and* than the chance of training
seeds. The first is an exact sign test. The second has two or three runs per system, whose variance is often zero by
luck, and the smallest of thousands of variances always is. So the variance of each difference is at least the mean over
similar differences, with degrees of freedom from how much these variances vary, as in the moderated t of Smyth (2004,
"Linear models and empirical Bayes methods for assessing differential expression").
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

SIMILAR = 50
"""The fewest differences whose variance of seeds is averaged."""


def false_discovery(p_values: Sequence[float | None]) -> list[float | None]:
    """Benjamini and Hochberg's (1995) adjusted p-values; None is ignored."""
    tested = sorted((p, index) for index, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    least = 1.0
    for rank, (p, index) in reversed(list(enumerate(tested, 1))):
        least = min(least, p * len(tested) / rank)
        adjusted[index] = least
    return adjusted


def sign_test(wins: int, losses: int) -> float:
    """The p-value of the exact two-sided sign test."""
    total = wins + losses
    tail = sum(math.comb(total, count) for count in range(min(wins, losses) + 1))
    return min(1.0, 2 * tail / 2**total)


def seeds_p_values(
    first: np.ndarray, second: np.ndarray, examples: np.ndarray, *, shared_seeds: bool = False
) -> np.ndarray | None:
    """Two-sided p-values of differences between two systems against the chance of seeds, float64 ``[differences]``.

    :param first: values of one system's runs, ``[differences, a]``; ``second``: of the other's, ``[differences, b]``.
    :param examples: of each difference; those with similar numbers share a variance.
    :param shared_seeds: run i of both systems has the same seed.
    :returns: None if each system has a single run.
    """
    from scipy.special import stdtr

    runs = first.shape[1], second.shape[1]
    if max(runs) == 1:
        return None
    if shared_seeds:
        spreads, weight = [first - second], 1 / runs[0]
    else:
        spreads, weight = [first, second], 1 / runs[0] + 1 / runs[1]
    squares = sum(((values - values.mean(axis=1, keepdims=True)) ** 2).sum(axis=1) for values in spreads)
    degrees = sum(values.shape[1] - 1 for values in spreads)
    variance = np.asarray(squares / degrees)
    least, more_degrees = np.zeros(len(variance)), np.zeros(len(variance))
    order = np.argsort(examples, kind="stable")
    for rows in np.array_split(order, max(1, len(order) // SIMILAR)):
        mean = variance[rows].mean()
        least[rows] = mean
        # Of an F distribution, the squared coefficient of variation is 2 (d + e - 2) / (d (e - 4)); solve for e.
        excess = degrees * variance[rows].var() / mean**2 - 2 if mean > 0 else 0.0
        more_degrees[rows] = (4 * (excess + 2) + 2 * degrees - 4) / excess if excess > 1e-9 else np.inf
    distance = np.abs(first.mean(axis=1) - second.mean(axis=1))
    error = np.sqrt(np.maximum(variance, least) * weight)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(distance == 0, 1.0, 2 * stdtr(degrees + more_degrees, -distance / error))

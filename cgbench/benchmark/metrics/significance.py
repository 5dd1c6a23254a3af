"""Honest statistics for every metric: the bootstrap, paired tests, Holm's correction. Intervals: ``intervals.py``.

All of it works on sums of sufficient statistics. A system is an array ``[runs, units, k]``: the same units (examples,
or groups of them) for every system, one run per training seed. Tests of systems with several runs: ``contrast.py``.

Draws are sacrebleu's own (``significance.py`` there): the same seed gives the same samples. Its p-value of the paired
bootstrap (Koehn 2004, as Moses and MultEval have it) centres the absolute differences and so rejects too often;
:func:`bootstrap_p` has it, for scores that sacrebleu would give, and the two-sided one for all others. In both, and in
approximate randomisation (Riezler and Maxwell 2005), a sample as extreme as what was observed counts as extreme, so
that two equal systems have p = 1, not 0.001.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

SEED = 12345
"""sacrebleu's default."""

LEVEL = 0.05
"""A difference whose p-value, adjusted by Holm's method, is below this has a star."""

MARKS = ((0.01, "**"), (LEVEL, "*"))
"""Which stars, by the bound that the p-value is below."""

SEVERAL_RUNS = "variance components"
"""The test of systems with several runs."""

SAMPLES = {"bootstrap": 1000, "randomization": 10_000}
_MEMORY = 1 << 22  # numbers in a block of draws
_CLOSE = 1e-9  # in percent points: rounding of sums, far below any difference that matters

Compute = Callable[[np.ndarray], np.ndarray]


def _blocks(samples: int, units: int) -> Iterator[int]:
    """Sizes of blocks of samples: multiples of 64, so that generators that hand out bits go on where they were."""
    size = max(64, _MEMORY // max(units, 1) // 64 * 64)
    for start in range(0, samples, size):
        yield min(size, samples - start)


def bootstrap_counts(units: int, samples: int, seed: int | Sequence[int]) -> Iterator[np.ndarray]:
    """How often each unit is in each sample, float64 ``[block, units]`` at a time; memory does not grow."""
    rng = np.random.default_rng(seed)
    for size in _blocks(samples, units):
        drawn = rng.choice(units, size=(size, units), replace=True)
        drawn += np.arange(size)[:, None] * units
        yield np.bincount(drawn.ravel(), minlength=size * units).reshape(size, units).astype(np.float64)


def resampled_runs(
    systems: Sequence[np.ndarray], compute: Compute, samples: int, seed: int | Sequence[int]
) -> list[np.ndarray]:
    """The figures of each run of each system on the same samples of the units, ``[samples, runs, figures]``."""
    units = systems[0].shape[1]
    parts: list[list[np.ndarray]] = [[] for _ in systems]
    for counts in bootstrap_counts(units, samples, seed):
        for sums, part in zip(_products(counts, systems), parts, strict=True):
            part.append(np.stack([compute(run) for run in sums], axis=1))
    return [np.concatenate(part) for part in parts]


def _products(weights: np.ndarray, systems: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Weighted sums of the units of every run of every system, ``[runs, block, k]``: the weights are read once.

    :param weights: ``[block, units]``; ``systems``: ``[runs, units, k]``.
    """
    joined = np.concatenate([system.transpose(1, 0, 2).reshape(system.shape[1], -1) for system in systems], axis=1)
    sums = weights @ joined
    found, start = [], 0
    for system in systems:
        runs, _, k = system.shape
        part = sums[:, start : start + runs * k].reshape(len(weights), runs, k)
        found.append(np.ascontiguousarray(part.transpose(1, 0, 2)))
        start += runs * k
    return found


def draw_runs(values: Sequence[np.ndarray], seed: int) -> list[np.ndarray]:
    """The second half of the hierarchical bootstrap: :func:`resampled_runs`, and on each sample the mean of drawn runs,
    ``[samples, figures]`` a system.
    """
    runs = np.random.default_rng([seed, 1])  # a generator of its own: the units stay those of a single run
    result = []
    for value in values:
        samples, number = value.shape[:2]
        mean = value.mean(axis=1)
        if number > 1:
            chosen = runs.integers(number, size=(samples, number))
            drawn = np.take_along_axis(value, chosen[:, :, None], axis=1).mean(axis=1)
            # Draws of k from k runs vary (k - 1) / k as much as means of k new runs do (Rao and Wu 1988).
            mean = mean + math.sqrt(number / (number - 1)) * (drawn - mean)
        result.append(mean)
    return result


def bootstrap_p(
    system: np.ndarray, baseline: np.ndarray, difference: float, *, as_sacrebleu: bool = False
) -> float | None:
    """p-value of a difference from the figures ``[samples]`` of both on the same samples.

    Two-sided: how often a sample is as far from the mean of the samples as the difference is from zero.
    ``as_sacrebleu``: how often its distance from zero exceeds the mean distance by as much as the difference.
    """
    differences = system - baseline
    if as_sacrebleu:
        distances = np.abs(differences)
        return _p(distances - distances.mean(), abs(difference))
    return _p(np.abs(differences - differences.mean()), abs(difference))


def randomization_of_pairs(
    systems: Sequence[np.ndarray], pairs: Sequence[tuple[int, int]], compute: Compute, samples: int, seed: int
) -> list[list[float | None]]:
    """Two-sided p-values by approximate randomisation, one per figure of each pair: units change sides.

    :param systems: ``[1, units, k]`` each; those of several runs may be among them, but in none of the pairs.
    """
    totals = [system[:1].sum(axis=1) for system in systems]
    figures = [compute(total)[0] for total in totals]
    rng = np.random.default_rng(seed)
    parts: list[list[np.ndarray]] = [[] for _ in pairs]
    for size in _blocks(samples, systems[0].shape[1]):
        swapped = rng.integers(2, size=(size, systems[0].shape[1]), dtype=bool).astype(np.float64)
        moved = _products(swapped, systems)
        for (first, second), part in zip(pairs, parts, strict=True):
            change = moved[second][0] - moved[first][0]
            part.append(np.abs(compute(totals[first] + change) - compute(totals[second] - change)))
    found = []
    for (first, second), part in zip(pairs, parts, strict=True):
        distances, observed = np.concatenate(part), np.abs(figures[first] - figures[second])
        found.append([_p(distances[:, figure], observed[figure]) for figure in range(len(observed))])
    return found


def _p(statistics: np.ndarray, observed: float) -> float | None:
    if np.isnan(statistics).any() or math.isnan(observed):
        return None
    return (int(np.count_nonzero(statistics >= observed - _CLOSE)) + 1) / (len(statistics) + 1)


def calibrated_test(runs: Sequence[int], clustered: bool = False) -> str:
    """The test that holds its level, by the numbers of runs of the systems: approximate randomisation where each has
    one, Student's t with variance components (``contrast.py``) where one has several, or examples are in clusters.
    """
    return "randomization" if set(runs) == {1} and not clustered else SEVERAL_RUNS


def stars(p: float | None) -> str:
    """The stars of a difference, from what :attr:`~cgbench.benchmark.metrics.comparison.Score.p_star` says of it."""
    return next((mark for bound, mark in MARKS if p is not None and p < bound), "")


def mcnemar_p(system: np.ndarray, baseline: np.ndarray) -> float:
    """McNemar's exact test of two 0/1 arrays: the two-sided binomial test on the units where they differ."""
    first = int(np.count_nonzero((system == 1) & (baseline == 0)))
    second = int(np.count_nonzero((system == 0) & (baseline == 1)))
    differ = first + second
    term = total = 1
    for i in range(min(first, second)):
        term = term * (differ - i) // (i + 1)
        total += term
    return min(1.0, (2 * total) / 2**differ)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's (1979) adjusted p-values of a family of tests; None stays None and is not counted."""
    tested = sorted((p, index) for index, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    worst = 0.0
    for rank, (p, index) in enumerate(tested):
        worst = max(worst, min(1.0, (len(tested) - rank) * p))
        adjusted[index] = worst
    return adjusted

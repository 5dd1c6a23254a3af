"""Significance tests for every metric: bootstrap, paired tests, Holm's correction. Intervals are in
``intervals.py``.

All functions use sums of sufficient statistics. A system is an array ``[runs, units, k]``: the same
units (examples, or groups of them) for every system, one run per training seed. Systems with
several runs are tested in ``variance_components.py``.

The same seed gives the same samples as in sacrebleu. Its p-value of the paired bootstrap (Koehn
2004, as in Moses and MultEval) centres the absolute differences and therefore rejects too often;
:func:`bootstrap_p` computes it for sacrebleu's metrics, and a two-sided one for all others. In
both, and in approximate randomisation (Riezler and Maxwell 2005), a sample as extreme as the
observation counts as extreme, so two equal systems have p = 1, not 0.001.
"""

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from cgbench.numbers_as_text import LEVELS

SEED = 12345
"""sacrebleu's default."""

LEVEL, STRICT_LEVEL = LEVELS
"""Differences with a p-value (adjusted by Holm's method) below this have a star."""

MARKS = ((STRICT_LEVEL, "**"), (LEVEL, "*"))
"""Stars by upper bound of the p-value."""

SEVERAL_RUNS = "variance components"
"""The test of systems with several runs."""

SAMPLES = {"bootstrap": 1000, "randomization": 10_000}
FLOOR_TESTS = 200
"""With more than one test per 200 samples, the smallest p-value of samples is too large for Holm's
correction.
"""
SIMILAR = 50
"""The fewest differences whose variance of seeds is averaged."""
_MEMORY = 1 << 22  # numbers in a block of draws
_CLOSE = 1e-9  # in percentage points: rounding of sums, far below any relevant difference

Compute = Callable[[np.ndarray], np.ndarray]


def _blocks(samples: int, units: int) -> Iterator[int]:
    """Sizes of blocks of samples: multiples of 64, so that blocks do not change the random bits."""
    block_size = max(64, _MEMORY // max(units, 1) // 64 * 64)
    for start in range(0, samples, block_size):
        yield min(block_size, samples - start)


def bootstrap_counts(units: int, samples: int, seed: int | Sequence[int]) -> Iterator[np.ndarray]:
    """The count of each unit in each sample, in blocks float64 ``[block, units]`` of constant
    memory.
    """
    rng = np.random.default_rng(seed)
    for block_size in _blocks(samples, units):
        drawn = rng.choice(units, size=(block_size, units), replace=True)
        drawn += np.arange(block_size)[:, None] * units
        yield (
            np.bincount(drawn.ravel(), minlength=block_size * units)
            .reshape(block_size, units)
            .astype(np.float64)
        )


def resampled_runs(
    systems: Sequence[np.ndarray], compute: Compute, samples: int, seed: int | Sequence[int]
) -> list[np.ndarray]:
    """The scores of all runs of each system on the same samples of the units, ``[samples, runs,
    figures]``.
    """
    blocks: list[list[np.ndarray]] = [[] for _ in systems]
    for counts in bootstrap_counts(systems[0].shape[1], samples, seed):
        for sums, block in zip(_products(counts, systems), blocks, strict=True):
            block.append(np.stack([compute(run) for run in sums], axis=1))
    return [np.concatenate(block) for block in blocks]


def _products(weights: np.ndarray, systems: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Weighted sums of the units of every run of every system, ``[runs, block, k]``, in one matrix
    product.

    :param weights: ``[block, units]``; ``systems``: ``[runs, units, k]``.
    """
    joined = np.concatenate(
        [system.transpose(1, 0, 2).reshape(system.shape[1], -1) for system in systems], axis=1
    )
    sums = weights @ joined
    products, start = [], 0
    for system in systems:
        runs, _, k = system.shape
        product = sums[:, start : start + runs * k].reshape(len(weights), runs, k)
        products.append(np.ascontiguousarray(product.transpose(1, 0, 2)))
        start += runs * k
    return products


def draw_runs(values: Sequence[np.ndarray], seed: int) -> list[np.ndarray]:
    """The second step of the hierarchical bootstrap, after :func:`resampled_runs`: the mean of
    resampled runs in each sample, ``[samples, figures]`` for each system.
    """
    runs = np.random.default_rng(
        [seed, 1]
    )  # a separate generator, so that the samples of units do not change
    result = []
    for value in values:
        samples, run_count = value.shape[:2]
        mean = value.mean(axis=1)
        if run_count > 1:
            chosen = runs.integers(run_count, size=(samples, run_count))
            drawn = np.take_along_axis(value, chosen[:, :, None], axis=1).mean(axis=1)
            # The variance of resampled means of k runs is (k - 1) / k of that of new runs (Rao and
            # Wu 1988).
            mean = mean + math.sqrt(run_count / (run_count - 1)) * (drawn - mean)
        result.append(mean)
    return result


def bootstrap_p(
    system: np.ndarray, baseline: np.ndarray, difference: float, *, as_sacrebleu: bool = False
) -> float | None:
    """p-value of a difference from the scores ``[samples]`` of both systems on the same samples.

    Two-sided: how often a sample is at least as far from the mean of the samples as the difference
    is from zero. ``as_sacrebleu``: how often its distance from zero exceeds the mean distance by at
    least the difference.
    """
    differences = system - baseline
    if as_sacrebleu:
        distances = np.abs(differences) - np.abs(differences).mean()
    else:
        distances = np.abs(differences - differences.mean())
    if np.isnan(distances).any() or math.isnan(difference):
        return None
    return (int(np.count_nonzero(distances >= abs(difference) - _CLOSE)) + 1) / (len(distances) + 1)


def randomization_of_pairs(
    systems: Sequence[np.ndarray],
    pairs: Sequence[tuple[int, int]],
    compute: Compute,
    samples: int,
    seed: int,
    tests: int = 1,
) -> list[list[float | None]]:
    """Two-sided p-values by approximate randomisation, one per score of each pair; units are
    swapped between systems.

    No p-value of samples is below 1 / (samples + 1), which Holm's correction for many ``tests``
    makes larger than 5%. With more tests than samples / 200, a pair that no sample reaches
    therefore has Hoeffding's (1963) bound of the tail, 2 exp(-z² / 2), if that is smaller: z is the
    difference divided by the standard deviation of the samples. For means the bound holds with the
    exact standard deviation; that of the samples is near it.

    :param systems: ``[1, units, k]`` each; systems with several runs are allowed if they are in no
        pair.
    :param tests: the number of tests that p-values are adjusted for.
    """
    units = systems[0].shape[1]
    totals = [system[:1].sum(axis=1) for system in systems]
    figures = [compute(total)[0] for total in totals]
    observed = np.abs(
        [figures[first] - figures[second] for first, second in pairs]
    )  # [pairs, figures]
    # Only sums of samples are kept: hundreds of systems have many pairs.
    extreme, squares = np.zeros(observed.shape), np.zeros(observed.shape)
    rng = np.random.default_rng(seed)
    for block in _blocks(samples, units):
        moved = _products(
            rng.integers(2, size=(block, units), dtype=bool).astype(np.float64), systems
        )
        for row, (first, second) in enumerate(pairs):
            change = moved[second][0] - moved[first][0]
            distances = np.abs(compute(totals[first] + change) - compute(totals[second] - change))
            extreme[row] += np.count_nonzero(distances >= observed[row] - _CLOSE, axis=0)
            squares[row] += (distances**2).sum(axis=0)  # NaN where a score is undefined
    p_values = (extreme + 1) / (samples + 1)
    if tests > samples / FLOOR_TESTS:
        with np.errstate(divide="ignore", invalid="ignore"):
            bound = np.maximum(
                2 * np.exp(-(observed**2) / (2 * squares / samples)), 2.0 ** max(1 - units, -1000)
            )
        p_values = np.where(extreme == 0, np.fmin(p_values, bound), p_values)
    p_values = np.where(np.isnan(squares + observed), np.nan, p_values)
    return [[None if math.isnan(p) else p for p in of_pair] for of_pair in p_values.tolist()]


def calibrated_test(runs: Sequence[int], clustered: bool = False) -> str:
    """The calibrated test for these numbers of runs.

    Approximate randomisation if each system has one run and examples are not in clusters, else
    Student's t with variance components (``variance_components.py``).
    """
    return "randomization" if set(runs) == {1} and not clustered else SEVERAL_RUNS


def mcnemar_p(system: np.ndarray, baseline: np.ndarray) -> float:
    """McNemar's exact test of two 0/1 arrays: the two-sided binomial test on the units where they
    differ.
    """
    wins, losses = np.count_nonzero(system > baseline), np.count_nonzero(system < baseline)
    return sign_test(int(wins), int(losses))


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's (1979) adjusted p-values of a family of tests; None stays None and is not counted."""

    def step_down(p: np.ndarray) -> np.ndarray:
        """Each by the number of tests that are left, and none below the one before it."""
        remaining_tests = np.arange(len(p), 0, -1)
        return np.maximum.accumulate(p * remaining_tests)

    return _adjusted(p_values, step_down)


def false_discovery(p_values: Sequence[float | None]) -> list[float | None]:
    """Benjamini and Hochberg's (1995) adjusted p-values; None is ignored."""

    def step_up(p: np.ndarray) -> np.ndarray:
        """Each by the number of tests over its rank, and none above the one after it."""
        ranks = np.arange(1, len(p) + 1)
        from_largest = np.minimum.accumulate((p * len(p) / ranks)[::-1])
        return from_largest[::-1]

    return _adjusted(p_values, step_up)


def _adjusted(
    p_values: Sequence[float | None], adjust: Callable[[np.ndarray], np.ndarray]
) -> list[float | None]:
    """The p-values that are not None, adjusted in rising order; at most 1."""
    tested = sorted((p, index) for index, p in enumerate(p_values) if p is not None)
    rising = np.array([p for p, _ in tested])
    adjusted: list[float | None] = [None] * len(p_values)
    for (_, index), p in zip(tested, adjust(rising).tolist(), strict=True):
        adjusted[index] = min(1.0, p)
    return adjusted


def sign_test(wins: int, losses: int) -> float:
    """The p-value of the exact two-sided sign test."""
    total = int(wins + losses)  # numbers of NumPy overflow
    tail = sum(math.comb(total, count) for count in range(min(wins, losses) + 1))
    return min(1.0, 2 * tail / 2**total)


def seeds_p_values(
    first: np.ndarray, second: np.ndarray, examples: np.ndarray, *, shared_seeds: bool = False
) -> np.ndarray | None:
    """Two-sided p-values of many differences between two systems, such as those of every n-gram,
    against the chance of seeds, float64 ``[differences]``.

    The variance of two or three runs is often zero by luck, and the smallest of thousands of
    variances always is. So the variance of each difference is at least the mean over similar
    differences, with degrees of freedom from how much these variances vary, as in the moderated t
    of Smyth (2004, "Linear models and empirical Bayes methods for assessing differential
    expression").

    :param first: values of one system's runs, ``[differences, a]``; ``second``: of the other's,
        ``[differences, b]``.
    :param examples: of each difference; those with similar numbers share a variance.
    :param shared_seeds: run i of both systems has the same seed.
    :returns: None if each system has a single run.
    """
    from scipy.special import stdtr

    if first.shape[1] == second.shape[1] == 1:
        return None
    if not len(first):
        return np.zeros(0)
    spreads = [first - second] if shared_seeds else [first, second]
    weight = sum(1 / values.shape[1] for values in spreads)
    squares = sum(
        ((values - values.mean(axis=1, keepdims=True)) ** 2).sum(axis=1) for values in spreads
    )
    degrees = sum(values.shape[1] - 1 for values in spreads)
    variance = np.asarray(squares / degrees)
    least, more_degrees = np.zeros(len(variance)), np.zeros(len(variance))
    order = np.argsort(examples, kind="stable")
    for rows in np.array_split(order, max(1, len(order) // SIMILAR)):
        mean = variance[rows].mean()
        least[rows] = mean
        # Of an F distribution, the squared coefficient of variation is 2 (d + e - 2) / (d (e - 4));
        # solve for e.
        excess = degrees * variance[rows].var() / mean**2 - 2 if mean > 0 else 0.0
        more_degrees[rows] = (
            (4 * (excess + 2) + 2 * degrees - 4) / excess if excess > 1e-9 else np.inf
        )
    distance = np.abs(first.mean(axis=1) - second.mean(axis=1))
    error = np.sqrt(np.maximum(variance, least) * weight)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(distance == 0, 1.0, 2 * stdtr(degrees + more_degrees, -distance / error))

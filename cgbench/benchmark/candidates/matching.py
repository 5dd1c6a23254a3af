"""Match a control set to a test set: the covariates, the greedy choice, and the balance achieved.

Pairs are matched on the covariates that make a sentence hard apart from its combinations: on both
sides, the length, the mean frequency of the words, and the frequency of the rarest word. The
balance is the usual table of matched studies (Austin 2011, "An Introduction to Propensity Score
Methods", section "Balance diagnostics"): the two means of each covariate, their standardised
difference, the ratio of the variances and the Kolmogorov-Smirnov statistic. A difference below 0.1
counts as negligible; equal means can hide different spreads, which the last two show.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from cgbench.benchmark.measure.known_ngrams.vocabulary import Vocabulary
from cgbench.text.blocks import join_blocks

LENGTHS = ("source_length", "target_length")
RAREST = ("source_rarest", "target_rarest")
LOG_COUNTS = ("source_log_count", "target_log_count")
COVARIATES = (*LENGTHS, *LOG_COUNTS, *RAREST)
BALANCED = 0.1
SHOWN = {
    "source_length": "words of the source",
    "target_length": "words of the target",
    "source_log_count": "source: mean log count of its words",
    "target_log_count": "target: mean log count of its words",
    "source_rarest": "source: log count of its rarest word",
    "target_rarest": "target: log count of its rarest word",
}

STEPS = 64  # per unit of the binary logarithm
_STEP = 0.6931471805599453 / STEPS  # in natural logarithms


class Frequency(NamedTuple):
    """Of each sentence: the count of its rarest word, int64 ``[lines]`` (0 if that word is unknown,
    or there are no words), and the mean natural logarithm of its words' counts, float64
    ``[lines]``."""

    rarest: np.ndarray
    log_count: np.ndarray


def _steps(counts: np.ndarray) -> np.ndarray:
    """The logarithms of counts in units of :data:`_STEP` (0 counts as 1), exact to 0.011 and from
    whole numbers alone.

    A library's logarithm may differ in its last digit between processors, and so would a draw that
    depends on it.
    """
    values, positions = np.unique(counts, return_inverse=True)
    steps = [(max(1, value) ** STEPS).bit_length() - 1 for value in values.tolist()]
    return np.array(steps, np.int64)[positions]


def word_frequency(vocabulary: Vocabulary, lines: Sequence[str]) -> Frequency:
    """The frequency of the words of each line in the text that ``vocabulary`` was learned from."""
    word_counts = np.append(vocabulary.counts, 0)
    steps = _steps(word_counts)
    rarest, log_count = [np.zeros(0, np.int64)], [np.zeros(0)]
    for block in join_blocks(lines):
        ids, lengths = vocabulary.read(block)
        lowest, total = np.zeros((2, len(lengths)), np.int64)
        if len(ids):
            filled = np.flatnonzero(lengths)
            begins = (np.cumsum(lengths, dtype=np.int64) - lengths)[filled]
            known = np.minimum(ids, len(vocabulary))
            lowest[filled] = np.minimum.reduceat(word_counts[known], begins)
            total[filled] = np.add.reduceat(steps[known], begins)
        rarest.append(lowest)
        log_count.append(total / np.maximum(lengths, 1) * _STEP)
    return Frequency(np.concatenate(rarest), np.concatenate(log_count))


def covariates_of(columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The covariates (:data:`COVARIATES`) with columns, float64 ``[pairs]`` by name. Counts of the
    rarest words become logarithms."""
    covariates = {name: np.asarray(columns[name]) for name in COVARIATES if name in columns}
    return {
        name: _steps(row) * _STEP if name in RAREST else row.astype(np.float64)
        for name, row in covariates.items()
    }


def balance(
    test: Mapping[str, np.ndarray], control: Mapping[str, np.ndarray]
) -> list[dict[str, Any]]:
    """A row per covariate, which compares its distribution in the test set and in the control set.

    The means ``test`` and ``control``; ``difference``, control minus test in units of their pooled
    standard deviation, None if both are constant and differ; ``variance_ratio``, test over control,
    None if the control set is constant; and ``ks``, the Kolmogorov-Smirnov statistic: the largest
    difference of the cumulative shares, from 0 to 1.

    :param test: of :func:`covariates_of`, as ``control``. Neither is empty.
    """
    rows: list[dict[str, Any]] = []
    for name in test:
        test_mean, test_variance = _mean_and_variance(test[name])
        control_mean, control_variance = _mean_and_variance(control[name])
        deviation, shift = (
            math.sqrt((test_variance + control_variance) / 2),
            control_mean - test_mean,
        )
        rows.append(
            {
                "covariate": name,
                "test": round(test_mean, 6),
                "control": round(control_mean, 6),
                "difference": round(shift / deviation, 6) if deviation else None if shift else 0.0,
                "variance_ratio": (
                    round(test_variance / control_variance, 6) if control_variance else None
                ),
                "ks": round(_kolmogorov_smirnov(test[name], control[name]), 6),
            }
        )
    return rows


HEAD = ("", "test", "control", "diff.", "variance", "KS")


def shown_balance(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """The cells of a table of :func:`balance`, with the header :data:`HEAD`."""
    return [
        (
            SHOWN[row["covariate"]],
            *(f"{row[name]:.2f}" for name in ("test", "control")),
            "-" if row["difference"] is None else f"{round(row['difference'], 3) + 0.0:.3f}",
            "-" if row["variance_ratio"] is None else f"{row['variance_ratio']:.2f}",
            f"{row['ks']:.3f}",
        )
        for row in rows
    ]


def worst(rows: Sequence[Mapping[str, Any]]) -> tuple[float, str]:
    """The largest absolute difference in a table of :func:`balance`, and its covariate; infinite
    for None.
    """
    differences = [
        (math.inf if row["difference"] is None else abs(row["difference"]), str(row["covariate"]))
        for row in rows
    ]
    return max(differences, default=(0.0, ""))


def _mean_and_variance(values: np.ndarray) -> tuple[float, float]:
    # math.fsum is exact: the result is the same for any order of the pairs and on any machine.
    mean = math.fsum(values.tolist()) / len(values)
    return mean, math.fsum(((values - mean) ** 2).tolist()) / max(1, len(values) - 1)


def _kolmogorov_smirnov(first: np.ndarray, second: np.ndarray) -> float:
    # Right of every value the two cumulative shares are exact; between values they do not change.
    values = np.concatenate((first, second))
    shares = [
        np.searchsorted(np.sort(sample), values, side="right") / len(sample)
        for sample in (first, second)
    ]
    return float(np.abs(shares[0] - shares[1]).max())


def scaled_covariates(
    test: Mapping[str, np.ndarray], *further_sets: Mapping[str, np.ndarray]
) -> list[np.ndarray]:
    """Covariates as points ``[pairs, covariates]``: lengths in words, the others in standard
    deviations of the test set. So one word of length counts as much as one standard deviation of
    frequency."""
    units = {
        name: 1.0 if name in LENGTHS else math.sqrt(_mean_and_variance(values)[1]) or 1.0
        for name, values in test.items()
    }
    return [
        np.stack([covariates[name] / units[name] for name in units], 1)
        for covariates in (test, *further_sets)
    ]


def match(test: np.ndarray, pool: np.ndarray) -> np.ndarray:
    """For each test pair one nearby pair of the pool, chosen greedily so that the differences
    cancel out.

    The test pairs farthest from the pool's mean choose first. Each takes the pair with the least
    sum of the squared distance and the squared sum of all differences so far, including this one.
    The nearest pair alone would always lie towards the pool's mean, and the means would differ.
    Sums run in a fixed order, so the choice is the same on every machine.

    :param test: of :func:`scaled_covariates`, ``[n, covariates]``; ``pool``: ``[m, covariates]``.
        The first of equally good pairs is taken.
    :returns: different places in ``pool``, in the order of the test pairs; fewer than ``n`` if the
        pool is smaller.
    """
    if not len(pool):
        return np.zeros(0, np.int64)
    middle = [math.fsum(column.tolist()) / len(pool) for column in pool.T]
    far = sum((column - mean) ** 2 for column, mean in zip(test.T, middle, strict=True))
    columns, free = [np.ascontiguousarray(column) for column in pool.T], np.zeros(len(pool))
    total = np.zeros(test.shape[1])
    order = np.argsort(-np.asarray(far), kind="stable")[: len(pool)]
    chosen = []
    for row in order.tolist():
        cost = free.copy()
        for column, value, so_far in zip(columns, test[row], total, strict=True):
            difference = column - value
            cost += difference * (difference + so_far)
        nearest = int(np.argmin(cost))
        free[nearest] = np.inf
        total += pool[nearest] - test[row]
        chosen.append(nearest)
    return np.array(chosen, np.int64)[np.argsort(order)]


@dataclass(frozen=True)
class MatchedControl:
    """A control set in the order of the pool: ``rows`` (a scan's columns and the counts of the
    rarest words, by name) and their texts; the number of pairs ``missing``; and ``balance``, one
    row per covariate (:func:`balance`).
    """

    rows: dict[str, np.ndarray]
    sources: list[str]
    targets: list[str]
    missing: int = 0
    balance: list[dict[str, Any]] = field(default_factory=list)

    @property
    def warning(self) -> str | None:
        """A warning if the pool could not supply a match: the largest difference, and the number of
        missing pairs.
        """
        problems = []
        difference, name = worst(self.balance)
        if difference >= BALANCED:
            problems.append(
                f"differs from the test set by {difference:.2f} standard deviations"
                f" ({SHOWN[name]}); below {BALANCED} is balanced"
            )
        if self.missing:
            problems.append(f"is {self.missing:,} pairs smaller than the test set")
        if not problems:
            return None
        return (
            f"control set: {' and '.join(problems)}; the pool has too few pairs like those of the"
            " test set"
        )

"""Match a control set to a test set: what its pairs are matched on, the greedy choice, and the balance it reaches.

Pairs are matched on what makes a sentence hard whatever its combinations: its length, how frequent its words are on
average, and how rare its rarest word is, of both sides. The balance is the table that studies with matched controls
report (Austin 2011, "An Introduction to Propensity Score Methods", section "Balance diagnostics"): of each covariate
the two means and their standardised difference, which below 0.1 is taken as negligible.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cgbench.text.blocks import join_blocks

if TYPE_CHECKING:
    from cgbench.benchmark.known_ngrams.vocabulary import Vocabulary

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

STEPS = 64  # of a logarithm, to the base of 2
_STEP = 0.6931471805599453 / STEPS  # in natural logarithms


class Frequency(NamedTuple):
    """Of each sentence: the count of its rarest word, int64 ``[lines]`` (0 for a word too rare to be known, and for a
    sentence without words), and the mean natural logarithm of its words' counts, float64 ``[lines]``."""

    rarest: np.ndarray
    log_count: np.ndarray


def log_counts(counts: np.ndarray) -> np.ndarray:
    """The natural logarithms of counts, float64 ``[n]``, of 0 as of 1: exact to 0.011, and by whole numbers alone.

    A library's logarithm may differ in its last digit between processors, and so would a draw that depends on it.
    """
    return _steps(counts) * _STEP


def _steps(counts: np.ndarray) -> np.ndarray:
    values, places = np.unique(counts, return_inverse=True)
    steps = [(max(1, value) ** STEPS).bit_length() - 1 for value in values.tolist()]
    return np.array(steps, np.int64)[places]


def word_frequency(vocabulary: Vocabulary, lines: Sequence[str]) -> Frequency:
    """How frequent the words of each line are in the text that ``vocabulary`` was learned from."""
    from cgbench.benchmark.overlap.units import Words

    words, held = Words(vocabulary), np.append(vocabulary.counts, 0)
    steps = _steps(held)
    rarest, log_count = [np.zeros(0, np.int64)], [np.zeros(0)]
    for block in join_blocks(lines):
        ids, lengths = words.read(block)
        lowest, total = np.zeros((2, len(lengths)), np.int64)
        if len(ids):
            filled = np.flatnonzero(lengths)
            begins = (np.cumsum(lengths, dtype=np.int64) - lengths)[filled]
            known = np.minimum(ids, len(vocabulary))
            lowest[filled] = np.minimum.reduceat(held[known], begins)
            total[filled] = np.add.reduceat(steps[known], begins)
        rarest.append(lowest)
        log_count.append(total / np.maximum(lengths, 1) * _STEP)
    return Frequency(np.concatenate(rarest), np.concatenate(log_count))


def covariates_of(columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What pairs are matched on, float64 ``[pairs]`` by name: those of :data:`COVARIATES` that there are columns for;
    the counts of the rarest words as logarithms."""
    found = {name: np.asarray(columns[name]) for name in COVARIATES if name in columns}
    return {name: log_counts(row) if name in RAREST else row.astype(np.float64) for name, row in found.items()}


def balance(test: Mapping[str, np.ndarray], control: Mapping[str, np.ndarray]) -> list[dict[str, Any]]:
    """A row for each covariate: its means in the test set and in the control set, and ``difference``, how much higher
    that of the control set is in units of their pooled standard deviation; None where both are constant and differ.

    :param test: of :func:`covariates_of`; ``control``: likewise. Neither is empty.
    """
    rows: list[dict[str, Any]] = []
    for name in test:
        (one, first), (other, second) = _mean_and_variance(test[name]), _mean_and_variance(control[name])
        spread = math.sqrt((first + second) / 2)
        difference = round((other - one) / spread, 6) if spread else None if other != one else 0.0
        rows.append({"covariate": name, "test": round(one, 6), "control": round(other, 6), "difference": difference})
    return rows


HEAD = ("", "test set", "control set", "difference")


def shown_balance(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """The cells of a table of :func:`balance`, under :data:`HEAD`."""
    return [
        (
            SHOWN[row["covariate"]],
            *(f"{row[name]:.2f}" for name in ("test", "control")),
            "-" if row["difference"] is None else f"{round(row['difference'], 3) + 0.0:.3f}",
        )
        for row in rows
    ]


def worst(rows: Sequence[Mapping[str, Any]]) -> tuple[float, str]:
    """The greatest difference of a table of :func:`balance`, without its sign, and its covariate; infinite for None."""
    found = [(math.inf if row["difference"] is None else abs(row["difference"]), str(row["covariate"])) for row in rows]
    return max(found, default=(0.0, ""))


def _mean_and_variance(values: np.ndarray) -> tuple[float, float]:
    # math.fsum is exact: the same figure for any order of the pairs and on any machine.
    mean = math.fsum(values.tolist()) / len(values)
    return mean, math.fsum(((values - mean) ** 2).tolist()) / max(1, len(values) - 1)


def scaled(test: Mapping[str, np.ndarray], *others: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """Covariates as points ``[pairs, covariates]`` between which distances are taken: lengths in words, the others in
    standard deviations of the test set. So a word more or less counts as much as a standard deviation of frequency,
    and pairs of the same lengths are preferred where there are any."""
    units = {
        name: 1.0 if name in LENGTHS else math.sqrt(_mean_and_variance(values)[1]) or 1.0
        for name, values in test.items()
    }
    return [np.stack([one[name] / units[name] for name in units], 1) for one in (test, *others)]


def match(test: np.ndarray, pool: np.ndarray) -> np.ndarray:
    """For each test pair one pair of the pool, near it, such that the differences cancel out; greedily.

    The test pairs that are farthest from the pool's mean choose first. Each takes the pair for which the squared
    distance and the squared sum of all differences so far, this one included, are together least: the nearest pair
    alone would always lie on the pool's side, and the means would differ. Sums run in a fixed order, so that every
    machine takes the same pairs.

    :param test: of :func:`scaled`, ``[n, covariates]``; ``pool``: ``[m, covariates]``, of equally good pairs the
        first is taken.
    :returns: places in ``pool``, at most ``n`` different ones.
    """
    if not len(pool):
        return np.zeros(0, np.int64)
    middle = [math.fsum(column.tolist()) / len(pool) for column in pool.T]
    far = sum((column - mean) ** 2 for column, mean in zip(test.T, middle, strict=True))
    columns, free = [np.ascontiguousarray(column) for column in pool.T], np.zeros(len(pool))
    total = np.zeros(test.shape[1])
    chosen = []
    for row in np.argsort(-np.asarray(far), kind="stable")[: len(pool)].tolist():
        cost = free.copy()
        for column, value, so_far in zip(columns, test[row], total, strict=True):
            difference = column - value
            cost += difference * (difference + so_far)
        place = int(np.argmin(cost))
        free[place] = np.inf
        total += pool[place] - test[row]
        chosen.append(place)
    return np.array(chosen, np.int64)


@dataclass(frozen=True)
class Control:
    """The pairs of a control set in the order of the pool: ``rows`` (a scan's columns and the counts of the rarest
    words, by name) and their texts; ``missing`` pairs are not to be had. ``balance``: a row for each covariate
    (:func:`balance`)."""

    rows: dict[str, np.ndarray]
    sources: list[str]
    targets: list[str]
    missing: int = 0
    balance: list[dict[str, Any]] = field(default_factory=list)

    @property
    def warning(self) -> str | None:
        """One line where the pool could not supply a match: the worst difference, and how many pairs are missing."""
        problems = []
        difference, name = worst(self.balance)
        if difference >= BALANCED:
            problems.append(
                f"differs from the test set by {difference:.2f} standard deviations ({SHOWN[name]}), where below "
                f"{BALANCED} is balanced"
            )
        if self.missing:
            problems.append(f"is {self.missing:,} pairs smaller than the test set")
        if not problems:
            return None
        return f"control set: {' and '.join(problems)}: the pool has too few pairs like those of the test set"

"""Ranks, areas under curves, cuts, and tables of them in Markdown."""

from collections.abc import Sequence
from typing import Any

import numpy as np


def ranks(values: np.ndarray) -> np.ndarray:
    """From 0, the lowest, to 1; ties share their mean."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - (counts + 1) / 2
    return middle[inverse] / max(1, len(values) - 1)


def auc(values: np.ndarray, noise: np.ndarray) -> float:
    """The probability that a noisy pair has a higher value than a good one, ties counted half."""
    place = ranks(values) * (len(values) - 1) + 1
    bad, good = int(noise.sum()), int((~noise).sum())
    return float((place[noise].sum() - bad * (bad + 1) / 2) / (bad * good))


def dropped(values: np.ndarray, share: float) -> np.ndarray:
    """Which are among the highest ``share``."""
    gone = np.zeros(len(values), bool)
    gone[np.argsort(-values, kind="stable")[: round(share * len(values))]] = True
    return gone


def table(rows: Sequence[Sequence[Any]], head: Sequence[str]) -> str:
    """Markdown; all but the first column to the right."""
    lines = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    return "\n".join([*lines, *("| " + " | ".join(map(str, row)) + " |" for row in rows)])


def spread(values: Sequence[float], form: str) -> str:
    """The mean, and the range where there are several."""
    mean = format(sum(values) / len(values), form)
    return (
        mean
        if len(values) == 1
        else f"{mean} ({format(min(values), form)} to {format(max(values), form)})"
    )


def mean_of(rows: Sequence[Sequence[float]]) -> list[float]:
    """The mean of each column."""
    return [sum(column) / len(rows) for column in zip(*rows, strict=True)]


def thirds(values: np.ndarray, of: np.ndarray) -> np.ndarray:
    """0, 1 or 2 for the lowest, middle and highest third of the rows ``of``; -1 for the others."""
    rows = np.flatnonzero(of)
    found = np.full(len(values), -1)
    found[rows[np.argsort(values[rows], kind="stable")]] = np.arange(len(rows)) * 3 // len(rows)
    return found

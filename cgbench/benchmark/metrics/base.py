"""What a metric is: sufficient statistics an example, a way from their sums to figures, and a signature.

Because every metric gives its figures from *sums* of statistics, resampling, permutation, bins and several runs are
written once, in ``significance.py`` and ``evaluation.py`` (the design of sacrebleu's ``metrics/base.py``).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cgbench import __version__


class Signature:
    """How a figure was made, as ordered ``key:value`` items, in a long and a short form.

    The keys ``bs``, ``ar`` and ``seed`` have their places reserved after the first item, as in sacrebleu, whose
    signatures are kept as they are (:meth:`cgbench.benchmark.metrics.bleu.SacreMetric.signature`).
    """

    def __init__(self, items: dict[str, Any], short: dict[str, str] | None = None, version: str | None = None) -> None:
        """``items`` by their long names; ``short`` names where they differ; ``version`` comes last."""
        first, *rest = items
        reserved = ("bs", "ar", "paired", "mcnemar", "runs", "seed")
        self.items = {first: items[first], **dict.fromkeys(reserved)}
        self.items |= {key: items[key] for key in rest}
        self.version = version
        self.names = {"seed": "rs", "version": "v", "runs": "r", **(short or {})}

    def format(self, short: bool = False) -> str:
        """The items that are not None, joined by ``|``."""
        pairs = [*self.items.items(), ("version", self.version or __version__)]
        return "|".join(
            f"{self.names.get(key, key) if short else key}:{_word(value)}" for key, value in pairs if value is not None
        )

    def __str__(self) -> str:
        return self.format()


def _word(value: Any) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


class Metric(ABC):
    """A score of hypotheses against what it was made with (references, compounds).

    ``figures`` names what :meth:`compute` gives, in percent; the first is the headline. ``joins_pieces``: marks of BPE
    pieces are removed. ``tokenises``: text is tokenised, so that it should not be so already. ``as_sacrebleu``:
    sacrebleu has a paired bootstrap for it, whose p-values are given for single runs.
    """

    name: str
    figures: tuple[str, ...]
    lower_is_better = False
    joins_pieces = False
    tokenises = False
    as_sacrebleu = False

    @property
    @abstractmethod
    def n(self) -> int:
        """The number of examples."""

    @abstractmethod
    def signature(self) -> Signature:
        """How the figures are made."""

    @abstractmethod
    def statistics(self, hypotheses: Sequence[str]) -> np.ndarray:
        """The sufficient statistics of each example, float64 ``[n, k]``."""

    def all_statistics(self, runs: Sequence[Sequence[str]]) -> list[np.ndarray]:
        """The statistics of many lists of hypotheses."""
        return [self.statistics(run) for run in runs]

    @abstractmethod
    def compute(self, sums: np.ndarray) -> np.ndarray:
        """Sums of statistics ``[m, k]`` as figures ``[m, len(figures)]``; NaN where one is undefined."""

    def collect(self, statistics: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """The statistics of the examples ``rows``, one row a *unit*: what is resampled and permuted as a whole."""
        return statistics[rows]

    def outcomes(self, statistics: np.ndarray, rows: np.ndarray) -> dict[str, np.ndarray] | None:
        """For 0/1 metrics, the figure's 0 or 1 of each of its units, by figure; else None."""
        return None

    def describe(self, sums: np.ndarray) -> str:
        """More about a figure in the metric's own form (BLEU: precisions and brevity penalty)."""
        return ""

    @abstractmethod
    def per_example(self, hypotheses: Sequence[str], statistics: np.ndarray) -> list[dict[str, Any]]:
        """A row an example for ``--per-example``, the same keys in each."""

    def value(self, statistics: np.ndarray) -> np.ndarray:
        """The figures of a whole corpus, ``[len(figures)]``."""
        return self.compute(self.collect(statistics, np.arange(self.n)).sum(axis=0, keepdims=True))[0]


@dataclass(frozen=True)
class Estimate:
    """One figure of one system: the mean of its runs, and what is known of its uncertainty.

    ``stdev`` is the sample standard deviation of the runs; the interval is of 95 %; ``difference`` and the p-values are
    against the baseline (``p_holm``: adjusted for all comparisons of its family). None: not asked for, or not defined.
    """

    value: float | None
    runs: tuple[float, ...] = ()
    stdev: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    ci_mean: float | None = None
    difference: float | None = None
    p_value: float | None = None
    p_holm: float | None = None

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
from cgbench.errors import InputError
from cgbench.text.hypothesis_form import Reading


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
    sacrebleu has a paired bootstrap for it, whose p-values and intervals are given for single runs. ``bottom`` and
    ``top``: the lowest and the highest value of a figure, None for no limit. ``of_texts``: hypotheses are texts that
    people can read, not scores from elsewhere. ``notes``: lines for the user about how the figures came about.
    ``control``: the same metric of a control set, where both were made before. ``reading``: how it reads text, for the
    check that hypotheses are written as references are; None, where there are no references. ``normalised``: how
    hypotheses were normalised before, in a signature.
    """

    name: str
    figures: tuple[str, ...]
    lower_is_better = False
    joins_pieces = False
    tokenises = False
    as_sacrebleu = False
    bottom: float | None = 0.0
    top: float | None = 100.0
    of_texts = True
    width = 1  # decimals shown where nobody says how many
    notes: tuple[str, ...] = ()
    control: Metric | None = None
    reading: Reading | None = None
    normalised: str | None = None

    @property
    @abstractmethod
    def n(self) -> int:
        """The number of examples."""

    @abstractmethod
    def signature(self) -> Signature:
        """How the figures are made."""

    @abstractmethod
    def statistics(self, hypotheses: Sequence[str]) -> np.ndarray:
        """The sufficient statistics of each example, float64 ``[n, k]``.

        :raises InputError: as :meth:`check_hypotheses` does.
        """

    def check_hypotheses(self, hypotheses: Sequence[str]) -> None:
        """Check that there is a hypothesis for each example, before any statistics are made.

        :raises InputError: there are more or fewer, or one string where a list of them is needed.
        """
        if isinstance(hypotheses, str):
            raise InputError("hypotheses is one string, where a list with one string an example is needed")
        if len(hypotheses) != self.n:
            raise InputError(
                f"hypotheses has {len(hypotheses):,} strings, and {self.name} was made for {self.n:,} examples: "
                "one is needed for each, in the same order"
            )

    def all_statistics(self, runs: Sequence[Sequence[str]]) -> list[np.ndarray]:
        """The statistics of many lists of hypotheses."""
        return [self.statistics(run) for run in runs]

    @abstractmethod
    def compute(self, sums: np.ndarray) -> np.ndarray:
        """Sums of statistics ``[m, k]`` as figures ``[m, len(figures)]``; NaN where one is undefined."""

    def counted(self, rows: np.ndarray) -> np.ndarray:
        """Those of the examples ``rows`` that count: all, unless scores from elsewhere lack some."""
        return rows

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
        return self.compute(self.collect(statistics, self.counted(np.arange(self.n))).sum(axis=0, keepdims=True))[0]


def check_references(references: Sequence[Sequence[str]]) -> None:
    """Check that references are lists, one an example, of one string or more.

    :raises InputError: one of them is a string or empty; sacrebleu's order, a list a stream, cannot be told from ours.
    """
    for number, example in enumerate(references):
        if isinstance(example, str) or not example:
            what = "a string" if isinstance(example, str) else "empty"
            raise InputError(
                f"references[{number}] is {what}, where a list of the references of that example is needed"
            )


@dataclass(frozen=True)
class Pair:
    """A figure's difference from that of the system ``against``, and its p-values, as :class:`Estimate` has them."""

    against: str
    difference: float
    p_value: float | None = None
    p_holm: float | None = None
    p_calibrated: float | None = None
    p_calibrated_holm: float | None = None
    difference_low: float | None = None
    difference_high: float | None = None

    @property
    def p_star(self) -> float | None:
        """What decides whether a difference has its star: Holm's p-value of the calibrated test."""
        return self.p_holm if self.p_calibrated is None else self.p_calibrated_holm


@dataclass(frozen=True)
class Estimate:
    """One figure of one system: the mean of its runs, and what is known of its uncertainty.

    ``stdev`` is the sample standard deviation of the runs; the interval is of 95 %; ``difference`` and the p-values are
    against the baseline (``p_holm``: adjusted for all comparisons of its family). None: not asked for, or not defined.
    ``pairs``: where all systems are compared with all, against each of the systems before this one.
    ``p_calibrated``: by the test that holds its level, where p-values by sacrebleu's rule were asked for.
    ``difference_low``, ``difference_high``: the 95 % interval of the difference, where a system has several runs; zero
    is outside exactly where ``p_value`` is below 0.05.
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
    pairs: tuple[Pair, ...] = ()
    p_calibrated: float | None = None
    p_calibrated_holm: float | None = None
    difference_low: float | None = None
    difference_high: float | None = None

    @property
    def p_star(self) -> float | None:
        """What decides whether a difference has its star: Holm's p-value of the calibrated test."""
        return self.p_holm if self.p_calibrated is None else self.p_calibrated_holm

"""What a metric is: sufficient statistics of each example, a way from their sums to figures, and a signature.

Because every metric gives its figures from *sums* of statistics, resampling, permutation, bins and several runs are
written once, in ``significance.py`` and ``comparison.py`` (the design of sacrebleu's ``metrics/base.py``).
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cgbench import __version__
from cgbench.benchmark.metrics.bins import Feature
from cgbench.errors import InputError
from cgbench.text.columns import Column
from cgbench.text.hypothesis_form import Reading


class Signature:
    """How a figure was made, as ordered ``key:value`` items, in a long and a short form.

    The keys ``bs``, ``ar`` and ``seed`` have their places reserved after the first item, as in sacrebleu, whose
    signatures are kept as they are (:meth:`cgbench.benchmark.metrics.bleu.SacreMetric.signature`).
    """

    def __init__(self, items: dict[str, Any], short: dict[str, str] | None = None, version: str | None = None) -> None:
        """``items`` by their long names; ``short`` names where they differ; ``version`` comes last."""
        first, *rest = items
        reserved = ("clusters", "bs", "ar", "paired", "mcnemar", "runs", "seed")
        self.items = {first: items[first], **dict.fromkeys(reserved)}
        self.items |= {key: items[key] for key in rest}
        self.version = version
        self.names = {"seed": "rs", "version": "v", "runs": "r", "clusters": "cl", **(short or {})}

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


@dataclass(frozen=True)
class Clusters:
    """Which examples belong together: ``labels`` int64 ``[n]``, a number per example, one way or two; ``names``."""

    names: tuple[str, ...]
    labels: tuple[np.ndarray, ...]

    def of_rows(self, rows: np.ndarray) -> list[np.ndarray]:
        """The labels of some examples, numbered from 0; with two ways, then those of both together."""
        ways = [np.unique(labels[rows], return_inverse=True)[1] for labels in self.labels]
        if len(ways) == 2:
            ways.append(np.unique(ways[0] * (ways[1].max() + 1) + ways[1], return_inverse=True)[1])
        return ways

    def signature(self) -> str:
        """Names and numbers of clusters: ``document(40)``."""
        return "+".join(
            f"{name}({len(np.unique(labels))})" for name, labels in zip(self.names, self.labels, strict=True)
        )


@dataclass(frozen=True)
class ExampleTexts:
    """The texts that a metric is made for, one per example: ``references`` (of each example a list, one or more),
    ``sources`` and ``compounds``; empty or None where none are given."""

    references: Sequence[Sequence[str]] = ()
    sources: Column | None = None
    compounds: Column | None = None


class Metric(ABC):
    """A score of hypotheses against what it was made with (references, compounds).

    A metric of your own needs :meth:`statistics`; intervals, tests, bins, seeds and control sets come from these
    (docs/how-to/add-a-metric.md). It may be more than the defaults here say:

    ``figures`` names what :meth:`compute` gives, in percent; the first is the headline. ``needs``: the texts that it is
    made for, ``references`` or ``sources``. ``joins_pieces``: marks of BPE pieces are removed. ``tokenises``: text is
    tokenised, so that it should not be so already. ``as_sacrebleu``: sacrebleu has a paired bootstrap for it, whose
    p-values and intervals are given for single runs. ``bottom`` and ``top``: the lowest and the highest value of a
    figure, None for no limit. ``of_texts``: hypotheses are texts that people can read, not scores from elsewhere.
    ``notes``: lines for the user about how the figures came about. ``control``: the same metric of a control set, where
    both were made before. ``reading``: how it reads text, for the check that hypotheses are written as references are;
    None for no check. ``normalised``: how hypotheses were normalised before, in a signature. ``clusters``: which
    examples belong together, and so vary together.
    """

    name: str
    figures: tuple[str, ...] = ("score",)
    needs = "references"
    lower_is_better = False
    joins_pieces = False
    tokenises = False
    as_sacrebleu = False
    bottom: float | None = 0.0
    top: float | None = 100.0
    of_texts = True
    unit = ""  # of its figures, for pages: "%"
    width = 1  # decimals shown where nobody says how many
    notes: tuple[str, ...] = ()
    control: Metric | None = None
    reading: Reading | None = None
    normalised: str | None = None
    clusters: Clusters | None = None

    def __init__(self, references: Sequence[Sequence[str]]) -> None:
        """``references``: those of each example, one or more."""
        check_references(references)
        self.references: Sequence[Any] = references

    @classmethod
    def make(cls, texts: ExampleTexts, **options: Any) -> Metric:
        """The metric for these texts.

        :raises InputError: a text is missing, or an option does not fit.
        """
        return cls(texts.references, **options)

    @classmethod
    def options(cls) -> tuple[list[str], bool]:
        """The options that :meth:`make` takes by name, and whether it takes any others."""
        makes = [vars(one).get("make") or vars(one).get("__init__") for one in cls.__mro__]
        names: list[str] = []
        for function in filter(None, makes):
            parameters = inspect.signature(getattr(function, "__func__", function)).parameters.values()
            names += [one.name for one in parameters if one.kind is one.KEYWORD_ONLY]
            if not any(one.kind is one.VAR_KEYWORD for one in parameters):
                return names, False
        return names, True

    def label(self, figure: str) -> str:
        """A figure with the name of the metric; the name alone where it has no other figure."""
        return f"{self.name} {figure}" if len(self.figures) > 1 else self.name

    def axis(self, figure: str) -> str:
        """A figure with its unit, for charts and pages."""
        return self.label(figure) + (f" ({self.unit})" if self.unit else "")

    @property
    def n(self) -> int:
        """The number of examples."""
        return len(self.references)

    def signature(self) -> Signature:
        """How the figures are made."""
        counts = {len(example) for example in self.references}
        return Signature({"nrefs": counts.pop() if len(counts) == 1 else "var"}, {"nrefs": "#"})

    @abstractmethod
    def statistics(self, hypotheses: Sequence[str]) -> np.ndarray:
        """The sufficient statistics of each example, float64 ``[n, k]``: what :meth:`compute` makes figures from.

        :raises InputError: as :meth:`check_hypotheses` does.
        """

    def check_hypotheses(self, hypotheses: Sequence[str]) -> None:
        """Check that there is a hypothesis for each example, before any statistics are made.

        :raises InputError: there are more or fewer, or one string where a list of them is needed.
        """
        if isinstance(hypotheses, str):
            raise InputError("hypotheses is one string, where a list with one string per example is needed")
        if len(hypotheses) != self.n:
            raise InputError(
                f"hypotheses has {len(hypotheses):,} strings, and {self.name} was made for {self.n:,} examples: "
                "one is needed for each, in the same order"
            )

    def all_statistics(self, runs: Sequence[Sequence[str]]) -> list[np.ndarray]:
        """The statistics of many lists of hypotheses."""
        return [self.statistics(run) for run in runs]

    def compute(self, sums: np.ndarray) -> np.ndarray:
        """Sums of statistics ``[m, k]`` as figures ``[m, len(figures)]``; NaN where one is undefined.

        By default the share of the first in the second statistic, in percent.
        """
        with np.errstate(invalid="ignore"):
            return 100 * sums[:, :1] / sums[:, 1:]

    def counted(self, rows: np.ndarray) -> np.ndarray:
        """Those of the examples ``rows`` that count: all, unless scores from elsewhere lack some."""
        return rows

    def collect(self, statistics: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """The statistics of the examples ``rows``, one row per *unit*: what is resampled and permuted as a whole."""
        return statistics[rows]

    def collect_clusters(self, statistics: np.ndarray, rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """The sums of the statistics of the examples ``rows`` by cluster, ``[clusters, k]``.

        :param labels: the cluster of each of the rows, from 0.
        """
        return np.stack([np.bincount(labels, column) for column in statistics[rows].T], axis=1)

    def outcomes(self, statistics: np.ndarray, rows: np.ndarray) -> dict[str, np.ndarray] | None:
        """For 0/1 metrics, the figure's 0 or 1 of each of its units, by figure; else None."""
        return None

    def describe(self, sums: np.ndarray) -> str:
        """More about a figure in the metric's own form (BLEU: precisions and brevity penalty)."""
        return ""

    def details(self, sums: np.ndarray) -> dict[str, float]:
        """The parts of a figure by name (BLEU: brevity penalty, length ratio, precisions), for the report page."""
        return {}

    def per_example(self, hypotheses: Sequence[str], statistics: np.ndarray) -> list[dict[str, Any]]:
        """A row per example for ``--per-example``, the same keys in each."""
        return [{"score": value} for value in self.compute(statistics)[:, 0].tolist()]

    def feature(self, name: str) -> Feature | None:
        """A value per example that only this metric knows, for breaking down; None where it has none of that name."""
        return None

    def published_benchmark(self) -> str | None:
        """The benchmark whose published results go with these options, if there is one."""
        return None

    def findings(
        self, runs: Sequence[Sequence[str]], statistics: Sequence[np.ndarray], human: Column | None
    ) -> dict[str, Any]:
        """What it finds of a system beside its figures, for JSON: of CTER ``by_type``, ``errors`` and ``human``."""
        return {}

    def warnings(self, systems: Mapping[str, Sequence[Sequence[str]]], paired: str | None) -> list[str]:
        """Lines about hypotheses (the runs of each system) or a test that this metric does not go with."""
        return []

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

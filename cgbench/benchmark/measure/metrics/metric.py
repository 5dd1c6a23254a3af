"""The base class of metrics: sufficient statistics of each example, scores from their sums, and a
signature.

Since every metric computes its scores from *sums* of statistics, resampling, permutation, bins and
several runs are implemented once, in ``significance.py`` and ``comparison.py`` (as in sacrebleu's
``metrics/base.py``).
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import numpy as np

from cgbench import __version__
from cgbench.argument_types import Name
from cgbench.benchmark.measure.metrics.bins import Feature
from cgbench.errors import InputError
from cgbench.records import Record
from cgbench.request import KW_ONLY, Request, leaves_of, option
from cgbench.request_fields import Field
from cgbench.text.columns import Column
from cgbench.text.hypothesis_form import Reading


class Signature:
    """How a score was computed, as ordered ``key:value`` items, in a long and a short form.

    The keys ``bs``, ``ar`` and ``seed`` follow the first item, as in sacrebleu, whose signatures
    are not changed (:meth:`cgbench.benchmark.measure.metrics.bleu_chrf_ter.SacreMetric.signature`).
    """

    def __init__(
        self, items: dict[str, Any], short: dict[str, str] | None = None, version: str | None = None
    ) -> None:
        """``items`` by long name; ``short``: short names that differ; ``version`` comes last."""
        first, *further = items
        reserved = ("clusters", "bs", "ar", "paired", "mcnemar", "runs", "seed")
        self.items = {first: items[first], **dict.fromkeys(reserved)}
        self.items |= {key: items[key] for key in further}
        self.version = version
        self.names = {"seed": "rs", "version": "v", "runs": "r", "clusters": "cl", **(short or {})}

    def format(self, short: bool = False) -> str:
        """The items that are not None, joined by ``|``."""
        pairs = [*self.items.items(), ("version", self.version or __version__)]
        return "|".join(
            f"{self.names.get(key, key) if short else key}:{_word(value)}"
            for key, value in pairs
            if value is not None
        )

    def __str__(self) -> str:
        return self.format()


def _field_of(name: str, default: bool | float) -> Field:
    """A setting with the type of its default."""
    kind = type(default)
    return Field(
        name,
        type=kind,
        types=(kind,),
        default=default,
        required=False,
        takes_none=False,
        choices=(),
        kind=None,
        is_setting=True,
        option=f"--set {name}",
    )


def _word(value: Any) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


class ExampleTexts(Record):
    """The texts of a metric, one per example: ``references`` (one or more for each example),
    ``sources``, ``compounds``; empty or None if not given."""

    references: Sequence[Sequence[str]] = ()
    sources: Column | None = None
    compounds: Column | None = None


class MetricOptions(Request):
    """Options that several metrics have, as the command line shows them; a metric has those that
    :meth:`Metric.make` names."""

    _: KW_ONLY
    preset: Literal["sacrebleu", "react", "cognition", "lexicon", "cfq"] | None = option(
        "--preset",
        default=None,
        help="Score as the script of a paper does: react, cognition or lexicon; cfq: compare"
        " queries without the order of their clauses",
        group="Metric",
    )
    tokenize: Name | None = option(
        "--tokenize",
        default=None,
        help="Tokeniser of sacrebleu [default: 13a]",
        group="Metric",
        metavar="NAME",
    )
    lowercase: bool = option(
        "--lowercase",
        default=False,
        help="Ignore case",
        group="Metric",
    )
    jobs: int = option(
        "--set jobs",
        default=1,
        help="Number of processes for large input, which does not change the scores",
        least=1,
    )


class Metric(ABC):
    """A metric scores hypotheses against fixed texts (references, compounds).

    Your own metric needs only :meth:`statistics`; intervals, tests, bins, seeds and control sets
    are derived from it (docs/how-to/add-a-metric.md). Other attributes have defaults:

    ``figures``: names of the scores of :meth:`compute`, in percent; the first is the main one.
    ``one_family``: a test of any of these counts as one of several, in Holm's correction.
    ``chosen``: the options that it was made with, for the signature.
    ``needs``: ``references`` or ``sources``. ``joins_pieces``: BPE marks are removed.
    ``tokenises``: text is tokenised, so it should not be tokenised already. ``as_sacrebleu``: use
    sacrebleu's paired bootstrap, p-values and intervals for single runs. ``bottom`` and ``top``:
    the lowest and highest possible score, None for no limit. ``of_texts``: hypotheses are texts,
    not external scores. ``notes``: lines for the user about how the scores were computed.
    ``reading``: how it reads text, for the check that hypotheses have the form of references; None
    for no check. ``option_types``: a request whose fields are the types and help of its options.
    ``feature_units``: the features of examples that only it has, with their units, in the order of
    pages.
    """

    name: str
    figures: tuple[str, ...] = ("score",)
    one_family = False
    chosen: Mapping[str, Any] = MappingProxyType({})
    needs = "references"
    lower_is_better = False
    joins_pieces = False
    tokenises = False
    as_sacrebleu = False
    bottom: float | None = 0.0
    top: float | None = 100.0
    of_texts = True
    unit = ""  # of its scores, for pages: "%"
    width = 1  # default number of decimals
    notes: tuple[str, ...] = ()
    reading: Reading | None = None
    feature_units: Mapping[str, str] = MappingProxyType({})
    option_types: ClassVar[type] = MetricOptions

    def __init__(self, references: Sequence[Sequence[str]]) -> None:
        """
        :param references: a non-empty list of strings for each example (not one list per stream, as
            in sacrebleu).
        :raises InputError: an item is a string or empty.
        """
        for example_number, example in enumerate(references):
            if isinstance(example, str) or not example:
                problem = "a string" if isinstance(example, str) else "empty"
                raise InputError(
                    f"references[{example_number}] is {problem}; give a list with the references of"
                    " that example"
                )
        self.references: Sequence[Any] = references

    @classmethod
    def make(cls, texts: ExampleTexts, **options: Any) -> Metric:
        """The metric for these texts.

        :raises InputError: a text is missing, or an option is invalid.
        """
        return cls(texts.references, **options)

    @classmethod
    def options(cls) -> tuple[dict[str, Any], bool]:
        """The named options of :meth:`make` with their defaults, and whether it accepts others."""
        makes = [vars(base).get("make") or vars(base).get("__init__") for base in cls.__mro__]
        defaults: dict[str, Any] = {}
        for function in filter(None, makes):
            parameters = inspect.signature(
                getattr(function, "__func__", function)
            ).parameters.values()
            defaults |= {
                parameter.name: parameter.default
                for parameter in parameters
                if parameter.kind is parameter.KEYWORD_ONLY
            }
            if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
                return defaults, False
        return defaults, True

    @classmethod
    def option_fields(cls) -> dict[str, Field]:
        """The options whose type is known, by name: those of ``option_types`` that :meth:`make`
        has, its others by their defaults (True or False, a number), and texts of the metric.
        """
        defaults, _ = cls.options()
        described = leaves_of(cls.option_types)
        by_default = {
            name: _field_of(name, default)
            for name, default in defaults.items()
            if name not in described and isinstance(default, (bool, int, float))
        }
        names = {*defaults, "compounds", "human"}
        return {name: field for name, field in described.items() if name in names} | by_default

    @classmethod
    def has_option(cls, name: str) -> bool:
        """Whether the metric is known to have an option of this name."""
        return name in cls.options()[0] or name in cls.option_fields()

    def label(self, figure: str) -> str:
        """A score with the name of the metric; only the name if it gives one score."""
        return f"{self.name} {figure}" if len(self.figures) > 1 else self.name

    def limits(self, figure: str) -> tuple[float | None, float | None]:
        """The highest and the lowest possible value of a score, None for no limit."""
        return self.top, self.bottom

    def axis(self, figure: str) -> str:
        """A score with its unit, for charts and pages."""
        return self.label(figure) + (f" ({self.unit})" if self.unit else "")

    @property
    def n(self) -> int:
        """The number of examples."""
        return len(self.references)

    def signature(self) -> Signature:
        """How the scores are computed: the number of references, and the options."""
        counts = {len(example) for example in self.references}
        items = {"nrefs": counts.pop() if len(counts) == 1 else "var", **self.chosen}
        return Signature(items, {"nrefs": "#"})

    @abstractmethod
    def statistics(self, hypotheses: Sequence[str]) -> np.ndarray:
        """The sufficient statistics of each example, float64 ``[n, k]``, for :meth:`compute`.

        :raises InputError: as :meth:`check_hypotheses` does.
        """

    def check_hypotheses(self, hypotheses: Sequence[str]) -> None:
        """Check that there is one hypothesis per example.

        :raises InputError: there are more or fewer, or it is a single string.
        """
        if isinstance(hypotheses, str):
            raise InputError("hypotheses is one string, not a list with one string per example")
        if len(hypotheses) != self.n:
            raise InputError(
                f"hypotheses has {len(hypotheses):,} strings, but {self.name} has {self.n:,}"
                " examples: give one for each, in the same order"
            )

    def all_statistics(self, runs: Sequence[Sequence[str]]) -> list[np.ndarray]:
        """The statistics of many lists of hypotheses, as :meth:`checked` has them."""
        return [self.checked(self.statistics(run)) for run in runs]

    def checked(self, statistics: Any) -> np.ndarray:
        """What :meth:`statistics` returned, as float64 ``[n, k]``.

        :raises InputError: it is something else, or the numbers of an example that counts are not
            finite.
        """
        try:
            rows = np.asarray(statistics, np.float64)
        except (TypeError, ValueError):
            rows = np.empty(0)
        if rows.ndim != 2 or len(rows) != self.n:
            returned = f"an array of shape {list(np.shape(rows))}" if rows.size else "no numbers"
            raise InputError(
                f"{self.name}: statistics() returned {returned}; it must return a row of numbers"
                f" for each of the {self.n:,} examples"
            )
        counted = self.counted(np.arange(self.n))
        not_finite = counted[~np.isfinite(rows[counted]).all(axis=1)]
        if len(not_finite):
            raise InputError(
                f"{self.name}: statistics() returned {rows[not_finite[0]].tolist()} for example"
                f" {not_finite[0] + 1:,}; it must return finite numbers"
            )
        return rows

    def compute(self, sums: np.ndarray) -> np.ndarray:
        """Scores ``[m, len(figures)]`` from sums of statistics ``[m, k]``; NaN if undefined.

        By default the first statistic divided by the second, in percent.
        """
        with np.errstate(invalid="ignore"):
            return (
                100 * sums[:, 0::2] / sums[:, 1::2]
            )  # a second score is the third divided by the fourth

    def counted(self, rows: np.ndarray) -> np.ndarray:
        """The examples of ``rows`` that count: all, unless external scores are missing."""
        return rows

    def collect(self, statistics: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """The statistics of the examples ``rows``, one row per *unit* that is resampled and
        permuted as a whole.
        """
        return statistics[rows]

    def collect_clusters(
        self, statistics: np.ndarray, rows: np.ndarray, labels: np.ndarray
    ) -> np.ndarray:
        """The sums of the statistics of the examples ``rows`` by cluster, ``[clusters, k]``.

        :param labels: the cluster of each of the rows, from 0.
        """
        return np.stack([np.bincount(labels, column) for column in statistics[rows].T], axis=1)

    def outcomes(self, statistics: np.ndarray, rows: np.ndarray) -> dict[str, np.ndarray] | None:
        """For binary metrics, 0 or 1 for each unit, by score; else None."""
        return None

    def describe(self, sums: np.ndarray) -> str:
        """Details of a score in the metric's own format (BLEU: precisions and brevity penalty)."""
        return ""

    def details(self, sums: np.ndarray) -> dict[str, float]:
        """The parts of a figure by name (BLEU: brevity penalty, length ratio, precisions), for the
        report page.
        """
        return {}

    def per_example(
        self, hypotheses: Sequence[str], statistics: np.ndarray
    ) -> list[dict[str, Any]]:
        """One row per example for ``--per-example``, with the same keys."""
        return [{"score": value} for value in self.compute(statistics)[:, 0].tolist()]

    def example_scores(self, hypotheses: Sequence[str], statistics: np.ndarray) -> np.ndarray:
        """The score of each example, float64 ``[n]``: its sentence score if there is one, else 100
        (right) or 0.
        """
        rows = self.per_example(hypotheses, statistics)
        key = next(
            name
            for name in ("score", "correct", *rows[0])
            if isinstance(rows[0].get(name), (int, float))
        )
        return np.array([(100.0 if key == "correct" else 1.0) * float(row[key]) for row in rows])

    def reason(self, index: int, text: str) -> str:
        """Why an output of the example ``index`` counts as wrong, for the report page; empty if
        unknown.
        """
        return ""

    def feature(self, name: str) -> Feature | None:
        """A feature of examples specific to this metric, one of ``feature_units``, or None."""
        return None

    def cluster_labels(self) -> Mapping[str, Sequence[str]]:
        """Labels of the examples by the name of clusters that only this metric has; they are used
        unless others are named.
        """
        return {}

    def published_benchmark(self) -> str | None:
        """The benchmark whose published results are comparable with these options, if any."""
        return None

    def findings(
        self, runs: Sequence[Sequence[str]], statistics: Sequence[np.ndarray], human: Column | None
    ) -> dict[str, Any]:
        """Further results for JSON (CTER: ``by_type``, ``errors`` and ``human``)."""
        return {}

    def warnings(
        self, systems: Mapping[str, Sequence[Sequence[str]]], paired: str | None
    ) -> list[str]:
        """Warnings about hypotheses (the runs of each system) or a test that do not suit this
        metric.
        """
        return []

    def value(self, statistics: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """The scores of a whole corpus, or of the examples ``rows``, ``[len(figures)]``."""
        counted = self.counted(np.arange(self.n) if rows is None else rows)
        return self.compute(self.collect(statistics, counted).sum(axis=0, keepdims=True))[0]

"""Features of examples, for ``cgbench score --by NAME``: everything about one stands in its
:class:`ExampleFeature`.

The help, the checks and errors of ``--by``, the units on pages and the table in the documentation
are derived from :data:`FEATURES`. Studies and other packages add further features
(:mod:`cgbench.extensions`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from pathlib import Path
from typing import Protocol

import numpy as np

from cgbench.benchmark.measure.metrics.bins import COLUMN, Feature, feature_of_column, lengths
from cgbench.benchmark.measure.metrics.metric import Metric
from cgbench.benchmark.measure.metrics.registry import metrics_with_feature
from cgbench.errors import InputError, argument
from cgbench.extensions import Registry
from cgbench.records import Record
from cgbench.settings import did_you_mean
from cgbench.text.columns import Column, read_column
from cgbench.text.inputs import AnyPath, Texts, as_column
from cgbench.text.joins import NONE, Examples
from cgbench.text.plain_text import words_of
from cgbench.text.streams import form, split_name


class FeatureInputs(Record):
    """What features are made from.

    ``text``: the side measured by features of texts, if there is one; ``train``: the training text
    of that side; ``min_count``: the smallest count of a known n-gram in it; ``lm``: a language
    model; ``exposure``: a corpus that a model may have seen; ``table``: a table with one row per
    example; ``metric``: a metric, which may have its own features; ``columns``: what is known of
    each example without a table, by name (rater, document); ``examples``: to join the table with
    them.
    """

    text: Column | None = None
    train: Texts | None = None
    min_count: int = 3
    lm: AnyPath | None = None
    exposure: AnyPath | None = None
    table: AnyPath | None = None
    metric: Metric | None = None
    examples: Examples = field(default_factory=Examples)
    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def lines(self) -> list[str]:
        """The lines of the measured text."""
        assert self.text is not None  # ExampleFeature.of checks it
        return self.text.values

    def training(self) -> list[str]:
        """The lines of the training text.

        :raises InputError: it is empty.
        """
        return self._training

    @cached_property
    def _training(self) -> list[str]:
        """Read once, since the text may be standard input."""
        assert self.train is not None  # ExampleFeature.of checks it
        return training_lines(self.train)


class Need(Record):
    """An argument that a feature is made from: its name, what it gives, and where that is from."""

    argument: str
    words: str
    origin: str = ""


TRAIN = Need("train", "the training text")
LANGUAGE_MODEL = Need("lm", "a language model", "from cgbench lm train")
CORPUS = Need("exposure", "the corpus", "from cgbench overlap --out")


class ExampleFeature(Record):
    """A feature of examples.

    :param help: the value of an example, in words.
    :param measure: the values, numbers or labels, one per example, from the inputs; None for a
        feature that is a column only.
    :param of_text: it measures a text, which ``--side`` chooses.
    :param needs: what it is made from, besides the text.
    :param uses: further arguments that change its values.
    :param columns: columns of a table that have the values, by falling preference. They are read if
        the feature cannot be measured.
    :param unit: of the values, for pages.
    :param zero: the label of a bin of its own for the value 0.
    :param on_page: the score page has its bins, if the inputs allow.
    """

    name: str
    help: str
    measure: Callable[[FeatureInputs], np.ndarray | Sequence[str]] | None = None
    of_text: bool = False
    needs: Need | None = None
    uses: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    unit: str = ""
    zero: str = ""
    on_page: bool = False

    def takes(self, argument_name: str) -> bool:
        """Whether an argument of ``score`` has an effect on its values."""
        if argument_name in ("table", "side"):
            return bool(self.columns) if argument_name == "table" else self.of_text
        is_needed = self.needs is not None and self.needs.argument == argument_name
        return is_needed or argument_name in self.uses

    def of(self, inputs: FeatureInputs, n: int) -> Feature:
        """The values for ``n`` examples.

        :raises InputError: an input is missing, or has another number of rows.
        """
        is_missing = self.needs is not None and getattr(inputs, self.needs.argument) is None
        has_table = inputs.table is not None or bool(inputs.columns)
        if self.measure is None or (is_missing and self.columns and has_table):
            return feature_of_column(
                self.name, table_column(inputs, argument("by", self.name), self.columns, n)
            )
        if is_missing:
            raise self._lacks_input()
        if self.of_text and inputs.text is None:
            raise InputError(
                f"{argument('by', self.name)} {argument('side', 'source')} needs the sources; give"
                f" {argument('sources')}"
            )
        values = self.measure(inputs)
        if isinstance(values, np.ndarray):
            return Feature(self.name, values, zero=self.zero)
        return Feature(self.name, labels=tuple(values))

    def _lacks_input(self) -> InputError:
        assert self.needs is not None
        origin = f" ({self.needs.origin})" if self.needs.origin else ""
        if not origin and self.columns:  # a release has a table
            origin = f" (or {argument('release')})"
        return InputError(
            f"{argument('by', self.name)} needs {self.needs.words}; give"
            f" {argument(self.needs.argument)}{origin}"
        )


def _length(inputs: FeatureInputs) -> np.ndarray:
    return lengths(inputs.lines())


def _degree(inputs: FeatureInputs) -> np.ndarray:
    from cgbench.benchmark.measure.known_ngrams.known import KnownNgrams

    known = KnownNgrams.learn(inputs.training(), min_count=inputs.min_count)
    pieces, sizes = known.measure(inputs.lines())
    return pieces / np.maximum(sizes, 1)


def _counts(inputs: FeatureInputs) -> list[np.ndarray]:
    """The training counts of the words of each text."""
    from cgbench.benchmark.measure.known_ngrams.vocabulary import Vocabulary

    known = Vocabulary.learn(inputs.training(), min_count=1)
    counts = np.append(known.counts, 0)
    return [counts[np.minimum(known.ids(words_of(line)), len(known))] for line in inputs.lines()]


def _frequency(inputs: FeatureInputs) -> np.ndarray:
    lowest = [int(counts.min()) if len(counts) else 0 for counts in _counts(inputs)]
    return np.array(lowest, np.float64)


def _one_shot(inputs: FeatureInputs) -> list[str]:
    return ["1-shot" if np.any(counts == 1) else "other" for counts in _counts(inputs)]


def _neighbour(inputs: FeatureInputs) -> np.ndarray:
    from cgbench.text.nearest import NearestSources

    neighbours = NearestSources(inputs.training()).nearest(inputs.lines())
    return np.array([neighbour.similarity for neighbour in neighbours])


def _perplexity(inputs: FeatureInputs) -> np.ndarray:
    from cgbench.lm.language_model import LanguageModel

    assert inputs.lm is not None  # ExampleFeature.of checks it
    return LanguageModel.load(Path(inputs.lm)).perplexity(inputs.lines())


def _exposure(inputs: FeatureInputs) -> np.ndarray:
    from cgbench.benchmark.measure.overlap.exposure import exposure_of

    assert inputs.exposure is not None  # ExampleFeature.of checks it
    train = None if inputs.train is None else inputs.training()
    return exposure_of(inputs.lines(), inputs.exposure, train, inputs.min_count)


BUILT_IN = (
    ExampleFeature(
        "length",
        "words of the reference (`--side source`: of the source)",
        _length,
        of_text=True,
        unit="words",
        on_page=True,
    ),
    ExampleFeature(
        "degree",
        "compositional degree: minimum number of known n-grams that cover the sentence, over its"
        " length",
        _degree,
        of_text=True,
        needs=TRAIN,
        uses=("min_count",),
        columns=("degree",),
        unit="pieces per word",
        on_page=True,
    ),
    ExampleFeature(
        "prompt_degree",
        "the degree of the sentence against its own prompt (`translate --write-prompts`)",
        columns=("prompt_degree",),
    ),
    ExampleFeature(
        "uncertainty",
        "uncertainty of the ensemble that built the release",
        columns=("uncertainty", "rmi"),
        on_page=True,
    ),
    ExampleFeature(
        "difficulty",
        "difficulty by the segment scores of another system (`build-react --difficulty`)",
        columns=("difficulty",),
    ),
    ExampleFeature(
        "reference",
        "how unlikely the reference is under the ensemble that built the release, in nats per"
        " token",
        columns=("reference_pe_stu",),
    ),
    ExampleFeature(
        "perplexity",
        "perplexity under an n-gram model",
        _perplexity,
        of_text=True,
        needs=LANGUAGE_MODEL,
        columns=("perplexity",),
        unit="per word",
        on_page=True,
    ),
    ExampleFeature(
        "frequency",
        "training count of the rarest word; 0 for a text without words",
        _frequency,
        of_text=True,
        needs=TRAIN,
        unit="training count of the rarest word",
        zero="unseen",
        on_page=True,
    ),
    ExampleFeature(  # Akyürek and Andreas 2021, Table 4
        "one-shot",
        "whether it contains a word that occurs once in training",
        _one_shot,
        of_text=True,
        needs=TRAIN,
        on_page=True,
    ),
    ExampleFeature(
        "neighbour",
        "similarity of the nearest training text, from 0 (no shared word) to 1",
        _neighbour,
        of_text=True,
        needs=TRAIN,
    ),
    ExampleFeature(
        "exposure",
        "share of its new combinations that a corpus contains; without a training text, of its"
        " words in the longest span that the corpus contains",
        _exposure,
        of_text=True,
        needs=CORPUS,
        uses=("train", "min_count"),
    ),
)
FEATURES: Registry[ExampleFeature] = Registry(
    "features",
    {feature.name: feature for feature in BUILT_IN},
    ExampleFeature,
    "an ExampleFeature",
)
"""The features by name; those of this package in the order of help and of pages."""


def find_feature(name: str) -> ExampleFeature | None:
    """The feature of cgbench, of a study or of another package; None for features of metrics.

    :raises InputError: another package has registered something else under this name.
    """
    if name.startswith(COLUMN):
        column = name.removeprefix(COLUMN)
        return ExampleFeature(name, f"the column {column}", columns=(column,))
    return FEATURES.get(name)


def unit_of(name: str, metric: Metric) -> str:
    """The unit of a feature, of the metric or of all; empty if it has none."""
    if name in metric.feature_units:
        return metric.feature_units[name]
    feature = find_feature(name)
    return feature.unit if feature else ""


def make_feature(name: str, n: int, inputs: FeatureInputs) -> Feature:
    """The values of the feature ``name`` for ``n`` examples.

    :raises InputError: the name is unknown, an input is missing, or an input has another number of
        rows.
    """
    if inputs.metric is not None and (of_metric := inputs.metric.feature(name)) is not None:
        return of_metric
    if feature := find_feature(name):
        return feature.of(inputs, n)
    if metrics := metrics_with_feature(name):
        raise InputError(f"{argument('by', name)} is a feature for cgbench score {metrics[0]}")
    names = [*FEATURES.names(), f"{COLUMN}NAME"]
    raise InputError(f"{argument('by', name)}{did_you_mean(name, names)}")


def features_that_take(argument_name: str) -> str:
    """The features of cgbench that an argument of ``score`` has an effect on, for its help."""
    names = [feature.name for feature in BUILT_IN if feature.takes(argument_name)]
    if argument_name == "table":
        names.append(f"{COLUMN}NAME")
    return in_one_sentence(names)


def in_one_sentence(names: Iterable[str]) -> str:
    """``a, b or c``."""
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last


class HasTable(Protocol):
    """What columns are read from: feature inputs, or a test set."""

    @property
    def columns(self) -> Mapping[str, Sequence[str]]:
        """What is known of each example without a table, by name."""

    @property
    def table(self) -> AnyPath | None:
        """A table with one row per example, if any."""

    @property
    def examples(self) -> Examples:
        """To join the table with."""


def table_column(inputs: HasTable, asked: str, names: Sequence[str], n: int) -> Column:
    """The first column with one of these names, which the argument ``asked`` needs: a known one,
    else of the table.

    :raises InputError: there is no table, no such column, or it has another number of rows.
    """
    if known := next((name for name in names if name in inputs.columns), None):
        return Column(known, list(inputs.columns[known]))
    if inputs.table is None and inputs.columns:  # such as those of judgements
        raise InputError(
            f"{asked}: the scores or the log have no such"
            f" column{did_you_mean(names[0], inputs.columns)}"
        )
    if inputs.table is None:
        raise InputError(
            f"{asked} needs a table with one row per example; give {argument('table')} (or"
            f" {argument('release')})"
        )
    path, column_name = split_name(str(inputs.table))
    ids = None if inputs.examples.ids == NONE else inputs.examples.ids
    if form(path) == "plain":
        column = read_column(path, ids=ids)
    elif column_name or len(names) == 1:
        column = read_column(f"{path}:{column_name or names[0]}", ids=ids)
    else:
        column = read_column(path, *names, ids=ids)
    column = inputs.examples.join(column, more=True)
    inputs.examples.check()
    if len(column) != n:
        raise InputError(f"{column.name} has {len(column):,} rows for {n:,} examples")
    return column


def training_lines(train: Texts) -> list[str]:
    """The lines of a training text.

    :raises InputError: it is missing or empty.
    """
    column = as_column(train, "train")
    if not any(words_of(line) for line in column.values):
        raise InputError(f"{column.name}: the corpus is empty")
    return column.values


def signature_of(name: str, inputs: FeatureInputs, side: str | None) -> dict[str, str | int]:
    """What changes the values of a feature, as items of the signature: the side if it is not the
    target, the training text, its minimum count, and the language model.
    """
    import hashlib

    from cgbench.checksums import hash_file

    feature = None
    if inputs.metric is None or inputs.metric.feature(name) is None:
        feature = find_feature(name)
    items: dict[str, str | int] = {}
    if feature is None:
        return items
    if feature.takes("side") and side == "source":
        items["side"] = side
    if feature.takes("train") and inputs.train is not None:
        text = "\n".join(inputs.training())
        items["train"] = hashlib.sha256(text.encode()).hexdigest()[:8]
        if feature.takes("min_count"):
            items["minc"] = inputs.min_count
    if feature.takes("lm") and inputs.lm is not None:
        items["lm"] = hash_file(Path(inputs.lm))[:8]
    return items


def needed_by(feature: ExampleFeature) -> str:
    """What a feature needs, as the documentation's table says it."""
    needed = [f"`--{feature.needs.argument}`"] if feature.needs else []
    if feature.columns:
        columns = " or ".join(f"`{column}`" for column in feature.columns)
        needed.append(f"a table with {columns}")
    further = [f"`--{name}`" for name in feature.uses if name != "min_count"]
    return ", or ".join(needed) + "".join(f"; optionally {name}" for name in further)

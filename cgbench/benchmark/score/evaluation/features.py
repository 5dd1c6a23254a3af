"""Features of examples, for ``cgbench score --by NAME``."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from cgbench.benchmark.measure.metrics.bins import Feature, feature_of_column, lengths
from cgbench.benchmark.measure.metrics.metric import Metric
from cgbench.benchmark.score.evaluation.example_sets import ExampleSet
from cgbench.benchmark.score.evaluation.request import Breakdown
from cgbench.errors import InputError, argument
from cgbench.settings import did_you_mean
from cgbench.text.columns import Column, read_column
from cgbench.text.inputs import AnyPath, Texts, as_column
from cgbench.text.joins import NONE, Examples
from cgbench.text.plain_text import words_of
from cgbench.text.streams import form, split_name

OF_COMPOUNDS = ("compound-length", "context-length", "modifier", "type")


@dataclass(frozen=True)
class FeatureInputs:
    """The inputs of features.

    ``text``: the side measured by features of texts, if given; ``breakdown``: the training text of
    that side, a language model, a corpus that a model may have seen; ``table``: a table with one
    row per example; ``metric``: a metric, which may have its own features; ``columns``: what is
    known of each example without a table, by name (rater, document). ``examples``: to join the
    table with them.
    """

    text: Column | None = None
    breakdown: Breakdown = field(default_factory=Breakdown)
    table: AnyPath | None = None
    metric: Metric | None = None
    examples: Examples = field(default_factory=Examples)
    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)


def make_feature(name: str, n: int, inputs: FeatureInputs) -> Feature:
    """The values of the feature ``name`` for ``n`` examples.

    :raises InputError: the name is unknown, an input is missing, or an input has another number of
        rows.
    """
    if name.startswith("column:"):
        return _of_table(name.removeprefix("column:"))(name, inputs, n)
    if inputs.metric is not None and (metric_feature := inputs.metric.feature(name)) is not None:
        return metric_feature
    if name in OF_COMPOUNDS:
        raise InputError(
            f"{argument('by', name)} is a feature of compounds, for cgbench score cter"
        )
    if name not in FEATURES:
        raise InputError(
            f"{argument('by', name)}{did_you_mean(name, [*FEATURES, *OF_COMPOUNDS, 'column:NAME'])}"
        )
    return FEATURES[name](name, inputs, n)


def _text(inputs: FeatureInputs, name: str) -> Column:
    if inputs.text is None:
        raise InputError(
            f"{argument('by', name)} {argument('side', 'source')} needs the sources; give"
            f" {argument('sources')}"
        )
    return inputs.text


def table_column(
    inputs: FeatureInputs | ExampleSet, asked: str, names: Sequence[str], n: int
) -> Column:
    """The first column with one of these names, which the argument ``asked`` needs: a known one,
    else of the table.

    :raises InputError: there is no table, no such column, or it has another number of rows.
    """
    if known := next((name for name in names if name in inputs.columns), None):
        return Column(known, list(inputs.columns[known]))
    if inputs.table is None and inputs.columns:  # such as those of judgements
        raise InputError(
            f"{asked}: the scores have no such column{did_you_mean(names[0], inputs.columns)}"
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


def _length(name: str, inputs: FeatureInputs, n: int) -> Feature:
    return Feature(name, lengths(_text(inputs, name).values))


def _of_table(*names: str) -> Callable[[str, FeatureInputs, int], Feature]:
    """A feature that is a column of the table, with one of these names."""
    return lambda name, inputs, n: feature_of_column(
        name, table_column(inputs, argument("by", name), names, n)
    )


def _degree(name: str, inputs: FeatureInputs, n: int) -> Feature:
    if inputs.breakdown.train is None and inputs.table is not None:
        return _of_table("degree")(name, inputs, n)
    if inputs.breakdown.train is None:
        raise InputError(
            f"{argument('by', name)} needs the training text; give {argument('train')} (or"
            f" {argument('release')})"
        )
    from cgbench.benchmark.measure.known_ngrams.known import KnownNgrams

    text = _text(inputs, name)
    known = KnownNgrams.learn(
        training_lines(inputs.breakdown.train), min_count=inputs.breakdown.min_count
    )
    pieces, sizes = known.measure(text.values)
    return Feature(name, pieces / np.maximum(sizes, 1))


def _training(name: str, inputs: FeatureInputs) -> list[str]:
    if inputs.breakdown.train is None:
        raise InputError(
            f"{argument('by', name)} needs the training text; give {argument('train')}"
        )
    return training_lines(inputs.breakdown.train)


def _counts(name: str, inputs: FeatureInputs) -> list[np.ndarray]:
    from cgbench.benchmark.measure.known_ngrams.vocabulary import Vocabulary

    known = Vocabulary.learn(_training(name, inputs), min_count=1)
    counts = np.append(known.counts, 0)
    return [
        counts[np.minimum(known.ids(words_of(line)), len(known))]
        for line in _text(inputs, name).values
    ]


def _frequency(name: str, inputs: FeatureInputs, n: int) -> Feature:
    """The training count of the rarest word; 0 for a text without words."""
    lowest = [int(counts.min()) if len(counts) else 0 for counts in _counts(name, inputs)]
    return Feature(name, np.array(lowest, np.float64), zero="unseen")


def _one_shot(name: str, inputs: FeatureInputs, n: int) -> Feature:
    """Whether a text has a word that occurs exactly once in training (Akyürek and Andreas 2021,
    Table 4).
    """
    labels = ("1-shot" if np.any(counts == 1) else "other" for counts in _counts(name, inputs))
    return Feature(name, labels=tuple(labels))


def _neighbour(name: str, inputs: FeatureInputs, n: int) -> Feature:
    """The similarity of the nearest training text; 0 for a text that shares no word with
    training.
    """
    from cgbench.text.nearest import NearestSources

    neighbours = NearestSources(_training(name, inputs)).nearest(_text(inputs, name).values)
    return Feature(name, np.array([neighbour.similarity for neighbour in neighbours]))


def _perplexity(name: str, inputs: FeatureInputs, n: int) -> Feature:
    if inputs.breakdown.lm is None:
        if inputs.table is None:
            raise InputError(
                f"{argument('by', name)} needs a language model; give {argument('lm')} (from"
                " cgbench lm train)"
            )
        return _of_table("perplexity")(name, inputs, n)
    from cgbench.lm.language_model import LanguageModel

    return Feature(
        name, LanguageModel.load(Path(inputs.breakdown.lm)).perplexity(_text(inputs, name).values)
    )


def _exposure(name: str, inputs: FeatureInputs, n: int) -> Feature:
    """The share of new combinations that a corpus has; without a training text, of words in the
    longest span it has.
    """
    if inputs.breakdown.exposure is None:
        raise InputError(
            f"{argument('by', name)} needs the corpus; give {argument('exposure')} (from cgbench"
            " overlap --out)"
        )
    from cgbench.benchmark.score.evaluation.exposure import exposure_of

    train = None if inputs.breakdown.train is None else training_lines(inputs.breakdown.train)
    return Feature(
        name,
        exposure_of(
            _text(inputs, name).values, inputs.breakdown.exposure, train, inputs.breakdown.min_count
        ),
    )


FEATURES: dict[str, Callable[[str, FeatureInputs, int], Feature]] = {
    "length": _length,
    "degree": _degree,
    "frequency": _frequency,
    "one-shot": _one_shot,
    "neighbour": _neighbour,
    "uncertainty": _of_table("uncertainty", "rmi"),
    "reference": _of_table("reference_pe_stu"),
    "prompt_degree": _of_table("prompt_degree"),
    "difficulty": _of_table("difficulty"),
    "perplexity": _perplexity,
    "exposure": _exposure,
}
"""The features of examples: functions of the name, the inputs and the number of examples."""

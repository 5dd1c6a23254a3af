"""Judgements and metric scores of the same outputs, as arrays."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cgbench.benchmark.measure.metrics.segment_scores import scores_of
from cgbench.benchmark.score.outputs.judgements import EXAMPLE, RATER
from cgbench.benchmark.score.outputs.score_files import ReadOptions, ScoreColumn
from cgbench.benchmark.score.outputs.score_readers import read_score_columns
from cgbench.errors import InputError, argument

FEWEST_ITEMS = 10
"""Fewer items give intervals that mean nothing."""

Rating = tuple[str, str, str]
"""A system, an example and a rater ("" if unknown)."""


@dataclass(frozen=True)
class JudgedOutputs:
    """The judgements of people, and the scores of metrics, of the same outputs.

    ``systems`` and ``items``: names; ``raters``: names, at least one; ``ratings`` float64
    ``[raters, systems, items]``, NaN where a rater did not judge; ``metrics``: the scores of each,
    ``[systems, items]``, higher is better.
    """

    systems: tuple[str, ...]
    items: tuple[str, ...]
    raters: tuple[str, ...]
    ratings: np.ndarray
    metrics: dict[str, np.ndarray]

    @property
    def human(self) -> np.ndarray:
        """The mean judgement of each output, ``[systems, items]``; NaN where nobody judged."""
        return mean_of_raters(self.ratings)


def mean_of_raters(ratings: np.ndarray) -> np.ndarray:
    """The mean over raters, ``[systems, items]``; NaN where none judged."""
    judged = ~np.isnan(ratings)
    counts = judged.sum(axis=0)
    sums = np.where(judged, ratings, 0.0).sum(axis=0)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def read_judged_outputs(
    human: Any, metrics: Mapping[str, Any], lower_is_better: Sequence[str]
) -> JudgedOutputs:
    """Read the judgements, and the scores of each metric for the judged outputs.

    :raises InputError: a file cannot be read, a judged output has no score of a metric, or there
        are too few systems or items.
    """
    ratings_by_output = _ratings(human)
    systems = tuple(dict.fromkeys(system for system, _, _ in ratings_by_output))
    items = tuple(dict.fromkeys(item for _, item, _ in ratings_by_output))
    raters = tuple(dict.fromkeys(rater for _, _, rater in ratings_by_output))
    if len(systems) < 2:
        raise InputError(
            f"{argument('human')}: judgements of one system ({systems[0]}); agreement on which"
            " output is better needs two"
        )
    if len(items) < FEWEST_ITEMS:
        raise InputError(
            f"{argument('human')}: {len(items)} judged examples; give at least {FEWEST_ITEMS}"
        )
    # Judgements as an array.
    system_of, item_of, rater_of = (
        {name: number for number, name in enumerate(names)} for names in (systems, items, raters)
    )
    ratings = np.full((len(raters), len(systems), len(items)), np.nan)
    for (system, item, rater), rating in ratings_by_output.items():
        ratings[rater_of[rater], system_of[system], item_of[item]] = rating
    judged = ~np.isnan(mean_of_raters(ratings))
    # The scores of each metric.
    if unknown := [name for name in lower_is_better if name not in metrics]:
        raise InputError(
            f"{argument('lower_is_better', unknown[0])}: there is no such metric; there is"
            f" {', '.join(metrics)}"
        )
    scores_by_metric = {}
    for metric, file in metrics.items():
        scores = np.full(judged.shape, np.nan)
        for (system, item, _), score in _outputs(file, f"{argument('scores', metric)}").items():
            if system in system_of and item in item_of:
                scores[system_of[system], item_of[item]] = score
        missing = np.argwhere(judged & np.isnan(scores))
        if len(missing):
            system_number, item_number = missing[0].tolist()
            raise InputError(
                f"{argument('scores', metric)}: no score of example {items[item_number]} of"
                f" {systems[system_number]} ({len(missing):,} of {int(judged.sum()):,} judged"
                " outputs have none); systems and examples must have the names of"
                f" {argument('human')}"
            )
        scores_by_metric[metric] = -scores if metric in lower_is_better else scores
    return JudgedOutputs(systems, items, raters, ratings, scores_by_metric)


def _ratings(human: Any) -> dict[Rating, float]:
    """The judgements by system, example and rater."""
    ratings = _outputs(human, f"{argument('human')}", ReadOptions(by_rater=True))
    if not ratings:
        raise InputError(f"{argument('human')}: no judgements")
    return ratings


def _outputs(file: Any, where: str, options: ReadOptions | None = None) -> dict[Rating, float]:
    """The scores in a file by system, example and rater.

    :raises InputError: it names no systems.
    """
    columns = read_score_columns({"": file}, options or ReadOptions())
    scores: dict[Rating, float] = {}
    for system, runs in columns.items():
        for column in runs:
            keys = zip(_names(column, EXAMPLE), _names(column, RATER), strict=True)
            values = scores_of(column.values, column.name)
            for (item, rater), value in zip(keys, values.tolist(), strict=True):
                if not np.isnan(value):
                    scores[system, item, rater] = value
    return scores


def _names(column: ScoreColumn, role: str) -> Sequence[str]:
    """The example or the rater of each row: as the file names them, else rows from 1 and ""."""
    known = column.columns or {}
    if role in known:
        return known[role]
    if role == RATER:
        return [""] * len(column.values)
    return column.ids or [str(row) for row in range(1, len(column.values) + 1)]

"""The score files of a request, by system."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from cgbench.benchmark.measure.metrics.segment_scores import (
    scores_of,
)
from cgbench.benchmark.score.evaluation.example_sets import lines_of_release
from cgbench.benchmark.score.imported.request import ImportRequest
from cgbench.benchmark.score.outputs.hypotheses import absent
from cgbench.benchmark.score.outputs.judgements import RATER
from cgbench.benchmark.score.outputs.log_outputs import by_rows
from cgbench.benchmark.score.outputs.score_files import (
    ReadOptions,
    ScoreColumn,
    split_field,
)
from cgbench.benchmark.score.outputs.score_readers import is_frame, read_score_columns
from cgbench.text.inputs import AnyPath, is_path
from cgbench.text.joins import NONE
from cgbench.text.streams import form

Columns: TypeAlias = Mapping[str, Sequence[ScoreColumn]]
"""The runs of each system."""


@dataclass(frozen=True)
class Scores:
    """The files of scores of a request, by system."""

    systems: Columns
    control: Columns | None
    """Of the same systems on the control set."""
    people: Columns | None
    """Human judgements of some examples."""

    @property
    def first(self) -> ScoreColumn:
        """The run that determines the order of examples."""
        return next(iter(self.systems.values()))[0]


def ids_column(request: ImportRequest) -> str | None:
    """The column with the ids of examples, if there is one."""
    ids = request.examples.ids
    return None if ids == NONE else ids


def are_absent(*texts: Any) -> bool:
    """Whether none of the texts was given."""
    return all(map(absent, texts))


def all_runs(systems: Columns) -> list[ScoreColumn]:
    """The runs of all systems, one after another."""
    return [column for columns in systems.values() for column in columns]


def have_own_ids(systems: Columns) -> bool:
    """Whether some scores are of a log or of judgements, whose ids other texts do not have."""
    return any(
        column.prints is not None or column.columns is not None for column in all_runs(systems)
    )


def table_of(column: ScoreColumn) -> AnyPath | None:
    """The file of scores if it is a table; its other columns describe the same examples."""
    path = split_field(column.name)[0]
    return path if form(path) != "plain" and path.is_file() else None


def read_scores(request: ImportRequest) -> Scores:
    """Read the files of scores; those of logs in the order of the test set."""
    judgements, texts, by = request.judgements, request.texts, request.breakdown.by
    by_rater = RATER in request.comparison.cluster
    by_rater |= isinstance(by, str) and by == f"column:{RATER}"
    options = ReadOptions(
        ids_column(request), judgements.standardise_raters, by_rater, judgements.columns_of
    )
    systems = request.systems
    if not isinstance(systems, Mapping):  # a file may have several systems
        systems = {"" if is_path(systems) or is_frame(systems) else "system": systems}
    columns = read_score_columns(systems, options)
    control = people = None
    if request.control_systems is not None:
        control = read_score_columns(request.control_systems, options)
    if judgements.people is not None:
        people = read_score_columns(judgements.people, replace(options, by_rater=False))
    if ids_column(request) is None and not are_absent(
        texts.release, texts.references, texts.sources
    ):
        lines = lines_of_release(texts.release, request.examples)
        # Scores of a log, which has ids, in the order of the test set, as far as these tell.
        columns = {
            name: [
                by_rows(column, lines, strict=False) if column.prints and column.ids else column
                for column in runs
            ]
            for name, runs in columns.items()
        }
    return Scores(columns, control, people)


def without_blank(scores: Scores) -> tuple[Scores, list[str]]:
    """The scores without the systems that have none, and the names of these."""
    blank = _without_scores(scores.systems)
    systems = {name: runs for name, runs in scores.systems.items() if name not in blank}
    return replace(scores, systems=systems), blank


def _without_scores(systems: Columns) -> list[str]:
    """Systems without any score (as references in human scores of mt-metrics-eval), unless all
    are.
    """
    blank = [
        name
        for name, columns in systems.items()
        if all(
            len(column) and np.isnan(scores_of(column.values, column.name)).all()
            for column in columns
        )
    ]
    return blank if len(blank) < len(systems) else []

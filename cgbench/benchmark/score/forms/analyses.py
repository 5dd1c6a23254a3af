"""What is shown of the analyses of an evaluation: rows of the long table, tables, and values of
JSON.

An analysis whose result is rows needs nothing here: they are printed as a table, and are JSON as
they are.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from cgbench.benchmark.score.comparison.scored_systems import ScoredSystems
from cgbench.benchmark.score.forms.rows import Row, differences_rows, rows_of
from cgbench.benchmark.score.forms.tables import table_of_rows, tables_of
from cgbench.records import Record
from cgbench.tables import Note, OutputTable

Blocks = list[OutputTable | Note]


class AnalysisLayout(Record):
    """How the results of an analysis are shown."""

    rows: Callable[[Any, ScoredSystems], list[Row]]
    blocks: Callable[[Any, int, bool], Blocks]
    """Of a result, the number of decimals, and whether one system may be printed in one line."""
    json: Callable[[Any, Sequence[str]], list[Any]]
    """A value for each of the systems."""
    example_columns: Callable[[Any], Mapping[str, Sequence[Any]]] = lambda result: {}
    """Columns of ``--per-example``: a value for each example."""
    section: Callable[[Any, int], Any] | None = None
    """The section of the score page, as markup, from an evaluation and the number of decimals; by
    default, the tables."""


def _differences_tables(pairs: Any, width: int, one_line: bool) -> Blocks:
    from cgbench.benchmark.score.forms.difference_tables import differences_tables

    return differences_tables(pairs, width)


def _differences_as_json(pairs: Any, systems: Sequence[str]) -> list[Any]:
    from cgbench.benchmark.score.forms.as_json import differences_as_json

    values = {pair.system: differences_as_json(pair) for pair in pairs}
    return [values.get(system) for system in systems]


def _scores_as_json(scored: Any, systems: Sequence[str]) -> list[Any]:
    from cgbench.benchmark.score.forms.as_json import as_json

    return as_json(scored)


def _rows_as_json(rows: Any, systems: Sequence[str]) -> list[Any]:
    from cgbench.benchmark.score.forms.as_json import row_as_json

    return [[row_as_json(row) for row in rows if row.system == system] for system in systems]


EXPOSURE = AnalysisLayout(
    rows=lambda exposure, scored: [
        replace(row, by="exposure", analysis="exposure") for row in rows_of(exposure)
    ],
    blocks=lambda exposure, width, one_line: tables_of(exposure, width, False, one_line),
    json=_scores_as_json,
)
DIFFERENCES = AnalysisLayout(
    rows=lambda pairs, scored: [row for pair in pairs for row in differences_rows(scored, pair)],
    blocks=_differences_tables,
    json=_differences_as_json,
    section=lambda evaluation, decimals: "",  # the page has differences even if not requested
)
ROWS = AnalysisLayout(
    rows=lambda rows, scored: rows,
    blocks=lambda rows, width, one_line: [table_of_rows(rows, width)],
    json=_rows_as_json,
)
"""The layout of an analysis whose result is rows of the long table."""
Layouts = Mapping[str, AnalysisLayout]
"""The layouts of analyses by name; :data:`ROWS` for others."""


def long_table(scored: ScoredSystems, analyses: Mapping[str, Any], layouts: Layouts) -> list[Row]:
    """The rows of the scores and of all analyses."""
    rows = list(rows_of(scored))
    for name, result in analyses.items():
        layout = layouts.get(name, ROWS)
        added = layout.rows(result, scored)
        rows += [replace(row, analysis=name) for row in added] if layout is ROWS else added
    return rows


def analysis_blocks(
    analyses: Mapping[str, Any], layouts: Layouts, width: int, one_line: bool
) -> Blocks:
    """The tables of all analyses, in the order in which they are printed."""
    return [
        block
        for name, result in analyses.items()
        for block in layouts.get(name, ROWS).blocks(result, width, one_line)
    ]


def scores_as_json(
    scored: ScoredSystems, analyses: Mapping[str, Any], layouts: Layouts
) -> list[dict[str, Any]]:
    """The scores of each system, with every analysis under its name."""
    systems = [result.system for result in scored.results]
    values = _scores_as_json(scored, systems)
    for name, result in analyses.items():
        of_systems = layouts.get(name, ROWS).json(result, systems)
        values = [
            value | {name: of_system} for value, of_system in zip(values, of_systems, strict=True)
        ]
    return values


def example_columns(analyses: Mapping[str, Any], layouts: Layouts) -> dict[str, Sequence[Any]]:
    """What analyses know of each example, by column."""
    columns: dict[str, Sequence[Any]] = {}
    for name, result in analyses.items():
        columns |= layouts.get(name, ROWS).example_columns(result)
    return columns

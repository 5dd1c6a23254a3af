"""What is shown of the analyses of an evaluation: rows of the long table, tables, and values of
JSON.

An analysis whose result is rows needs nothing here: they are printed as a table, and are JSON as
they are.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cgbench.benchmark.score.evaluation.scored import ScoredSystems
from cgbench.benchmark.score.forms.as_json import as_json, differences_as_json, row_as_json
from cgbench.benchmark.score.forms.rows import Row, differences_rows, rows_of
from cgbench.benchmark.score.forms.tables import (
    differences_tables,
    parts_tables,
    table_of_rows,
    tables_of,
)
from cgbench.tables import Note, OutputTable

Blocks = list[OutputTable | Note]


@dataclass(frozen=True)
class AnalysisLayout:
    """How the results of an analysis are shown."""

    rows: Callable[[Any, ScoredSystems], list[Row]]
    blocks: Callable[[Any, int, bool], Blocks]
    """Of a result, the number of decimals, and whether one system may be printed in one line."""
    json: Callable[[Any, Sequence[str]], list[Any]]
    """A value for each of the systems."""


def _parts_rows(parts: Any, scored: ScoredSystems) -> list[Row]:
    beyond = rows_of(parts.beyond) if parts.beyond else ()
    return [
        *rows_of(parts.residual),
        *beyond,
        *(row for row in rows_of(parts.scored) if row.by == "parts"),
    ]


def _parts_json(parts: Any, systems: Sequence[str]) -> list[Any]:
    rows = [
        residual | {"by": "parts", "bins": scores["bins"]}
        for residual, scores in zip(as_json(parts.residual), as_json(parts.scored), strict=True)
    ]
    for row, beyond in zip(rows, as_json(parts.beyond) if parts.beyond else (), strict=False):
        row["beyond_control"] = beyond
    return rows


LAYOUTS = {
    "exposure": AnalysisLayout(
        lambda exposure, scored: [
            replace(row, by="exposure", analysis="exposure") for row in rows_of(exposure)
        ],
        lambda exposure, width, one_line: tables_of(exposure, width, False, one_line),
        lambda exposure, systems: as_json(exposure),
    ),
    "parts": AnalysisLayout(
        _parts_rows, lambda parts, width, one_line: parts_tables(parts, width), _parts_json
    ),
    "differences": AnalysisLayout(
        lambda pairs, scored: [row for pair in pairs for row in differences_rows(scored, pair)],
        lambda pairs, width, one_line: differences_tables(pairs, width),
        lambda pairs, systems: list(
            map({pair.system: differences_as_json(pair) for pair in pairs}.get, systems)
        ),
    ),
}
"""Layouts of their own, by name."""
ROWS = AnalysisLayout(
    lambda rows, scored: rows,
    lambda rows, width, one_line: [table_of_rows(rows, width)],
    lambda rows, systems: [
        [row_as_json(row) for row in rows if row.system == system] for system in systems
    ],
)


def long_table(scored: ScoredSystems, analyses: Mapping[str, Any]) -> list[Row]:
    """The rows of the scores and of all analyses."""
    rows = list(rows_of(scored))
    for name, result in analyses.items():
        rows += (
            LAYOUTS[name].rows(result, scored)
            if name in LAYOUTS
            else [replace(row, analysis=name) for row in result]
        )
    return rows


def analysis_blocks(analyses: Mapping[str, Any], width: int, one_line: bool) -> Blocks:
    """The tables of all analyses, in the order in which they are printed."""
    layouts = [(LAYOUTS.get(name, ROWS), result) for name, result in analyses.items()]
    return [block for layout, result in layouts for block in layout.blocks(result, width, one_line)]


def scores_as_json(scored: ScoredSystems, analyses: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The scores of each system, with every analysis under its name."""
    values = as_json(scored)
    systems = [result.system for result in scored.results]
    for name, result in analyses.items():
        of_systems = LAYOUTS.get(name, ROWS).json(result, systems)
        values = [
            value | {name: of_system} for value, of_system in zip(values, of_systems, strict=True)
        ]
    return values

"""The analysis ``parts`` of scores: its options, and where its result is computed and shown."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cgbench.benchmark.score.comparison.scored_systems import ScoredSystems
from cgbench.benchmark.score.evaluation.analysis import Analysis
from cgbench.benchmark.score.forms.analyses import AnalysisLayout, Blocks
from cgbench.benchmark.score.forms.rows import Row, rows_of
from cgbench.studies.parts.options import PartsOptions
from cgbench.text.columns import Column
from cgbench.text.inputs import as_column

if TYPE_CHECKING:
    from markupsafe import Markup

    from cgbench.benchmark.score.evaluation.result import Evaluation
    from cgbench.benchmark.score.evaluation.scoring_context import ScoringContext
    from cgbench.studies.parts.known_parts import PartsScores


def _run(context: "ScoringContext") -> "PartsScores":
    from cgbench.studies.parts.known_parts import score_known_parts

    return score_known_parts(context)


def _rows(parts: "PartsScores", scored: ScoredSystems) -> list[Row]:
    beyond = rows_of(parts.beyond) if parts.beyond else ()
    by_parts = [row for row in rows_of(parts.scored) if row.by == "parts"]
    return [*rows_of(parts.residual), *beyond, *by_parts]


def _tables(parts: "PartsScores", width: int, one_line: bool) -> Blocks:
    from cgbench.studies.parts.tables import parts_tables

    return parts_tables(parts, width)


def _json(parts: "PartsScores", systems: Sequence[str]) -> list[Any]:
    from cgbench.benchmark.score.forms.as_json import as_json

    rows = [
        residual | {"by": "parts", "bins": scores["bins"]}
        for residual, scores in zip(as_json(parts.residual), as_json(parts.scored), strict=True)
    ]
    for row, beyond in zip(rows, as_json(parts.beyond) if parts.beyond else (), strict=False):
        row["beyond_control"] = beyond
    return rows


def _example_columns(parts: "PartsScores") -> Mapping[str, Sequence[Any]]:
    if parts.determined is None:
        return {}
    return {"determined": [int(is_determined) for is_determined in parts.determined]}


def _section(evaluation: "Evaluation", decimals: int) -> "Markup":
    from cgbench.studies.parts.page_section import parts_section

    return parts_section(evaluation, decimals)


def _probes(options: PartsOptions) -> dict[str, Column]:
    """The sources of the probes."""
    assert options.parts is not None  # it requests the analysis
    return {"probe_systems": as_column(Path(options.parts) / "probes.source", "probes")}


PARTS = Analysis(
    "parts",
    _run,
    options=PartsOptions,
    needs={"probe_systems": "the translations of its probes"},
    layout=AnalysisLayout(_rows, _tables, _json, _example_columns, _section),
    further_outputs=_probes,
)

"""The section of the score page about known parts: tables, and given pairs that a system gets
wrong.
"""

from collections.abc import Sequence
from math import nan
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from cgbench.benchmark.score.comparison.results import SystemScores
from cgbench.benchmark.score.evaluation.result import Evaluation, EvaluationInputs
from cgbench.numbers_as_text import fixed
from cgbench.plots import Chart, Series
from cgbench.report import charts
from cgbench.report.page import page_tables, render_section
from cgbench.report.score_data import MOST_LINES, MOST_ROWS, drawn
from cgbench.studies.parts.gate import gate_of
from cgbench.studies.parts.known_parts import PartsScores
from cgbench.studies.parts.residual import Outcomes
from cgbench.studies.parts.tables import parts_tables
from cgbench.text.plain_text import words_of

SHOWN = 20
"""Examples of each system."""


def parts_section(evaluation: Evaluation, decimals: int) -> Markup:
    """The section, as markup."""
    context = section_context(evaluation, decimals)
    return render_section(Path(__file__).with_name("section.html"), context)


def section_context(evaluation: Evaluation, decimals: int) -> dict[str, Any]:
    """The variables of the section."""
    scores, inputs = evaluation.parts, evaluation.inputs
    assert inputs is not None  # score_page checks it
    results = {result.system: result for result in scores.residual.results}
    runs_of = dict(zip(results, scores.outcomes, strict=True))
    return {
        "chart": _dumbbell([results[system.name] for system in evaluation.systems[:MOST_ROWS]]),
        "tables": page_tables(parts_tables(scores, decimals)),
        "examples": [
            {
                "system": system.name,
                "rows": _examples(scores, runs_of[system.name][0], system.runs[0], inputs),
            }
            for system in evaluation.systems[:MOST_LINES]
        ],
        "least": scores.least,
        "untested": scores.folder.untested,
        "rows": len(scores.folder.rows),
        "few": len(evaluation.systems) <= MOST_LINES,
        "rows_drawn": drawn(evaluation.scored, MOST_ROWS),
        "lines_drawn": drawn(evaluation.scored, MOST_LINES),
    }


def _dumbbell(results: Sequence[SystemScores]) -> Any:
    """The predicted and the actual error of each system on its given pairs, with the interval of
    the difference.
    """
    series = []
    for index, result in enumerate(results):
        predicted, error, residual = (
            result.whole.figures[name] for name in ("predicted", "error", "residual")
        )
        if predicted.value is None or error.value is None or residual.value is None:
            continue
        ends = [
            nan if end is None else predicted.value + end
            for end in (residual.ci_low, residual.ci_high)
        ]
        low, high = ([nan, end] for end in ends)
        note = f" ({fixed(residual.value, 1, '+')})"
        series.append(
            Series(
                result.system, [predicted.value, error.value], low, high, colour=index, note=note
            )
        )
    title = "Error on given pairs (%)"
    return (
        charts.draw(Chart(["predicted", "error"], series, title, title, rows=True))
        if series
        else ""
    )


def _examples(
    scores: PartsScores, run: Outcomes, outputs: Sequence[str], inputs: EvaluationInputs
) -> list[dict[str, Any]]:
    """Wrong pairs of a run: those that are given first, then those with the fewest unknown
    pieces.
    """
    run_parts, gate = scores.parts, gate_of(scores.parts, run.probes, scores.least)
    rows = run_parts.rows.sentence
    wrong = np.bincount(rows, ~run.rows, len(run_parts.length)) > 0
    unknown = np.bincount(rows, ~gate.known[run_parts.rows.piece], len(run_parts.length))
    chosen = sorted(np.flatnonzero(wrong).tolist(), key=lambda row: (unknown[row], row))[:SHOWN]
    texts = [example[0] for example in inputs.references or ()]
    if scores.folder.side == "source":
        texts = list(inputs.sources or ())
    out = {
        (row, piece)
        for piece, row, here in zip(run_parts.rows.piece, rows, run.rows, strict=True)
        if here
    }
    return [
        {
            "number": row + 1,
            "given": bool(gate.given[row]),
            "text": _marked(
                scores,
                gate.known,
                row,
                texts[row] if texts else "",
                None if run_parts.whole else out,
            ),
            "output": outputs[row],
        }
        for row in chosen
    ]


def _marked(
    scores: PartsScores, known: np.ndarray, row: int, text: str, out: set[tuple[int, int]] | None
) -> list[tuple[str, str, bool]]:
    """The text in segments: its words, ``known``, ``unknown`` or empty, and whether the piece is
    missing in the output.

    Pieces without a place, or on top of another, follow the text.
    """
    words, segments, begin = words_of(text), [], 0
    pieces = sorted(
        scores.folder.rows[row], key=lambda occurrence: (occurrence.start < 0, occurrence.start)
    )
    later = []
    for piece, start, end in pieces:
        state = (
            "known" if known[piece] else "unknown",
            out is not None and (row, piece) not in out,
        )
        if start < begin or not text:
            later.append((scores.folder.pieces[piece].text, *state))
            continue
        segments += [(" ".join(words[begin:start]), "", False)] if start > begin else []
        segments.append((" ".join(words[start:end]), *state))
        begin = end
    return [
        *segments,
        *([(" ".join(words[begin:]), "", False)] if begin < len(words) else []),
        *later,
    ]

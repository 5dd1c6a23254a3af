"""The section of the score page about known parts: tables, and given pairs that a system gets wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cgbench.benchmark.score.known_parts import PartsScores
from cgbench.benchmark.score.output.tables import parts_tables
from cgbench.benchmark.score.residual import Outcomes, gate_of
from cgbench.benchmark.score.result import Evaluation, EvaluationInputs
from cgbench.report.page import as_table
from cgbench.text.plain_text import words_of

SHOWN = 20
"""Examples of each system."""


def parts_section(evaluation: Evaluation, inputs: EvaluationInputs, places: int) -> dict[str, Any] | None:
    """The variables of the section; None if parts were not asked for."""
    scores = evaluation.parts
    if scores is None:
        return None
    return {
        "tables": [as_table(one.title, one.title, one.head, one.rows) for one in parts_tables(scores, places)],
        "examples": [
            {"system": system.name, "rows": _examples(scores, runs[0], system.runs[0], inputs)}
            for system, runs in zip(evaluation.systems, scores.outcomes, strict=True)
        ],
        "least": scores.least,
        "untested": scores.untested,
        "rows": len(scores.folder.rows),
    }


def _examples(
    scores: PartsScores, run: Outcomes, outputs: Sequence[str], inputs: EvaluationInputs
) -> list[dict[str, Any]]:
    """Wrong pairs of a run: those that are given first, then those with the fewest unknown pieces."""
    parts, gate = scores.parts, gate_of(scores.parts, run.probes, scores.least)
    rows = parts.rows.sentence
    wrong = np.bincount(rows, ~run.rows, len(parts.length)) > 0
    unknown = np.bincount(rows, ~gate.known[parts.rows.piece], len(parts.length))
    chosen = sorted(np.flatnonzero(wrong).tolist(), key=lambda row: (unknown[row], row))[:SHOWN]
    texts = [example[0] for example in inputs.references or ()]
    if scores.folder.side == "source":
        texts = list(inputs.sources or ())
    out = {(row, piece) for piece, row, here in zip(parts.rows.piece, rows, run.rows, strict=True) if here}
    return [
        {
            "number": row + 1,
            "given": bool(gate.given[row]),
            "text": _marked(scores, gate.known, row, texts[row] if texts else "", None if parts.whole else out),
            "output": outputs[row],
        }
        for row in chosen
    ]


def _marked(
    scores: PartsScores, known: np.ndarray, row: int, text: str, out: set[tuple[int, int]] | None
) -> list[tuple[str, str, bool]]:
    """The text in segments: its words, ``known``, ``unknown`` or empty, and whether the piece is missing in the output.

    Pieces without a place, or on top of another, follow the text.
    """
    words, found, begin = words_of(text), [], 0
    places = sorted(scores.folder.rows[row], key=lambda place: (place.start < 0, place.start))
    later = []
    for piece, start, end in places:
        state = ("known" if known[piece] else "unknown", out is not None and (row, piece) not in out)
        if start < begin or not text:
            later.append((scores.folder.pieces[piece].text, *state))
            continue
        found += [(" ".join(words[begin:start]), "", False)] if start > begin else []
        found.append((" ".join(words[start:end]), *state))
        begin = end
    return [*found, *([(" ".join(words[begin:]), "", False)] if begin < len(words) else []), *later]

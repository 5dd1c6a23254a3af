"""What ``cgbench score --differences`` prints, and its JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cgbench.benchmark.metrics.differences import Differences, FoundDifference
from cgbench.benchmark.metrics.records import rounded
from cgbench.benchmark.metrics.significance import LEVEL
from cgbench.tables import as_html, fixed, p_text, render

LONGEST = 60  # characters of a hypothesis in a table of text


def as_tables(found: Sequence[Differences], form: str, width: int) -> list[str]:
    """Tables in one of the forms of :func:`cgbench.tables.render`."""
    parts = []
    for one in found:
        pair = f"{one.system} and {one.against}"
        head = [one.system, one.against, "p", "q"]
        if one.tested:
            line = f"{pair}: {len(one.ngrams):,} of {one.tested:,} n-grams differ (false discovery rate {LEVEL:g})"
            if form == "latex":
                line = f"% {line}"
            parts.append(as_html(line) if form == "html" else line)
            if one.shown:
                parts.append(render(["n-gram", "examples", *head], [_row(row, 1) for row in one.shown], form))
        for name, rows in (("F1 of words, by count in training", one.words), (f"kinds: {pair}", one.kinds)):
            if rows:
                parts.append(render([name, "examples", *head], [_row(row, width) for row in rows], form))
        if one.examples:
            lines = []
            for example in one.examples:
                texts = [_short(text) for text in example.texts] if example.texts else ["", ""]
                lines.append([f"{example.row}", f"{example.ours:.{width}f}", f"{example.theirs:.{width}f}", *texts])
            columns = [one.system, one.against, f"{one.system} output", f"{one.against} output"]
            parts.append(render(["largest differences: row", *columns], lines, form))
    return parts


def _row(one: FoundDifference, width: int) -> list[str]:
    cells = [one.what, f"{one.count:,}", fixed(one.ours, width), fixed(one.theirs, width)]
    return [*cells, p_text(one.p_value), p_text(one.q_value)]


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def as_values(found: Sequence[Differences], system: str) -> dict[str, Any] | None:
    """The system's differences from the baseline as JSON values; None for the baseline."""
    one = next((one for one in found if one.system == system), None)
    if one is None:
        return None
    return {
        "against": one.against,
        "level": LEVEL,
        "tested_ngrams": one.tested,
        "ngrams": [_values(row) for row in one.ngrams],
        "words": [_values(row) for row in one.words],
        "kinds": [_values(row) for row in one.kinds],
        "examples": [
            {"row": row.row, "ours": rounded(row.ours), "theirs": rounded(row.theirs), "texts": row.texts}
            for row in one.examples
        ],
    }


def _values(one: FoundDifference) -> dict[str, Any]:
    values: dict[str, Any] = {"what": one.what, "examples": one.count}
    return values | {name: rounded(getattr(one, name)) for name in ("ours", "theirs", "p_value", "q_value")}

"""Pages of tables and charts: ``cgbench concur --report``, ``cgbench validate --measures --report``."""

from __future__ import annotations

from typing import Any

from cgbench.benchmark.validity.concur import Concur
from cgbench.benchmark.validity.measures import SystemMeasures
from cgbench.benchmark.validity.result import Validity
from cgbench.report import charts
from cgbench.report.page import as_table, render_page

DRAWN = ("degree", "source_length", "perplexity", "expected_entropy", "pe_stu", "reference_pe_stu")
"""Measures whose risk over coverage is drawn: one of each type."""


def concur_page(found: Concur, command: str) -> str:
    """The page of rank agreements as HTML: the same bytes for the same input."""
    head, rows = found.matrix()
    cells = [
        [name, *((cell, charts.shade(float(cell.split()[0]) if cell else None)) for cell in row)] for name, *row in rows
    ]
    whiskers = [
        charts.Whisker(f"{one.first}, {one.second}", one.tau, *(one.over_systems or (None, None)))
        for one in found.pairs
    ]
    lead = "How alike benchmarks rank the systems that they share: Kendall's tau-b, from -1 to 1."
    text = (
        "Intervals are 95 %: for other systems, and for these systems with other seeds (and examples, for results of "
        "cgbench score). The ceiling is the tau that equal rankings would reach with these errors."
    )
    drawn = charts.whiskers(whiskers, "tau, 95 % over systems", "Kendall's tau of each pair", places=2)
    return _page("Do benchmarks agree?", lead, command, [
        ("matrix", "Matrix", "Tau, and the number of shared systems.", None, (head, cells)),
        ("pairs", "Pairs", text, drawn, found.table()),
    ])  # fmt: skip


def measures_page(found: Validity, command: str) -> str:
    """The page of measures and errors: a curve of risk over coverage and a table for each system."""
    text = "Risk: the mean loss of the candidates that a measure ranks easiest. The lower the curve, the better."
    parts = [
        (f"system{number}", f"Errors of {one.system}", text, _risks(one), one.table())
        for number, one in enumerate(found.measures, 1)
    ]
    lead = f"How well the measures of the candidates of {found.release.signature} predict errors."
    return _page("Which measure predicts errors?", lead, command, parts)


def _risks(found: SystemMeasures) -> Any:
    """Risk over coverage, of the measure that selects and of :data:`DRAWN`."""
    names = dict.fromkeys((found.selects, *DRAWN))
    shown = [one for name in names for one in found.measures if one.measure == name] or found.measures[:1]
    rows = [
        [charts.Whisker(one.measure, risk, colour=colour) for risk in one.risks]
        for colour, one in enumerate(shown[: len(charts.DASHES)])
    ]
    steps = len(found.measures[0].risks)
    bins: list[tuple[str, int | None]] = [
        (f"{100 * at // steps}" if at % 4 == 0 else "", None) for at in range(1, steps + 1)
    ]
    return charts.lines(rows, bins, ("coverage, %", "risk"), "Risk over coverage", places=3)


def _page(title: str, lead: str, command: str, parts: list[tuple[str, str, str, Any, Any]]) -> str:
    """:param parts: an identifier, a title, a text, a chart or None, and the head and rows of a table or None."""
    context = {
        "title": title,
        "lead": lead,
        "notes": [],
        "sections": [*((name, heading) for name, heading, *_ in parts), ("origin", "Origin")],
        "parts_of_page": [
            {"id": name, "title": heading, "text": text, "chart": chart,
             "table": table and as_table(heading, heading, *table)}
            for name, heading, text, chart, table in parts
        ],
        "command": command,
    }  # fmt: skip
    return render_page("tables.html", context, {"rows": None})

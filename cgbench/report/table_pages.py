"""Pages of tables and charts: ``cgbench concur --report``."""

from __future__ import annotations

from typing import Any

from cgbench.benchmark.validity.concur import Concur
from cgbench.report import charts
from cgbench.report.page import as_table, render_page


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

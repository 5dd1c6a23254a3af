"""The page of ``cgbench validate --measures --report``: risk over coverage, a section per system
with its chart and its table.
"""

from typing import Any

from cgbench.plots import Chart, Series
from cgbench.report import charts
from cgbench.report.curves_page import render_curves
from cgbench.report.page import as_table
from cgbench.studies.validity.error_prediction import SystemMeasures
from cgbench.studies.validity.result import Validity

DRAWN = ("degree", "source_length", "perplexity", "expected_entropy", "pe_stu", "reference_pe_stu")
"""Measures whose risk over coverage is drawn: one of each type."""


def measures_page(validity: Validity, command: str) -> str:
    """The page as HTML, the same bytes for the same input: a curve of risk over coverage and a
    table per system.
    """
    sections = [
        {
            "id": f"system{index}",
            "title": (title := f"Errors of {system.system}"),
            "chart": _risks(system),
            "table": as_table(title, title, *system.table()),
        }
        for index, system in enumerate(validity.measures, 1)
    ]
    lead = (
        f"How well the measures of the candidates of {validity.release.signature} predict errors."
        " Risk: the mean loss of the candidates that a measure ranks easiest. The lower the curve,"
        " the better."
    )
    return render_curves("Which measure predicts errors?", lead, sections, command)


def _risks(scores: SystemMeasures) -> Any:
    """Risk over coverage, of the measure that selects and of :data:`DRAWN`.

    Coverage falls from left to right: all curves begin together, and their names are where they
    differ.
    """
    names = dict.fromkeys((scores.selects, *DRAWN))
    rows = [
        row for name in names for row in scores.measures if row.measure == name
    ] or scores.measures[:1]
    series = [Series(row.measure, row.risks[::-1]) for row in rows]
    steps = len(scores.measures[0].risks)
    labels = [f"{100 * step // steps}" if step % 4 == 0 else "" for step in range(steps, 0, -1)]
    return charts.draw(
        Chart(labels, series, "Risk over coverage", "risk", "coverage, %", decimals=3)
    )

"""The forms in which an evaluation is printed: ``--format``.

A form is a function of an evaluation, the number of decimals, and whether to give the reasons of
errors. To add one, write it in a file of its own, import it here and add it to :data:`BUILT_IN`, or
register it from another package as ``cgbench.forms``.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

from cgbench.benchmark.score.forms.analyses import analysis_blocks
from cgbench.benchmark.score.forms.rows import LONG
from cgbench.benchmark.score.forms.tables import tables_of
from cgbench.extensions import Registry
from cgbench.tables import as_text, render

Form = Callable[[Any, int, bool], str]


def _json(evaluation: Any, width: int, reasons: bool) -> str:
    rows = evaluation.to_json()
    return json.dumps(rows[0] if len(rows) == 1 else rows, ensure_ascii=False, indent=1)


def _tsv(evaluation: Any, width: int, reasons: bool) -> str:
    """The long table."""
    return render(LONG, [row.cells() for row in evaluation.rows()], "tsv")


def _tables(form: str, evaluation: Any, width: int, reasons: bool) -> str:
    """Tables and notes in one of the forms of :mod:`cgbench.tables`."""
    one_line, more = form == "text", [further.scored for further in evaluation.more]
    blocks = tables_of(evaluation.scored, width, reasons, one_line, more)
    for of_metric in evaluation.by_metric:
        blocks += analysis_blocks(of_metric.analyses, of_metric.layouts, width, one_line)
    return as_text(blocks, form)


def _paper(evaluation: Any, width: int, reasons: bool) -> str:
    from cgbench.benchmark.score.forms.paper import paragraph

    return paragraph(evaluation, width, reasons)


BUILT_IN: dict[str, Form] = {
    "text": partial(_tables, "text"),
    "json": _json,
    "tsv": _tsv,
    "markdown": partial(_tables, "markdown"),
    "latex": partial(_tables, "latex"),
    "html": partial(_tables, "html"),
    "paper": _paper,
}
FORMS: Registry[Form] = Registry("forms", BUILT_IN)
"""The forms by name."""

FORM_OF_SUFFIX = {
    ".txt": "text",
    ".md": "markdown",
    ".tex": "latex",
    ".tsv": "tsv",
    ".json": "json",
}
"""The form of a file by its suffix."""

"""One HTML file that opens from disk and contains its style, script and data; it makes no requests.

A content security policy (``default-src 'none'``) allows only this script and this style, by their
hashes. Corpus text enters the page through Jinja, which escapes it, or as JSON, which the script
shows as text and never as markup.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from cgbench import __version__
from cgbench.errors import printable
from cgbench.numbers_as_text import Cell, typeset
from cgbench.report.names import with_meanings
from cgbench.tables import Note, OutputTable

if TYPE_CHECKING:
    from jinja2 import Environment

MOST_EXAMPLES = 5_000
"""Maximum number of examples on a page; more are sampled."""
NONE = "–"  # noqa: RUF001 - an empty cell of a table
BEST = " ★"  # after the best values of a column, by the test
SCRIPT = ("page", "charts", "tables", "data", "words", "rows", "examples", "brush")
"""The parts of the script of pages, in their order."""
_ESCAPES = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}


def render_page(template: str, context: dict[str, Any], data: dict[str, Any]) -> str:
    """Render a page: the same bytes for the same input.

    :param context: variables of the template.
    :param data: data of the script; its text passes through :func:`printable_values`.
    :raises KeyError: the context lacks a variable of the template.
    """
    style, script = asset("report.css"), page_script()
    policy = (
        f"default-src 'none'; script-src '{_source(script)}'; style-src '{_source(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    from jinja2 import UndefinedError

    try:
        return (
            _environment()
            .get_template(template)
            .render(
                context,
                policy=policy,
                style=style,
                script=script,
                data=as_script_data(data),
                version=__version__,
            )
        )
    except UndefinedError as error:
        raise KeyError(error.message) from None


def render_section(template: Path, context: dict[str, Any]) -> Markup:
    """Render a section of a page from a template that a study or another package has.

    :raises KeyError: the context lacks a variable of the template.
    """
    from jinja2 import UndefinedError

    text = template.read_text(encoding="utf-8")
    try:
        return Markup(_environment().from_string(text).render(context))
    except UndefinedError as error:
        raise KeyError(error.message) from None


def as_table(
    label: str,
    caption: str,
    head: Sequence[str],
    rows: Sequence[Any],
    latex: str = "",
    starts: Sequence[int] = (),
) -> dict[str, Any]:
    """The argument of ``table`` in ``parts.html``: rows of texts, or of texts with a shade after
    the first; a row of one text is the title of those after it.

    :param latex: the table in LaTeX; by default made from the cells, with the label as its caption.
    :param starts: where groups of columns start.
    """
    if not latex:
        note = caption if caption != label else ""
        cells = [[_latex(cell) for cell in row] for row in rows]
        latex = OutputTable([_latex(cell) for cell in head], cells, title=label, note=note).render(
            "latex"
        )
    # A card names its columns without markup, and scores side by side in short.
    names = [_latex(cell).replace(" interval", "" if starts else " interval") for cell in head]
    table = {"label": label, "caption": caption, "head": head, "rows": rows, "names": names}
    return {**table, "latex": latex, "starts": starts}


def page_table(
    table: OutputTable, label: str, caption: str = "", latex: str = ""
) -> dict[str, Any]:
    """A table of the terminal on a page: without empty columns, with a dash for values that are
    missing.

    :param latex: the table in LaTeX; by default as the table is written to a file.
    """
    latex = latex or replace(table, title=table.title or label).render("latex")
    columns = [
        column
        for column in range(len(table.head))
        if not column or any(row[column] for row in table.rows)
    ]
    rows = [
        [row[column] or (NONE if column >= table.keys else "") for column in columns]
        for row in table.rows
    ]
    starts = [columns.index(start) for start in table.starts if start in columns]
    head = [table.head[column] for column in columns]
    return as_table(label, caption or label, head, rows, latex, starts)


def page_tables(blocks: Iterable[OutputTable | Note], label: str = "") -> list[dict[str, Any]]:
    """The tables among ``blocks`` that have rows and a title, or are labelled here."""
    tables = [block for block in blocks if isinstance(block, OutputTable) and block.rows]
    return [
        page_table(
            replace(table, head=[table.key or table.head[0], *table.head[1:]]), table.title or label
        )
        for table in tables
        if table.title or label
    ]


def _latex(cell: Any) -> str:
    text = cell if isinstance(cell, str) else cell[0]
    return str(text.striptags()) if isinstance(text, Markup) else text


def as_script_data(value: Any) -> Any:
    """JSON for a ``script`` element: no text in it can end the element or begin a comment."""
    text = json.dumps(
        printable_values(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False
    )
    return Markup(text.translate(_ESCAPES))


def printable_values(value: Any) -> Any:
    """``value`` with control characters in its text made visible, as on a terminal."""
    if isinstance(value, str):
        return printable(value, "\n")
    if isinstance(value, dict):
        return {key: printable_values(item) for key, item in value.items()}
    return [printable_values(item) for item in value] if isinstance(value, (list, tuple)) else value


@cache
def asset(name: str) -> Any:
    """The style, or a part of the script."""
    text = (files("cgbench.report") / "templates" / name).read_text(encoding="utf-8")
    assert "</script" not in text and "</style" not in text
    return Markup(text)


@cache
def page_script() -> Any:
    """The script: its parts within one function, since each uses those before it."""
    parts = Markup("\n").join(asset(f"script/{name}.js") for name in SCRIPT)
    return Markup('"use strict";\n(() => {\n') + parts + Markup("})();\n")


def _source(text: str) -> str:
    """The hash by which the policy allows an element."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _finalize(value: Any) -> Any:
    if isinstance(value, Cell):
        mark = value.mark + BEST * value.is_best
        number = escape(printable(value.number))
        return number + Markup('<span class="mark">{}</span>').format(mark) if mark else number
    return printable(value, "\n\t") if type(value) is str else value


def _with_minus(cell: Any) -> Any:
    """A cell of a table with a minus sign instead of a hyphen."""
    if isinstance(cell, Cell):
        return Cell(typeset(cell.number), cell.mark, is_best=cell.is_best)
    return typeset(cell) if type(cell) is str else cell


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("cgbench.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalize,
    )
    environment.globals["none_sign"] = NONE
    environment.filters["number"] = _with_minus
    environment.filters["count"] = lambda value: f"{value:,}"
    environment.filters["share"] = lambda value: NONE if value is None else f"{100 * value:.1f}%"
    environment.filters["named"] = with_meanings
    environment.filters["headings"] = lambda content: [
        tuple(map(Markup, heading))
        for heading in re.findall('<h2 id="([^"]*)">(.*?)</h2>', content)
    ]
    environment.filters["figure"] = lambda value, digits=3: (
        NONE if value is None else f"{value:.{digits}f}"
    )
    return environment

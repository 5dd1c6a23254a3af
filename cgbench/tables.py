"""Small tables as text, Markdown, LaTeX, HTML or TSV."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

from cgbench.errors import printable

FORMS = ("text", "markdown", "latex", "html", "tsv")
_LATEX = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "Δ": r"$\Delta$",
    "<": r"$<$",
    ">": r"$>$",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "\u2212": "$-$",
    "μ": r"$\mu$",
}
_SIGNED = re.compile(r"(?<!\S)([-+])(?=[0-9.]+[*\s]|[0-9.]+\Z)")
_RANGE = re.compile(r"([0-9.]+)-([0-9.]+)\Z")


class Ready(str):
    """A cell that is LaTeX as it stands."""


def fixed(value: float | None, places: int, sign: str = "", none: str = "") -> str:
    """A number with ``places`` decimals and never a minus before zero; ``sign="+"``: with a plus before the others."""
    if value is None:
        return none
    text = f"{value:{sign}.{places}f}"
    return text if float(text) else f"{0:{sign}.{places}f}"


def p_text(value: float | None, none: str = "") -> str:
    """A p-value with four decimals."""
    return none if value is None else "< 0.0001" if value < 0.00005 else f"{value:.4f}"


def safe_cell(cell: str) -> str:
    """A cell of TSV that no spreadsheet runs: ``'`` before one that begins with ``=``, ``+``, ``-`` or ``@`` and is no
    number."""
    if cell[:1] not in ("=", "+", "-", "@"):
        return cell
    return cell if re.fullmatch(r"[+-][0-9][0-9,]*(\.[0-9]*)?(e[+-]?[0-9]+)?", cell) else f"'{cell}"


def safe_tsv(table: str) -> str:
    """A table in TSV with :func:`safe_cell` for each cell."""
    return "\n".join("\t".join(map(safe_cell, line.split("\t"))) for line in table.split("\n"))


def render(head: Sequence[str], rows: Sequence[Sequence[str]], form: str = "text") -> str:
    """A table in one of :data:`FORMS`; the first column to the left; one that is empty throughout is left out."""
    lines = [[_plain(cell) for cell in line] for line in ((head, *rows) if head else rows)]
    body = lines[1:] if head else lines
    keep = [
        column
        for column in range(len(lines[0]))
        if not column or form == "tsv" or not body or any(row[column] for row in body)
    ]
    lines = [[line[column] for column in keep] for line in lines]
    return {"text": _text, "markdown": _markdown, "latex": _latex, "html": _html, "tsv": _tsv}[form](lines)


def _plain(cell: str) -> str:
    if isinstance(cell, Ready):
        return cell
    return printable(cell.replace("\t", " ").replace("\n", " "))


def _text(lines: Sequence[Sequence[str]]) -> str:
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if column else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def _markdown(lines: Sequence[Sequence[str]]) -> str:
    head, *rows = [
        ["".join(f"\\{sign}" if sign in "\\|[]" else sign for sign in cell).replace("<", "&lt;") for cell in line]
        for line in lines
    ]
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, rule, *rows))


def _latex(lines: Sequence[Sequence[str]]) -> str:
    head, *rows = [[latex_cell(cell) for cell in line] for line in lines]
    return latex_table(head, rows)


def latex_cell(text: str) -> str:
    """A text in LaTeX: numbers with a true sign, ranges with a dash, relations, and what LaTeX reads otherwise."""
    if isinstance(text, Ready):
        return text
    text = _plain(text)
    if text == "-":
        return "--"  # no value
    if found := _RANGE.match(text):
        return f"{found[1]}--{found[2]}"
    text = text.replace(">=", "≥").replace("<=", "≤")
    return _SIGNED.sub(r"$\1$", "".join(_LATEX.get(one, one) for one in text))


def latex_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table (booktabs) of cells that are LaTeX, the first column to the left."""
    first, *others = [" & ".join(line) + r" \\" for line in (head, *rows)]
    others = ["{}" + row if row.startswith("[") else row for row in others]  # else an option of the row's end before it
    shape = "l" + "r" * (len(head) - 1)
    return "\n".join(
        [rf"\begin{{tabular}}{{{shape}}}", r"\toprule", first, r"\midrule", *others, r"\bottomrule", r"\end{tabular}"]
    )


def _html(lines: Sequence[Sequence[str]]) -> str:
    """For a notebook, which has its own style for tables."""
    head, *rows = [[html.escape(cell) for cell in line] for line in lines]

    def row(cells: Sequence[str], tag: str) -> str:
        aligned = ("left", *["right"] * (len(cells) - 1))
        return "<tr>" + "".join(
            f'<{tag} style="text-align: {side}">{cell}</{tag}>' for side, cell in zip(aligned, cells, strict=True)
        ) + "</tr>"  # fmt: skip

    body = "\n".join(row(cells, "td") for cells in rows)
    return f"<table>\n<thead>{row(head, 'th')}</thead>\n<tbody>\n{body}\n</tbody>\n</table>"


def as_html(text: str) -> str:
    """Lines of text that stand beside a table, in HTML."""
    return f"<pre>{html.escape(text)}</pre>"


def _tsv(lines: Sequence[Sequence[str]]) -> str:
    return "\n".join("\t".join(line) for line in lines)

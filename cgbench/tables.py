"""Small tables as text, Markdown, LaTeX or TSV."""

from __future__ import annotations

import re
from collections.abc import Sequence

FORMS = ("text", "markdown", "latex", "tsv")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")  # a table is lines of cells; a terminal obeys escape codes
_LATEX = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "Δ": r"$\Delta$",
    "<": r"$<$",
    ">": r"$>$",
}


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
    return {"text": _text, "markdown": _markdown, "latex": _latex, "tsv": _tsv}[form](lines)


def _plain(cell: str) -> str:
    return _CONTROL.sub("\ufffd", cell.replace("\t", " ").replace("\n", " "))


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
    head, *rows = [
        " & ".join("".join(_LATEX.get(sign, sign) for sign in cell) for cell in line) + r" \\" for line in lines
    ]
    rows = ["{}" + row if row.startswith("[") else row for row in rows]  # else an option of the row's end before it
    shape = "l" + "r" * (len(lines[0]) - 1)
    return "\n".join(
        [rf"\begin{{tabular}}{{{shape}}}", r"\toprule", head, r"\midrule", *rows, r"\bottomrule", r"\end{tabular}"]
    )


def _tsv(lines: Sequence[Sequence[str]]) -> str:
    return "\n".join("\t".join(line) for line in lines)

"""Cells, tables and notes in LaTeX (booktabs, graphicx)."""

import re
from collections.abc import Sequence

from cgbench.numbers_as_text import Cell, Ready, single_line

_LATEX = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "|": r"\textbar{}",
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
_SIGNED = re.compile(r"(?<!\S)([-+])(?=[0-9.]+\s|[0-9.]+\Z)")
_RANGE = re.compile(r"([0-9.]+)-([0-9.]+)\Z")
_TABULAR = re.compile(r"\\begin\{tabular\}.*?\\end\{tabular\}", re.DOTALL)
BOLD = "Bold: best system, or not significantly worse than the best"
"""What bold numbers mean in LaTeX."""


def latex_cell(text: str) -> str:
    """A text in LaTeX: numbers with a true sign, ranges with a dash, relations, and what LaTeX
    reads otherwise.
    """
    if isinstance(text, Ready):
        return text
    if isinstance(text, Cell):
        number = latex_cell(text.number)
        stars = latex_mark(text.mark)
        return (rf"\textbf{{{number}}}" if text.is_best else number) + stars
    text = single_line(text)
    if text == "-":
        return "--"  # no value
    if match := _RANGE.match(text):
        return f"{match[1]}--{match[2]}"
    text = text.replace(">=", "≥").replace("<=", "≤")
    return _SIGNED.sub(r"$\1$", "".join(_LATEX.get(sign, sign) for sign in text))


def latex_mark(mark: str) -> str:
    """Stars that do not move the decimals of their column."""
    return rf"\rlap{{$^{{{mark}}}$}}" if mark else ""


def latex_tabular(lines: Sequence[Sequence[str]]) -> str:
    """A ``tabular`` of lines of LaTeX, the first column to the left."""
    first, *body = [" & ".join(line) + r" \\" for line in lines]
    body = [
        "{}" + row if row.startswith("[") else row for row in body
    ]  # else an option of the row's end before it
    shape = "l" + "r" * (len(lines[0]) - 1)
    return "\n".join(
        [
            rf"\begin{{tabular}}{{{shape}}}",
            r"\toprule",
            first,
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
        ]
    )


def latex_table(tabular: str, caption: str, notes: Sequence[str] = ()) -> str:
    """A ``table`` with its caption, a label made from the caption, and notes below it; at most as
    wide as its column.
    """
    label = re.sub("[^a-z0-9]+", "-", caption.lower()).strip("-")
    lines = [r"\begin{table}[t]", r"\centering", rf"\caption{{{latex_cell(caption)}}}"]
    lines += [
        rf"\label{{tab:{label}}}",
        fit_to_column(tabular),
        *map(latex_note, notes),
        r"\end{table}",
    ]
    return "\n".join(lines)


def latex_note(text: str) -> str:
    """A note below a table: a small paragraph, which may break within a signature."""
    words = latex_cell(text).replace(r"\textbar{}", r"\textbar{}\allowbreak{}")
    return rf"\par\smallskip{{\footnotesize\raggedright {words}\par}}"


def fit_to_column(latex: str) -> str:
    """The tabulars of LaTeX, each made smaller if it is wider than a column."""
    width = r"\ifdim\width>\columnwidth\columnwidth\else\width\fi"
    return _TABULAR.sub(
        lambda tabular: rf"\resizebox{{{width}}}{{!}}{{%" + f"\n{tabular[0]}}}", latex
    )

"""Small tables, and notes between them, as text, Markdown, LaTeX, HTML or TSV."""

import html
import re
import shutil
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

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
_STARS = re.compile(r"(?<=[0-9])\*+\Z")
_SHORT = 24  # characters of a cell that stays on one line
_RANGE = re.compile(r"([0-9.]+)-([0-9.]+)\Z")


class Ready(str):
    """A cell that is LaTeX as it stands."""


class Best(str):
    """A cell with one of the best values of its column, by the test: bold in LaTeX."""


def fixed(value: float | None, places: int, sign: str = "", none: str = "") -> str:
    """A number with ``places`` decimals and never a minus before zero; ``sign="+"``: with a plus
    before the others.
    """
    if value is None:
        return none
    text = f"{value:{sign}.{places}f}"
    return text if float(text) else f"{0:{sign}.{places}f}"


def counted(count: int, noun: str) -> str:
    """``1 line``, ``2,000 lines``, ``2 entries``."""
    many = f"{noun.removesuffix('y')}ies" if noun.endswith("ry") else f"{noun}s"
    return f"{count:,} {noun if count == 1 else many}"


def p_text(value: float | None) -> str:
    """A p-value with four decimals."""
    return "" if value is None else "< 0.0001" if value < 0.00005 else f"{value:.4f}"


def columns() -> int:
    """The width of the terminal, or 80."""
    return shutil.get_terminal_size((80, 24)).columns


def render(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    form: str = "text",
    left: int = 1,
    keys: int = 1,
    starts: Sequence[int] = (),
) -> str:
    """A table in one of :data:`FORMS`; a column that is empty throughout is left out.

    As text it is as wide as the terminal: long cells are wrapped, columns move together by a blank
    if all fit then, and columns that do not fit follow below.

    :param left: the number of columns that are aligned to the left; the others are numbers.
    :param keys: the number of columns that are repeated before the columns that follow below.
    :param starts: where groups of columns start that follow below together if they do not fit.
    """
    lines = [[_plain(cell) for cell in line] for line in ((head, *rows) if head else rows)]
    body = lines[1:] if head else lines
    keep = [
        column
        for column in range(len(lines[0]))
        if not column or form == "tsv" or not body or any(row[column] for row in body)
    ]
    lines = [[line[column] for column in keep] for line in lines]
    if form == "text":
        first_of_group = [sum(column < start for column in keep) for start in starts]
        left, keys = (sum(column < count for column in keep) for count in (left, keys))
        return _text(lines, left, keys, first_of_group)
    if form == "latex":
        return _latex([[latex_cell(cell) for cell in line] for line in lines])
    if form == "tsv":
        return "\n".join(map("\t".join, lines))
    return _markdown(lines) if form == "markdown" else _html(lines)


def _plain(cell: str) -> str:
    if isinstance(cell, (Ready, Best)):
        return cell
    return printable(cell.replace("\t", " ").replace("\n", " "))


def _text(lines: Sequence[Sequence[str]], left: int, keys: int, starts: Sequence[int]) -> str:
    room = columns()
    # The widest columns shrink until the table fits, no further than their longest word.
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    least = [0] * len(widths)
    for line_number, line in enumerate(lines):
        for column, cell in enumerate(line):
            wraps = cell.split() and (not line_number or 0 < column < left or len(cell) > _SHORT)
            least[column] = max(least[column], max(map(len, cell.split())) if wraps else len(cell))
    gap = 1 if sum(least) + len(widths) - 1 <= room < sum(least) + 2 * (len(widths) - 1) else 2
    blank, between = " " * gap, gap * (len(widths) - 1)
    if (
        sum(least) + between > room
    ):  # columns follow below: only those that are too wide by themselves are wrapped
        widths[:keys] = [
            max(min(width, room // 2), least[key]) for key, width in enumerate(widths[:keys])
        ]
        rest = room - sum(widths[:keys]) - gap * keys
        widths[keys:] = [
            max(min(width, rest), least[column]) for column, width in enumerate(widths[keys:], keys)
        ]
    while sum(least) + between <= room < sum(widths) + between:
        wide = [column for column, width in enumerate(widths) if width > least[column]]
        widths[max(wide, key=widths.__getitem__)] -= 1
    # Cells wrap to their column.
    wrapped = [
        [
            (
                [cell]
                if len(cell) <= width
                else textwrap.wrap(cell, width, break_long_words=False, break_on_hyphens=False)
            )
            for cell, width in zip(line, widths, strict=True)
        ]
        for line in lines
    ]
    widths = [
        max(len(text) for cell in column for text in cell) for column in zip(*wrapped, strict=True)
    ]
    # Columns that do not fit go to a further block, with the key columns repeated; groups stay
    # together.
    first = sum(widths[:keys]) + gap * (keys - 1)
    blocks, used = [list(range(keys))], first
    for column, width in enumerate(widths[keys:], keys):
        end = min((start for start in starts if start > column), default=len(widths))
        group = sum(gap + width for width in widths[column:end]) if column in starts else 0
        if len(blocks[-1]) > keys and (
            used + gap + width > room or used + group > room >= first + group
        ):
            blocks.append(list(range(keys)))
            used = first
        blocks[-1].append(column)
        used += gap + width

    def shown(block: Sequence[int]) -> str:
        rows = (
            cells
            for line in wrapped
            for cells in zip_longest(*(line[c] for c in block), fillvalue="")
        )
        aligned = (
            [
                cell.ljust(widths[c]) if c < left else cell.rjust(widths[c])
                for c, cell in zip(block, cells, strict=True)
            ]
            for cells in rows
        )
        return "\n".join(blank.join(cells).rstrip() for cells in aligned)

    return "\n\n".join(map(shown, blocks))


def _markdown(lines: Sequence[Sequence[str]]) -> str:
    head, *rows = [
        [
            "".join(f"\\{sign}" if sign in "\\|[]" else sign for sign in cell).replace("<", "&lt;")
            for cell in line
        ]
        for line in lines
    ]
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, rule, *rows))


def latex_cell(text: str) -> str:
    """A text in LaTeX: numbers with a true sign, ranges with a dash, relations, and what LaTeX
    reads otherwise.
    """
    if isinstance(text, Ready):
        return text
    if isinstance(text, Best):
        return rf"\textbf{{{text}}}"
    if mark := _STARS.search(text):
        return latex_cell(text[: mark.start()]) + raised(mark[0])
    text = _plain(text)
    if text == "-":
        return "--"  # no value
    if match := _RANGE.match(text):
        return f"{match[1]}--{match[2]}"
    text = text.replace(">=", "≥").replace("<=", "≤")
    return _SIGNED.sub(r"$\1$", "".join(_LATEX.get(sign, sign) for sign in text))


def raised(mark: str) -> str:
    """Stars after a number."""
    return f"$^{{{mark}}}$" if mark else ""


def _latex(lines: Sequence[Sequence[str]]) -> str:
    """A table (booktabs), the first column to the left."""
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


def _html(lines: Sequence[Sequence[str]]) -> str:
    """For a notebook, which has its own style for tables."""
    head, *rows = lines

    def row(cells: Sequence[str], tag: str) -> str:
        sides = ("left", *["right"] * (len(cells) - 1))
        inside = (
            f'<{tag} style="text-align: {s}">{html.escape(c)}</{tag}>'
            for c, s in zip(cells, sides, strict=True)
        )
        return f"<tr>{''.join(inside)}</tr>"

    body = "\n".join(row(cells, "td") for cells in rows)
    return f"<table>\n<thead>{row(head, 'th')}</thead>\n<tbody>\n{body}\n</tbody>\n</table>"


@dataclass(frozen=True)
class OutputTable:
    """A table of texts.

    ``keys``: how many columns say what a row is. ``starts``: where groups of columns start.
    ``note``: lines below it. ``latex``: the table in LaTeX, if that has another layout.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    keys: int = 1
    title: str = ""
    note: str = ""
    latex: str | None = None
    starts: Sequence[int] = ()

    def render(self, form: str) -> str:
        """The table in one of :data:`FORMS`."""
        if form == "latex" and self.latex is not None:
            return self.latex
        if not self.rows:
            return ""
        table = render(self.head, self.rows, form, keys=self.keys, starts=self.starts)
        between = "\n\n" if form == "markdown" else "\n"
        return f"{table}{between}{Note(self.note).render(form)}" if self.note else table


@dataclass(frozen=True)
class Note:
    """Lines of text between tables: comments in LaTeX, or nothing there (``in_latex``).

    ``code``: lines that Markdown must not join.
    """

    text: str
    code: bool = False
    in_latex: bool = True

    def render(self, form: str) -> str:
        """The lines in one of the forms."""
        if not self.text:
            return ""
        if form == "latex":
            return (
                "\n".join(f"% {line}" for line in self.text.splitlines()) if self.in_latex else ""
            )
        if form == "markdown":
            return f"```\n{self.text}\n```" if self.code else "\n\n".join(self.text.splitlines())
        return f"<pre>{html.escape(self.text)}</pre>" if form == "html" else self.text


def as_text(blocks: Iterable[OutputTable | Note], form: str) -> str:
    """Tables and notes below each other, without those that are empty."""
    return "\n\n".join(filter(None, (block.render(form) for block in blocks)))

"""Small tables, and notes between them, as text, Markdown, LaTeX, HTML or TSV."""

import html
import os
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest

from cgbench.errors import printable

FORMS = ("text", "markdown", "latex", "html", "tsv")
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
_MINUS = re.compile(r"(?<![\w.,-])-(?=[\d.])")
UNLIMITED = sys.maxsize  # columns of a file or a pipe
_SHORT = 24  # characters of a cell that stays on one line
_RANGE = re.compile(r"([0-9.]+)-([0-9.]+)\Z")
_TABULAR = re.compile(r"\\begin\{tabular\}.*?\\end\{tabular\}", re.DOTALL)
_MARKDOWN = re.compile(r"[\\`*_\[\]|~$&]")
LEVELS = (0.05, 0.01)
"""p-values below these have stars, so none of them is printed as if it were not below."""
BOLD = "Bold: best system, or not significantly worse than the best"
"""What bold numbers mean in LaTeX."""
MORE_DECIMALS = 2
"""The most further decimals of a difference that would look like zero."""


class Ready(str):
    """A cell that is LaTeX as it stands."""


class Cell(str):
    """A number with its mark: stars after it; the best of its column is bold in LaTeX and has a
    star on a page.
    """

    number: str
    mark: str
    is_best: bool

    def __new__(cls, number: str, mark: str = "", *, is_best: bool = False) -> "Cell":
        """The text is the number with the mark."""
        cell = super().__new__(cls, number + mark)
        cell.number, cell.mark, cell.is_best = number, mark, is_best
        return cell


def fixed(value: float | None, places: int, sign: str = "", none: str = "") -> str:
    """A number with ``places`` decimals.

    A number without a sign has no minus before zero. With ``sign="+"``, all but zero itself have
    their sign, even those that are rounded to zero: below zero never looks like above.
    """
    if value is None:
        return none
    text = f"{value:{sign}.{places}f}"
    if not value or (not sign and not float(text)):
        return f"{0:.{places}f}"
    return text


def typeset(text: str) -> str:
    """Numbers with a minus sign instead of a hyphen, for pages and pictures."""
    return _MINUS.sub("\N{MINUS SIGN}", text)


def span(low: float | None, high: float | None, places: int, sign: str = "") -> str:
    """An interval, if there is one."""
    if low is None or high is None:
        return ""
    return f"{fixed(low, places, sign)} to {fixed(high, places, sign)}"


def decimals_of(values: Iterable[float | None], least: int) -> int:
    """The decimals of differences and ends of intervals that stand together: at least ``least``,
    and more where one that is not zero would look like zero.
    """
    visible = [value for value in values if value]
    for places in range(least, least + MORE_DECIMALS):
        if all(float(f"{value:.{places}f}") for value in visible):
            return places
    return least + MORE_DECIMALS


def counted(count: int, noun: str) -> str:
    """``1 line``, ``2,000 lines``, ``2 entries``."""
    many = f"{noun.removesuffix('y')}ies" if noun.endswith("ry") else f"{noun}s"
    return f"{count:,} {noun if count == 1 else many}"


def joined(names: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def p_text(value: float | None) -> str:
    """A p-value with four decimals, or with more if it would look like a level that it is below."""
    if value is None:
        return ""
    if value < 0.00005:
        return "< 0.0001"
    for places in range(4, 8):
        text = f"{value:.{places}f}"
        if not any(value < level <= float(text) for level in LEVELS):
            return text
    return f"< {float(text):g}"


def columns() -> int:
    """The width of the terminal, or ``COLUMNS``; without limit where no terminal shows the output,
    so that ``grep`` finds whole rows.
    """
    if not is_terminal() and not os.environ.get("COLUMNS", "").isdigit():
        return UNLIMITED
    import shutil

    return shutil.get_terminal_size((80, 24)).columns


def is_terminal() -> bool:
    """Whether a terminal shows the output."""
    return sys.stdout is not None and sys.stdout.isatty()


def folded(line: str, indent: int, between: str = " ") -> str:
    """A line as lines of the terminal's width, all but the first indented.

    :param between: where it may break: after this.
    """
    room = columns()
    if len(line) <= room:
        return line
    lines = [""]
    for part in re.split(f"(?<={re.escape(between)})", line):
        if len(lines[-1]) + len(part.rstrip()) > room and lines[-1].strip():
            lines.append(" " * indent)
        lines[-1] += part
    return "\n".join(text.rstrip() for text in lines)


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
    visible = [
        column
        for column in range(len(lines[0]))
        if not column or form == "tsv" or not body or any(row[column] for row in body)
    ]
    lines = [[line[column] for column in visible] for line in lines]
    if form == "text":
        first_of_groups = [sum(column < start for column in visible) for start in starts]
        visible_left = sum(column < left for column in visible)
        visible_keys = sum(column < keys for column in visible)
        return TextTable(lines, visible_left, visible_keys, first_of_groups).render()
    if form == "latex":
        return _latex([[latex_cell(cell) for cell in line] for line in lines])
    if form == "tsv":
        return "\n".join(map("\t".join, lines))
    return _markdown(lines) if form == "markdown" else _html(lines)


def _plain(cell: str) -> str:
    if isinstance(cell, (Ready, Cell)):
        return cell
    return printable(cell.replace("\t", " ").replace("\n", " "))


class TextTable:
    """A table as text, as wide as the terminal.

    ``widths``: of the columns; ``longest_words``: the widths that they cannot be below; ``gap``:
    blanks between columns.
    """

    def __init__(
        self, lines: Sequence[Sequence[str]], left: int, keys: int, starts: Sequence[int]
    ) -> None:
        """Arguments as for :func:`render`; the first of ``lines`` is the head."""
        self.lines, self.left, self.keys, self.starts = lines, left, keys, starts
        self.room = columns()
        self.widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        self.longest_words = self._longest_words()
        # One blank between columns if all fit then and only then.
        narrowest, gaps = sum(self.longest_words), len(self.widths) - 1
        self.gap = 1 if narrowest + gaps <= self.room < narrowest + 2 * gaps else 2

    def render(self) -> str:
        """The table; columns that do not fit are in further blocks."""
        self._shrink()
        wrapped = self._wrapped()
        self.widths = [
            max(len(text) for cell in column for text in cell)
            for column in zip(*wrapped, strict=True)
        ]
        return "\n\n".join(self._block(wrapped, block) for block in self._blocks())

    def _longest_words(self) -> list[int]:
        """The longest word of each column; short cells of the body are not divided."""
        longest = [0] * len(self.widths)
        for line_number, line in enumerate(self.lines):
            is_head = line_number == 0
            for column, cell in enumerate(line):
                may_wrap = is_head or 0 < column < self.left or len(cell) > _SHORT
                words = cell.split() if may_wrap else []
                longest[column] = max(longest[column], *map(len, words or [cell]))
        return longest

    def _shrink(self) -> None:
        """Make the widest columns narrower until the table fits, none below its longest word."""
        gaps = self.gap * (len(self.widths) - 1)
        least = self.longest_words
        if sum(least) + gaps > self.room:
            # Columns follow below: only those that are too wide by themselves are made narrower.
            for key in range(self.keys):
                self.widths[key] = max(min(self.widths[key], self.room // 2), least[key])
            rest = self.room - sum(self.widths[: self.keys]) - self.gap * self.keys
            for column in range(self.keys, len(self.widths)):
                self.widths[column] = max(min(self.widths[column], rest), least[column])
            return
        while sum(self.widths) + gaps > self.room:
            can_shrink = [
                column for column, width in enumerate(self.widths) if width > least[column]
            ]
            self.widths[max(can_shrink, key=self.widths.__getitem__)] -= 1

    def _wrapped(self) -> list[list[list[str]]]:
        """The lines of each cell."""
        return [
            [self._wrap(cell, width) for cell, width in zip(line, self.widths, strict=True)]
            for line in self.lines
        ]

    @staticmethod
    def _wrap(cell: str, width: int) -> list[str]:
        if len(cell) <= width:
            return [cell]
        return textwrap.wrap(cell, width, break_long_words=False, break_on_hyphens=False)

    def _blocks(self) -> list[list[int]]:
        """The columns of each block, with the keys repeated; groups of columns stay together."""
        key_columns = list(range(self.keys))
        width_of_keys = sum(self.widths[: self.keys]) + self.gap * (self.keys - 1)
        blocks, used = [list(key_columns)], width_of_keys
        for column in range(self.keys, len(self.widths)):
            needed = self.gap + self.widths[column]
            group = self._width_of_group(column)
            fits = used + needed <= self.room
            group_fits = used + group <= self.room
            group_fits_alone = width_of_keys + group <= self.room
            if len(blocks[-1]) > self.keys and (not fits or (not group_fits and group_fits_alone)):
                blocks.append(list(key_columns))
                used = width_of_keys
            blocks[-1].append(column)
            used += needed
        return blocks

    def _width_of_group(self, column: int) -> int:
        """The width of the group that starts at a column; 0 if none does."""
        if column not in self.starts:
            return 0
        end = min((start for start in self.starts if start > column), default=len(self.widths))
        return sum(self.gap + width for width in self.widths[column:end])

    def _block(self, wrapped: Sequence[Sequence[Sequence[str]]], block: Sequence[int]) -> str:
        texts = []
        for line in wrapped:
            for cells in zip_longest(*(line[column] for column in block), fillvalue=""):
                aligned = [
                    self._aligned(cell, column) for column, cell in zip(block, cells, strict=True)
                ]
                texts.append((" " * self.gap).join(aligned).rstrip())
        return "\n".join(texts)

    def _aligned(self, cell: str, column: int) -> str:
        width = self.widths[column]
        return cell.ljust(width) if column < self.left else cell.rjust(width)


def escape_markdown(text: str) -> str:
    """A text that Markdown shows as it is."""
    return _MARKDOWN.sub(r"\\\g<0>", text).replace("<", "&lt;")


def _markdown(lines: Sequence[Sequence[str]]) -> str:
    head, *rows = [[escape_markdown(cell) for cell in line] for line in lines]
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, rule, *rows))


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
    text = _plain(text)
    if text == "-":
        return "--"  # no value
    if match := _RANGE.match(text):
        return f"{match[1]}--{match[2]}"
    text = text.replace(">=", "≥").replace("<=", "≤")
    return _SIGNED.sub(r"$\1$", "".join(_LATEX.get(sign, sign) for sign in text))


def latex_mark(mark: str) -> str:
    """Stars that do not move the decimals of their column."""
    return rf"\rlap{{$^{{{mark}}}$}}" if mark else ""


def latex_table(tabular: str, caption: str, notes: Sequence[str] = ()) -> str:
    """A ``table`` with its caption, a label made from the caption, and notes below it."""
    label = re.sub("[^a-z0-9]+", "-", caption.lower()).strip("-")
    lines = [r"\begin{table}[t]", r"\centering", rf"\caption{{{latex_cell(caption)}}}"]
    lines += [rf"\label{{tab:{label}}}", tabular, *map(latex_note, notes), r"\end{table}"]
    return "\n".join(lines)


def latex_note(text: str) -> str:
    """A note below a table: a small paragraph, which may break within a signature."""
    words = latex_cell(text).replace(r"\textbar{}", r"\textbar{}\allowbreak{}")
    return rf"\par\smallskip{{\footnotesize\raggedright {words}\par}}"


def fit_to_column(latex: str) -> str:
    """The tables of LaTeX, each made narrower if it is wider than a column (graphicx)."""
    width = r"\ifdim\width>\columnwidth\columnwidth\else\width\fi"
    return _TABULAR.sub(
        lambda tabular: rf"\resizebox{{{width}}}{{!}}{{%" + f"\n{tabular[0]}}}", latex
    )


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
    ``key``: the head of the first column where the title stands above the table. ``text``: makes
    what a terminal shows, if that is not a table.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    keys: int = 1
    title: str = ""
    note: str = ""
    latex: str | None = None
    starts: Sequence[int] = ()
    key: str = ""
    text: Callable[[], str] | None = None

    @property
    def caption(self) -> str:
        """What the table is called in LaTeX."""
        return self.title or self.head[0]

    def render(self, form: str) -> str:
        """The table in one of :data:`FORMS`."""
        if form == "latex" and self.latex is not None:
            tabular = self.latex
            return latex_table(tabular, self.caption) if tabular else ""
        if not self.rows:
            return ""
        if form == "text" and self.text is not None:
            return self.text()
        table = render(self.head, self.rows, form, keys=self.keys, starts=self.starts)
        if form == "latex":
            cells = chain.from_iterable(self.rows)
            has_best = any(isinstance(cell, Cell) and cell.is_best for cell in cells)
            notes = [*[BOLD] * has_best, *self.note.splitlines()]
            return latex_table(table, self.caption, notes)
        between = "\n\n" if form == "markdown" else "\n"
        return f"{table}{between}{Note(self.note).render(form)}" if self.note else table


@dataclass(frozen=True)
class Note:
    """Lines of text between tables: notes below the table in LaTeX, or nothing there
    (``in_latex``).

    ``code``: lines that Markdown must not join. ``indent``: a terminal folds lines at ``|``, with
    this indentation.
    """

    text: str
    code: bool = False
    in_latex: bool = True
    indent: int = 0

    def render(self, form: str) -> str:
        """The lines in one of the forms."""
        if not self.text:
            return ""
        if form == "latex":
            return "\n".join(map(latex_note, self.text.splitlines())) if self.in_latex else ""
        if form == "markdown":
            if self.code:
                return f"```\n{self.text}\n```"
            return "\n\n".join(map(escape_markdown, self.text.splitlines()))
        if form == "html":
            return f"<pre>{html.escape(self.text)}</pre>"
        if not self.indent or not is_terminal():
            return self.text
        return "\n".join(folded(line, self.indent, "|") for line in self.text.splitlines())


def as_text(blocks: Iterable[OutputTable | Note], form: str) -> str:
    """Tables and notes below each other, without those that are empty; in LaTeX, notes stand below
    the first table.
    """
    blocks = list(blocks)
    if form != "latex":
        return "\n\n".join(filter(None, (block.render(form) for block in blocks)))
    end = r"\end{table}"
    tables = [block.render(form) for block in blocks if isinstance(block, OutputTable)]
    notes = [block.render(form) for block in blocks if isinstance(block, Note)]
    notes, tables = list(filter(None, notes)), list(filter(None, tables))
    if not tables:
        return "\n".join(notes)
    first, *others = tables
    first = "\n".join([first.removesuffix(f"\n{end}"), *notes, end])
    return "\n\n".join([first, *others])

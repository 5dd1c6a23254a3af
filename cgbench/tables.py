"""Small tables, and notes between them, as text, Markdown, LaTeX, HTML or TSV."""

import html
from collections.abc import Callable, Iterable, Sequence
from itertools import chain

from cgbench.numbers_as_text import Cell, Ready, single_line
from cgbench.patterns import pattern
from cgbench.records import Record
from cgbench.terminal import folded, is_terminal

FORMS = ("text", "markdown", "latex", "html", "tsv")
_MARKDOWN = pattern(r"[\\`*_\[\]|~$&]")


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
        from cgbench.text_table import TextTable

        first_of_groups = [sum(column < start for column in visible) for start in starts]
        visible_left = sum(column < left for column in visible)
        visible_keys = sum(column < keys for column in visible)
        return TextTable(lines, visible_left, visible_keys, first_of_groups).render()
    if form == "latex":
        from cgbench.latex import latex_cell, latex_tabular

        return latex_tabular([[latex_cell(cell) for cell in line] for line in lines])
    if form == "tsv":
        return "\n".join(map("\t".join, lines))
    return _markdown(lines) if form == "markdown" else _html(lines)


def _plain(cell: str) -> str:
    return cell if isinstance(cell, (Ready, Cell)) else single_line(cell)


def escape_markdown(text: str) -> str:
    """A text that Markdown shows as it is."""
    return _MARKDOWN.sub(r"\\\g<0>", text).replace("<", "&lt;")


def _markdown(lines: Sequence[Sequence[str]]) -> str:
    head, *rows = [[escape_markdown(cell) for cell in line] for line in lines]
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, rule, *rows))


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


class OutputTable(Record):
    """A table of texts.

    ``keys``: how many columns say what a row is. ``starts``: where groups of columns start.
    ``note``: lines below it. ``latex``: makes the table in LaTeX, if that has another layout.
    ``key``: the head of the first column where the title stands above the table. ``text``: makes
    what a terminal shows, if that is not a table.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    keys: int = 1
    title: str = ""
    note: str = ""
    latex: Callable[[], str] | None = None
    starts: Sequence[int] = ()
    key: str = ""
    text: Callable[[], str] | None = None

    @property
    def caption(self) -> str:
        """What the table is called in LaTeX."""
        return self.title or self.head[0]

    def render(self, form: str) -> str:
        """The table in one of :data:`FORMS`."""
        if form == "latex":
            return self._in_latex()
        if not self.rows:
            return ""
        if form == "text" and self.text is not None:
            return self.text()
        table = render(self.head, self.rows, form, keys=self.keys, starts=self.starts)
        between = "\n\n" if form == "markdown" else "\n"
        return f"{table}{between}{Note(self.note).render(form)}" if self.note else table

    def _in_latex(self) -> str:
        """The table with its caption and notes; empty without rows."""
        from cgbench.latex import BOLD, latex_table

        if self.latex is not None:
            tabular = self.latex()
            return latex_table(tabular, self.caption) if tabular else ""
        if not self.rows:
            return ""
        cells = chain.from_iterable(self.rows)
        has_best = any(isinstance(cell, Cell) and cell.is_best for cell in cells)
        notes = [*[BOLD] * has_best, *self.note.splitlines()]
        return latex_table(render(self.head, self.rows, "latex"), self.caption, notes)


class Note(Record):
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
            from cgbench.latex import latex_note

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

"""Tables and notes as text, Markdown, LaTeX or HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cgbench.tables import as_html, render


@dataclass(frozen=True)
class OutputTable:
    """A table of texts.

    ``keys``: how many columns say what a row is. ``starts``: where groups of columns start. ``note``: lines below it.
    ``latex``: the table in LaTeX, if that has another layout.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    keys: int = 1
    title: str = ""
    note: str = ""
    latex: str | None = None
    starts: Sequence[int] = ()

    def render(self, form: str) -> str:
        """The table in one of :data:`cgbench.tables.FORMS`."""
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
            return "\n".join(f"% {line}" for line in self.text.splitlines()) if self.in_latex else ""
        if form == "markdown":
            return f"```\n{self.text}\n```" if self.code else "\n\n".join(self.text.splitlines())
        return as_html(self.text) if form == "html" else self.text


def as_text(blocks: Iterable[OutputTable | Note], form: str) -> str:
    """Tables and notes below each other, without those that are empty."""
    return "\n\n".join(filter(None, (block.render(form) for block in blocks)))

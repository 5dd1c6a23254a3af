"""Read back what evaluations print: the tables of text, Markdown and LaTeX, and a page's tables and
charts.
"""

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import pairwise


@dataclass
class PrintedTable:
    """A table as it is printed: its head and rows, as texts."""

    head: list[str]
    rows: list[list[str]]
    caption: str = ""


def text_tables(text):
    """The tables of text that is wide enough for all columns.

    All columns but the first are aligned to the right, so they end where their heads end.
    """
    tables = []
    for block in text.split("\n\n"):
        head, *lines = block.splitlines()
        heads = list(re.finditer(r"\S+(?: \S+)*", head))
        if len(heads) < 2 or not lines:
            continue
        ends = [match.end() for match in heads]
        rows = []
        for line in lines:
            first_two = line[: ends[1]]
            first, second = first_two.strip(), ""
            if len(first_two.rstrip()) == ends[1]:  # something ends where the second column ends
                first, _, second = first_two.rpartition("  ")
            others = [line[start:end].strip() for start, end in pairwise(ends[1:])]
            rows.append([first.strip(), second.strip(), *others])
        tables.append(PrintedTable([match[0] for match in heads], rows))
    return tables


def markdown_tables(text):
    """The tables of Markdown, without its escapes."""
    tables = []
    for block in text.split("\n\n"):
        if block.startswith("| "):
            lines = [re.split(r"(?<!\\)\|", line)[1:-1] for line in block.splitlines()]
            head, _, *rows = [[_unescaped(cell.strip()) for cell in line] for line in lines]
            tables.append(PrintedTable(head, rows))
    return tables


def _unescaped(cell):
    return re.sub(r"\\([\\`*_\[\]|~$&])", r"\1", cell.replace("&lt;", "<"))


LATEX = {
    r"\textbar{}": "|",
    r"\textasciitilde{}": "~",
    r"\textasciicircum{}": "^",
    r"$\pm$": "±",
    r"$\Delta$": "Δ",
    r"$\geq$": ">=",
    r"$\leq$": "<=",
    "$<$": "<",
    "$>$": ">",
    "$+$": "+",
    "$-$": "-",
    "{,}": ",",
    "$n$": "n",
}


def latex_tables(text):
    """The tables of LaTeX; a bold cell ends in ★."""
    tables = []
    for block in re.findall(r"\\toprule\n(.*?)\n\\bottomrule", text, re.DOTALL):
        lines = [
            [_plain_latex(cell) for cell in re.split(r"(?<!\\)&", line.removesuffix(r" \\"))]
            for line in block.splitlines()
            if line != r"\midrule"
        ]
        tables.append(PrintedTable(lines[0], lines[1:]))
    return tables


def _plain_latex(cell):
    cell = cell.strip().removeprefix("{}")
    cell = re.sub(r"\\rlap\{(\$\^\{\*+\}\$)\}", r"\1", cell)
    if match := re.fullmatch(r"(.*?)\$\^\{(\*+)\}\$", cell):
        cell = match[1] + match[2]
    cell = re.sub(r"\$_\{\\pm ([\d.]+)\}\$", r" ± \1", cell)
    if match := re.match(r"\\textbf\{(.*?)\}(?!\})", cell):
        cell = f"{match[1]}{cell[match.end() :]} ★"
    for written, shown in LATEX.items():
        cell = cell.replace(written, shown)
    cell = re.sub(r"\\([&%$#_{}])", r"\1", cell).replace(r"\textbackslash{}", "\\")
    return cell.replace("--", "-")


@dataclass
class PrintedChart:
    """A chart: its label, what its marks say under the pointer, and the values beside its rows."""

    label: str
    marks: list[str] = field(default_factory=list)
    values: list[str] = field(default_factory=list)


class Page(HTMLParser):
    """The tables and charts of a page."""

    def __init__(self, page):
        super().__init__()
        self.tables, self.charts = [], []
        self.texts = None  # of the element that is read
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag == "table":
            self.tables.append(PrintedTable([], []))
        elif tag == "tr":
            self.row = []
        elif tag == "svg":
            self.charts.append(PrintedChart(attributes["aria-label"]))
        if tag in ("caption", "th", "td", "title") or (
            tag == "text" and attributes.get("class") == "value"
        ):
            self.texts = []

    def handle_data(self, data):
        if self.texts is not None:
            self.texts.append(data)

    def handle_endtag(self, tag):
        if self.texts is not None and tag in ("caption", "th", "td", "title", "text"):
            text, self.texts = "".join(self.texts), None
            if tag in ("td", "text"):
                assert not re.match(r"-\d", text), text  # a minus sign, not a hyphen
            text = text.replace("\N{MINUS SIGN}", "-")
            if tag == "caption":
                self.tables[-1].caption = text
            elif tag in ("th", "td"):
                self.row.append(text)
            elif tag == "title" and self.charts:
                self.charts[-1].marks.append(text)
            elif tag == "text":
                self.charts[-1].values.append(text)
        if tag == "tr":
            table = self.tables[-1]
            if table.head:
                table.rows.append(self.row)
            else:
                table.head = self.row

"""mkdocs: a chart below a table of ranges, such as ``3.3 to 5.9``.

``<!-- ranges 5 -->`` below a table draws the ranges of that table, with a line at 5: nothing is
written twice, and a reader of the plain Markdown sees the table.
"""

import re
from html import escape
from typing import Any

_MARKED = re.compile(r"(?m)((?:^\|.*\n)+)\n?<!-- ranges ?([\d.]*) -->$")
_RANGE = re.compile(r"([\d.]+)(?: to ([\d.]+))?$")
WIDTH, NAMES, ROW, BAR = 640, 150, 14, 5
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#b270a4", "#c7864b", "#3e95fa", "#7f7f7f")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Draw the ranges of each marked table below it."""
    return _MARKED.sub(lambda found: f"{found[1]}\n{chart(found[1], found[2])}\n", markdown)


def chart(table: str, line: str = "") -> str:
    """The ranges of a table as SVG: a group of bars per row, a colour per column.

    :param line: a value at which a line is drawn, if any.
    """
    head, _, *rows = [[cell.strip() for cell in row.split("|")[1:-1]] for row in table.splitlines()]
    columns = [at for at in range(1, len(head)) if all(_RANGE.match(row[at]) for row in rows)]
    ranges = {
        (y, at): tuple(float(end or low) for end in (low, high))
        for y, row in enumerate(rows)
        for at in columns
        for low, high in [_RANGE.match(row[at]).groups()]  # type: ignore[union-attr]
    }
    highest = max([high for _, high in ranges.values()] + [float(line or 0)])
    step = next(s for s in (0.5, 1, 2, 5, 10, 20, 50, 100) if highest / s <= 8)
    scale = (WIDTH - NAMES - 20) / highest
    group = ROW + BAR * len(columns)
    top = 18 * ((len(columns) + 2) // 3)
    bottom = top + group * len(rows) + 6
    parts = [_legend(head, columns)]
    for tick in range(int(highest / step) + 1):
        x = NAMES + tick * step * scale
        parts.append(f'<path d="M{x:.1f} {top}V{bottom}" stroke="currentColor" opacity=".15"/>')
        parts.append(
            f'<text x="{x:.1f}" y="{bottom + 14}" text-anchor="middle">{tick * step:g}</text>'
        )
    if line:
        x = NAMES + float(line) * scale
        parts.append(
            f'<path d="M{x:.1f} {top}V{bottom}" stroke="currentColor" stroke-dasharray="3 3"/>'
        )
    for y, row in enumerate(rows):
        begin = top + group * y + ROW / 2
        middle = begin + BAR * len(columns) / 2 + 4
        words = escape(_name(head, row, columns))
        parts.append(f'<text x="{NAMES - 8}" y="{middle:.1f}" text-anchor="end">{words}</text>')
        for place, at in enumerate(columns):
            low, high = (NAMES + end * scale for end in ranges[y, at])
            height = begin + BAR * place + BAR / 2
            title = f"{escape(words)}, {escape(head[at])}: {escape(row[at])}"
            parts.append(
                f'<path d="M{low:.1f} {height:.1f}H{max(high, low + 1):.1f}" stroke-width="3.5"'
                f' stroke="{COLOURS[place % len(COLOURS)]}"><title>{title}</title></path>'
            )
    label = escape(f"Ranges of the table above by {head[0]}")
    return (
        f'<svg class="ranges" role="img" aria-label="{label}" viewBox="0 0 {WIDTH} {bottom + 22}"'
        f' style="max-width: {WIDTH}px" font-size="11" fill="currentColor">{"".join(parts)}</svg>'
    )


def _name(head: list[str], row: list[str], columns: list[int]) -> str:
    """What a row is of: its cells that are no ranges."""
    keys = [at for at in range(len(head)) if at not in columns]
    first, *others = keys
    return ", ".join([row[first], *(f"{head[at]} {row[at]}" for at in others)])


def _legend(head: list[str], columns: list[int]) -> str:
    items = []
    for place, at in enumerate(columns):
        x, y = 20 + 200 * (place % 3), 12 + 18 * (place // 3)
        colour = COLOURS[place % len(COLOURS)]
        items.append(f'<path d="M{x} {y - 4}h18" stroke="{colour}" stroke-width="3.5"/>')
        items.append(f'<text x="{x + 24}" y="{y}">{escape(head[at])}</text>')
    return "".join(items)

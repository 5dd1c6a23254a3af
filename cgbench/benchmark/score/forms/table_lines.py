"""Lines of the printed tables: rows with the same keys, each with the columns of a score."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cgbench.benchmark.score.forms.columns import (
    Decimals,
    printed,
    score_text,
    texts,
)
from cgbench.benchmark.score.forms.rows import Row

COLUMNS_OF_SCORE = printed()
"""The columns after a score."""


def lines_of(
    rows: Sequence[Row], keys: Sequence[str], cells: Callable[[Row], Sequence[str]], once: int = 0
) -> list[list[str]]:
    """One line for all rows with the same keys, in the order of their bins: the keys, then the
    cells of each row.

    :param keys: names of columns.
    :param once: how many keys are left empty where the line above has the same.
    """
    lines: dict[tuple[str, ...], list[str]] = {}
    above: tuple[str, ...] | None = None
    bins = {label: index for index, label in enumerate(dict.fromkeys(row.bin for row in rows))}
    for row in sorted(rows, key=lambda row: bins[row.bin]):
        key = tuple(f"{row.n:,}" if name == "n" else str(getattr(row, name) or "") for name in keys)
        if key not in lines:
            repeated = once if key[:once] == above else 0
            lines[key], above = [*[""] * repeated, *key[repeated:]], key[:once]
        lines[key] += cells(row)
    return list(lines.values())


def score_cells_of(rows: Sequence[Row], width: int) -> Callable[[Row], list[str]]:
    """Makes the cells of a score with all its columns, for the rows of one table."""
    decimals = Decimals.of(rows, width)
    return lambda row: [score_text(row, decimals), *texts(COLUMNS_OF_SCORE, row, decimals)]

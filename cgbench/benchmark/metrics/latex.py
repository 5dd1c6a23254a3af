"""Tables of ``cgbench score --format latex``: one row per system and one column per bin, as in papers.

The best score of a column is in bold. The standard deviation of several runs is a subscript. Stars mark differences
from the baseline with a small p-value, adjusted by Holm's method.
"""

from __future__ import annotations

from collections.abc import Sequence

from cgbench.benchmark.metrics.comparison import Pair, Score
from cgbench.benchmark.metrics.scored import ScoredSystems
from cgbench.benchmark.metrics.significance import MARKS, stars
from cgbench.tables import Ready, fixed, latex_cell, latex_table


def bins_table(scored: ScoredSystems, figure: str, width: int) -> str:
    """A score of every system, over all examples and in each bin; empty if no bin has one."""
    labels = [one.label for one, _ in scored.results[0].bins]
    columns = _columns(scored, figure)
    if all(estimate.value is None for column in columns[1:] for estimate in column):
        return ""
    best = [_best(scored, column, width) for column in columns]
    sizes = [part.examples for part in scored.results[0].parts]
    head = [latex_cell(f"{scored.metric.label(figure)} by {scored.by}"), "all", *map(latex_cell, labels)]
    rows = [["$n$", *(f"{size:,}".replace(",", "{,}") for size in sizes)]]
    for place, result in enumerate(scored.results):
        cells = [_cell(column[place], best[number], width) for number, column in enumerate(columns)]
        rows.append([latex_cell(result.system), *cells])
    table = latex_table(head, rows)
    if scored.baseline:
        table += f"\n% differs from {scored.baseline.replace(chr(10), ' ')}: {legend(scored)}"
    return table


def bold_best(scored: ScoredSystems, figure: str, width: int) -> list[Ready]:
    """A score of every system over all examples, the best in bold."""
    column = _columns(scored, figure)[0]
    best = _best(scored, column, width)
    return [Ready(_value(estimate, best, width)) for estimate in column]


def _columns(scored: ScoredSystems, figure: str) -> list[list[Score]]:
    """The scores of all systems: over all examples, then in each bin."""
    return [[part.figures[figure] for part in parts] for parts in zip(*(result.parts for result in scored.results))]  # noqa: B905


def _best(scored: ScoredSystems, column: Sequence[Score], width: int) -> str | None:
    """The best score of a column as printed; None for a single system."""
    values = [estimate.value for estimate in column if estimate.value is not None]
    if len(column) < 2 or not values:
        return None
    return fixed((min if scored.metric.lower_is_better else max)(values), width)


def _value(estimate: Score, best: str | None, width: int) -> str:
    if estimate.value is None:
        return "--"
    text = fixed(estimate.value, width)
    return rf"\textbf{{{text}}}" if text == best else latex_cell(text)


def _cell(estimate: Score, best: str | None, width: int) -> str:
    text = _value(estimate, best, width)
    if estimate.value is not None and estimate.stdev is not None:
        text += rf"$_{{\pm {estimate.stdev:.{max(width, 1)}f}}}$"
    return text + _raised(stars(estimate.p_star))


def legend(scored: ScoredSystems) -> str:
    """The meaning of the stars."""
    levels = ", ".join(f"{mark} p < {bound}" for bound, mark in reversed(MARKS))
    return f"{levels} ({scored.star_test}, p adjusted by Holm's method)"


def difference(one: Score | Pair, width: int) -> Ready:
    """A difference with its stars."""
    if one.difference is None:
        return Ready("")
    return Ready(latex_cell(fixed(one.difference, width, "+")) + _raised(stars(one.p_star)))


def _raised(mark: str) -> str:
    return f"$^{{{mark}}}$" if mark else ""

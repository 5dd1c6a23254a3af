"""The table of ``cgbench score --format latex`` with one row per system and one column per bin, as
in papers.

The scores of a column that the test does not find worse than its best are in bold. The standard
deviation of several runs is a subscript. Stars mark differences from the baseline with a small
p-value, adjusted by Holm's method.
"""

from itertools import chain

from cgbench.benchmark.score.comparison.scored_systems import ScoredSystems
from cgbench.benchmark.score.forms.stars import legend
from cgbench.latex import BOLD, Ready, latex_cell, latex_mark, latex_note
from cgbench.numbers_as_text import Cell, fixed
from cgbench.tables import render


def bins_table(scored: ScoredSystems, figure: str, width: int) -> str:
    """A score of every system, over all examples and in each bin; empty if no bin has one."""
    systems = [[subset.figures[figure] for subset in result.parts] for result in scored.results]
    if all(score.value is None for scores in systems for score in scores[1:]):
        return ""
    labels = [
        scored.by_title,
        "all",
        *(bin.label for bin, _ in scored.results[0].bins),
    ]
    sizes = (f"{subset.examples:,}".replace(",", "{,}") for subset in scored.results[0].parts)
    rows: list[list[str]] = [[Ready("$n$"), *map(Ready, sizes)]]
    for result, scores in zip(scored.results, systems, strict=True):
        cells = [result.system]
        for score in scores:
            text = fixed(score.value, width, none="-")
            cell = latex_cell(Cell(text, is_best=bool(score.is_best)))
            if score.value is not None and score.stdev is not None:
                cell += rf"$_{{\pm {fixed(score.stdev, max(width, 1))}}}$"
            if score.mark:
                cell += latex_mark(score.mark)
            cells.append(Ready(cell))
        rows.append(cells)
    # What the marks mean.
    scores = list(chain.from_iterable(systems))
    meanings = []
    if any(score.is_best for score in scores):
        meanings.append(f"{BOLD}.")
    if any(score.stdev is not None for score in scores):
        meanings.append("±: standard deviation over seeds.")
    if scored.baseline:
        meanings.append(f"Differs from {scored.baseline}: {legend(scored, scores)}.")
    notes = [latex_note(" ".join(meanings))] if meanings else []
    return "\n".join([render(labels, rows, "latex"), *notes])

"""Scores by known pieces as tables."""

from __future__ import annotations

from cgbench.benchmark.metrics.comparison import Pair, Score
from cgbench.benchmark.metrics.known_pieces import PartsScores
from cgbench.benchmark.metrics.report import number, span
from cgbench.benchmark.metrics.significance import stars
from cgbench.tables import as_html, fixed, p_text, render

Table = tuple[str, list[str], list[list[str]], int]
"""A table: its title, its head, its rows, and how many columns say what a row is."""


LEGEND = (
    "given: test pairs in which the system knows every piece; residual: the error on them, minus the error that the "
    "probes predict"
)


def as_text(scores: PartsScores, form: str, width: int) -> str:
    """The tables of :func:`tables_of` as text, Markdown, LaTeX or HTML, with a line that explains them."""
    residual, *others = (render(head, rows, form, keys=keys) for _, head, rows, keys in tables_of(scores, width))
    legend = {"latex": f"% {LEGEND}", "html": as_html(LEGEND)}.get(form, LEGEND)
    return "\n\n".join([residual, legend, *others])


def tables_of(scores: PartsScores, width: int) -> list[Table]:
    """The residual composition error, its differences between systems, and scores of given pairs and of the rest.

    :param width: the decimals of scores.
    """
    rows, pairs = [], []
    for result in scores.residual.results:
        residual, given, error, predicted = result.whole.figures.values()
        row = [scores.residual.title(result.system), number(given.value, 1), span(given.ci_low, given.ci_high, 1)]
        row += [number(error.value, 1), number(predicted.value, 1), number(residual.value, 1)]
        rows.append([*row, span(residual.ci_low, residual.ci_high, 1, "+"), *_difference(residual)])
        pairs += [[result.system, pair.against, *_difference(pair)] for pair in residual.pairs]
    last = ["Δ", "95 % of Δ", "p (Holm)"]
    head = ["known parts", "given %", "95 % interval", "error", "predicted", "residual", "95 % interval", *last]
    tables: list[Table] = [
        ("Given pairs, and their error beyond what the probes predict, in percent", head, rows, 1),
        (
            "Differences of the residual composition error, all pairs",
            ["residual: all pairs", "against", *last],
            pairs,
            2,
        ),
    ]
    rows = []
    for place, (one, _) in enumerate(scores.scored.results[0].bins):
        for later, result in enumerate(scores.scored.results):
            part = result.bins[place][1]
            row = ["" if later else one.label, scores.scored.title(result.system), f"{part.examples:,}"]
            for score in part.figures.values():
                row += [number(score.value, width), span(score.ci_low, score.ci_high, width)]
            rows.append(row)
    metric = scores.scored.metric
    head = [cell for name in metric.figures for cell in (metric.label(name), "95 % interval")]
    tables.append(("Scores on given pairs, and on the rest", ["test pairs", "system", "n", *head], rows, 2))
    return [table for table in tables if table[2]]


def _difference(one: Score | Pair) -> list[str]:
    bounds = span(one.difference_low, one.difference_high, 1, "+")
    return [fixed(one.difference, 1, "+") + stars(one.p_holm), bounds, p_text(one.p_holm)]

"""Scores by known parts as tables, as rows of the long table, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cgbench.benchmark.metrics.comparison import Pair, Score, SubsetScores
from cgbench.benchmark.metrics.known_pieces import PartsScores, SystemParts
from cgbench.benchmark.metrics.records import figure_values, part_records, system_record
from cgbench.benchmark.metrics.report import number, span
from cgbench.benchmark.metrics.scored import ScoredSystems
from cgbench.benchmark.metrics.significance import stars
from cgbench.tables import fixed, p_text, render

Table = tuple[str, list[str], list[list[str]]]
"""A table: its name, its head and its rows."""


def as_tables(scores: PartsScores, scored: ScoredSystems, form: str, width: int) -> list[str]:
    """The tables of :func:`tables_of` as text, Markdown, LaTeX or HTML."""
    return [render(head, rows, form, keys=1 if name == "residual" else 2)
            for name, head, rows in tables_of(scores, scored, width)]  # fmt: skip


def tables_of(scores: PartsScores, scored: ScoredSystems, width: int) -> list[Table]:
    """The residual composition error, its differences between systems, and scores of given pairs and of the rest."""
    rows, pairs = [], []
    for result, one in zip(scored.results, scores.systems, strict=True):
        given, error, predicted, residual = one.figures.values()
        row = [scored.title(result.system), number(given.value, 1), span(given.ci_low, given.ci_high, 1)]
        row += [number(error.value, 1), number(predicted.value, 1), number(residual.value, 1)]
        rows.append([*row, span(residual.ci_low, residual.ci_high, 1, "+"), *_difference(residual)])
        pairs += [[result.system, pair.against, *_difference(pair)] for pair in residual.pairs]
    last = ["Δ", "95 % of Δ", "p (Holm)"]
    head = ["parts", "given %", "95 % interval", "error", "predicted", "residual", "95 % interval", *last]
    tables: list[Table] = [("residual", head, rows)]
    tables += [("pairs", ["residual: all pairs", "against", *last], pairs)] if pairs else []
    rows = []
    for place, (label, _) in enumerate(_parts(scores, scores.systems[0])):
        for later, (result, one) in enumerate(zip(scored.results, scores.systems, strict=True)):
            _, part = _parts(scores, one)[place]
            row = ["" if later else label, scored.title(result.system), f"{part.examples:,}"]
            for score in part.figures.values():
                row += [number(score.value, width), span(score.ci_low, score.ci_high, width)]
            rows.append(row)
    head = [cell for name in scored.metric.figures for cell in (scored.metric.label(name), "95 % interval")]
    return [*tables, ("scores", ["test pairs", "system", "n", *head], rows)]


def _parts(scores: PartsScores, one: SystemParts) -> list[tuple[str, SubsetScores]]:
    """The scores of a system on given pairs, on the rest, and on given pairs in bins."""
    binned = [(f"given, {scores.by} {bin.label}", part) for bin, part in one.bins]
    return [("given", one.given), ("rest", one.rest), *binned]


def _difference(one: Score | Pair) -> list[str]:
    bounds = span(one.difference_low, one.difference_high, 1, "+")
    return [fixed(one.difference, 1, "+") + stars(one.p_holm), bounds, p_text(one.p_holm)]


def long_records(scores: PartsScores, scored: ScoredSystems) -> Iterator[dict[str, Any]]:
    """Records of the long table: ``by`` is ``parts``; ``bin`` is given, rest, a bin of given pairs, or all."""
    for result, one in zip(scored.results, scores.systems, strict=True):
        whole = SubsetScores(scored.metric.n, scored.metric.n, one.figures)
        for label, part in [("all", whole), *_parts(scores, one)]:
            yield from part_records(system_record(scored, result) | {"by": "parts", "bin": label}, part)


def as_values(scores: PartsScores, system: int) -> dict[str, Any]:
    """The results of a system as JSON values."""
    one = scores.systems[system]

    def values(part: SubsetScores) -> dict[str, Any]:
        return {"n": part.examples, **{name: figure_values(score) for name, score in part.figures.items()}}

    return {
        "known": scores.least,
        "probes": len(scores.folder.probes),
        "untested": scores.untested,
        "match": scores.folder.match,
        **{name: figure_values(score) for name, score in one.figures.items()},
        "on_given": values(one.given),
        "on_rest": values(one.rest),
        "by": scores.by,
        "bins": [{"label": bin.label, "low": bin.low, "high": bin.high, **values(part)} for bin, part in one.bins],
    }

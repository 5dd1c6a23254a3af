"""Scores by known parts as tables, as rows of the long table, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cgbench.benchmark.metrics.comparison import Pair, Score, SubsetScores
from cgbench.benchmark.metrics.known_pieces import PartsScores
from cgbench.benchmark.metrics.records import figure_values, floats
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
    """Given pairs and the residual composition error; scores on given pairs and on the rest; by degree."""
    metric, systems = scored.metric, list(zip(scored.results, scores.systems, strict=True))
    rows, pairs = [], []
    for result, one in systems:
        given, residual = (one.composition.figures[name] for name in ("given", "residual"))
        row = [scored.title(result.system), number(given.value, 1), _span(given)]
        row += [number(one.composition.figures[name].value, 1) for name in ("error", "predicted")]
        row += [number(residual.value, 1), span(residual.ci_low, residual.ci_high, 1, "+")]
        rows.append(row + _difference(residual))
        pairs += [[result.system, pair.against, *_difference(pair)] for pair in residual.pairs]
    last = ["Δ", "95 % of Δ", "p (Holm)"]
    head = ["parts", "given %", "95 % interval", "error", "predicted", "residual", "95 % interval"]
    tables: list[Table] = [("residual", [*head, *last], rows)]
    tables += [("pairs", ["residual: all pairs", "against", *last], pairs)] if pairs else []
    rows = [
        [metric.label(name), scored.title(result.system)]
        + [cell for part in (one.given, one.rest) for cell in _cells(part, name, width)]
        for name in metric.figures
        for result, one in systems
    ]
    head = ["score", "system", "given: n", "score", "95 % interval", "rest: n", "score", "95 % interval"]
    tables.append(("scores", head, rows))
    figure = metric.figures[0]
    rows = [
        ["" if first else one.bins[place][0].label, scored.title(result.system),
         *_cells(one.bins[place][1], figure, width)]
        for place in range(len(scores.systems[0].bins))
        for first, (result, one) in enumerate(systems)
    ]  # fmt: skip
    tables.append(("bins", [f"given, by {scores.by}", "system", "n", metric.label(figure), "95 % interval"], rows))
    return tables


def _difference(one: Score | Pair) -> list[str]:
    bounds = span(one.difference_low, one.difference_high, 1, "+")
    return [fixed(one.difference, 1, "+") + stars(one.p_holm), bounds, p_text(one.p_holm)]


def _cells(part: SubsetScores, name: str, width: int) -> list[str]:
    score = part.figures[name]
    return [f"{part.examples:,}", number(score.value, width), _span(score, width)]


def _span(score: Score, width: int = 1) -> str:
    return span(score.ci_low, score.ci_high, width)


def long_records(scores: PartsScores, scored: ScoredSystems) -> Iterator[dict[str, Any]]:
    """Records of the long table: ``by`` is ``parts``; ``bin`` is given, rest, or all (of :data:`FIGURES`)."""
    for result, one in zip(scored.results, scores.systems, strict=True):
        own = {"metric": scored.metric.name, "system": result.system, "runs": result.runs, "by": "parts"}
        own |= {"signature": str(scored.signature), "signature_short": scored.signature.format(short=True)}
        own |= {"baseline": scored.baseline}
        for name, score in one.composition.figures.items():
            row = own | {"bin": "all", "figure": name, "n": scored.metric.n}
            yield row | floats(score)
            for pair in score.pairs:
                yield row | floats(pair) | {"value": score.value, "baseline": pair.against}
        parts = [("given", one.given), ("rest", one.rest)]
        parts += [(f"given, {scores.by} {bin.label}", part) for bin, part in one.bins]
        for bin_name, part in parts:
            for name, score in part.figures.items():
                yield own | {"bin": bin_name, "figure": name, "n": part.examples, **floats(score)}


def as_values(scores: PartsScores, system: int) -> dict[str, Any]:
    """The results of a system as JSON values."""
    one, folder = scores.systems[system], scores.folder
    found: dict[str, Any] = {
        "known": scores.least,
        "probes": len(folder.probes),
        "untested": scores.untested,
        "match": folder.match,
        **{name: figure_values(score) for name, score in one.composition.figures.items()},
    }
    for name, part in (("on_given", one.given), ("on_rest", one.rest)):
        found[name] = {"n": part.examples, **{key: figure_values(score) for key, score in part.figures.items()}}
    found["by"] = scores.by
    found["bins"] = [
        {"label": bin.label, "low": bin.low, "high": bin.high, "n": part.examples,
         **{key: figure_values(score) for key, score in part.figures.items()}}
        for bin, part in one.bins
    ]  # fmt: skip
    return found

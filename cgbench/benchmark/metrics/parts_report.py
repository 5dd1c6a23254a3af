"""Scores by known parts as tables, as rows of the long table, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cgbench.benchmark.metrics.comparison import Score
from cgbench.benchmark.metrics.known_pieces import PartsScores
from cgbench.benchmark.metrics.records import figure_values, floats
from cgbench.benchmark.metrics.report import number, span
from cgbench.benchmark.metrics.scored import ScoredSystems
from cgbench.benchmark.metrics.significance import stars
from cgbench.tables import fixed, p_text, render

HEAD = {
    "given": "given %",
    "error": "error",
    "predicted": "predicted",
    "residual": "residual",
}


def as_tables(scores: PartsScores, scored: ScoredSystems, form: str, width: int) -> list[str]:
    """The tables: given pairs and the residual composition error; scores on given pairs and the rest; by degree."""
    metric, systems = scored.metric, list(zip(scored.results, scores.systems, strict=True))
    rows = []
    for result, one in systems:
        figures = one.composition.figures
        given, residual = figures["given"], figures["residual"]
        row = [scored.title(result.system), _share(given), _span(given)]
        row += [number(figures[name].value, 1) for name in ("error", "predicted")]
        row += [number(residual.value, 1), span(residual.ci_low, residual.ci_high, 1, "+")]
        row += [fixed(residual.difference, 1, "+") + stars(residual.p_holm)]
        row += [span(residual.difference_low, residual.difference_high, 1, "+"), p_text(residual.p_holm)]
        rows.append(row)
    head = ["parts: system", "given %", "95 % interval", "error", "predicted", "residual", "95 % interval", "Δ"]
    tables = [render([*head, "95 % of Δ", "p (Holm)"], rows, form)]
    if any(one.composition.figures["residual"].pairs for _, one in systems):
        pairs = [
            [result.system, pair.against, fixed(pair.difference, 1, "+") + stars(pair.p_holm),
             span(pair.difference_low, pair.difference_high, 1, "+"), p_text(pair.p_value), p_text(pair.p_holm)]
            for result, one in systems
            for pair in one.composition.figures["residual"].pairs
        ]  # fmt: skip
        tables.append(
            render(["residual: all pairs", "against", "Δ", "95 % of Δ", "p", "p (Holm)"], pairs, form, keys=2)
        )
    rows = []
    for name in metric.figures:
        for result, one in systems:
            cells = [metric.label(name), scored.title(result.system)]
            for part in (one.given, one.rest):
                score = part.figures[name]
                cells += [f"{part.examples:,}", number(score.value, width), _span(score, width)]
            rows.append(cells)
    side = ["n", "score", "95 % interval"]
    tables.append(render(["pairs", "system", *side, "rest: n", *side[1:]], rows, form, keys=2))
    rows = []
    for place, (bin, _) in enumerate(scores.systems[0].bins):
        for first, (result, one) in enumerate(systems):
            part = one.bins[place][1]
            score = part.figures[metric.figures[0]]
            rows.append(["" if first else bin.label, scored.title(result.system), f"{part.examples:,}",
                         number(score.value, width), _span(score, width)])  # fmt: skip
    tables.append(
        render(
            [f"given, by {scores.by}", "system", "n", metric.label(metric.figures[0]), "95 % interval"],
            rows,
            form,
            keys=2,
        )
    )
    return tables


def _share(score: Score) -> str:
    return number(score.value, 1)


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

"""``cgbench score --report``: the page of scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cgbench.benchmark.metrics.base import Estimate
from cgbench.benchmark.metrics.cter import Cter
from cgbench.benchmark.metrics.differences import SHOWN, Difference, Differences, example_scores
from cgbench.benchmark.metrics.drop import Drop
from cgbench.benchmark.metrics.evaluation import CALIBRATED, Part
from cgbench.benchmark.metrics.result import Asked, Evaluation
from cgbench.benchmark.metrics.scoring import Scored
from cgbench.benchmark.metrics.significance import LEVEL
from cgbench.errors import InputError
from cgbench.plots import COLOURS
from cgbench.report import charts
from cgbench.report.page import MOST_EXAMPLES, render_page
from cgbench.report.score_data import (
    Breakdown,
    Pairs,
    breakdowns,
    compare_all,
    most_telling,
    never_right,
    ngram_pairs,
    texts_of,
    wholes,
)
from cgbench.text.profile import is_unspaced

REASONS = 15
COMPOUNDS = 100


def score_page(evaluation: Evaluation, *, command: str = "", notes: Sequence[str] | None = None) -> str:
    """A page about scores, as HTML: the same bytes for the same input.

    :param command: what made them, to be shown.
    :param notes: what was warned of, in the words of the command line; by default in those of the library.
    :raises InputError: the evaluation was put together by hand, without what it was made from.
    """
    asked = evaluation.asked
    if asked is None:
        raise InputError("a report needs an evaluation that cgbench.evaluate made")
    scored = evaluation.scored
    parts = wholes(evaluation, asked)
    pairs = compare_all(evaluation, parts)
    found = breakdowns(evaluation, asked)
    ngrams = ngram_pairs(evaluation, asked)
    examples = _examples(evaluation, asked)
    said = [str(warning) for warning in asked.warned] if notes is None else list(notes)
    if examples["shown"] < examples["all"]:
        said.append(
            f"Of {examples['all']:,} examples {examples['shown']:,} are here: those on which the systems differ most."
        )
    sections = [("systems", "Systems")]
    sections += [("control", "Control set")] * (scored.control is not None)
    sections += [("pairs", "Pairs")] * bool(pairs) + [("bins", "Breakdown")] * bool(found)
    sections += [("ngrams", "N-grams")] * bool(ngrams)
    sections += [("differences", "Differences")] * bool(evaluation.differences)
    sections += [("compounds", "Compounds")] * isinstance(scored.metric, Cter)
    sections += [("examples", "Examples"), ("origin", "Origin")]
    name = scored.metric.name
    context = {
        "title": f"{name}: {', '.join(system.name for system in evaluation.systems[:4])}"
        + (" and others" if len(evaluation.systems) > 4 else ""),
        "sections": sections,
        "notes": [("", line) for line in said],
        "facts": _facts(evaluation),
        "systems": [_systems_table(evaluation, parts, figure) for figure in scored.metric.figures],
        "charts": [_systems_chart(evaluation, parts, figure) for figure in scored.metric.figures],
        "drops": [_drops(evaluation, figure) for figure in scored.metric.figures] if scored.drops else [],
        "control_examples": scored.control,
        "pairs": _pairs(evaluation, pairs) if pairs else None,
        "breakdowns": [
            (one.name, [_bins_chart(evaluation, one, figure) for figure in scored.metric.figures if one.has(figure)])
            for one in found
        ],
        "ngrams": ngrams,
        "ngram_unit": "characters" if asked.references and examples["data"]["unspaced"] else "words",
        "differences": [_difference_tables(one) for one in evaluation.differences],
        "compounds": _compounds(evaluation),
        "examples": examples,
        "command": command,
        "signature": f"{name}|{scored.signature}",
        "short": f"{name}|{scored.signature.format(short=True)}",
    }
    return render_page("scores.html", context, examples["data"])


def _facts(evaluation: Evaluation) -> list[tuple[str, str]]:
    scored = evaluation.scored
    facts = [("metric", f"{scored.metric.name}, {'lower' if scored.metric.lower_is_better else 'higher'} is better")]
    facts.append(("examples", f"{scored.metric.n:,}"))
    facts.append(("signature", f"{scored.metric.name}|{scored.signature}"))
    return facts


def _p(value: float | None) -> str:
    return "–" if value is None else "< 0.0001" if value < 0.00005 else f"{value:.4f}"  # noqa: RUF001


def _places(scored: Scored) -> int:
    """Decimals of the tables."""
    return max(2, scored.metric.width)


def _systems_table(evaluation: Evaluation, parts: Sequence[Part], figure: str) -> dict[str, Any]:
    scored = evaluation.scored
    places = _places(scored)
    tested = scored.baseline is not None
    several = any(result.runs > 1 for result in scored.results)
    head = ["system", *(["runs"] if several else []), scored.metric.name, *(["stdev"] if several else [])]
    head += ["95 % interval", *(["Δ", *(["95 % of Δ"] if several else []), "p", "p (Holm)"] if tested else [])]
    rows = []
    values = [part.figures[figure].value for part in parts]
    known = [value for value in values if value is not None]
    best = (min if scored.metric.lower_is_better else max)(known) if known else None
    for result, part in zip(scored.results, parts, strict=True):
        one = part.figures[figure]
        row = [result.system + (" (baseline)" if result.system == scored.baseline else "")]
        row += [str(result.runs)] if several else []
        star = " ★" if one.value == best else ""
        row.append("–" if one.value is None else f"{one.value:.{places}f}{star}")  # noqa: RUF001
        row += ["–" if one.stdev is None else f"{one.stdev:.{places}f}"] if several else []  # noqa: RUF001
        interval = one.ci_low is not None and one.ci_high is not None
        row.append(f"{one.ci_low:.{places}f} to {one.ci_high:.{places}f}" if interval else "–")  # noqa: RUF001
        if tested:
            row += ["" if one.difference is None else f"{one.difference:+.{places}f}"]
            row += [_bounds(one, places)] if several else []
            row += ["" if one.difference is None else _p(p) for p in (one.p_value, one.p_holm)]
        rows.append(row)
    several_figures = len(scored.metric.figures) > 1
    name = f"{scored.metric.name} {figure}" if several_figures else scored.metric.name
    caption = f"{name}; ★: the best"
    if tested:
        caption += f"; Δ and p: against {scored.baseline}, by {scored.test}; Holm: corrected for all comparisons"
    return {"label": name, "caption": caption, "head": head, "rows": rows}


def _bounds(one: Estimate | Drop, places: int) -> str:
    """The interval of a difference."""
    if one.difference_low is None or one.difference_high is None:
        return ""
    return f"{one.difference_low:+.{places}f} to {one.difference_high:+.{places}f}"


def _systems_chart(evaluation: Evaluation, whole: Sequence[Part], figure: str) -> tuple[Any, str]:
    scored = evaluation.scored
    rows = [
        charts.Whisker(result.system, one.value, one.ci_low, one.ci_high, one.runs, place % len(COLOURS))
        for place, (result, part) in enumerate(zip(scored.results, whole, strict=True))
        for one in [part.figures[figure]]
    ]
    several = len(scored.metric.figures) > 1
    name = f"{scored.metric.name} {figure}" if several else scored.metric.name
    parts = ["bar: 95 % interval"] if any(row.low is not None for row in rows) else []
    parts += ["circles: runs"] if any(len(row.runs) > 1 for row in rows) else []
    return charts.whiskers(rows, name, f"{name} of each system", scored.metric.width), "; ".join([name, *parts])


def _drops(evaluation: Evaluation, figure: str) -> tuple[dict[str, Any], Any]:
    """What each system loses from the control set to the test set, as a table and as a chart."""
    scored = evaluation.scored
    several = len(scored.metric.figures) > 1
    name = f"{scored.metric.name} {figure}" if several else scored.metric.name
    rows, marks, places = [], [], _places(scored)
    for place, result in enumerate(scored.results):
        one = scored.drops[result.system][figure]
        interval = "–" if one.ci_low is None else f"{one.ci_low:.{places}f} to {one.ci_high:.{places}f}"  # noqa: RUF001
        cells = [one.control, result.whole.figures[figure].value, one.value]
        row = [result.system, *("–" if value is None else f"{value:.{places}f}" for value in cells), interval]  # noqa: RUF001
        difference = "" if one.difference is None else f"{one.difference:+.{places}f}"
        rows.append([*row, difference, _bounds(one, places), _p(one.p_holm)])
        marks.append(charts.Whisker(result.system, one.value, one.ci_low, one.ci_high, one.runs, place % len(COLOURS)))
    head = ["system", "control set", "test set", "lost", "95 % interval", "Δ", "95 % of Δ", "p (Holm)"]
    caption = f"{name}; lost: how much worse on the test set; Δ: from what the baseline loses"
    table = {"label": f"{name}, control set", "caption": caption, "head": head, "rows": rows}
    title = f"{name} lost from the control set to the test set"
    return table, charts.whiskers(marks, f"{name} lost", title, scored.metric.width)


def _pairs(evaluation: Evaluation, pairs: Pairs) -> dict[str, Any]:
    """The matrix of differences, best system first, and the clusters."""
    scored = evaluation.scored
    names = [result.system for result in scored.results]
    largest = max((abs(value) for value in pairs.difference.values()), default=0) or 1
    sign = -1 if scored.metric.lower_is_better else 1
    rows = []
    for one in pairs.order:
        cells = []
        for other in pairs.order:
            if one == other:
                cells.append(("", ""))
                continue
            p, difference = pairs.p_holm[one, other], pairs.difference[one, other]
            sure = p is not None and p < LEVEL
            text = f"{difference:+.{_places(scored)}f}{'*' if sure else ''}"
            cells.append((text, charts.shade(sign * difference / largest) if sure else ""))
        rows.append((names[one], cells))
    figure = scored.metric.figures[0]
    several = len(scored.metric.figures) > 1
    test = scored.star_test or CALIBRATED
    return {
        "matrix": {
            "head": ["", *(names[one] for one in pairs.order)],
            "rows": rows,
            "label": "All pairs",
            "caption": f"Row less column, {scored.metric.name}{f' {figure}' if several else ''}, best first. Coloured, "
            f"with *: p < {LEVEL} ({test}, by Holm's method for all pairs).",
        },
        "clusters": [[names[one] for one in cluster] for cluster in pairs.clusters],
        "level": LEVEL,
    }


def _bins_chart(evaluation: Evaluation, one: Breakdown, figure: str) -> tuple[Any, str]:
    scored, rows = evaluation.scored, []
    for part_bin, parts in zip(one.bins, one.parts, strict=True):
        for number, (result, part) in enumerate(zip(scored.results, parts, strict=True)):
            estimate = part.figures[figure]
            group = f"{part_bin.label} ({part.examples:,})" if not number else ""
            rows.append(
                charts.Whisker(
                    result.system, estimate.value, estimate.ci_low, estimate.ci_high, estimate.runs,
                    number % len(COLOURS), group,
                )
            )  # fmt: skip
    several = len(scored.metric.figures) > 1
    name = f"{scored.metric.name} {figure}" if several else scored.metric.name
    title = f"{name} by {one.name}"
    return charts.whiskers(rows, name, title, scored.metric.width), f"{title} (number of examples)"


def _difference_tables(one: Differences) -> tuple[str, list[dict[str, Any]]]:
    """Where two systems differ: n-grams, words by their count in training, kinds."""
    ahead = [row for row in one.ngrams if row.ours > row.theirs][:SHOWN]
    behind = [row for row in one.ngrams if row.ours < row.theirs][:SHOWN]
    shown: list[tuple[str, str, Sequence[Difference]]] = [
        ("n-gram", f"N-grams: {len(one.ngrams):,} of {one.tested:,} differ", [*ahead, *behind]),
        ("count in training", "F1 of words, by their count in the training text", one.words),
        ("kind", "Kinds of examples", one.kinds),
    ]
    tables = []
    for head, caption, found in shown:
        rows = [
            [row.what, f"{row.count:,}", f"{row.ours:.1f}", f"{row.theirs:.1f}", _p(row.p_value), _p(row.q_value)]
            for row in found
        ]
        if rows:
            columns = [head, "examples", one.system, one.against, "p", "q"]
            tables.append({"label": caption, "caption": caption, "head": columns, "rows": rows})
    return f"{one.system} and {one.against}", tables


def _compounds(evaluation: Evaluation) -> list[dict[str, Any]]:
    """A system's reasons and the compounds it never gets right."""
    scored, found = evaluation.scored, []
    if not isinstance(scored.metric, Cter):
        return []
    for number, (result, more) in enumerate(zip(scored.results, scored.more, strict=True)):
        reasons = [
            (f"{'no translation of' if kind == 'missing' else 'order'} {name}", count)
            for kind in ("missing", "order")
            for name, count in more["errors"][kind].items()
        ]
        reasons.sort(key=lambda item: -item[1])
        never = never_right(evaluation, number)
        found.append(
            {
                "system": result.system,
                "reasons": reasons[:REASONS],
                "all_reasons": len(reasons),
                "never": never[:COMPOUNDS],
                "all_never": len(never),
                "compounds": len(set(scored.metric.compounds)),
            }
        )
    return found


def _examples(evaluation: Evaluation, asked: Asked) -> dict[str, Any]:
    """The table of examples: every system's text and score, of which the page shows two side by side."""
    metric = evaluation.scored.metric
    scores, typical = example_scores(metric, evaluation.systems, evaluation.scored.results)
    chosen = most_telling(scores, MOST_EXAMPLES).tolist()
    references, sources = asked.references, asked.sources
    compounds = metric.compounds if isinstance(metric, Cter) else None
    fields = ["number", "scores", "texts"]
    fields += ["reference"] * bool(references) + ["source"] * bool(sources) + ["compound"] * bool(compounds)
    rows = []
    # Scores from elsewhere are shown as they are where nobody gave the texts.
    said = [texts or system.runs for texts, system in zip(texts_of(evaluation), evaluation.systems, strict=True)]
    for place in chosen:
        row: list[Any] = [
            place + 1,
            [round(float(score), 2) for score in scores[:, place]],
            [runs[min(run, len(runs) - 1)][place] for runs, run in zip(said, typical[:, place], strict=True)],
        ]
        row += [references[place][0]] if references else []
        row += [sources[place]] if sources else []
        row += [compounds[place]] if compounds else []
        rows.append(row)
    names = [system.name for system in evaluation.systems]
    columns: list[dict[str, Any]] = [{"name": "number", "label": "no.", "digits": 0}]
    columns.append({"score": "a", "label": names[0], "digits": 1, "down": True})
    filters: list[dict[str, Any]] = [{"kind": "range", "label": names[0], "column": 1}]
    if len(names) > 1:
        columns.append({"score": "b", "label": names[1], "digits": 1, "down": True})
        columns.append({"score": "difference", "label": "difference", "digits": 1, "down": True})
        filters = [
            {"kind": "system", "label": "system", "which": "a", "names": names, "chosen": 0},
            {"kind": "system", "label": "against", "which": "b", "names": names, "chosen": 1},
            {"kind": "range", "label": "difference", "column": 3},
        ]
    texts = [example[0] for example in references] if references else list(said[0][0])
    data = {
        "kind": "scores",
        "fields": fields,
        "rows": rows,
        "columns": columns,
        # the first system furthest ahead comes first; of one system, what it does worst
        "sort": [3, not _less_is_better(evaluation)] if len(names) > 1 else [1, _less_is_better(evaluation)],
        "searched": [name for name in ("source", "reference", "compound", "texts") if name in fields],
        "systems": names,
        "note": "compound",
        "unspaced": is_unspaced(texts),
        "brush": None,
    }
    several = any(len(system.runs) > 1 for system in evaluation.systems)
    return {"data": data, "columns": columns, "filters": filters, "shown": len(rows), "all": metric.n,
            "several": several, "reference": bool(references), "less": _less_is_better(evaluation)}  # fmt: skip


def _less_is_better(evaluation: Evaluation) -> bool:
    """Whether an example with a lower score is the better one: CTER's rows are right (100) or wrong."""
    metric = evaluation.scored.metric
    return metric.lower_is_better and not isinstance(metric, Cter)

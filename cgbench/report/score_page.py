"""``cgbench score --report``: the page of scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cgbench.benchmark.metrics.comparison import CALIBRATED, Score, SubsetScores
from cgbench.benchmark.metrics.cter import Cter
from cgbench.benchmark.metrics.differences import (
    Differences,
    FoundDifference,
    example_scores,
    find_differences,
    outputs_of,
)
from cgbench.benchmark.metrics.drop import Drop
from cgbench.benchmark.metrics.ranks import AllPairs, compare_all
from cgbench.benchmark.metrics.report import span
from cgbench.benchmark.metrics.result import Evaluation, EvaluationInputs
from cgbench.benchmark.metrics.scored import ScoredSystems
from cgbench.benchmark.metrics.significance import LEVEL
from cgbench.errors import InputError
from cgbench.plots import COLOURS
from cgbench.report import charts
from cgbench.report.page import MOST_EXAMPLES, NONE, as_table, render_page
from cgbench.report.score_data import (
    Breakdown,
    breakdowns,
    most_telling,
    never_right,
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
    asked, scored = evaluation.inputs, evaluation.scored
    if asked is None:
        raise InputError("a report needs an evaluation that cgbench.evaluate made")
    figures, name = scored.metric.figures, scored.metric.name
    parts = wholes(evaluation, asked)
    pairs = compare_all(scored.metric, [result.system for result in scored.results], parts)
    found = breakdowns(evaluation, asked)
    differences: Sequence[Differences] = evaluation.differences
    if not differences and len(evaluation.systems) > 1:
        results, references = scored.results, asked.references
        differences = find_differences(
            scored.metric, evaluation.systems, results, references, asked.features, asked.comparison
        )
    examples = _examples(evaluation, asked)
    said = [str(warning) for warning in asked.warned] if notes is None else list(notes)
    if examples["shown"] < examples["all"]:
        said.append(
            f"Of {examples['all']:,} examples {examples['shown']:,} are here: those on which the systems differ most."
        )
    sections = {
        "systems": ("Systems", True),
        "control": ("Control set", scored.control is not None),
        "pairs": ("Pairs", pairs),
        "bins": ("Breakdown", found),
        "differences": ("Differences", differences),
        "compounds": ("Compounds", isinstance(scored.metric, Cter)),
        "examples": ("Examples", True),
        "origin": ("Origin", True),
    }
    context = {
        "title": f"{name}: {', '.join(system.name for system in evaluation.systems[:4])}"
        + (" and others" if len(evaluation.systems) > 4 else ""),
        "sections": [(key, text) for key, (text, here) in sections.items() if here],
        "notes": [("", line) for line in said],
        "facts": [
            ("metric", f"{name}, {'lower' if scored.metric.lower_is_better else 'higher'} is better"),
            ("examples", f"{scored.metric.n:,}"),
            ("signature", f"{name}|{scored.signature}"),
        ],
        "systems": [_systems_table(scored, parts, figure) for figure in figures],
        "charts": [_systems_chart(scored, parts, figure) for figure in figures],
        "drops": [_drops(scored, figure) for figure in figures] if scored.drops else [],
        "control_examples": scored.control,
        "pairs": _pairs(scored, pairs) if pairs else None,
        "breakdowns": [
            (one.name, [_bins_chart(scored, one, figure) for figure in figures if one.has(figure)]) for one in found
        ],
        "differences": [_difference_tables(one) for one in differences],
        "compounds": _compounds(evaluation),
        "examples": examples,
        "command": command,
        "signature": f"{name}|{scored.signature}",
        "short": f"{name}|{scored.signature.format(short=True)}",
    }
    return render_page("scores.html", context, examples["data"])


def _p(value: float | None) -> str:
    return NONE if value is None else "< 0.0001" if value < 0.00005 else f"{value:.4f}"


def _number(value: float | None, form: str, none: str = NONE) -> str:
    return none if value is None else f"{value:{form}}"


def _forms(scored: ScoredSystems) -> tuple[str, str]:
    """How figures are written, and differences."""
    places = max(2, scored.metric.width)
    return f".{places}f", f"+.{places}f"


def _systems_table(scored: ScoredSystems, parts: Sequence[SubsetScores], figure: str) -> dict[str, Any]:
    form, signed = _forms(scored)
    tested, several = scored.baseline is not None, any(result.runs > 1 for result in scored.results)
    values = [value for part in parts if (value := part.figures[figure].value) is not None]
    best = (min if scored.metric.lower_is_better else max)(values, default=None)
    name = scored.metric.label(figure)
    columns = {"system": True, "runs": several, scored.metric.name: True, "stdev": several, "95 % interval": True}
    columns |= {"Δ": tested, "95 % of Δ": tested and several, "p": tested, "p (Holm)": tested}
    rows = []
    for result, part in zip(scored.results, parts, strict=True):
        one = part.figures[figure]
        compared = one.difference is not None
        cells = [
            scored.title(result.system),
            str(result.runs),
            _number(one.value, form) + (" ★" if one.value is not None and one.value == best else ""),
            _number(one.stdev, form),
            span(one.ci_low, one.ci_high, max(2, scored.metric.width)) or NONE,
            _number(one.difference, signed, ""),
            span(one.difference_low, one.difference_high, max(2, scored.metric.width), "+"),
            _p(one.p_value) if compared else "",
            _p(one.p_holm) if compared else "",
        ]
        rows.append([cell for cell, here in zip(cells, columns.values(), strict=True) if here])
    caption = f"{name}; ★: the best"
    if tested:
        caption += f"; Δ and p: against {scored.baseline}, by {scored.test}; Holm: corrected for all comparisons"
    return as_table(name, caption, [head for head, here in columns.items() if here], rows)


def _whisker(system: str, one: Score | Drop, number: int, group: str = "") -> charts.Whisker:
    return charts.Whisker(system, one.value, one.ci_low, one.ci_high, one.runs, number % len(COLOURS), group)


def _systems_chart(scored: ScoredSystems, parts: Sequence[SubsetScores], figure: str) -> tuple[Any, str]:
    rows = [
        _whisker(result.system, part.figures[figure], number)
        for number, (result, part) in enumerate(zip(scored.results, parts, strict=True))
    ]
    name, said = scored.metric.label(figure), []
    said += ["bar: 95 % interval"] if any(row.low is not None for row in rows) else []
    said += ["circles: runs"] if any(len(row.runs) > 1 for row in rows) else []
    return charts.whiskers(rows, name, f"{name} of each system", scored.metric.width), "; ".join([name, *said])


def _drops(scored: ScoredSystems, figure: str) -> tuple[dict[str, Any], Any]:
    """What each system loses from the control set to the test set, as a table and as a chart."""
    name, rows, marks = scored.metric.label(figure), [], []
    form, signed = _forms(scored)
    for number, result in enumerate(scored.results):
        one = scored.drops[result.system][figure]
        cells = [_number(value, form) for value in (one.control, result.whole.figures[figure].value, one.value)]
        cells += [
            span(one.ci_low, one.ci_high, max(2, scored.metric.width)) or NONE,
            _number(one.difference, signed, ""),
        ]
        cells += [span(one.difference_low, one.difference_high, max(2, scored.metric.width), "+"), _p(one.p_holm)]
        rows.append([result.system, *cells])
        marks.append(_whisker(result.system, one, number))
    head = ["system", "control set", "test set", "lost", "95 % interval", "Δ", "95 % of Δ", "p (Holm)"]
    caption = f"{name}; lost: how much worse on the test set; Δ: from what the baseline loses"
    title = f"{name} lost from the control set to the test set"
    chart = charts.whiskers(marks, f"{name} lost", title, scored.metric.width)
    return as_table(f"{name}, control set", caption, head, rows), chart


def _pairs(scored: ScoredSystems, pairs: AllPairs) -> dict[str, Any]:
    """The matrix of differences, best system first, and the clusters."""
    names, signed = [result.system for result in scored.results], _forms(scored)[1]
    largest = max((abs(value) for value in pairs.difference.values()), default=0) or 1
    sign = -1 if scored.metric.lower_is_better else 1

    def cell(one: int, other: int) -> tuple[str, str]:
        if one == other:
            return "", ""
        p, difference = pairs.p_star[one, other], pairs.difference[one, other]
        if p is None or p >= LEVEL:
            return f"{difference:{signed}}", ""
        return f"{difference:{signed}}*", charts.shade(sign * difference / largest)

    caption = (
        f"Row less column, {scored.metric.label(scored.metric.figures[0])}, best first. Coloured, with *: p < {LEVEL} "
        f"({scored.star_test or CALIBRATED}, by Holm's method for all pairs)."
    )
    rows = [(names[one], [cell(one, other) for other in pairs.order]) for one in pairs.order]
    return {
        "matrix": as_table("All pairs", caption, ["", *(names[one] for one in pairs.order)], rows),
        "clusters": [[names[one] for one in cluster] for cluster in pairs.clusters],
        "level": LEVEL,
    }


def _bins_chart(scored: ScoredSystems, one: Breakdown, figure: str) -> tuple[Any, str]:
    rows = [
        _whisker(result.system, part.figures[figure], number, "" if number else f"{of.label} ({part.examples:,})")
        for of, parts in zip(one.bins, one.parts, strict=True)
        for number, (result, part) in enumerate(zip(scored.results, parts, strict=True))
    ]
    name = scored.metric.label(figure)
    title = f"{name} by {one.name}"
    return charts.whiskers(rows, name, title, scored.metric.width), f"{title} (number of examples)"


def _difference_tables(one: Differences) -> tuple[str, list[dict[str, Any]]]:
    """Where two systems differ: n-grams, words by their count in training, kinds."""
    shown: list[tuple[str, str, Sequence[FoundDifference]]] = [
        ("n-gram", f"N-grams: {len(one.ngrams):,} of {one.tested:,} differ", one.shown),
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
            tables.append(as_table(caption, caption, columns, rows))
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


def _examples(evaluation: Evaluation, asked: EvaluationInputs) -> dict[str, Any]:
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
    systems = evaluation.systems
    said = [texts or system.runs for texts, system in zip(outputs_of(metric, systems), systems, strict=True)]
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

"""The tables and charts of the score page, one function each."""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import Any

import numpy as np

from cgbench.benchmark.measure.metrics.cter import Cter
from cgbench.benchmark.score.comparison.paired_tests import CALIBRATED
from cgbench.benchmark.score.comparison.scored_systems import ScoredSystems
from cgbench.benchmark.score.comparison.tiers import compare_all
from cgbench.benchmark.score.evaluation.features import unit_of
from cgbench.benchmark.score.evaluation.result import Evaluation, EvaluationInputs, score_chart
from cgbench.benchmark.score.forms.columns import Decimals
from cgbench.benchmark.score.forms.metric_tables import reasons_table
from cgbench.benchmark.score.forms.rows import rows_of
from cgbench.benchmark.score.forms.stars import STARS, legend
from cgbench.benchmark.score.forms.table_lines import COLUMNS_OF_SCORE
from cgbench.benchmark.score.forms.tables import (
    bins_of,
    drop_blocks,
    first_table,
    signatures,
    systems_table,
    without_equal_p,
)
from cgbench.numbers_as_text import Cell, fixed, joined
from cgbench.plots import Chart, Series, shorten
from cgbench.report import charts
from cgbench.report.page import (
    BEST,
    MOST_EXAMPLES,
    NONE,
    as_table,
    page_table,
)
from cgbench.report.score_data import (
    MOST_LINES,
    MOST_ROWS,
    base_of,
    most_telling,
    never_right,
    outputs,
)
from cgbench.tables import OutputTable, as_text
from cgbench.text.profile import is_unspaced

FEW = 20
"""No more different scores than these: examples are right or wrong, and have no distribution."""
COMPOUNDS = 100
MOST_OUTPUTS = 40_000
"""Systems with many seeds have fewer examples on the page."""
DRAWN = 24
"""Bins of a chart; a table has any number."""
DOTS = 1_500
"""Points of a scatter plot that are drawn as dots; more are drawn as shades."""


def places(scored: ScoredSystems) -> int:
    """Decimals in tables."""
    return max(2, scored.metric.width)


def joint_table(of_figures: Sequence[tuple[ScoredSystems, str]]) -> dict[str, Any]:
    """The systems by several scores side by side, each with its interval and its difference; the
    table of each score has the p-values.
    """
    columns = [column for column in COLUMNS_OF_SCORE if column.name in ("ci_low", "difference")]
    has_seeds = any(result.runs > 1 for scored, _ in of_figures for result in scored.results)
    starts: list[int] = []
    head, rows = ["system"], [[result.system] for result in of_figures[0][0].results]
    for scored, figure in of_figures:
        table = systems_table(scored, list(rows_of(scored)), places(scored), [figure], columns)
        first = 3  # after the system, its examples and its runs
        if len(head) == 1 and has_seeds:
            head, rows = [*head, "seeds"], [[row[0], row[2]] for row in table.rows]
        starts.append(len(head))
        head += table.head[first:]
        rows = [[*row, *line[first:]] for row, line in zip(rows, table.rows, strict=True)]
    caption = _meaning_of_marks([cell for row in rows for cell in row], of_figures)
    of_metrics = list({scored.metric.name: scored for scored, _ in of_figures}.values())
    table = OutputTable(head, rows, starts=starts)
    return page_table(table, "Scores", caption, latex_of_systems(of_metrics))


def latex_of_systems(of_metrics: Sequence[ScoredSystems]) -> str:
    """The table of systems as ``--output FILE.tex`` writes it; its notes do not count all pairs."""
    with_rows = [
        (scored, [row for row in rows_of(scored) if row.analysis != "pairs"])
        for scored in of_metrics
    ]
    width = max(scored.metric.width for scored in of_metrics)
    return as_text([first_table(with_rows, width), signatures(with_rows)], "latex")


def _meaning_of_marks(cells: Sequence[str], of_figures: Sequence[tuple[ScoredSystems, str]]) -> str:
    """What the stars and the differences in a table of systems mean."""
    scored, meanings = of_figures[0][0], []
    if any(isinstance(cell, Cell) and cell.is_best for cell in cells):
        meanings.append(f"{BEST.strip()}: best system, or not significantly worse than the best")
    if scored.baseline is not None:
        scores = [
            result.whole.figures[figure] for of, figure in of_figures for result in of.results
        ]
        is_tested = any(score.p_value is not None for score in scores)
        stars = [legend(scored, scores)] if is_tested else []
        meanings += [f"Δ: difference from {scored.baseline}", *stars]
    return "; ".join(meanings)


def table_of_systems(scored: ScoredSystems, figure: str) -> dict[str, Any]:
    """The systems with a score, whose marks the caption explains."""
    table = without_equal_p(systems_table(scored, list(rows_of(scored)), places(scored), [figure]))
    # The runs of a page are seeds; the number of examples is in its head.
    hidden = {"n"} if any(result.runs > 1 for result in scored.results) else {"n", "runs"}
    columns = [column for column, name in enumerate(table.head) if name not in hidden]
    head, *rows = [[line[column] for column in columns] for line in (table.head, *table.rows)]
    name = scored.metric.axis(figure)
    cells = [cell for row in rows for cell in row]
    caption = "; ".join(filter(None, [name, _meaning_of_marks(cells, [(scored, figure)])]))
    heads = ["seeds" if name == "runs" else name for name in head]
    latex = latex_of_systems([scored])
    return page_table(OutputTable(heads, rows), f"{name}: all columns", caption, latex)


def chart_of_systems(scored: ScoredSystems, figure: str) -> tuple[Any, str]:
    """The scores of the systems as a chart, with its caption."""
    name = scored.metric.axis(figure)
    subsets = [[result.whole] for result in scored.results[:MOST_ROWS]]
    title = f"{name} of each system"
    chart = score_chart(scored, figure, subsets, title=title, decimals=places(scored))
    return charts.draw(chart), name


def forest(scored: ScoredSystems, figure: str) -> tuple[Any, str]:
    """The difference of each system from the baseline, with intervals and stars, as a chart with
    its caption.
    """
    scores = [result.whole.figures[figure] for result in scored.results]
    names = [result.system for result in scored.results]
    series = [
        Series.of_difference(system, score, colour=index)
        for index, (system, score) in enumerate(zip(names, scores, strict=True))
        if score.difference is not None and index < MOST_ROWS
    ]
    name = scored.metric.axis(figure)
    chart = Chart(
        [""],
        series,
        title=f"{name}: difference from {scored.baseline}",
        value_name=f"{name}: difference from {shorten(scored.baseline or '')}",
        rows=True,
        signed=True,
        decimals=Decimals.of(scores, places(scored)).differences,
    )
    return charts.draw(chart), f"Difference from {scored.baseline}"


def drops_of(of_metrics: Sequence[ScoredSystems]) -> dict[str, Any]:
    """What each system loses from the control set to the test set: a table of all scores, and a
    chart for each.
    """
    of_figures = [(scored, figure) for scored in of_metrics for figure in scored.metric.figures]
    head, lines_of_figures, latex = [], [], []
    for scored in of_metrics:
        table, _ = drop_blocks(scored, list(rows_of(scored)), places(scored))
        head = ["system", *table.head[2:]]
        for label in map(scored.metric.label, scored.metric.figures):
            lines_of_figures.append([line[1:] for line in table.rows if line[0] == label])
        written, _ = drop_blocks(scored, list(rows_of(scored)), scored.metric.width)
        latex.append(without_equal_p(written).render("latex"))
    names = [scored.metric.axis(figure) for scored, figure in of_figures]
    caption = (
        f"{joined(names)}; drop: control set minus test set; Δ: difference from the drop of the"
        " baseline"
    )
    table = without_equal_p(OutputTable(head, list(chain.from_iterable(lines_of_figures))))
    on_page = page_table(table, "Control set", caption, "\n\n".join(latex))
    if len(names) > 1:  # the lines of each score below its name
        rows = iter(on_page["rows"])
        on_page["rows"] = [
            line
            for name, lines in zip(names, lines_of_figures, strict=True)
            for line in ([name], *islice(rows, len(lines)))
        ]
    return on_page | {"charts": [_chart_of_drops(*of_figure) for of_figure in of_figures]}


def _chart_of_drops(scored: ScoredSystems, figure: str) -> tuple[Any, str]:
    """The drop of each system as a chart, with its caption."""
    name = scored.metric.axis(figure)
    series = [
        Series.of(result.system, [scored.drops[result.system][figure]])
        for result in scored.results[:MOST_ROWS]
    ]
    title = f"{name} lost from the control set to the test set"
    chart = Chart([""], series, title, f"{name} lost", rows=True, decimals=places(scored))
    return charts.draw(chart), f"Drop in {name}"


def matrix_of_pairs(scored: ScoredSystems) -> dict[str, Any] | None:
    """The differences of all pairs as a triangle, the best system first, with the tiers; None if a
    system has no score, or if there is only the pair that is compared already.
    """
    names = [result.system for result in scored.results]
    if len(names) == 2 and scored.baseline is not None:  # the pair is in the table of systems
        return None
    pairs = compare_all(scored.metric, names, [result.whole for result in scored.results])
    if pairs is None:
        return None
    tests = list(pairs.pairs.values())
    decimals = Decimals.of(tests, places(scored)).differences
    largest = max((abs(pair.difference or 0.0) for pair in tests), default=0) or 1

    def cell(system: int, against: int) -> tuple[str, str]:
        pair, difference = pairs.pairs[system, against], pairs.difference(system, against)
        text = Cell(fixed(difference, decimals, "+"), pair.mark)
        return text, charts.shade(abs(difference) / largest) if pair.significant else ""

    tier_of = {system: tier for tier, of_tier in enumerate(pairs.tiers, 1) for system in of_tier}
    head = ["", *(f"{rank}" for rank in range(2, len(names) + 1)), *["tier"] * bool(tier_of)]
    rows = []
    for rank, system in enumerate(pairs.order, 1):
        row: list[Any] = [f"{rank}. {names[system]}", *[("", "")] * (rank - 1)]
        row += [cell(system, against) for against in pairs.order[rank:]]
        rows.append([*row, (f"{tier_of[system]}", "")] if tier_of else row)
    caption = f"Row minus column, {scored.metric.axis(scored.metric.figures[0])}."
    caption += "" if pairs.tiers else " There are too few examples for a test."
    table = as_table(f"All pairs, {scored.metric.name}", caption, head, rows)
    return table | {"is_ordered": True}


def meaning_of_pairs(scored: ScoredSystems) -> str:
    """What the triangles show, and which tests their marks are adjusted for."""
    wholes = [result.whole.figures[scored.metric.figures[0]] for result in scored.results]
    if not any(pair.p_value is not None for score in wholes for pair in score.pairs):
        return "The best system is number 1."
    systems = len(scored.results)
    count = systems * (systems - 1) // 2
    test = scored.star_test or CALIBRATED
    adjusted = f", p adjusted for all {count} pairs" if count > 1 else ""
    sentences = [
        "The best system is number 1.",
        "Blue: the system of the row is significantly better; the darker, the larger the"
        " difference.",
        f"{STARS} ({test} test{adjusted}).",
        "Tier: each system is significantly better than all of later tiers; systems of one tier"
        " may still differ.",
    ]
    if scored.baseline is not None and systems > 2:
        sentences.append(
            f"The stars of the table above are adjusted for the {systems - 1} differences from"
            f" {scored.baseline} only, so a difference may have a star there and none here."
        )
    return " ".join(sentences)


def breakdown(
    of_figures: Sequence[tuple[ScoredSystems, str]], feature_number: int
) -> dict[str, Any]:
    """The bins of a feature from left to right and a line per system, as a chart for each score and
    as a table of all of them.

    :param feature_number: counted from 0; the heads of the table link to the examples of their
        bins.
    """
    first, _ = of_figures[0]
    by = first.by_title
    unit = unit_of(first.by or "", first.metric)
    label = f"{by} ({unit})" if unit else by
    drawn, latex = [], []
    rows: list[list[str]] = []
    for scored, figure in of_figures:
        name, subsets = scored.metric.axis(figure), [result.parts[1:] for result in scored.results]
        chart = score_chart(scored, figure, subsets, label, title=f"{name} by {label}")
        if len(chart.labels) <= DRAWN:
            drawn.append(charts.draw(replace(chart, series=chart.series[:MOST_LINES])))
        # The examples of the bins, then the scores.
        if not rows:
            head, rows = [by, *chart.labels], [["examples", *(f"{n:,}" for n in chart.counts)]]
        rows += [[name]] if len(of_figures) > 1 else []
        for series in chart.series:
            values = [None if math.isnan(value) else value for value in series.values]
            texts = [fixed(value, places(scored), none=NONE) for value in values]
            rows.append([series.name, *texts])
        table = bins_of(scored, list(rows_of(scored)), figure, scored.metric.width)
        latex.append(table.render("latex"))
    names = [scored.metric.axis(figure) for scored, figure in of_figures]
    caption = f"{joined(names)} by {label}"
    on_page = as_table(caption, caption, head, rows, "\n\n".join(latex))
    return on_page | {"number": feature_number, "charts": drawn}


def details_of(scored: ScoredSystems) -> dict[str, Any] | None:
    """The parts of a figure, means over seeds: brevity penalty, length ratio and precisions of
    BLEU.
    """
    metric, rows, head = scored.metric, [], ["system"]
    if scored.sampling.design is not None:  # parts of the sample, not of the estimate
        return None
    for result in scored.results:
        runs = [
            metric.details(metric.collect(of_run, np.arange(metric.n)).sum(axis=0))
            for of_run in result.statistics
        ]
        head = ["system", *runs[0]]
        means = [(name, float(np.mean([run[name] for run in runs]))) for name in runs[0]]
        rows.append(
            [result.system, *(f"{value:.{1 if '%' in name else 3}f}" for name, value in means)]
        )
    return (
        as_table(f"Parts of {metric.name}", f"Parts of {metric.name}, means of seeds", head, rows)
        if len(head) > 1
        else None
    )


def distributions(scored: ScoredSystems, scores: Sequence[np.ndarray]) -> list[tuple[Any, str]]:
    """Scores of single examples: histograms of all systems, then each system against the
    baseline.
    """
    names = [result.system for result in scored.results[:MOST_LINES]]
    means = np.array([of_runs.mean(axis=0) for of_runs in scores[:MOST_LINES]])
    means = means[:, np.isfinite(means).all(axis=0)]
    if len(np.unique(means)) <= FEW:
        return []
    name, base, none = scored.metric.name, base_of(scored), (np.zeros(0), np.zeros(0))
    title = f"{name} per example"
    rounded = np.round(means, max(1, scored.metric.width)).tolist()
    series = [
        Series(shorten(system), values) for system, values in zip(names, rounded, strict=True)
    ]
    pictures = [(charts.histograms(series, name, title, unit="examples"), title)]
    for index, system in enumerate(names):
        if index != base:
            points = (means[base], means[index])
            behind, dots = (none, points) if means.shape[1] <= DOTS else (points, none)
            title = f"{system} against {names[base]}"
            chart = charts.scatter(
                behind, dots, (shorten(names[base]), shorten(system)), title, pair=f"{index} {base}"
            )
            pictures.append((chart, title))
    return pictures


def compounds_of(evaluation: Evaluation) -> list[dict[str, Any]]:
    """A system's reasons and the compounds it never gets right."""
    metric, by_system = evaluation.scored.metric, []
    if not isinstance(metric, Cter):
        return []
    rows = list(rows_of(evaluation.scored))
    for index, system in enumerate(evaluation.systems[:MOST_ROWS]):
        never = never_right(evaluation, index)
        head = ["compound", "type", "rows", "commonest reason"]
        of_compounds = as_table(
            f"Never right, {system.name}",
            "Wrong in every context and seed",
            head,
            never[:COMPOUNDS],
        )
        reasons = page_table(
            reasons_table(rows, system.name),
            f"Reasons, {system.name}",
            "The commonest, in all seeds",
        )
        by_system.append(
            {
                "system": system.name,
                "reasons": reasons,
                "never": of_compounds,
                "all_never": len(never),
                "compounds": len(set(metric.compounds)),
            }
        )
    return by_system


def examples_data(
    evaluation: Evaluation,
    inputs: EvaluationInputs,
    scores: Sequence[np.ndarray],
    binned: Sequence[ScoredSystems],
) -> dict[str, Any]:
    """The data of the table of examples: every system's outputs and score, of which two are side by
    side.
    """
    metric, means = evaluation.scored.metric, np.array([of_runs.mean(axis=0) for of_runs in scores])
    texts: dict[str, Sequence[str]] = {"source": inputs.sources} if inputs.sources else {}
    texts |= {"compound": metric.compounds} if isinstance(metric, Cter) else {}
    texts |= (
        {"reference": [example[0] for example in inputs.references]} if inputs.references else {}
    )
    bins_of: list[list[str]] = [[] for _ in range(metric.n)]
    groups = []
    for feature_number, of_feature in enumerate(binned):
        bins = [
            (f"{feature_number}.{index}", bin)
            for index, (bin, _) in enumerate(of_feature.results[0].bins)
        ]
        groups.append((of_feature.by_title, [(name, bin.label) for name, bin in bins]))
        for name, bin in bins:
            for index in bin.rows.tolist():
                bins_of[index].append(name)
    # A row per example: number, scores, outputs, bins, texts.
    rows = [
        [
            index + 1,
            [round(float(score), 2) for score in means[:, index]],
            outputs(evaluation, scores, index),
            bins_of[index],
            *(column[index] for column in texts.values()),
        ]
        for index in most_telling(
            means, min(MOST_EXAMPLES, MOST_OUTPUTS // sum(map(len, scores)))
        ).tolist()
    ]
    # The columns of two systems side by side, and filters of each.
    names, base = [system.name for system in evaluation.systems], base_of(evaluation.scored)
    first = 1 if len(names) > 1 and not base else 0
    columns: list[dict[str, Any]] = [{"name": "number", "label": "no."}]
    columns.append({"score": "a", "label": names[first], "digits": 1, "down": True, "range": True})
    if len(names) > 1:
        columns.append(columns[1] | {"score": "b", "label": names[base], "role": "against"})
        columns.append(columns[1] | {"score": "difference", "label": "difference"})
        columns[1]["role"] = "system"
    less = metric.lower_is_better and not isinstance(
        metric, Cter
    )  # of CTER, a row is right (100) or wrong
    return {
        "kind": "scores",
        "fields": ["number", "scores", "outputs", "bins", *texts],
        "rows": rows,
        "columns": columns,
        "groups": groups,
        # the examples on which the first system is furthest ahead; of one system, its worst
        "sort": [3, not less] if len(names) > 1 else [1, less],
        "searched": [*texts, "outputs"],
        "systems": names,
        "pair": [first, base],
        "unspaced": is_unspaced(
            [row[-1] if inputs.references else row[2][0][0][0] for row in rows]
        ),
        "brush": [2, 1] if len(names) > 1 else None,
        "several": any(len(system.runs) > 1 for system in evaluation.systems),
        "less": less,
    }

"""Tables of what only some scores have: types and errors of CTER, published scores, judgements of
people.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from cgbench.benchmark.score.comparison.scored_systems import ScoredSystems
from cgbench.benchmark.score.forms.columns import (
    heads,
)
from cgbench.benchmark.score.forms.rows import Row
from cgbench.benchmark.score.forms.table_lines import COLUMNS_OF_SCORE, lines_of, score_cells_of
from cgbench.numbers_as_text import fixed
from cgbench.tables import OutputTable

REASONS = 10  # of each kind in a table
AGREEMENT = {
    "precision": "precision of the errors found",
    "recall": "recall of the errors found",
    "instance": "instance, as humans judge",
    "aggregate": "aggregate, as humans judge",
}


def types_table(rows: Iterable[Row], width: int) -> OutputTable:
    """CTER by type of compound, if there are several."""
    rows = [row for row in rows if row.analysis == "type"]
    lines = lines_of(
        rows, ("bin", "n", "system"), lambda row: [fixed(row.value, width, none="-")], once=2
    )
    has_bins = len({row.bin for row in rows}) > 1
    return OutputTable(
        ["type", "n", "system", "instance", "aggregate"], lines if has_bins else [], 3
    )


def agreement_table(rows: Iterable[Row], width: int) -> OutputTable:
    """CTER against human judgements."""
    lines = [
        [AGREEMENT[row.figure], fixed(row.value, width, none="-")]
        for row in rows
        if row.analysis == "human"
    ]
    return OutputTable(["against human judgements", "%"], lines)


def reasons_table(rows: Iterable[Row], system: str) -> OutputTable:
    """The commonest reasons why CTER counts rows of a system as wrong."""
    errors = [row for row in rows if row.analysis == "errors" and row.system == system]
    kinds = {"missing": "no translation of", "order": "order"}
    lines = [
        [f"{text} {row.bin}", f"{row.value:,}"]
        for kind, text in kinds.items()
        for row in [row for row in errors if row.figure == kind][:REASONS]
    ]
    runs = errors[0].runs if errors else 1
    counted = "rows" if runs == 1 else f"rows of {runs} runs"
    return OutputTable([f"why rows are wrong: {system}", counted], lines)


def published_table(scored: ScoredSystems, rows: Sequence[Row], width: int) -> OutputTable:
    """Our scores, then the published ones: one line per system and table, one column per metric."""
    from cgbench.benchmark.measure.metrics.published import PAPERS

    lines: dict[tuple[str, str, str], dict[str, str]] = {}
    for row in rows:
        if row.analysis == "published":
            text = str(row.value) + (f" ± {row.stdev}" if row.stdev else "")
            lines.setdefault((row.system, str(row.bin), row.signature), {})[row.figure] = text
        elif row.analysis in ("scores", "type"):
            name = {"exact": "exact match"}.get(row.metric, row.metric)
            if len(scored.metric.figures) > 1:
                name = " ".join(filter(None, [row.metric, row.figure, row.bin]))
            lines.setdefault((row.system, "", "yours"), {})[name] = fixed(
                row.value, width, none="-"
            )
    metrics = list(dict.fromkeys(name for values in lines.values() for name in values))
    has_several = len({benchmark for _, benchmark, _ in lines if benchmark}) > 1
    cells = [
        [
            system,
            benchmark if has_several else "",
            *(values.get(name, "") for name in metrics),
            source,
        ]
        for (system, benchmark, source), values in lines.items()
    ]
    papers = sorted({row.source.split()[0] for row in scored.published})
    notes = [f"{paper}: {PAPERS[paper]}" for paper in papers if paper in PAPERS]
    notes += dict.fromkeys(f"{row.system}: {row.note}" for row in scored.published if row.note)
    head = [
        "beside published results",
        "benchmark",
        *(name.removeprefix("CTER ") for name in metrics),
        "source",
    ]
    return OutputTable(head, cells, note="\n".join(notes))


def people_table(scored: ScoredSystems, rows: Sequence[Row], width: int) -> OutputTable:
    """Mean human judgements with the metric, then those of judgements alone, then the means of the
    metric.
    """
    people = [row for row in rows if row.analysis == "people"]
    differences = {(row.figure, row.system): row for row in people if row.baseline}
    baseline = next((row.baseline for row in differences.values()), None)
    metric = scored.metric.name
    gains = {
        mean.system: mean.narrower
        for mean in scored.people
        if (mean.against is None) == (baseline is None)
    }

    def cells(row: Row) -> list[str]:
        gain = gains.get(row.system) if row.figure == labels["with the metric"] else None
        return [*score_cells(row), "" if gain is None else f"{fixed(100 * gain, 0)}%"]

    labels = {"with the metric": f"human + {metric}", "judgements alone": "human"}
    people_rows = []
    for name, label in labels.items():
        for row in (row for row in people if row.figure == name and not row.baseline):
            row = replace(row, figure=label, baseline=baseline)
            if difference := differences.get((name, row.system)):
                row = replace(
                    row,
                    difference=difference.difference,
                    difference_low=difference.difference_low,
                    difference_high=difference.difference_high,
                    p_value=difference.p_value,
                )
            people_rows.append(row)
    people_rows += [replace(row, figure=metric) for row in rows if row.analysis == "scores"]
    score_cells = score_cells_of(people_rows, width)
    note = (
        f"narrower: how much {metric} shortens the interval of {'Δ' if differences else 'the mean'}"
    )
    return OutputTable(
        ["mean of", "system", "n", "mean", *heads(COLUMNS_OF_SCORE), "narrower"],
        lines_of(people_rows, ("figure", "system", "n"), cells, once=1),
        2,
        note=note,
    )

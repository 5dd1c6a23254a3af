"""The tables that ``cgbench score`` prints: selections of the long table, each score with the same
columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain

from cgbench.benchmark.score.comparison.scored_systems import ScoredSystems, describe
from cgbench.benchmark.score.comparison.tiers import ranks
from cgbench.benchmark.score.forms.columns import (
    HOLM,
    Column,
    Decimals,
    heads,
    interval_text,
    printed,
    score_text,
    texts,
)
from cgbench.benchmark.score.forms.metric_tables import (
    agreement_table,
    people_table,
    published_table,
    reasons_table,
    types_table,
)
from cgbench.benchmark.score.forms.rows import Row, rows_of
from cgbench.benchmark.score.forms.stars import legend
from cgbench.benchmark.score.forms.table_lines import COLUMNS_OF_SCORE, lines_of, score_cells_of
from cgbench.numbers_as_text import Cell, fixed, joined, span
from cgbench.tables import Note, OutputTable, render

RANKS = (
    "tier: each system is significantly better than all of later tiers; within a tier, systems may"
    " differ\nrank: a range; 2-4 means that one system is significantly better, and that four, this"
    " one included, are not significantly worse"
)


def tables_of(
    scored: ScoredSystems,
    width: int,
    reasons: bool,
    one_line: bool,
    more: Sequence[ScoredSystems] = (),
) -> list[OutputTable | Note]:
    """Everything about some systems, in the order in which it is printed.

    :param one_line: print one system with one run as sacrebleu does.
    :param more: the same systems by further metrics.
    """
    of_metrics = [(metric, list(rows_of(metric))) for metric in (scored, *more)]
    rows = of_metrics[0][1]
    line = _one_line(scored, width) if one_line and not scored.people and not more else None
    blocks: list[OutputTable | Note] = [Note(line) if line else first_table(of_metrics, width)]
    for metric, rows in of_metrics:
        blocks += _further_tables(metric, rows, width, reasons)
    blocks = [
        without_equal_p(block) if isinstance(block, OutputTable) else block for block in blocks
    ]
    return blocks if line else [*blocks, signatures(of_metrics)]


def first_table(of_metrics: Sequence[tuple[ScoredSystems, list[Row]]], width: int) -> OutputTable:
    """The table of systems that an output begins with: by one metric with all columns, or by
    several side by side.

    :param of_metrics: the systems by each metric, with the rows of :func:`rows_of`.
    """
    scored, rows = of_metrics[0]
    if len(of_metrics) > 1:
        return _side_by_side(of_metrics, width)
    if scored.people:
        return people_table(scored, rows, max(width, 1))
    return without_equal_p(systems_table(scored, rows, width))


def _side_by_side(of_metrics: Sequence[tuple[ScoredSystems, list[Row]]], width: int) -> OutputTable:
    """The systems by several metrics in one table: each score with its interval and its
    difference, all with the same decimals; in LaTeX below each other.
    """
    columns = [column for column in COLUMNS_OF_SCORE if column.beside]
    all_rows = chain.from_iterable(rows for _, rows in of_metrics)
    decimals = Decimals.of([row for row in all_rows if row.analysis == "scores"], width)
    tables = [
        systems_table(scored, rows, width, columns=columns, decimals=decimals)
        for scored, rows in of_metrics
    ]
    lines = zip(*((table.head, *table.rows) for table in tables), strict=True)
    head, *rows = [
        [*of_tables[0][:3], *chain.from_iterable(cells[3:] for cells in of_tables)]
        for of_tables in lines
    ]
    title = joined([table.title for table in tables])
    starts = range(4 + len(columns), len(head), 1 + len(columns))

    def in_latex() -> str:
        from cgbench.latex import BOLD, latex_note

        table = _below_each_other(of_metrics, decimals)
        cells = chain.from_iterable(table.rows)
        has_best = any(isinstance(cell, Cell) and cell.is_best for cell in cells)
        tabular = render(table.head, table.rows, "latex")
        return "\n".join([tabular, *[latex_note(BOLD)] * has_best])

    return OutputTable(head, rows, title=title, starts=starts, latex=in_latex)


def _below_each_other(
    of_metrics: Sequence[tuple[ScoredSystems, list[Row]]], decimals: Decimals
) -> OutputTable:
    """A table with a line per score and system, as narrow as that of one score; Holm's p-values are
    empty if each adjusts a single test.
    """
    lines: list[list[str]] = []
    for scored, rows in of_metrics:
        for figure in scored.metric.figures:
            table = systems_table(scored, rows, decimals.scores, [figure], decimals=decimals)
            labels = [scored.metric.label(figure), *[""] * (len(table.rows) - 1)]
            lines += [[label, *row] for label, row in zip(labels, table.rows, strict=True)]
    head = ["metric", "system", "n", "runs", "score", *heads(COLUMNS_OF_SCORE)]
    table = OutputTable(head, lines)
    is_adjusted = any((row.tests or 0) > 1 for _, rows in of_metrics for row in rows)
    return table if is_adjusted else without_equal_p(table)


def _further_tables(
    scored: ScoredSystems, rows: Sequence[Row], width: int, reasons: bool
) -> list[OutputTable | Note]:
    """What follows the table of systems: bins, the control set, pairs, and what is of one
    metric.
    """
    blocks: list[OutputTable | Note] = []
    blocks += (
        [bins_of(scored, rows, figure, width) for figure in scored.metric.figures]
        if scored.by
        else []
    )
    blocks += drop_blocks(scored, rows, width)
    blocks += [_pairs(scored, rows, figure, width) for figure in scored.metric.figures]
    blocks += [_ranks(scored, width), types_table(rows, width), agreement_table(rows, width)]
    blocks += [reasons_table(rows, result.system) for result in scored.results] if reasons else []
    blocks += [published_table(scored, rows, width)] if scored.published else []
    blocks += (
        [Note(f"estimate for {scored.sampling.design.description()}")]
        if scored.sampling.design
        else []
    )
    return [*blocks, Note(scored.clusters)]


def without_equal_p(table: OutputTable) -> OutputTable:
    """The table with an empty column of Holm's p-values if all are those of the column before
    it.
    """
    equal = [
        column
        for column, name in enumerate(table.head)
        if (table.head[column - 1], name) == ("p", HOLM)
        and all(row[column] in ("", row[column - 1]) for row in table.rows)
    ]
    return replace(
        table,
        rows=[
            ["" if column in equal else cell for column, cell in enumerate(row)]
            for row in table.rows
        ],
    )


def _one_line(scored: ScoredSystems, width: int) -> str | None:
    """sacrebleu's line, for one system with one run."""
    if len(scored.results) > 1 or scored.results[0].runs > 1:
        return None
    metric, result = scored.metric, scored.results[0]
    words = [f"{metric.name}|{scored.signature} ="]
    for name in metric.figures:
        score = result.whole.figures[name]
        text = fixed(score.value, width, none="-")
        if score.ci_low is not None and score.ci_high is not None:
            if metric.as_sacrebleu and score.ci_mean is not None:
                half = (score.ci_high - score.ci_low) / 2
                text += f" (μ = {fixed(score.ci_mean, width)} ± {fixed(half, width)})"
            else:
                text += f" (95%: {span(score.ci_low, score.ci_high, width)})"
        words.append(f"{name} {text}" if len(metric.figures) > 1 else text)
    return " ".join(filter(None, [*words, describe(scored, result)]))


def systems_table(
    scored: ScoredSystems,
    rows: Sequence[Row],
    width: int,
    figures: Sequence[str] | None = None,
    columns: Sequence[Column] = COLUMNS_OF_SCORE,
    decimals: Decimals | None = None,
) -> OutputTable:
    """One line per system.

    :param figures: the scores of the metric, by default all.
    :param columns: after each score.
    :param decimals: those of a larger table, instead of the least that these scores need.
    """
    figures = figures or scored.metric.figures
    wholes = [row for row in rows if row.analysis == "scores" and row.figure in figures]
    decimals = decimals or Decimals.of(wholes, width)

    def cells(row: Row) -> list[str]:
        return [score_text(row, decimals), *texts(columns, row, decimals)]

    lines = lines_of(wholes, ("system", "n", "runs"), cells)
    head = [cell for figure in figures for cell in (scored.metric.label(figure), *heads(columns))]
    starts = range(4 + len(columns), 3 + len(head), 1 + len(columns))  # of all but the first
    title = joined([scored.metric.axis(figure) for figure in figures])
    return OutputTable(["system", "n", "runs", *head], lines, title=title, starts=starts)


def bins_of(scored: ScoredSystems, rows: Iterable[Row], figure: str, width: int) -> OutputTable:
    """One line per bin and system; in LaTeX, one column per bin."""
    rows = [row for row in rows if row.analysis == "bins" and row.figure == figure]
    if all(row.value is None for row in rows):
        return OutputTable([], [])  # CTER aggregate where the bins divide groups
    lines = lines_of(rows, ("bin", "n", "system"), score_cells_of(rows, width), once=2)
    head = [scored.by_title, "n", "system", scored.metric.label(figure), *heads(COLUMNS_OF_SCORE)]
    title = f"{scored.metric.axis(figure)} by {scored.by_title}"

    def in_latex() -> str:
        from cgbench.benchmark.score.forms.latex import bins_table

        return bins_table(scored, figure, width)

    return OutputTable(head, lines, 3, title, latex=in_latex)


def drop_blocks(scored: ScoredSystems, rows: Sequence[Row], width: int) -> tuple[OutputTable, Note]:
    """The drop of every system from the control set to the test set, in a table and in words."""
    tests = {(row.system, row.figure): row.value for row in rows if row.analysis == "scores"}
    drops = [row for row in rows if row.analysis == "drop" and row.bin == "drop"]
    columns, decimals = printed("difference"), Decimals.of(drops, width)
    lines, words = [], []
    for row in drops:
        drop, label = scored.drops[row.system][row.figure], scored.metric.label(row.figure)
        values = (drop.control, tests[row.system, row.figure], drop.value)
        line = [label, row.system, *(fixed(value, width, none="-") for value in values)]
        line += [interval_text(row, decimals), fixed(drop.ratio, 2)]
        lines.append([*line, *texts(columns, row, decimals)])
        if row.value is not None:
            words.append(_drop_in_words(scored, row, width))
    head = [
        "control to test",
        "system",
        "control",
        "test",
        "drop",
        "95% interval",
        "test / control",
        *heads(columns),
    ]
    title = f"{scored.metric.name}: from the control set to the test set"
    return OutputTable(head, lines, 2, title), Note("\n".join(words), in_latex=False)


def _drop_in_words(scored: ScoredSystems, row: Row, width: int) -> str:
    """``BLEU falls by 3.1 [1.0, 5.2] from the control set ...``."""
    is_rise = scored.metric.lower_is_better is (row.value >= 0)
    bounds = ""
    if row.ci_low is not None and row.ci_high is not None:
        low, high = row.ci_low, row.ci_high
        if row.value < 0:
            low, high = -high, -low
        bounds = f" [{fixed(low, width)}, {fixed(high, width)}]"
    of_system = f"{row.system}: " if len(scored.results) > 1 else ""
    return (
        f"{of_system}{scored.metric.label(row.figure)} {'rises' if is_rise else 'falls'} by"
        f" {fixed(abs(row.value), width)}{bounds} from the control set ({row.n:,} examples) to the"
        " test set"
    )


def _pairs(scored: ScoredSystems, rows: Iterable[Row], figure: str, width: int) -> OutputTable:
    """One line per pair of systems: over all examples, then in each bin."""
    pairs = [row for row in rows if row.analysis == "pairs" and row.figure == figure]
    columns, decimals = printed("difference"), Decimals.of(pairs, width)
    lines = lines_of(
        pairs, ("system", "baseline", "bin"), lambda row: texts(columns, row, decimals)
    )
    head = [f"{scored.metric.label(figure)}: all pairs", "against", scored.by_title]
    return OutputTable([*head, *heads(columns)], lines, 3)


def _ranks(scored: ScoredSystems, width: int) -> OutputTable:
    """The range of each system's rank and its tier, if all pairs are compared."""
    lines = []
    for rank in ranks(scored.metric, scored.results):
        result = scored.results[rank.number]
        value = fixed(result.whole.figures[scored.metric.figures[0]].value, width, none="-")
        lines.append([result.system, value, rank.span, str(rank.tier)])
    return OutputTable(["best first", scored.metric.name, "rank", "tier"], lines, note=RANKS)


def signatures(of_metrics: Sequence[tuple[ScoredSystems, Iterable[Row]]]) -> Note:
    """What the stars mean, and the signature of each metric."""
    lines = [legend(scored, rows) for scored, rows in of_metrics if scored.test]
    lines = list(dict.fromkeys(lines))
    if len(of_metrics) > 1:
        lines += [_families([row for _, rows in of_metrics for row in rows])]
    lines = list(filter(None, lines))
    name = "signature  "
    lines += [f"{name}{scored.metric.name}|{scored.signature}" for scored, _ in of_metrics]
    return Note("\n".join(lines), code=True, indent=len(name))


def _families(rows: Iterable[Row]) -> str:
    """How many p-values Holm's method adjusts together, of each of several metrics; empty if it
    adjusts none.
    """
    largest = {"over all examples": 0, "in bins": 0}
    for row in rows:
        where = "over all examples" if row.bin is None else "in bins"
        largest[where] = max(largest[where], row.tests or 0)
    counts = [f"{tests:,} {where}" for where, tests in largest.items() if tests > 1]
    if not counts:
        return ""
    return f"tests that Holm's method adjusts together, by metric: {', '.join(counts)}"


def table_of_rows(rows: Sequence[Row], width: int) -> OutputTable:
    """Rows of any analysis: what each is of, then the columns of a score; without the columns that
    are empty.
    """
    head = ["figure", "system", "by", "bin", "n", "runs", "value", *heads(COLUMNS_OF_SCORE)]
    score_cells = score_cells_of(rows, width)
    lines = []
    for row in rows:
        n = "" if row.n is None else f"{row.n:,}"
        runs = "" if row.runs is None else str(row.runs)
        texts_of_row = [row.figure, row.system, row.by or "", row.bin or "", n, runs]
        lines.append([*texts_of_row, *score_cells(row)])
    return without_equal_p(OutputTable(head, lines, keys=4))

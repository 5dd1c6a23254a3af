"""The tables that ``cgbench score`` prints: selections of the long table, each score with the same
columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain

from cgbench.benchmark.score.comparison.found_differences import Differences, FoundDifference
from cgbench.benchmark.score.comparison.scored_systems import ScoredSystems, describe
from cgbench.benchmark.score.comparison.significance import LEVEL
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
from cgbench.benchmark.score.forms.latex import bins_table, legend
from cgbench.benchmark.score.forms.rows import Row, rows_of
from cgbench.errors import printable
from cgbench.tables import Note, OutputTable, fixed, folded, joined, p_text, span

REASONS = 10  # of each kind in a table
LONGEST = 60  # characters of a hypothesis in a table of text
RANKS = (
    "tier: each system is significantly better than all of later tiers; within a tier, systems may"
    " differ\nrank: a range; 2-4 means that one system is significantly better, and that four, this"
    " one included, are not significantly worse"
)
COLUMNS_OF_SCORE = printed()
"""The columns after a score."""
AGREEMENT = {
    "precision": "precision of the errors found",
    "recall": "recall of the errors found",
    "instance": "instance, as humans judge",
    "aggregate": "aggregate, as humans judge",
}


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
        return _people(scored, rows, max(width, 1))
    return without_equal_p(systems_table(scored, rows, width))


def _side_by_side(of_metrics: Sequence[tuple[ScoredSystems, list[Row]]], width: int) -> OutputTable:
    """The systems by several metrics in one table: each score with its interval and its
    difference.
    """
    columns = [column for column in COLUMNS_OF_SCORE if column.beside]
    tables = [systems_table(scored, rows, width, columns=columns) for scored, rows in of_metrics]
    lines = zip(*((table.head, *table.rows) for table in tables), strict=True)
    head, *rows = [
        [*of_tables[0][:3], *chain.from_iterable(cells[3:] for cells in of_tables)]
        for of_tables in lines
    ]
    title = joined([table.title for table in tables])
    starts = range(4 + len(columns), len(head), 1 + len(columns))
    return OutputTable(head, rows, title=title, starts=starts)


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
    blocks += [_ranks(scored, width), _types(rows, width), _agreement(rows, width)]
    blocks += [reasons_table(rows, result.system) for result in scored.results] if reasons else []
    blocks += [_published(scored, rows, width)] if scored.published else []
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


def lines_of(
    rows: Sequence[Row], keys: Sequence[str], cells: Callable[[Row], Sequence[str]], once: int = 0
) -> list[list[str]]:
    """One line for all rows with the same keys, in the order of their bins: the keys, then the
    cells of each row.

    :param keys: names of columns.
    :param once: how many keys are left empty where the line above has the same.
    """
    lines: dict[tuple[str, ...], list[str]] = {}
    above: tuple[str, ...] | None = None
    bins = {label: index for index, label in enumerate(dict.fromkeys(row.bin for row in rows))}
    for row in sorted(rows, key=lambda row: bins[row.bin]):
        key = tuple(f"{row.n:,}" if name == "n" else str(getattr(row, name) or "") for name in keys)
        if key not in lines:
            repeated = once if key[:once] == above else 0
            lines[key], above = [*[""] * repeated, *key[repeated:]], key[:once]
        lines[key] += cells(row)
    return list(lines.values())


def _score_cells(rows: Sequence[Row], width: int) -> Callable[[Row], list[str]]:
    """Makes the cells of a score with all its columns, for the rows of one table."""
    decimals = Decimals.of(rows, width)
    return lambda row: [score_text(row, decimals), *texts(COLUMNS_OF_SCORE, row, decimals)]


def systems_table(
    scored: ScoredSystems,
    rows: Sequence[Row],
    width: int,
    figures: Sequence[str] | None = None,
    columns: Sequence[Column] = COLUMNS_OF_SCORE,
) -> OutputTable:
    """One line per system.

    :param figures: the scores of the metric, by default all.
    :param columns: after each score.
    """
    figures = figures or scored.metric.figures
    wholes = [row for row in rows if row.analysis == "scores" and row.figure in figures]
    decimals = Decimals.of(wholes, width)

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
    lines = lines_of(rows, ("bin", "n", "system"), _score_cells(rows, width), once=2)
    head = [scored.by_title, "n", "system", scored.metric.label(figure), *heads(COLUMNS_OF_SCORE)]
    title = f"{scored.metric.axis(figure)} by {scored.by_title}"
    return OutputTable(head, lines, 3, title, latex=bins_table(scored, figure, width))


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


def _types(rows: Iterable[Row], width: int) -> OutputTable:
    """CTER by type of compound, if there are several."""
    rows = [row for row in rows if row.analysis == "type"]
    lines = lines_of(
        rows, ("bin", "n", "system"), lambda row: [fixed(row.value, width, none="-")], once=2
    )
    has_bins = len({row.bin for row in rows}) > 1
    return OutputTable(
        ["type", "n", "system", "instance", "aggregate"], lines if has_bins else [], 3
    )


def _agreement(rows: Iterable[Row], width: int) -> OutputTable:
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


def _published(scored: ScoredSystems, rows: Sequence[Row], width: int) -> OutputTable:
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


def _people(scored: ScoredSystems, rows: Sequence[Row], width: int) -> OutputTable:
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
    score_cells = _score_cells(people_rows, width)
    note = (
        f"narrower: how much {metric} shortens the interval of {'Δ' if differences else 'the mean'}"
    )
    return OutputTable(
        ["mean of", "system", "n", "mean", *heads(COLUMNS_OF_SCORE), "narrower"],
        lines_of(people_rows, ("figure", "system", "n"), cells, once=1),
        2,
        note=note,
    )


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
    score_cells = _score_cells(rows, width)
    lines = []
    for row in rows:
        n = "" if row.n is None else f"{row.n:,}"
        runs = "" if row.runs is None else str(row.runs)
        texts_of_row = [row.figure, row.system, row.by or "", row.bin or "", n, runs]
        lines.append([*texts_of_row, *score_cells(row)])
    return without_equal_p(OutputTable(head, lines, keys=4))


def differences_tables(differences: Iterable[Differences], width: int) -> list[OutputTable | Note]:
    """Where systems differ: n-grams, words, kinds of examples, single examples."""
    blocks: list[OutputTable | Note] = []
    for pair in differences:
        head = ["examples", pair.system, pair.against, "p", "q"]
        names = f"{pair.system} and {pair.against}"
        if pair.tested:
            differ = f"{len(pair.ngrams):,} of {pair.tested:,}"
            where = "" if pair.seeds_tested else " in these outputs"
            blocks.append(
                Note(f"{names}: {differ} n-grams differ{where} (false discovery rate {LEVEL:g})")
            )
            title = f"N-grams, times right: {differ} differ"
            # Means over seeds have a decimal; counts of one run are whole.
            counts = [count for entry in pair.shown for count in (entry.ours, entry.theirs)]
            lines = _lines(pair.shown, 1 if any(count % 1 for count in counts) else 0)
            blocks.append(OutputTable(["n-gram", *head], lines, title=title))
        blocks.append(
            OutputTable(
                ["F1 of words, by count in training", *head],
                _lines(pair.words, width),
                title="F1 of words in percent, by training count",
                key="training count",
            )
        )
        blocks.append(
            OutputTable(
                [f"by {pair.kinds_by}: {names}", *head],
                _lines(pair.kinds, width),
                title=f"Scores by {pair.kinds_by}",
                key=pair.kinds_by,
            )
        )
        lines = [
            [
                f"{example.row}",
                fixed(example.ours, width),
                fixed(example.theirs, width),
                *(_short(text) for text in example.texts or ("", "")),
            ]
            for example in pair.examples
        ]
        columns = [pair.system, pair.against, f"{pair.system} output", f"{pair.against} output"]
        head = ["largest differences: row", *columns]
        in_blocks = partial(_example_blocks, pair, width)
        blocks.append(OutputTable(head, lines, text=in_blocks))
    return blocks


def _example_blocks(pair: Differences, width: int) -> str:
    """The examples that differ most, for a terminal: a block each, with both outputs."""
    names = (pair.system, pair.against)
    indent = max(map(len, names)) + 4
    blocks = [f"largest differences: {pair.system} and {pair.against}"]
    for example in pair.examples:
        scores = [fixed(score, width) for score in (example.ours, example.theirs)]
        both = ", ".join(f"{name} {score}" for name, score in zip(names, scores, strict=True))
        lines = [f"row {example.row}: {both}"]
        for name, text in zip(names, example.texts or (), strict=False):
            lines.append(folded(f"  {name}".ljust(indent) + printable(text), indent))
        blocks.append("\n".join(lines))
    has_texts = any(example.texts for example in pair.examples)
    return ("\n\n" if has_texts else "\n").join(blocks)


def _lines(entries: Iterable[FoundDifference], width: int) -> list[list[str]]:
    return [
        [
            entry.what,
            f"{entry.count:,}",
            fixed(entry.ours, width),
            fixed(entry.theirs, width),
            p_text(entry.p_value),
            p_text(entry.q_value),
        ]
        for entry in entries
    ]


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."

"""The tables that ``cgbench score`` prints: selections of the long table, each score with the same
columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cgbench.benchmark.measure.metrics.published import PAPERS
from cgbench.benchmark.score.comparison.significance import LEVEL
from cgbench.benchmark.score.comparison.tiers import ranks
from cgbench.benchmark.score.evaluation.scored import ScoredSystems, describe
from cgbench.benchmark.score.forms.latex import bins_table, legend
from cgbench.benchmark.score.forms.rows import Row, rows_of
from cgbench.tables import Best, Note, OutputTable, fixed, p_text

if TYPE_CHECKING:
    from cgbench.benchmark.score.evaluation.differences import Differences, FoundDifference
    from cgbench.benchmark.score.evaluation.known_parts import PartsScores

REASONS = 10  # of each kind in a table
LONGEST = 60  # characters of a hypothesis in a table of text
HOLM = "p (Holm)"
SPREAD = ["stdev", "95% interval", "Δ", "95% of Δ", "p", HOLM, "p (calibrated)"]
"""The columns after a score."""
OF_DIFFERENCES = ("difference", "difference_low", "difference_high", "p_value")
AGREEMENT = {
    "precision": "precision of the errors found",
    "recall": "recall of the errors found",
    "instance": "instance, as humans judge",
    "aggregate": "aggregate, as humans judge",
}
GIVEN = (
    "given: test pairs in which the system knows every piece; residual: the error on them, minus"
    " the error that the probes predict"
)


def number(value: Any, width: int) -> str:
    """A score with ``width`` decimals; ``-`` if undefined."""
    return fixed(value, width, none="-")


def span(low: float | None, high: float | None, places: int, sign: str = "") -> str:
    """An interval, if there is one."""
    return (
        ""
        if low is None or high is None
        else f"{fixed(low, places, sign)} to {fixed(high, places, sign)}"
    )


def _interval(row: Row, width: int, sign: str = "") -> str:
    return span(row.ci_low, row.ci_high, width, sign)


def _difference(row: Row, width: int) -> list[str]:
    """A difference with the stars of the calibrated test, and its interval; the baseline is
    marked.
    """
    if row.system == row.baseline:
        return ["baseline", ""]
    bounds = span(row.difference_low, row.difference_high, width, "+")
    return [fixed(row.difference, width, "+") + row.mark, bounds]


def _spread(row: Row, width: int) -> list[str]:
    """The cells of :data:`SPREAD`."""
    stdev = "" if row.stdev is None else fixed(float(row.stdev), max(width, 2))
    p_values = (row.p_value, row.p_holm, row.p_calibrated_holm)
    return [stdev, _interval(row, width), *_difference(row, width), *map(p_text, p_values)]


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
    first = (
        _people(scored, rows, max(width, 1))
        if scored.people
        else systems_table(scored, rows, width)
    )
    if more:
        first = _side_by_side([systems_table(metric, rows, width) for metric, rows in of_metrics])
    blocks: list[OutputTable | Note] = [Note(line) if line else first]
    for metric, rows in of_metrics:
        blocks += _further_tables(metric, rows, width, reasons)
    blocks = [
        without_equal_p(block) if isinstance(block, OutputTable) else block for block in blocks
    ]
    return blocks if line else [*blocks, _signatures(of_metrics)]


def _side_by_side(tables: Sequence[OutputTable]) -> OutputTable:
    """The tables of systems by several metrics as one: each score with its interval and its
    difference.
    """
    per_score, columns = (
        1 + len(SPREAD),
        (
            0,
            1 + SPREAD.index("95% interval"),
            1 + SPREAD.index("Δ"),
        ),
    )

    def join(lines: Sequence[Sequence[str]]) -> list[str]:
        cells = [
            cell
            for line in lines
            for column, cell in enumerate(line[3:])
            if column % per_score in columns
        ]
        return [*lines[0][:3], *cells]

    head, *rows = [
        join(lines) for lines in zip(*((table.head, *table.rows) for table in tables), strict=True)
    ]
    return OutputTable(head, rows, starts=range(3 + len(columns), len(head), len(columns)))


def _further_tables(
    scored: ScoredSystems, rows: Sequence[Row], width: int, reasons: bool
) -> list[OutputTable | Note]:
    """What follows the table of systems: bins, the control set, pairs, and what is of one
    metric.
    """
    blocks: list[OutputTable | Note] = []
    blocks += (
        [_bins(scored, rows, figure, width) for figure in scored.metric.figures]
        if scored.by
        else []
    )
    blocks += drop_blocks(scored, rows, width)
    blocks += [_pairs(scored, rows, figure, width) for figure in scored.metric.figures]
    blocks += [_ranks(scored, width), _types(rows, width), _agreement(rows, width)]
    blocks += [reasons_table(rows, result.system) for result in scored.results] if reasons else []
    blocks += [_published(scored, rows, width)]
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
    figures = []
    for name in metric.figures:
        score = result.whole.figures[name]
        text = number(score.value, width)
        if score.ci_low is not None and score.ci_high is not None:
            half = (score.ci_high - score.ci_low) / 2
            text += (
                f" (μ = {score.ci_mean:.{width}f} ± {half:.{width}f})"
                if metric.as_sacrebleu and score.ci_mean is not None
                else f" (95%: {score.ci_low:.{width}f} to {score.ci_high:.{width}f})"
            )
        figures.append(f"{name} {text}" if len(metric.figures) > 1 else text)
    line = " ".join(
        filter(None, [f"{metric.name}|{scored.signature} =", *figures, describe(scored, result)])
    )
    return f"{line}\nshort: {metric.name}|{scored.signature.format(short=True)}"


def _lines_of(
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


def _score(row: Row, width: int) -> list[str]:
    return [number(row.value, width), *_spread(row, width)]


def systems_table(
    scored: ScoredSystems, rows: Sequence[Row], width: int, figures: Sequence[str] | None = None
) -> OutputTable:
    """One line per system; the best of each score are marked, as far as the test says which they
    are.
    """
    figures = figures or scored.metric.figures
    wholes = [row for row in rows if row.analysis == "scores" and row.figure in figures]
    best = {
        (result.system, name)
        for result in scored.results
        for name in figures
        if result.whole.figures[name].is_best
    }

    def cells(row: Row) -> list[str]:
        value, *spread = _score(row, width)
        return [Best(value) if (row.system, row.figure) in best else value, *spread]

    lines = _lines_of(wholes, ("system", "n", "runs"), cells)
    columns = [cell for figure in figures for cell in (scored.metric.label(figure), *SPREAD)]
    starts = range(
        4 + len(SPREAD), 3 + len(columns), 1 + len(SPREAD)
    )  # of all scores but the first
    return OutputTable(["system", "n", "runs", *columns], lines, starts=starts)


def _bins(scored: ScoredSystems, rows: Iterable[Row], figure: str, width: int) -> OutputTable:
    """One line per bin and system; in LaTeX, one column per bin."""
    rows = [row for row in rows if row.analysis == "bins" and row.figure == figure]
    if all(row.value is None for row in rows):
        return OutputTable([], [])  # CTER aggregate where the bins divide groups
    lines = _lines_of(rows, ("bin", "n", "system"), lambda row: _score(row, width), once=2)
    head = [f"{scored.by}", "n", "system", scored.metric.label(figure), *SPREAD]
    return OutputTable(head, lines, 3, latex=bins_table(scored, figure, width))


def drop_blocks(scored: ScoredSystems, rows: Sequence[Row], width: int) -> tuple[OutputTable, Note]:
    """The drop of every system from the control set to the test set, in a table and in words."""
    tests = {(row.system, row.figure): row.value for row in rows if row.analysis == "scores"}
    lines, words = [], []
    for row in (row for row in rows if row.analysis == "drop" and row.bin == "drop"):
        drop, label = scored.drops[row.system][row.figure], scored.metric.label(row.figure)
        values = (drop.control, tests[row.system, row.figure], drop.value)
        line = [label, row.system, *(number(value, width) for value in values)]
        line += [_interval(row, width), fixed(drop.ratio, 2), *_difference(row, width)]
        lines.append([*line, p_text(row.p_value), p_text(row.p_holm)])
        if row.value is not None:
            verb = "rises" if scored.metric.lower_is_better is (row.value >= 0) else "falls"
            bounds = ""
            if row.ci_low is not None and row.ci_high is not None:
                low, high = (
                    (row.ci_low, row.ci_high) if row.value >= 0 else (-row.ci_high, -row.ci_low)
                )
                bounds = f" [{low:z.{width}f}, {high:z.{width}f}]"
            of_system = f"{row.system}: " if len(scored.results) > 1 else ""
            words.append(
                f"{of_system}{label} {verb} by {abs(row.value):.{width}f}{bounds} from the control"
                f" set ({row.n:,} examples) to the test set"
            )
    head = [
        "control to test",
        "system",
        "control",
        "test",
        "drop",
        "95% interval",
        "test / control",
    ]
    return OutputTable([*head, "Δ", "95% of Δ", "p", HOLM], lines, 2), Note(
        "\n".join(words), in_latex=False
    )


def _pairs(scored: ScoredSystems, rows: Iterable[Row], figure: str, width: int) -> OutputTable:
    """One line per pair of systems: over all examples, then in each bin."""
    pairs = [row for row in rows if row.analysis == "pairs" and row.figure == figure]
    lines = _lines_of(pairs, ("system", "baseline", "bin"), lambda row: _spread(row, width)[2:])
    head = [f"{scored.metric.label(figure)}: all pairs", "against", scored.by or "", *SPREAD[2:]]
    return OutputTable(head, lines, 3)


def _ranks(scored: ScoredSystems, width: int) -> OutputTable:
    """The range of each system's rank and its tier, if all pairs are compared."""
    lines = []
    for rank in ranks(scored.metric, scored.results):
        result = scored.results[rank.number]
        value = number(result.whole.figures[scored.metric.figures[0]].value, width)
        lines.append([result.system, value, rank.span, str(rank.tier)])
    return OutputTable(["best first", scored.metric.name, "rank", "tier"], lines)


def _types(rows: Iterable[Row], width: int) -> OutputTable:
    """CTER by type of compound, if there are several."""
    rows = [row for row in rows if row.analysis == "type"]
    lines = _lines_of(rows, ("bin", "n", "system"), lambda row: [number(row.value, width)], once=2)
    has_bins = len({row.bin for row in rows}) > 1
    return OutputTable(
        ["type", "n", "system", "instance", "aggregate"], lines if has_bins else [], 3
    )


def _agreement(rows: Iterable[Row], width: int) -> OutputTable:
    """CTER against human judgements."""
    lines = [
        [AGREEMENT[row.figure], number(row.value, width)] for row in rows if row.analysis == "human"
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
    lines: dict[tuple[str, str, str], dict[str, str]] = {}
    for row in rows if scored.published else ():
        if row.analysis == "published":
            text = str(row.value) + (f" ± {row.stdev}" if row.stdev else "")
            lines.setdefault((row.system, str(row.bin), row.signature), {})[row.figure] = text
        elif row.analysis in ("scores", "type"):
            name = {"exact": "exact match"}.get(row.metric, row.metric)
            if len(scored.metric.figures) > 1:
                name = " ".join(filter(None, [row.metric, row.figure, row.bin]))
            lines.setdefault((row.system, "", "yours"), {})[name] = number(row.value, width)
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
    head = [
        "beside published results",
        "benchmark",
        *(name.removeprefix("CTER ") for name in metrics),
        "source",
    ]
    return OutputTable(
        head,
        cells,
        note="\n".join(f"{paper}: {PAPERS[paper]}" for paper in papers if paper in PAPERS),
    )


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
        return [*_score(row, width), "" if gain is None else f"{max(0, round(100 * gain))}%"]

    labels = {"with the metric": f"human + {metric}", "judgements alone": "human"}
    people_rows = []
    for name, label in labels.items():
        for row in (row for row in people if row.figure == name and not row.baseline):
            row = replace(row, figure=label, baseline=baseline)
            if difference := differences.get((name, row.system)):
                row = replace(row, **{name: getattr(difference, name) for name in OF_DIFFERENCES})
            people_rows.append(row)
    people_rows += [replace(row, figure=metric) for row in rows if row.analysis == "scores"]
    note = (
        f"narrower: how much {metric} shortens the interval of {'Δ' if differences else 'the mean'}"
    )
    return OutputTable(
        ["mean of", "system", "n", "mean", *SPREAD, "narrower"],
        _lines_of(people_rows, ("figure", "system", "n"), cells, once=1),
        2,
        note=note,
    )


def _signatures(of_metrics: Sequence[tuple[ScoredSystems, Iterable[Row]]]) -> Note:
    lines = list(dict.fromkeys(legend(scored, rows) for scored, rows in of_metrics if scored.test))
    for scored, _ in of_metrics:
        name = scored.metric.name
        lines += [
            f"signature  {name}|{scored.signature}",
            f"short      {name}|{scored.signature.format(short=True)}",
        ]
    return Note("\n".join(lines), code=True)


def table_of_rows(rows: Iterable[Row], width: int) -> OutputTable:
    """Rows of any analysis: what each is of, then the columns of a score; without the columns that
    are empty.
    """
    head = ["figure", "system", "by", "bin", "n", "runs", "value", *SPREAD]
    lines = [
        [
            row.figure,
            row.system,
            row.by or "",
            row.bin or "",
            "" if row.n is None else f"{row.n:,}",
            "" if row.runs is None else str(row.runs),
            *_score(row, width),
        ]
        for row in rows
    ]
    return without_equal_p(OutputTable(head, lines, keys=4))


def parts_tables(scores: PartsScores, width: int) -> list[OutputTable | Note]:
    """The residual composition error, its differences between systems, and scores of given pairs
    and of the rest.

    :param width: the decimals of scores.
    """
    rows = list(rows_of(scores.residual))
    # The residual and what it is made of: one line per system.
    order = ("given", "error", "predicted", "residual")
    of_systems = [row for row in rows if row.analysis == "scores" and row.figure in order]
    of_systems.sort(key=lambda row: order.index(row.figure))

    def cells(row: Row) -> list[str]:
        more = {"given": [_interval(row, 1)], "residual": [_interval(row, 1, "+"), *_tested(row)]}
        return [number(row.value, 1), *more.get(row.figure, ())]

    last = ["Δ", "95% of Δ", HOLM]
    head = [
        "known parts",
        "given %",
        "95% interval",
        "error",
        "predicted",
        "residual",
        "95% interval",
        *last,
    ]
    pairs = [row for row in rows if row.analysis == "pairs" and row.figure == "residual"]
    tables = [
        OutputTable(
            head,
            _lines_of(of_systems, ("system",), cells),
            title="Given pairs, and their error beyond what the probes predict, in percent",
        ),
        OutputTable(
            ["residual: all pairs", "against", *last],
            _lines_of(pairs, ("system", "baseline"), _tested),
            2,
            "Differences of the residual composition error, all pairs",
        ),
    ]
    if scores.beyond:
        beyond = [row for row in rows_of(scores.beyond) if row.analysis == "scores"]
        beyond = sorted(
            beyond, key=lambda row: row.figure == beyond[0].figure
        )  # of the control set first
        head = [
            "beyond the control set",
            "control set",
            "95% interval",
            "test - control",
            "95% interval",
        ]
        lines = _lines_of(
            beyond, ("system",), lambda row: [number(row.value, 1), _interval(row, 1, "+")]
        )
        title = "Residual of the control set, and the difference from it, in percent"
        tables.append(OutputTable(head, lines, title=title))
    # the scores on given pairs and on the rest
    bins = [row for row in rows_of(scores.scored) if row.analysis == "bins"]
    lines = _lines_of(
        bins,
        ("bin", "system", "n"),
        lambda row: [number(row.value, width), _interval(row, width)],
        once=1,
    )
    metric = scores.scored.metric
    head = [cell for name in metric.figures for cell in (metric.label(name), "95% interval")]
    tables.append(
        OutputTable(
            ["test pairs", "system", "n", *head], lines, 2, "Scores on given pairs, and on the rest"
        )
    )
    first, *others = [table for table in tables if table.rows]
    return [first, Note(GIVEN), *others]


def _tested(row: Row) -> list[str]:
    return [*_difference(row, 1), p_text(row.p_holm)]


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
            blocks.append(OutputTable(["n-gram", *head], _lines(pair.shown, 1), title=title))
        title = "F1 of words in percent, by training count"
        blocks.append(
            OutputTable(
                ["F1 of words, by count in training", *head], _lines(pair.words, width), title=title
            )
        )
        blocks.append(
            OutputTable(
                [f"kinds: {names}", *head], _lines(pair.kinds, width), title="Kinds of examples"
            )
        )
        lines = [
            [
                f"{example.row}",
                f"{example.ours:.{width}f}",
                f"{example.theirs:.{width}f}",
                *(_short(text) for text in example.texts or ("", "")),
            ]
            for example in pair.examples
        ]
        columns = [pair.system, pair.against, f"{pair.system} output", f"{pair.against} output"]
        blocks.append(OutputTable(["largest differences: row", *columns], lines))
    return blocks


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

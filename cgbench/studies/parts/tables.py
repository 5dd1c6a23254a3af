"""The tables of scores by known parts."""

from cgbench.benchmark.score.forms.columns import (
    Decimals,
    heads,
    interval_text,
    printed,
    texts,
)
from cgbench.benchmark.score.forms.rows import Row, rows_of
from cgbench.benchmark.score.forms.table_lines import lines_of
from cgbench.numbers_as_text import decimals_of, fixed, span
from cgbench.studies.parts.known_parts import PartsScores
from cgbench.tables import Note, OutputTable

GIVEN = (
    "given: test pairs in which the system knows every piece; residual: the error on them, minus"
    " the error that the probes predict"
)


def parts_tables(scores: PartsScores, width: int) -> list[OutputTable | Note]:
    """The residual composition error, its differences between systems, and scores of given pairs
    and of the rest.

    :param width: the decimals of scores.
    """
    rows = list(rows_of(scores.residual))

    def signed_interval(row: Row) -> str:
        return span(row.ci_low, row.ci_high, decimals_of([row.ci_low, row.ci_high], 1), "+")

    # The residual and what it is made of: one line per system.
    order = ("given", "error", "predicted", "residual")
    of_systems = [row for row in rows if row.analysis == "scores" and row.figure in order]
    of_systems.sort(key=lambda row: order.index(row.figure))

    columns = [column for column in printed("difference") if column.name != "p_value"]
    pairs = [row for row in rows if row.analysis == "pairs" and row.figure == "residual"]
    decimals = Decimals.of([*of_systems, *pairs], 1)

    def cells(row: Row) -> list[str]:
        if row.figure == "given":
            more = [interval_text(row, decimals)]
        elif row.figure == "residual":
            more = [signed_interval(row), *texts(columns, row, decimals)]
        else:
            more = []
        return [fixed(row.value, 1, none="-"), *more]

    last = heads(columns)
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
    tables = [
        OutputTable(
            head,
            lines_of(of_systems, ("system",), cells),
            title="Given pairs, and their error beyond what the probes predict, in percent",
        ),
        OutputTable(
            ["residual: all pairs", "against", *last],
            lines_of(pairs, ("system", "baseline"), lambda row: texts(columns, row, decimals)),
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
        lines = lines_of(
            beyond, ("system",), lambda row: [fixed(row.value, 1, none="-"), signed_interval(row)]
        )
        title = "Residual of the control set, and the difference from it, in percent"
        tables.append(OutputTable(head, lines, title=title))
    # the scores on given pairs and on the rest
    bins = [row for row in rows_of(scores.scored) if row.analysis == "bins"]
    lines = lines_of(
        bins,
        ("bin", "system", "n"),
        lambda row: [fixed(row.value, width, none="-"), span(row.ci_low, row.ci_high, width)],
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

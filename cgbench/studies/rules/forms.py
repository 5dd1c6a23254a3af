"""How the scores of kinds of rules are shown: a line per kind and system."""

from collections.abc import Sequence
from dataclasses import replace

from cgbench.benchmark.score.forms.analyses import ROWS, AnalysisLayout
from cgbench.benchmark.score.forms.columns import Decimals, heads, printed, score_text, texts
from cgbench.benchmark.score.forms.rows import Row
from cgbench.benchmark.score.forms.table_lines import lines_of
from cgbench.benchmark.score.forms.tables import without_equal_p
from cgbench.tables import OutputTable


def kinds_table(rows: Sequence[Row], width: int) -> OutputTable:
    """The share of rules of each kind that pass, with the columns of a score."""
    columns, decimals = printed(), Decimals.of(rows, width)
    lines = lines_of(
        rows,
        ("bin", "n", "system"),
        lambda row: [score_text(row, decimals), *texts(columns, row, decimals)],
    )
    head = ["kind of rule", "rules", "system", "passed", *heads(columns)]
    table = OutputTable(head, lines, keys=3, title="Rules that pass (%), by kind")
    return without_equal_p(table)


KINDS = AnalysisLayout(
    rows=lambda rows, scored: [replace(row, analysis="kinds") for row in rows],
    blocks=lambda rows, width, one_line: [kinds_table(rows, width)],
    json=ROWS.json,
)

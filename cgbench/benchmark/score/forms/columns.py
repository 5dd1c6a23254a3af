"""The columns of scores, each declared once: its name, what it holds, and how tables print it.

TSV, pandas and JSON have every column under its name. The printed tables have those with a head.
The table of columns in ``docs/reference/formats.md`` is made from here. To add a column, add it to
:data:`COLUMNS`; a value that is computed from others needs nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

from cgbench.numbers_as_text import Cell, decimals_of, fixed, p_text, span
from cgbench.records import Record

HOLM = "p (Holm)"


class Decimals(Record):
    """The decimals of a table: of its scores, and of its differences with their intervals."""

    scores: int
    differences: int

    @classmethod
    def of(cls, rows: Iterable[Any], width: int) -> Decimals:
        """For results that stand in one table.

        :param width: the least number.
        """
        values = [
            value
            for row in rows
            for value in (row.difference, row.difference_low, row.difference_high)
        ]
        return cls(width, decimals_of(values, width))

    @property
    def spread(self) -> int:
        """Of standard deviations."""
        return max(2, self.scores)


class Column(Record):
    """A column.

    ``name``: in TSV, pandas and JSON. ``kind``: its type in pandas. ``of``: what has it: every row
    of the long table, or results, which are scores or differences. ``value``: gives it, of a row or
    a result; by default the attribute with its name. ``head`` and ``cell``: its head in printed
    tables, and the text for a row. ``beside``: also printed if several metrics stand side by side.
    """

    name: str
    kind: Literal["str", "Int64", "float64", "boolean"]
    of: Literal["row", "score", "difference"]
    meaning: str
    value: Callable[[Any], Any] | None = None
    head: str = ""
    cell: Callable[[Any, Decimals], str] | None = None
    beside: bool = False

    def of_result(self, result: Any) -> Any:
        """The value of a row, a score or a difference; None if it has none."""
        return getattr(result, self.name, None) if self.value is None else self.value(result)

    def text(self, row: Any, decimals: Decimals) -> str:
        """The cell of a printed table."""
        assert self.cell is not None  # printed columns have one
        return self.cell(row, decimals)


def score_text(row: Any, decimals: Decimals) -> str:
    """The score; ``-`` if undefined."""
    text = fixed(row.value, decimals.scores, none="-")
    return Cell(text, is_best=True) if row.is_best else text


def _spread(row: Any, decimals: Decimals) -> str:
    return "" if row.stdev is None else fixed(float(row.stdev), decimals.spread)


def interval_text(row: Any, decimals: Decimals) -> str:
    """The 95% interval of the score."""
    return span(row.ci_low, row.ci_high, decimals.scores)


def difference_text(row: Any, decimals: Decimals) -> str:
    """The difference with its stars; the baseline is named."""
    if row.system == row.baseline:
        return "baseline"
    return Cell(fixed(row.difference, decimals.differences, "+"), row.mark)


def _difference_interval(row: Any, decimals: Decimals) -> str:
    return span(row.difference_low, row.difference_high, decimals.differences, "+")


COLUMNS = (
    Column("metric", "str", "row", "the metric"),
    Column("figure", "str", "row", "the score, of a metric with several"),
    Column("system", "str", "row", "the system"),
    Column("by", "str", "row", "the feature whose bins are scored"),
    Column("bin", "str", "row", "the bin, or what the row is of"),
    Column("n", "Int64", "row", "examples"),
    Column("runs", "Int64", "row", "seeds"),
    Column("value", "float64", "score", "the score; the mean over seeds"),
    Column(
        "is_best",
        "boolean",
        "score",
        "whether the score is the best, or not significantly worse; empty if the tests do not tell",
    ),
    Column(
        "stdev",
        "float64",
        "score",
        "standard deviation over seeds (n - 1)",
        head="stdev",
        cell=_spread,
    ),
    Column(
        "ci_low",
        "float64",
        "score",
        "95% confidence interval",
        head="95% interval",
        cell=interval_text,
        beside=True,
    ),
    Column("ci_high", "float64", "score", "its upper end"),
    Column(
        "difference",
        "float64",
        "difference",
        "difference from the baseline",
        head="Δ",
        cell=difference_text,
        beside=True,
    ),
    Column(
        "mark", "str", "difference", "its stars: `*` p < 0.05, `**` p < 0.01; empty without a test"
    ),
    Column(
        "difference_low",
        "float64",
        "difference",
        "95% confidence interval of the difference",
        head="95% of Δ",
        cell=_difference_interval,
    ),
    Column("difference_high", "float64", "difference", "its upper end"),
    Column(
        "p_value",
        "float64",
        "difference",
        "p-value of the difference",
        head="p",
        cell=lambda row, decimals: p_text(row.p_value),
        beside=True,
    ),
    Column(
        "p_holm",
        "float64",
        "difference",
        "the p-value adjusted by Holm's method",
        head=HOLM,
        cell=lambda row, decimals: p_text(row.p_holm),
        beside=True,
    ),
    Column(
        "p_calibrated",
        "float64",
        "difference",
        "p-value of the calibrated test, if `p_value` is by sacrebleu's rule",
    ),
    Column(
        "p_calibrated_holm",
        "float64",
        "difference",
        "that p-value adjusted by Holm's method; it decides about stars",
        head="p (calibrated)",
        cell=lambda row, decimals: p_text(row.p_calibrated_holm),
        beside=True,
    ),
    Column("tests", "Int64", "difference", "p-values that Holm's method adjusts together"),
    Column("q_value", "float64", "row", "p-value at the false discovery rate"),
    Column("baseline", "str", "row", "the system of the difference"),
    Column("signature", "str", "row", "how the score was computed"),
    Column("signature_short", "str", "row", "the same in its short form"),
    Column("analysis", "str", "row", "the analysis that added the row"),
)
"""All columns, in the order of the TSV."""


def names() -> list[str]:
    """The names of the columns, in the order of the TSV."""
    return [column.name for column in COLUMNS]


def of_results(*kinds: str) -> list[Column]:
    """The columns of scores, of differences, or of both."""
    return [column for column in COLUMNS if column.of in kinds]


def printed(kind: str = "") -> list[Column]:
    """The columns of a printed table after the score, or those of its difference."""
    return [column for column in COLUMNS if column.head and kind in ("", column.of)]


def heads(columns: Sequence[Column]) -> list[str]:
    """The heads of printed columns."""
    return [column.head for column in columns]


def texts(columns: Sequence[Column], row: Any, decimals: Decimals) -> list[str]:
    """The cells of printed columns."""
    return [column.text(row, decimals) for column in columns]

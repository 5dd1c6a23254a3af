"""Correlations between the measures of the candidates: is the test set compositional, or only long,
rare or odd?

Spearman's correlation of every measure with the central ones (:data:`CENTRAL`, and the measure that
selects), plain and given length (among sentences of the same length). Ties share the mean of their
ranks. The coefficient is a ratio of whole numbers, so every machine computes the same.

Intervals (95%): Fisher's transformation with the variance of Bonett and Wright (2000, "Sample size
requirements for estimating Pearson, Kendall and Spearman correlations", Psychometrika 65), (1 + r²
/ 2) / (n - 3 - k) with ``k`` variables held constant. They assume that the candidates are
independent draws. Their coverage is tested in
``tests/unit/benchmark/candidates/test_correlations.py``.
"""

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from cgbench.benchmark.candidates.matching import LENGTHS, RAREST
from cgbench.benchmark.candidates.strata import COLUMNS
from cgbench.text.arrow_tables import arrays_of

CENTRAL = ("degree", *LENGTHS, *RAREST, "perplexity", "difficulty", "reference_pe_stu")
"""Measures that every other is correlated with, if the release has them. ``reference_pe_stu`` is
the negative log-likelihood of the reference under the ensemble, per token."""
PLACES = ("line", "pool", "pool_line", "content", "pieces", "rank", *COLUMNS)
"""Columns that locate a candidate or describe its draw, or are contained in others."""
Interval = tuple[float, float] | None
Values: TypeAlias = "Sequence[Any] | np.ndarray"
QUANTILE = 1.959963984540054  # of the normal distribution, 97.5%
DIGITS = 6  # of a value in a file

_BLOCK = 1 << 12  # ranks whose products fit a sum of 64 bits, for up to forty million candidates


@dataclass(frozen=True)
class Correlation:
    """Spearman's correlation of two measures of the same ``n`` candidates, with its 95% interval.

    None: a measure is constant (``rho``), nothing is left given length (``given_length``), or there
    are too few candidates for an interval.
    """

    first: str
    second: str
    n: int
    rho: float | None
    interval: Interval
    given_length: float | None = None
    given_length_interval: Interval = None

    @classmethod
    def of_row(cls, row: Mapping[str, Any]) -> "Correlation":
        """From a row of ``correlations.jsonl``.

        :raises KeyError: a column is missing.
        """
        return cls(
            row["first"],
            row["second"],
            row["n"],
            row["rho"],
            interval_of(row["low"], row["high"]),
            row["given_length"],
            interval_of(row["given_length_low"], row["given_length_high"]),
        )

    def as_dict(self) -> dict[str, Any]:
        """The row of ``correlations.jsonl``."""
        low, high = self.interval or (None, None)
        given_low, given_high = self.given_length_interval or (None, None)
        return {
            "first": self.first,
            "second": self.second,
            "n": self.n,
            "rho": self.rho,
            "low": low,
            "high": high,
            "given_length": self.given_length,
            "given_length_low": given_low,
            "given_length_high": given_high,
        }


def correlations(columns: Mapping[str, Values], measure: str | None) -> list[Correlation]:
    """Every measure of the candidates correlated with the central ones, each pair once.

    :param columns: of ``candidates.parquet``, by name.
    :param measure: the one that selects; it counts as central.
    """
    measures = numeric(columns)
    central = [name for name in dict.fromkeys([*CENTRAL, measure]) if name in measures]
    names = [*central, *(name for name in measures if name not in central)]
    values = {name: np.asarray(measures[name], np.float64) for name in names}
    complete = {name: not np.isnan(value).any() for name, value in values.items()}
    ranks = {name: doubled_ranks(values[name]) for name in names if complete[name]}
    pairs = []
    for position, first in enumerate(central):
        for second in names[position + 1 :]:
            used = [first, second, *(name for name in LENGTHS if name in values)]
            if all(complete[name] for name in used):
                among = {name: ranks[name] for name in used}
            else:  # candidates without a value are left out, pair by pair
                known = ~np.isnan([values[name] for name in used]).any(0)
                among = {name: doubled_ranks(values[name][known]) for name in used}
            pairs.append(_correlate(first, second, among))
    return pairs


def correlations_of(table: Any, measure: str | None) -> list[Correlation]:
    """:func:`correlations` of a pyarrow table of candidates."""
    return correlations(arrays_of(table, table.column_names), measure)


def correlation_table(
    measured: Sequence[Correlation], measure: str | None
) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """The columns and rows of a table: the central measures with the degree and ``measure``, plain
    and given length.
    """
    by_names = {(pair.first, pair.second): pair for pair in measured}
    by_names |= {names[::-1]: pair for names, pair in by_names.items()}
    columns, rows = ["degree", *([measure] if measure else [])], []
    for name in dict.fromkeys([*CENTRAL, *columns[1:]]):
        if any(chosen := [by_names.get((name, column)) for column in columns]):
            values = [
                (
                    ((pair.rho, pair.interval), (pair.given_length, pair.given_length_interval))
                    if pair
                    else ()
                )
                for pair in chosen
            ]
            cells = (
                [with_interval(*pair) for pair in estimates] or ["", ""] for estimates in values
            )
            rows.append((name, list(itertools.chain.from_iterable(cells))))
    return columns, rows


def interval_of(low: float | None, high: float | None) -> Interval:
    """An interval from its ends; None if one is unknown."""
    return None if low is None or high is None else (low, high)


def with_interval(value: float | None, interval: Interval, digits: int = 2) -> str:
    """A value with its interval, for a table."""
    if value is None or math.isnan(value):
        return "-"
    return f"{value:.{digits}f}" + (
        f" [{interval[0]:.{digits}f}, {interval[1]:.{digits}f}]" if interval else ""
    )


def numeric(columns: Mapping[str, Values]) -> dict[str, Values]:
    """The columns that are measures of the candidates."""
    return {
        name: values
        for name, values in columns.items()
        if name not in PLACES and len(values) and np.asarray(values[:1]).dtype.kind in "biuf"
    }


def as_jsonl(pairs: Sequence[Correlation]) -> str:
    """``correlations.jsonl`` of a release: one row per pair of measures."""
    return "".join(json.dumps(pair.as_dict()) + "\n" for pair in pairs)


def doubled_ranks(values: np.ndarray) -> np.ndarray:
    """Twice the rank of each value, minus the mean: whole numbers, int64 ``[n]``, that add up to 0.

    Equal values share the mean of their ranks.
    """
    _, position, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (2 * last - counts + 1 - (len(values) + 1))[position.reshape(-1)].astype(np.int64)


def partial(first: float, second: float, between: float) -> float | None:
    """The correlation of x and y given z, from those of x and z, of y and z, and of x and y.

    None if z determines x or y.
    """
    unexplained = (1 - first * first) * (1 - second * second)
    return (
        None
        if unexplained < 1e-12
        else max(-1.0, min(1.0, (between - first * second) / math.sqrt(unexplained)))
    )


def rho_interval(rho: float, n: int, controls: int = 0) -> Interval:
    """The 95% interval of a correlation of ``n`` pairs with ``controls`` variables held
    constant.
    """
    free = n - 3 - controls
    if free < 1:
        return None
    if abs(rho) >= 1 - 1e-12:
        return rho, rho
    middle, error = math.atanh(rho), QUANTILE * math.sqrt((1 + rho * rho / 2) / free)
    return math.tanh(middle - error), math.tanh(middle + error)


def _correlate(first: str, second: str, ranks: Mapping[str, np.ndarray]) -> Correlation:
    n = len(ranks[first])
    rho = _ratio(ranks[first], ranks[second])
    partial_rho, controls = None, [name for name in LENGTHS if name in ranks]
    if rho is not None and controls and first not in controls and second not in controls:
        partial_rho, controls = _partial_given(first, second, controls, ranks)
    return Correlation(
        first, second, n, *_estimate(rho, n), *_estimate(partial_rho, n, len(controls))
    )


def _partial_given(
    first: str, second: str, controls: Sequence[str], ranks: Mapping[str, np.ndarray]
) -> tuple[float | None, list[str]]:
    """The partial correlation given one control after another, and the controls used: constant and
    redundant ones are left out."""
    matrix: dict[tuple[str, str], float] = {}
    names = [first, second, *controls]
    for pair in itertools.combinations(names, 2):
        rho = _ratio(ranks[pair[0]], ranks[pair[1]])
        matrix[pair] = matrix[pair[::-1]] = 0.0 if rho is None else rho
    used = []
    for control in controls:
        names.remove(control)
        if not ranks[control].any() or any(
            1 - matrix[name, control] ** 2 < 1e-12 for name in names if name in controls
        ):
            continue
        used.append(control)
        reduced = {}
        for name, second_name in itertools.permutations(names, 2):
            rho_given = partial(
                matrix[name, control], matrix[second_name, control], matrix[name, second_name]
            )
            if rho_given is None:
                return None, used
            reduced[name, second_name] = rho_given
        matrix = reduced
    return matrix[first, second], used


def _ratio(first: np.ndarray, second: np.ndarray) -> float | None:
    """The correlation of doubled ranks."""
    square = _product(first, first) * _product(second, second)
    return _product(first, second) / math.sqrt(square) if square else None


def _product(first: np.ndarray, second: np.ndarray) -> int:
    return sum(
        int(first[start : start + _BLOCK] @ second[start : start + _BLOCK])
        for start in range(0, len(first), _BLOCK)
    )


def _estimate(rho: float | None, n: int, controls: int = 0) -> tuple[float | None, Interval]:
    """A correlation and its interval, rounded."""
    if rho is None:
        return None, None
    rounded, *ends = (
        round(value, DIGITS) + 0.0 for value in (rho, *(rho_interval(rho, n, controls) or ()))
    )
    return rounded, interval_of(*ends) if ends else None  # + 0.0: no -0.0

"""How the figures of the candidates go together: is what was selected compositional, or only long, rare or odd?

Spearman's correlation of every figure with those that a reader asks about (:data:`CENTRAL`, and the measure that
selects), as it is and given length: what is left of it among sentences of the same length. Ties have the mean of their
ranks. The coefficient is a ratio of whole numbers, so that any machine computes the same.

Intervals (95 %): Fisher's transformation with the variance of Bonett and Wright (2000, "Sample size requirements for
estimating Pearson, Kendall and Spearman correlations", Psychometrika 65), (1 + r² / 2) / (n - 3 - k) with ``k``
variables held constant. They take the candidates for independent draws;
``tests/unit/benchmark/candidates/test_correlations.py`` counts how often they hold the truth.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

LENGTHS = ("source_length", "target_length")
CENTRAL = ("degree", *LENGTHS, "source_rarest", "target_rarest", "perplexity", "difficulty", "reference_pe_stu")
"""What every figure is correlated with, where a release has it; ``reference_pe_stu`` is minus the log-likelihood of the
reference under the ensemble, a token."""
PLACES = ("line", "pool", "pool_line", "content", "pieces", "rank")
"""Columns that say where a candidate is, or are contained in others."""
Interval = tuple[float, float] | None
QUANTILE = 1.959963984540054  # of the normal distribution, 97.5 %
DIGITS = 6  # of a figure in a file

_BLOCK = 1 << 12  # ranks whose products are summed in 64 bits: enough for forty million candidates


@dataclass(frozen=True)
class Correlation:
    """Spearman's correlation of two figures of the same ``n`` candidates, with its 95 % interval.

    None: one of the two is the same for all (``rho``), or nothing of it is left given length (``given_length``), or
    there are too few candidates for an interval.
    """

    first: str
    second: str
    n: int
    rho: float | None
    interval: Interval
    given_length: float | None = None
    given_length_interval: Interval = None

    def as_dict(self) -> dict[str, Any]:
        """The row of ``correlations.jsonl``."""
        low, high = self.interval or (None, None)
        given_low, given_high = self.given_length_interval or (None, None)
        return {
            **{"first": self.first, "second": self.second, "n": self.n},
            **{"rho": self.rho, "low": low, "high": high},
            **{"given_length": self.given_length, "given_length_low": given_low, "given_length_high": given_high},
        }


def correlations(columns: Mapping[str, Sequence[Any]], measure: str | None) -> list[Correlation]:
    """Every figure of the candidates with the central ones, each pair once.

    :param columns: of ``candidates.parquet``, by name.
    :param measure: the one that selects, as central as :data:`CENTRAL`.
    """
    figures = numeric(columns)
    central = [name for name in dict.fromkeys([*CENTRAL, measure]) if name in figures]
    names = [*central, *(name for name in figures if name not in central)]
    values = {name: np.asarray(figures[name], np.float64) for name in names}
    whole = {name: not np.isnan(value).any() for name, value in values.items()}
    ranks = {name: doubled_ranks(values[name]) for name in names if whole[name]}
    found = []
    for place, first in enumerate(central):
        for second in names[place + 1 :]:
            used = [first, second, *(name for name in LENGTHS if name in values)]
            if all(whole[name] for name in used):
                among = {name: ranks[name] for name in used}
            else:  # what has no figure is left out, pair by pair
                kept = ~np.isnan([values[name] for name in used]).any(0)
                among = {name: doubled_ranks(values[name][kept]) for name in used}
            found.append(_correlate(first, second, among))
    return found


def correlations_of(table: Any, measure: str | None) -> list[Correlation]:
    """The same of a table of candidates (pyarrow)."""
    return correlations({name: table[name].to_numpy() for name in table.column_names}, measure)


def numeric(columns: Mapping[str, Sequence[Any]]) -> dict[str, Sequence[float]]:
    """The columns that are figures of the candidates."""
    return {
        name: values
        for name, values in columns.items()
        if name not in PLACES and len(values) and np.asarray(values[:1]).dtype.kind in "biuf"
    }


def as_jsonl(found: Sequence[Correlation]) -> str:
    """The file of a release: a row a pair."""
    return "".join(json.dumps(one.as_dict()) + "\n" for one in found)


def spearman(first: Sequence[float] | np.ndarray, second: Sequence[float] | np.ndarray) -> float | None:
    """Spearman's correlation; None where one of the two is constant.

    :raises ValueError: different lengths, or something that is not a number.
    """
    one, other = np.asarray(first, np.float64), np.asarray(second, np.float64)
    if one.shape != other.shape or np.isnan(one).any() or np.isnan(other).any():
        raise ValueError("two lists of as many numbers are needed")
    return _ratio(doubled_ranks(one), doubled_ranks(other))


def doubled_ranks(values: np.ndarray) -> np.ndarray:
    """Twice the rank of each value, the mean rank subtracted: whole numbers, int64 ``[n]``, that add up to 0.

    Equal values share the mean of their ranks.
    """
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (2 * last - counts + 1 - (len(values) + 1))[place.reshape(-1)].astype(np.int64)


def partial(first: float, second: float, both: float) -> float | None:
    """The correlation of x and y given z, from those of x and z, of y and z, and of x and y.

    None where z says all of x or of y.
    """
    rest = (1 - first * first) * (1 - second * second)
    return None if rest < 1e-12 else max(-1.0, min(1.0, (both - first * second) / math.sqrt(rest)))


def interval(rho: float, n: int, controls: int = 0) -> Interval:
    """The 95 % interval of a correlation of ``n`` pairs with ``controls`` variables held constant."""
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
    given, controls = None, [name for name in LENGTHS if name in ranks]
    if rho is not None and controls and first not in controls and second not in controls:
        given, controls = _given(first, second, controls, ranks)
    return Correlation(
        *(first, second, n, _rounded(rho)),
        None if rho is None else _rounded_pair(interval(rho, n)),
        _rounded(given),
        None if given is None else _rounded_pair(interval(given, n, len(controls))),
    )


def _given(
    first: str, second: str, controls: Sequence[str], ranks: Mapping[str, np.ndarray]
) -> tuple[float | None, list[str]]:
    """The partial correlation, one control after another, and the controls that were used: one that is constant, or
    says no more than another, is none."""
    matrix: dict[tuple[str, str], float] = {}
    names = [first, second, *controls]
    for pair in itertools.combinations(names, 2):
        rho = _ratio(ranks[pair[0]], ranks[pair[1]])
        matrix[pair] = matrix[pair[::-1]] = 0.0 if rho is None else rho
    used = []
    for control in controls:
        names.remove(control)
        if not ranks[control].any() or any(1 - matrix[one, control] ** 2 < 1e-12 for one in names if one in controls):
            continue
        used.append(control)
        reduced = {}
        for one, other in itertools.permutations(names, 2):
            left = partial(matrix[one, control], matrix[other, control], matrix[one, other])
            if left is None:
                return None, used
            reduced[one, other] = left
        matrix = reduced
    return matrix[first, second], used


def _ratio(first: np.ndarray, second: np.ndarray) -> float | None:
    """The correlation of doubled ranks."""
    square = _product(first, first) * _product(second, second)
    return _product(first, second) / math.sqrt(square) if square else None


def _product(first: np.ndarray, second: np.ndarray) -> int:
    return sum(
        int(first[start : start + _BLOCK] @ second[start : start + _BLOCK]) for start in range(0, len(first), _BLOCK)
    )


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, DIGITS) + 0.0  # no -0.0


def _rounded_pair(pair: Interval) -> Interval:
    return None if pair is None else (round(pair[0], DIGITS) + 0.0, round(pair[1], DIGITS) + 0.0)

"""Group examples by a feature, one value per example, into bins.

As in compare-mt (Neubig et al. 2019), any feature can be combined with any score. Figure 1a of
Zheng and Lapata (2023) is BLEU by degree, Figures 5 and 6 of the COMPOSITION and LRF papers are
CTER by lengths and by modifier.
"""

from collections.abc import Sequence
from dataclasses import field

import numpy as np

from cgbench.errors import InputError, argument
from cgbench.records import Record
from cgbench.text.columns import Column
from cgbench.text.plain_text import words_of

LARGEST = 1e300  # so that differences are finite
MOST = 1000  # bins
COLUMN = "column:"
"""How the name of a feature begins that is any column of a table."""
QUARTILES = "quantiles:4"
FEW, ENOUGH = 12, 10
"""By default, up to this many distinct whole numbers have one bin each, with at least ten examples.
"""


def title_of(feature: str) -> str:
    """A feature as people write it: ``number of clauses`` for ``column:number_of_clauses``."""
    return feature.removeprefix(COLUMN).replace("_", " ")


class Bin(Record):
    """A group of examples: ``rows`` int64, ``label``; ``low`` and ``high`` for numbers (None:
    open).
    """

    label: str
    rows: np.ndarray
    low: float | None = None
    high: float | None = None


class Feature(Record):
    """One value per example: ``values`` float64 ``[n]``, or ``labels``.

    ``zero``: label of a separate bin for the value 0, if it needs one.
    """

    name: str
    values: np.ndarray = field(default_factory=lambda: np.zeros(0))
    labels: tuple[str, ...] | None = None
    zero: str = ""


def feature_of_column(name: str, column: Column) -> Feature:
    """The values of a column: numbers if all are numbers, else labels.

    :raises InputError: a value is NaN or infinite.
    """
    try:
        if any("_" in value for value in column.values):  # Python reads 1_1 as 11
            raise ValueError
        values = np.array([float(value) for value in column.values])
    except ValueError:
        return Feature(name, labels=tuple(column.values))
    if len(bad := np.flatnonzero(~(np.abs(values) < LARGEST))):
        raise InputError(
            f"{column.row(int(bad[0]))}: {column.values[bad[0]]!r} cannot be put into a bin"
        )
    return Feature(name, values)


def make_bins(feature: Feature, how: str | None) -> list[Bin]:
    """The non-empty bins of a feature.

    :param how: None, a number of bins of equal width, ``quantiles:N``, or edges ``e1,e2,...`` (one
        bin below the first and one from each edge). By default one bin per label or per value of a
        few whole numbers (those with fewer than ten examples are merged), else quartiles.
    :raises InputError: ``how`` is invalid.
    """
    if feature.labels is not None:
        if how:
            raise InputError(
                f"{argument('bins', how)}: {feature.name} has labels, not numbers, so each label is"
                " one bin"
            )
        labels = np.array(feature.labels, dtype=object)
        return [
            Bin(label, np.flatnonzero(labels == label)) for label in sorted(set(feature.labels))
        ]
    return [*_zero_bin(feature), *_bins_of_numbers(feature, how)]


def coinciding(feature: Feature, how: str | None) -> str | None:
    """A warning if there are fewer bins than requested because edges coincide, or None.

    :raises InputError: as :func:`make_bins`.
    """
    values = _kept(feature)[1]
    if not len(values) or "," in (how or "") or (how is None and _are_few(values)):
        return None
    edges = _edges_of(values, how or QUARTILES)
    kind, _, count_text = (how or QUARTILES).partition(":")
    if len(edges) == int(count_text or kind) - 1:
        return None
    bins = _bins_of_numbers(feature, how)
    prefix = f"{argument('bins', how)}: " if how else ""
    kind_text = "quantiles" if count_text else "edges"
    bins_text = "one bin is" if len(bins) == 1 else f"{len(bins)} bins are"
    zero_text = f" besides {feature.zero}" if _zero_bin(feature) else ""
    fault = f"{prefix}{kind_text} of {feature.name} coincide, as many examples have the same value"
    return f"{fault}; {bins_text} left{zero_text}"


def _kept(feature: Feature) -> tuple[np.ndarray, np.ndarray]:
    """The rows outside the zero bin that have a value, and their values."""
    known = ~np.isnan(feature.values)
    rows = np.flatnonzero(known & (feature.values != 0) if feature.zero else known)
    return rows, feature.values[rows]


def _zero_bin(feature: Feature) -> list[Bin]:
    rows = np.flatnonzero(feature.values == 0) if feature.zero else np.zeros(0, np.int64)
    return [Bin(feature.zero, rows, 0.0, 0.0)] if len(rows) else []


def _edges_of(values: np.ndarray, how: str) -> np.ndarray:
    """The edges between bins, rounded up for whole numbers."""
    edges = _edges(values, how)
    return np.unique(np.ceil(edges)) if _are_whole(values) else edges


def _are_whole(values: np.ndarray) -> bool:
    return bool(np.all(values == np.round(values)))


def _are_few(values: np.ndarray) -> bool:
    """Whether values have bins of their own by default."""
    return _are_whole(values) and len(np.unique(values)) <= FEW


def _bins_of_values(rows: np.ndarray, values: np.ndarray) -> list[Bin]:
    """A bin per value; neighbours with fewer than :data:`ENOUGH` examples are merged, unless all
    examples are few.
    """
    least = ENOUGH if len(values) >= 4 * ENOUGH else 1
    groups: list[list[float]] = [[]]
    for value in np.unique(values).tolist():
        groups[-1].append(value)
        if np.isin(values, groups[-1]).sum() >= least:
            groups.append([])
    too_few = groups.pop()
    groups[-1] += too_few
    return [
        Bin(
            f"{group[0]:.0f}" + (f"-{group[-1]:.0f}" if len(group) > 1 else ""),
            rows[np.isin(values, group)],
            group[0],
            group[-1],
        )
        for group in groups
    ]


def _bins_of_numbers(feature: Feature, how: str | None) -> list[Bin]:
    kept, values = _kept(feature)
    if not len(values):
        return []
    if how is None and _are_few(values):
        return _bins_of_values(kept, values)
    are_whole = _are_whole(values)
    edges = _edges_of(values, how or QUARTILES)
    least = (
        1.0 if feature.zero and are_whole and values.min() >= 1 else -np.inf
    )  # 0 has its own bin
    ends = [least, *edges.tolist(), np.inf]
    names = ["1" if least == 1 else None, *_names(edges), None]
    bin_of_value = np.searchsorted(edges, values, side="right")
    bins = []
    for bin_number in np.unique(bin_of_value).tolist():
        low, high = max(ends[bin_number], least), ends[bin_number + 1]
        label = _label(*names[bin_number : bin_number + 2])
        if are_whole and -np.inf < low and abs(high) < 1e9:
            label = f"{low:.0f}" if high == low + 1 else f"{low:.0f}-{high - 1:.0f}"
        rows = kept[bin_of_value == bin_number]
        bins.append(
            Bin(label, rows, low if np.isfinite(low) else None, high if np.isfinite(high) else None)
        )
    return bins


def _edges(values: np.ndarray, how: str) -> np.ndarray:
    kind, sign, count_text = how.rpartition(":")
    try:
        if kind != ("quantiles" if sign else ""):
            raise ValueError
        if sign or "," not in how:
            if not 1 <= (count := int(count_text)) <= MOST:
                raise ValueError
            if not sign:
                return np.unique(np.linspace(values.min(), values.max(), count + 1)[1:-1])
            ordered = np.sort(values)
            cuts = [ordered[len(ordered) * cut // count] for cut in range(1, count)]
            return np.unique([cut for cut in cuts if cut > ordered[0]])
        edges = np.array([float(edge) for edge in how.split(",") if edge.strip()])
        if not len(edges) or not np.all(np.isfinite(edges)) or np.any(np.diff(edges) <= 0):
            raise ValueError
    except ValueError:
        raise InputError(
            f"{argument('bins', how)}: write a number of bins (5; at most {MOST}), quantiles:4, or"
            " rising edges (0.25,0.5,0.75); a single edge needs a comma (10,)"
        ) from None
    return edges


def _names(edges: np.ndarray) -> list[str]:
    """Edges with four digits, or more if needed to distinguish them."""
    for digits in range(4, 18):
        names = [f"{edge:.{digits}g}" for edge in edges]
        if len(set(names)) == len(names):
            break
    return names


def _label(low: str | None, high: str | None) -> str:
    if low is None:
        return "all" if high is None else f"< {high}"
    return f">= {low}" if high is None else f"{low} to < {high}"


def lengths(texts: Sequence[str]) -> np.ndarray:
    """The number of words of each text."""
    return np.array([len(words_of(text)) for text in texts], np.float64)

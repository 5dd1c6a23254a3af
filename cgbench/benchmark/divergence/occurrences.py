"""What occurs in each example and how much: sparse rows, by the numbers of elements (atoms, or compounds).

A row holds an element once. Weights are whole multiples of 2^-20, so that sums of them are exact whatever their order,
and what is taken off a count again leaves nothing: a rest of 1e-17 would count for 0.02 at alpha 0.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

GRAIN = float(1 << 20)


@dataclass(frozen=True)
class Occurrences:
    """``starts`` int64 ``[examples + 1]``: where each row begins; ``ids`` int32 and ``weights`` float32 ``[entries]``.

    ``names`` are the elements, by number.
    """

    starts: np.ndarray
    ids: np.ndarray
    weights: np.ndarray
    names: Sequence[str]

    @property
    def examples(self) -> int:
        """The number of rows."""
        return len(self.starts) - 1

    @property
    def rows(self) -> np.ndarray:
        """The row of every entry, int64 ``[entries]``."""
        return np.repeat(np.arange(self.examples), np.diff(self.starts))

    def counts(self, chosen: np.ndarray | None = None) -> np.ndarray:
        """The sum of the rows: of all, or where ``chosen`` (bool ``[examples]``) says so. float64 ``[elements]``."""
        weights = self.weights.astype(np.float64)
        if chosen is not None:
            weights = weights * chosen[self.rows]
        return np.bincount(self.ids, weights, minlength=len(self.names))


def from_entries(rows: np.ndarray, ids: np.ndarray, examples: int, names: Sequence[str]) -> Occurrences:
    """Count occurrences: a weight of 1 each, entries in any order, ``[occurrences]`` each."""
    keys, counts = np.unique(rows.astype(np.int64) * max(len(names), 1) + ids, return_counts=True)
    return _from_keys(keys, counts.astype(np.float32), examples, names)


def from_weights(
    rows: np.ndarray, ids: np.ndarray, weights: np.ndarray, examples: int, names: Sequence[str]
) -> Occurrences:
    """The greatest weight that an element has in a row (Keysers et al. 2020); none of weight 0 is kept."""
    keys = rows.astype(np.int64) * max(len(names), 1) + ids
    order = np.lexsort((-weights, keys))
    first = order[np.concatenate([[True], np.diff(keys[order]) != 0])] if len(order) else order
    kept = first[np.rint(weights[first] * GRAIN) > 0]
    return _from_keys(keys[kept], (np.rint(weights[kept] * GRAIN) / GRAIN).astype(np.float32), examples, names)


def _from_keys(keys: np.ndarray, weights: np.ndarray, examples: int, names: Sequence[str]) -> Occurrences:
    rows = keys // max(len(names), 1)
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=examples))]).astype(np.int64)
    return Occurrences(starts, (keys % max(len(names), 1)).astype(np.int32), weights, names)


def occurrence_weights(ids: np.ndarray, parts: np.ndarray, wholes: np.ndarray) -> np.ndarray:
    """How far every occurrence of a compound is more than a part of a larger one: ``1 - max P(G' | G)``.

    Keysers et al. 2020: ``w(G, x) = max over occurrences g of G in x of (1 - max over G' with an occurrence in x that g
    is a true part of, of P(G' | G))``, where ``P(G' | G)`` is the share of all occurrences of G that lie in one of G'.
    A compound that only ever occurs within one larger compound weighs 0.

    :param ids: the compound of each occurrence, ``[occurrences]``.
    :param parts: an occurrence, and ``wholes`` the compound of an occurrence that it is a true part of, for
        every such compound, ``[pairs]``.
    :returns: float64 ``[occurrences]``.
    """
    weights = np.ones(len(ids))
    if not len(parts):
        return weights
    size = int(max(ids.max(), wholes.max())) + 1
    # An occurrence that lies in G' at two places lies in it once.
    within = np.unique(np.stack([parts.astype(np.int64), wholes.astype(np.int64)]), axis=1)
    kinds = ids[within[0]].astype(np.int64) * size + within[1]
    _, inverse, counts = np.unique(kinds, return_inverse=True, return_counts=True)
    totals = np.bincount(ids, minlength=size)
    shares = counts[inverse.ravel()] / totals[ids[within[0]]]
    np.minimum.at(weights, within[0], 1.0 - shares)
    return weights


class Numbering:
    """Elements by number, in the order in which they are met."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def __call__(self, name: str) -> int:
        """The number of an element."""
        return self.numbers.setdefault(name, len(self.numbers))

    def all(self, names: Iterable[str]) -> list[int]:
        """Their numbers."""
        return [self(name) for name in names]

    def listed(self) -> list[str]:
        """The elements by number."""
        return list(self.numbers)

"""Elements (atoms or compounds) of each example with their weights, as sparse rows.

A row has each element once. Weights are multiples of 2^-20, so their sums are exact in any order,
and a subtracted weight leaves exactly 0: a rest of 1e-17 would count for 0.02 at alpha 0.1.
"""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from cgbench.records import Record

GRAIN = float(1 << 20)


class Occurrences(Record):
    """``starts`` int64 ``[examples + 1]``: where each row begins; ``ids`` int32 and ``weights``
    float32 ``[entries]``; ``names``: the elements by number."""

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

    def counts(self, rows: np.ndarray | None = None) -> np.ndarray:
        """The sum of all rows, or of some (bool ``[examples]``, or their numbers). float64
        ``[elements]``.
        """
        if rows is None:
            return np.bincount(self.ids, self.weights, minlength=len(self.names))
        entries, _ = self._entries(np.flatnonzero(rows) if rows.dtype == bool else rows)
        return np.bincount(self.ids[entries], self.weights[entries], minlength=len(self.names))

    def select(self, rows: np.ndarray) -> "Occurrences":
        """Those of the rows with these numbers, in this order; elements keep their numbers."""
        entries, lengths = self._entries(rows)
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        return Occurrences(starts, self.ids[entries], self.weights[entries], self.names)

    def _entries(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The entries of rows, and how many each row has."""
        lengths = self.starts[rows + 1] - self.starts[rows]
        before = self.starts[rows] - np.cumsum(lengths) + lengths
        return np.arange(lengths.sum()) + np.repeat(before, lengths), lengths


def from_entries(
    rows: np.ndarray,
    ids: np.ndarray,
    examples: int,
    names: Sequence[str],
    weights: np.ndarray | None = None,
) -> Occurrences:
    """Occurrences ``[occurrences]`` in any order: of each element in a row how many there are, or
    with ``weights`` the greatest of them (Keysers et al. 2020), without weights of 0."""
    size = max(len(names), 1)
    keys = rows.astype(np.int64) * size + ids
    if weights is None:
        keys, counts = np.unique(keys, return_counts=True)
        values = counts.astype(np.float32)
    else:
        order = np.lexsort((-weights, keys))
        first = order[np.concatenate([[True], np.diff(keys[order]) != 0])] if len(order) else order
        positive = first[np.rint(weights[first] * GRAIN) > 0]
        keys, values = (
            keys[positive],
            (np.rint(weights[positive] * GRAIN) / GRAIN).astype(np.float32),
        )
    starts = np.concatenate([[0], np.cumsum(np.bincount(keys // size, minlength=examples))]).astype(
        np.int64
    )
    return Occurrences(starts, (keys % size).astype(np.int32), values, names)


def occurrence_weights(ids: np.ndarray, contained: np.ndarray, wholes: np.ndarray) -> np.ndarray:
    """The weight of every occurrence of a compound: ``1 - max P(G' | G)``, low if it is part of a
    larger compound.

    Keysers et al. 2020: ``w(G, x) = max over occurrences g of G in x of (1 - max over G' with an
    occurrence in x that g is a true part of, of P(G' | G))``, where ``P(G' | G)`` is the share of
    all occurrences of G that lie in one of G'. A compound that only ever occurs within one larger
    compound weighs 0.

    :param ids: the compound of each occurrence, ``[occurrences]``.
    :param contained: occurrences, and ``wholes`` the compounds that they are true parts of,
        ``[pairs]``.
    :returns: float64 ``[occurrences]``.
    """
    weights = np.ones(len(ids))
    if not len(contained):
        return weights
    count = int(max(ids.max(), wholes.max())) + 1
    # An occurrence inside G' at two places counts once.
    within = np.unique(np.stack([contained.astype(np.int64), wholes.astype(np.int64)]), axis=1)
    pairs = ids[within[0]].astype(np.int64) * count + within[1]
    _, inverse, counts = np.unique(pairs, return_inverse=True, return_counts=True)
    shares = counts[inverse.ravel()] / np.bincount(ids, minlength=count)[ids[within[0]]]
    np.minimum.at(weights, within[0], 1.0 - shares)
    return weights


def numbering() -> defaultdict[str, int]:
    """Numbers for elements, by first look-up; the keys are the elements by number."""
    numbers: defaultdict[str, int] = defaultdict()
    numbers.default_factory = numbers.__len__
    return numbers

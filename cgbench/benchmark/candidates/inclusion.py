"""The probability with which a candidate was drawn, given the window: over all seeds of the draw.

A test set of single pairs is a simple random sample of the window. Whole documents are drawn in random order until
there are enough pairs, so a long document is slightly more probable than a short one; the probability is exact up to
rounding. Ties at the borders of the window are broken by a hash before the draw: the column ``stage`` says which
candidates are in the window, and the probabilities take the window as given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cgbench.benchmark.candidates.documents import DOCUMENT, hash_documents

INCLUSION = "inclusion"  # the column of a release
_NODES = 64  # of the quadrature; 48 already reach the precision of a double


def inclusion_of(columns: Mapping[str, Sequence[Any]], config: Mapping[str, Any], count: int) -> np.ndarray:
    """The probability that each candidate is drawn into the test set, float64 ``[candidates]``; 0 outside the window.

    :param columns: ``stage``, and ``document`` if whole documents are drawn.
    :param count: the number of pairs to draw.
    """
    inside = np.flatnonzero(np.isin(np.array(columns["stage"], str), ("window", "selected")))
    found = np.zeros(len(columns["stage"]))
    if config.get("draw_by") != DOCUMENT:
        found[inside] = count / max(len(inside), 1)
        return found
    documents = hash_documents([columns[DOCUMENT][row] for row in inside.tolist()])
    _, place, sizes = np.unique(documents, return_inverse=True, return_counts=True)
    found[inside] = document_inclusion(sizes, count)[place]
    return found


def document_inclusion(sizes: np.ndarray, count: int) -> np.ndarray:
    """The probability of each document if documents are drawn in random order until they have ``count`` pairs.

    Give every document a uniform time. A document is drawn if those before it have fewer than ``count`` pairs. Given
    its time u, any other is before it with probability u, so the number of pairs before it is a sum of independent
    binomial variables: its distribution comes from the characteristic function, and the mean over u from Gauss-Legendre
    quadrature.

    :param sizes: pairs of each document, int64 ``[documents]``.
    """
    kinds, place, counts = np.unique(sizes, return_inverse=True, return_counts=True)
    total = int(sizes.sum())
    if count >= total:
        return np.ones(len(sizes))
    # Within nine standard deviations, a document may be drawn or not; before and after, the probability is 1 and 0.
    spread = 9 * np.sqrt(float((sizes.astype(np.float64) ** 2).sum()) / 4) + float(sizes.max())
    low, high = max(0.0, (count - spread) / total), min(1.0, (count + spread) / total)
    half = int(2 * spread) + 1  # so the numbers of pairs are known modulo twice this
    angles = 1j * np.pi * np.arange(half + 1) / half
    with np.errstate(invalid="ignore", divide="ignore"):  # the inverse transform, summed over the numbers below count
        below = np.exp(-angles * (count - half)) * (1 - np.exp(-angles * half)) / (1 - np.exp(-angles)) / half
    below[0], below[half] = 0.5, below[half] / 2
    turns = [np.exp(angles * size) for size in kinds.tolist()]
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    found = np.full(len(kinds), low)
    for node, weight in zip((low + (high - low) * (nodes + 1) / 2).tolist(), weights.tolist(), strict=True):
        factors = [1 - node + node * turn for turn in turns]
        powers = [factor ** int(number - 1) for factor, number in zip(factors, counts, strict=True)]
        before, after = [below], [np.ones_like(below)]  # products of the kinds before and after each
        for factor, power in zip(factors, powers, strict=True):
            before.append(before[-1] * factor * power)
        for factor, power in zip(factors[::-1], powers[::-1], strict=True):
            after.append(after[-1] * factor * power)
        for kind, power in enumerate(powers):
            mean = float((before[kind] * power * after[len(kinds) - 1 - kind]).sum().real)
            found[kind] += weight * (high - low) / 2 * mean
    return np.asarray(np.clip(found, 0.0, 1.0)[place])

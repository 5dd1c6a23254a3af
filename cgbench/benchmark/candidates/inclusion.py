"""The probability with which a candidate was drawn, given the window: over all seeds of the draw.

A test set of single pairs is a simple random sample of the window. Whole documents are drawn in
random order until there are enough pairs, so a long document is slightly more probable than a short
one; the probability is exact up to rounding. Ties at the borders of the window are broken by a hash
before the draw: the column ``stage`` says which candidates are in the window, and the probabilities
take the window as given.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cgbench.benchmark.candidates.documents import DOCUMENT, hash_documents

INCLUSION = "inclusion"  # the column of a release
_NODES = 64  # of the quadrature; 48 already reach the precision of a double


def inclusion_of(
    columns: Mapping[str, Sequence[Any]], config: Mapping[str, Any], count: int
) -> np.ndarray:
    """The probability that each candidate is drawn into the test set, float64 ``[candidates]``; 0
    outside the window.

    :param columns: ``stage``, and ``document`` if whole documents are drawn.
    :param count: the number of pairs to draw.
    """
    inside = np.flatnonzero(np.isin(np.array(columns["stage"], str), ("window", "selected")))
    probabilities = np.zeros(len(columns["stage"]))
    if config.get("draw_by") != DOCUMENT:
        probabilities[inside] = count / max(len(inside), 1)
        return probabilities
    documents = hash_documents([columns[DOCUMENT][row] for row in inside.tolist()])
    _, position, sizes = np.unique(documents, return_inverse=True, return_counts=True)
    probabilities[inside] = document_inclusion(sizes, count)[position]
    return probabilities


def document_inclusion(sizes: np.ndarray, count: int) -> np.ndarray:
    """The probability of each document if documents are drawn in random order until they have
    ``count`` pairs.

    Give every document a uniform time. A document is drawn if those before it have fewer than
    ``count`` pairs. Given its time u, any other is before it with probability u, so the number of
    pairs before it is a sum of independent binomial variables: its distribution comes from the
    characteristic function, and the mean over u from Gauss-Legendre quadrature.

    :param sizes: pairs of each document, int64 ``[documents]``.
    """
    kinds, position, counts = np.unique(sizes, return_inverse=True, return_counts=True)
    total = int(sizes.sum())
    if count >= total:
        return np.ones(len(sizes))
    # Within nine standard deviations, a document may be drawn or not; before and after, the
    # probability is 1 and 0.
    spread = 9 * np.sqrt(float((sizes.astype(np.float64) ** 2).sum()) / 4) + float(sizes.max())
    low, high = max(0.0, (count - spread) / total), min(1.0, (count + spread) / total)
    period = 4 * int(spread) + 4  # of the transform: the number of pairs is known modulo this
    below = np.fft.ifft(
        (np.arange(period) - count) % period >= period // 2
    )  # of being less than count
    below = np.r_[
        below[0], 2 * below[1 : period // 2], below[period // 2]
    ]  # the other half is conjugate
    turns = np.exp(np.outer(kinds, -2j * np.pi * np.arange(len(below)) / period))
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    probabilities = np.full(len(kinds), low)
    for node, weight in zip(
        (low + (high - low) * (nodes + 1) / 2).tolist(), weights.tolist(), strict=True
    ):
        factors = 1 - node + node * turns + 1e-100  # never 0, to divide by the document itself
        before = np.prod(factors ** counts[:, None], axis=0) / factors
        probabilities += weight * (high - low) / 2 * (before @ below).real
    return np.asarray(np.clip(probabilities, 0.0, 1.0)[position])

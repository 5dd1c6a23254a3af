"""The weight of a compound in an example: how far it is more than a part of a larger one.

Keysers et al. 2020: ``w(G, x) = max over occurrences g of G in x of (1 - max over G' with an occurrence in
x that g is a true part of, of P(G' | G))``, where ``P(G' | G)`` is the share of all occurrences of G that lie in one of
G'. A compound that only ever occurs within one larger compound weighs 0.
"""

from __future__ import annotations

import numpy as np


def occurrence_weights(ids: np.ndarray, parts: np.ndarray, wholes: np.ndarray) -> np.ndarray:
    """``1 - max P(G' | G)`` of every occurrence.

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

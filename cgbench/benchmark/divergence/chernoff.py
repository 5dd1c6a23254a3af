"""Chernoff coefficients, and the divergence of atoms and of compounds that they give.

Keysers et al., "Measuring Compositional Generalization", ICLR 2020: ``C_a(P || Q) = sum_k p_k^a
q_k^(1-a)``, from 0 (nothing in common) to 1; the divergence is ``1 - C``. Alpha is 0.5 for atoms, whose distributions
should be alike, and 0.1 for compounds, where it matters more whether a compound is in training at all than how often.
"""

from __future__ import annotations

import numpy as np

from cgbench.errors import InputError

ATOM_ALPHA, COMPOUND_ALPHA = 0.5, 0.1


def chernoff_coefficient(first: np.ndarray, second: np.ndarray, alpha: float) -> float:
    """The similarity of two distributions, given as counts or weights of the same elements in the same order.

    :param first: P, any shape; it need not sum to 1. ``second``: Q, of the same shape.
    :returns: a number from 0 to 1; 0 where one of them is empty, as nothing is in common then.
    :raises InputError: the shapes differ, a count is below 0 or no number, or alpha is not within 0 and 1.
    """
    p, q = np.asarray(first, np.float64).ravel(), np.asarray(second, np.float64).ravel()
    if p.shape != q.shape:
        raise InputError(f"distributions of {p.size:,} and of {q.size:,} elements: they must be over the same ones")
    if not 0 <= alpha <= 1:
        raise InputError(f"alpha {alpha}: a number from 0 to 1 is needed")
    if not (np.isfinite(p).all() and np.isfinite(q).all()) or (p < 0).any() or (q < 0).any():
        raise InputError("a distribution needs counts of 0 or more")
    if not p.sum() or not q.sum():
        return 0.0
    both = (p > 0) & (q > 0)  # what one of them lacks has no part, also where the exponent is 0
    return min(1.0, float(((p[both] / p.sum()) ** alpha * (q[both] / q.sum()) ** (1 - alpha)).sum()))


def divergence(train: np.ndarray, test: np.ndarray, alpha: float) -> float:
    """``1 - C_alpha(train || test)``: 0 for the same distribution, 1 where the two have nothing in common."""
    return 1.0 - chernoff_coefficient(train, test, alpha)

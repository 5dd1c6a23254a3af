"""The divergence of a training and a test set, in their atoms and in their compounds.

Keysers et al., "Measuring Compositional Generalization", ICLR 2020: the Chernoff coefficient ``C_a(P || Q) = sum_k
p_k^a q_k^(1-a)`` goes from 0 (nothing in common) to 1; the divergence is ``1 - C``. Alpha is 0.5 for atoms, whose
distributions should be similar, and 0.1 for compounds, whose presence in training matters more than their frequency.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cgbench.benchmark.divergence.elements import Elements, ElementType, elements_of
from cgbench.errors import InputError

ATOM_ALPHA, COMPOUND_ALPHA = 0.5, 0.1


def chernoff_coefficient(first: np.ndarray, second: np.ndarray, alpha: float) -> float:
    """The similarity of two distributions: counts or weights of the same elements in the same order.

    :param first: P, any shape; it need not sum to 1. ``second``: Q, of the same shape.
    :returns: a number from 0 to 1; 0 if one of them is empty.
    :raises InputError: the shapes differ, a count is negative or not a number, or alpha is not within 0 and 1.
    """
    p, q = np.asarray(first, np.float64).ravel(), np.asarray(second, np.float64).ravel()
    if p.shape != q.shape:
        raise InputError(f"distributions of {p.size:,} and of {q.size:,} elements: they must have the same elements")
    if not 0 <= alpha <= 1:
        raise InputError(f"alpha {alpha}: it must be from 0 to 1")
    if not (np.isfinite(p).all() and np.isfinite(q).all()) or (p < 0).any() or (q < 0).any():
        raise InputError("a distribution needs counts of 0 or more")
    if not p.sum() or not q.sum():
        return 0.0
    both = (p > 0) & (q > 0)  # an element that one of them lacks counts 0, even with an exponent of 0
    return min(1.0, float(((p[both] / p.sum()) ** alpha * (q[both] / q.sum()) ** (1 - alpha)).sum()))


def divergence(train: np.ndarray, test: np.ndarray, alpha: float) -> float:
    """``1 - C_alpha(train || test)``: 0 for the same distribution, 1 if they have nothing in common."""
    return 1.0 - chernoff_coefficient(train, test, alpha)


@dataclass(frozen=True)
class Divergences:
    """The divergences of a training and a test set.

    ``lone_atoms``: atom types of the test set that are not in training, the most frequent first. Of its ``compounds``
    (types), ``novel_compounds`` are not in training.
    """

    elements: str
    weights: str
    atom: float
    compound: float
    atoms: int
    compounds: int
    novel_compounds: int
    lone_atoms: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """The divergences and counts as JSON."""
        return {
            "elements": self.elements,
            "weights": self.weights,
            "atom_divergence": self.atom,
            "compound_divergence": self.compound,
            "test_atoms": self.atoms,
            "test_compounds": self.compounds,
            "novel_compounds": self.novel_compounds,
            "lone_atoms": len(self.lone_atoms),
        }


def divergences(found: Elements, train: np.ndarray, test: np.ndarray, kind: ElementType) -> Divergences:
    """The divergences of two sets of examples.

    :param train: whether each example is in training, bool ``[examples]``; ``test``: in the test set.
    """
    train_atoms, test_atoms = found.atoms.counts(train), found.atoms.counts(test)
    train_compounds, test_compounds = found.compounds.counts(train), found.compounds.counts(test)
    lone = np.flatnonzero((test_atoms > 0) & (train_atoms == 0))
    lone = lone[np.argsort(-test_atoms[lone], kind="stable")]
    return Divergences(
        kind.label,
        kind.weights,
        divergence(train_atoms, test_atoms, ATOM_ALPHA),
        divergence(train_compounds, test_compounds, COMPOUND_ALPHA),
        int((test_atoms > 0).sum()),
        int((test_compounds > 0).sum()),
        int(((test_compounds > 0) & (train_compounds == 0)).sum()),
        tuple(found.atoms.names[int(number)] for number in lone),
    )


def text_divergences(
    train: tuple[str, Sequence[str]], test: tuple[str, Sequence[str]], kind: ElementType
) -> Divergences:
    """The divergences of two texts, each with its name.

    Weights are computed on both texts together."""
    found = elements_of(kind, [train, test])
    is_train = np.arange(found.examples) < len(train[1])
    return divergences(found, is_train, ~is_train, kind)

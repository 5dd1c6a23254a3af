"""How far a training and a test set are apart: the divergences of their atoms and of their compounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cgbench.benchmark.divergence.chernoff import ATOM_ALPHA, COMPOUND_ALPHA, divergence
from cgbench.benchmark.divergence.elements import ElementKind, Elements, elements_of, part


@dataclass(frozen=True)
class Divergences:
    """The figures of a pair of sets.

    ``lone_atoms``: atoms (types) of the test set that training lacks, the most frequent first; ``novel_compounds`` of
    the ``compounds`` types of the test set are likewise not in training.
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
        """As JSON."""
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


def divergences(found: Elements, train: np.ndarray, test: np.ndarray, kind: ElementKind) -> Divergences:
    """The divergences of two sets of examples.

    :param train: which examples train, bool ``[examples]``; ``test`` likewise.
    """
    (train_atoms, train_compounds), (test_atoms, test_compounds) = part(found, train), part(found, test)
    lone = np.flatnonzero((test_atoms > 0) & (train_atoms == 0))
    lone = lone[np.argsort(-test_atoms[lone], kind="stable")]
    return Divergences(
        kind.said,
        kind.weights,
        divergence(train_atoms, test_atoms, ATOM_ALPHA),
        divergence(train_compounds, test_compounds, COMPOUND_ALPHA),
        int((test_atoms > 0).sum()),
        int((test_compounds > 0).sum()),
        int(((test_compounds > 0) & (train_compounds == 0)).sum()),
        tuple(found.atoms.names[int(number)] for number in lone),
    )


def text_divergences(
    train: tuple[str, Sequence[str]], test: tuple[str, Sequence[str]], kind: ElementKind
) -> Divergences:
    """The divergences of two texts, each with its name.

    Weights are those within both texts together, as a full sample set.

    :raises InputError: as :func:`~cgbench.benchmark.divergence.elements.elements_of` does.
    """
    found = elements_of(kind, [train, test])
    is_train = np.arange(found.examples) < len(train[1])
    return divergences(found, is_train, ~is_train, kind)

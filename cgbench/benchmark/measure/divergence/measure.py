"""The divergence of a training and a test set, in their atoms and in their compounds.

Keysers et al., "Measuring Compositional Generalization", ICLR 2020: the Chernoff coefficient
``C_a(P || Q) = sum_k p_k^a q_k^(1-a)`` goes from 0 (nothing in common) to 1; the divergence is ``1
- C``. Alpha is 0.5 for atoms, whose distributions should be similar, and 0.1 for compounds, whose
presence in training matters more than their frequency.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from cgbench.benchmark.measure.divergence.chance import Chance
from cgbench.benchmark.measure.divergence.elements import Elements, ElementType, elements_of
from cgbench.machine import usable_cores

ATOM_ALPHA, COMPOUND_ALPHA = 0.5, 0.1


def divergence(train: np.ndarray, test: np.ndarray, alpha: float) -> float:
    """``1 - C_alpha(train || test)``: 0 for the same distribution, 1 if they have nothing in common
    or one is empty.

    :param train: counts or weights from 0 on, which need not sum to 1; ``test``: those of the same
        elements.
    """
    if not train.sum() or not test.sum():
        return 1.0
    shared = (train > 0) & (
        test > 0
    )  # an element that one of them lacks counts 0, even with an exponent of 0
    p, q = train[shared] / train.sum(), test[shared] / test.sum()
    return 1.0 - min(1.0, float((p**alpha * q ** (1 - alpha)).sum()))


@dataclass(frozen=True)
class Divergences:
    """The divergences of a training and a test set.

    ``lone_atoms``: atom types of the test set that are not in training, the most frequent first. Of
    its ``compounds`` (types), ``novel_compounds`` are not in training. ``atom_chance`` and
    ``compound_chance``: random splits; None if not requested.
    """

    elements: str
    weights: str
    atom: float
    compound: float
    atoms: int
    compounds: int
    novel_compounds: int
    lone_atoms: tuple[str, ...]
    atom_chance: Chance | None = None
    compound_chance: Chance | None = None

    def as_dict(self) -> dict[str, Any]:
        """The divergences and counts as JSON."""
        names = {"atom": "atom_divergence", "compound": "compound_divergence"}
        names |= {"atoms": "test_atoms", "compounds": "test_compounds"}
        values = asdict(self) | {"lone_atoms": len(self.lone_atoms)}
        return {names.get(name, name): value for name, value in values.items()}


def divergences(
    elements: Elements,
    train: np.ndarray,
    test: np.ndarray,
    kind: ElementType,
    *,
    fixed: np.ndarray | None = None,
    splits: int = 0,
    seed: int = 1,
) -> Divergences:
    """The divergences of two sets of examples.

    :param train: whether each example is in training, bool ``[examples]``; ``test``: in the test
        set.
    :param fixed: a part of training that random splits keep, bool ``[examples]``; by default they
        assign all examples.
    :param splits: the number of random splits to compare with, 0 or at least 2; split k depends on
        ``seed`` and k alone.
    """
    train_atoms, test_atoms = elements.atoms.counts(train), elements.atoms.counts(test)
    train_compounds, test_compounds = (
        elements.compounds.counts(train),
        elements.compounds.counts(test),
    )
    lone = np.flatnonzero((test_atoms > 0) & (train_atoms == 0))
    lone = lone[np.argsort(-test_atoms[lone], kind="stable")]
    atom = divergence(train_atoms, test_atoms, ATOM_ALPHA)
    compound = divergence(train_compounds, test_compounds, COMPOUND_ALPHA)
    chances: list[Chance | None] = [None, None]
    if splits:
        drawn = _random_divergences(elements, train, test, fixed, splits, seed)
        for at, (value, column) in enumerate(zip((atom, compound), drawn.T, strict=True)):
            mean, sd = float(column.mean()), float(column.std(ddof=1))
            chances[at] = Chance(mean, sd, (value - mean) / sd if sd > 1e-12 else None, splits)
    return Divergences(
        kind.label,
        kind.weights,
        atom,
        compound,
        int((test_atoms > 0).sum()),
        int((test_compounds > 0).sum()),
        int(((test_compounds > 0) & (train_compounds == 0)).sum()),
        tuple(elements.atoms.names[int(atom)] for atom in lone),
        *chances,
    )


def _random_divergences(
    elements: Elements,
    train: np.ndarray,
    test: np.ndarray,
    fixed: np.ndarray | None,
    splits: int,
    seed: int,
) -> np.ndarray:
    """Atom and compound divergence of random splits, ``[splits, 2]``.

    Training is what the other sets leave, by subtraction: sums of weights are exact in any order.
    """
    free = np.arange(elements.examples) if fixed is None else np.flatnonzero(~fixed)
    tests = int(test[free].sum())
    neither = len(free) - tests - int(train[free].sum())
    kinds = (elements.atoms, ATOM_ALPHA), (elements.compounds, COMPOUND_ALPHA)
    sides = [(side, side.counts(), alpha) for side, alpha in kinds]

    def drawn_divergences(split: int) -> list[float]:
        order = np.random.default_rng(np.random.SeedSequence([seed, split])).permutation(free)
        chosen, unused = order[:tests], order[tests : tests + neither]
        values = []
        for side, total, alpha in sides:
            here = side.counts(chosen)
            values.append(divergence(total - here - side.counts(unused), here, alpha))
        return values

    with ThreadPoolExecutor(usable_cores()) as threads:
        return np.array(list(threads.map(drawn_divergences, range(splits))))


def text_divergences(
    train: tuple[str, Sequence[str]],
    test: tuple[str, Sequence[str]],
    kind: ElementType,
    *,
    splits: int = 0,
) -> Divergences:
    """The divergences of two texts, each with its name; ``splits`` as for :func:`divergences`.

    Weights are computed on both texts together."""
    elements = elements_of(kind, [train, test])
    is_train = np.arange(elements.examples) < len(train[1])
    return divergences(elements, is_train, ~is_train, kind, splits=splits)

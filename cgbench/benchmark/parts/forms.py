"""Probes for parts that are not n-grams: atoms of whole rows (words, logical forms), and CTER's shorter compounds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from cgbench.benchmark.candidates.scan import line_hashes, pair_hash
from cgbench.benchmark.divergence.elements import ElementType, elements_of
from cgbench.benchmark.parts.folder import SIDES, Piece, Place
from cgbench.benchmark.parts.select import CHOICES, Candidates, once_per_source
from cgbench.text.formats import Pair
from cgbench.text.plain_text import words_of

Pairs = tuple[str, Sequence[Pair]]
"""The name of a corpus and its pairs."""


def element_candidates(
    kind: ElementType,
    side: str,
    test: Pairs,
    train: Pairs,
    corpora: Sequence[Pairs],
    held: Sequence[np.ndarray],
    *,
    max_length: int,
    k: int,
) -> Candidates:
    """The atoms of a test set, and the rows of corpora that may be their probes: those whose atoms and compounds are
    all in the training set, so that an error in one of them is not an error in a new combination.

    :param held: the hashes of sources and of targets that may not be probes.
    :raises InputError: a row is not valid for the type of elements.
    """
    own = SIDES.index(side)
    found = elements_of(kind, [(name, [pair[own] for pair in pairs]) for name, pairs in (train, test, *corpora)])
    in_train = np.arange(found.examples) < len(train[1])
    trained = found.atoms.counts(in_train)
    new = np.zeros(found.examples, np.int64)
    for one in (found.atoms, found.compounds):
        new += np.bincount(one.rows[one.counts(in_train)[one.ids] == 0], minlength=found.examples)
    atoms = [mine.tolist() for mine in np.split(found.atoms.ids, found.atoms.starts[1:-1])]
    first = len(train[1]) + len(test[1])  # row of the corpora
    of_test, of_corpora = atoms[len(train[1]) : first], atoms[first:]
    numbers = {atom: number for number, atom in enumerate(dict.fromkeys(atom for mine in of_test for atom in mine))}
    names = {atom: found.atoms.names[atom] for atom in numbers}
    pieces = [
        Piece(names[atom], int(trained[atom]), reason="absent" if trained[atom] else "unknown") for atom in numbers
    ]
    rows = [
        [_place(numbers[atom], names[atom], words_of(pair[own])) for atom in mine]
        for mine, pair in zip(of_test, test[1], strict=True)
    ]
    pairs = [pair for _, mine in corpora for pair in mine]
    hashes = [line_hashes(texts) for texts in zip(*pairs, strict=True)]
    words = np.array([len(words_of(source)) for source, _ in pairs])
    good = (words <= max_length) & (new[first:] == 0) & ~np.isin(hashes[0], held[0]) & ~np.isin(hashes[1], held[1])
    order = np.lexsort([pair_hash(*hashes), words])  # the shortest first
    ordered = order[good[order]].tolist()
    served = [np.array([numbers[one] for one in of_corpora[row] if one in numbers], np.int64) for row in ordered]
    served = once_per_source([pairs[row][0] for row in ordered], served)
    seen, kept = Counter[int](), []  # the shortest of each piece
    for place, mine in enumerate(served):
        if any(seen[piece] < max(CHOICES, k) for piece in mine.tolist()):
            kept.append(place)
        seen.update(mine.tolist())
    return Candidates(pieces, rows, [served[place] for place in kept], [pairs[ordered[place]] for place in kept])


def compound_candidates(pairs: Sequence[Pair], compounds: Sequence[str]) -> Candidates:
    """The parts of CTER's compounds (Li et al. 2021): the shorter compounds of the test set whose words occur in a
    compound in this order, and the words that are in none of them. The test rows of a shorter compound are its probes.

    :param compounds: that of each pair.
    """
    rows_of: dict[str, list[int]] = {}
    for row, compound in enumerate(compounds):
        rows_of.setdefault(compound, []).append(row)
    words = {compound: words_of(compound) for compound in rows_of}
    numbers: dict[str, int] = {}
    parts: dict[str, list[int]] = {}
    for compound, mine in words.items():
        within = [one for one, other in words.items() if len(other) < len(mine) and _in_order(other, mine)]
        rest = [word for word in mine if all(word not in words[one] for one in within)]
        parts[compound] = [numbers.setdefault(part, len(numbers)) for part in dict.fromkeys([*within, *rest])]
    pieces = [Piece(part, len(rows_of.get(part, ())), reason="absent") for part in numbers]
    served = [row for part in numbers for row in rows_of.get(part, ())]
    of_probes = [np.array([numbers[compounds[row]]]) for row in served]
    rows = [[Place(part) for part in parts[compound]] for compound in compounds]
    return Candidates(
        pieces, rows, once_per_source([pairs[row][0] for row in served], of_probes), [pairs[row] for row in served]
    )


def _in_order(few: Sequence[str], many: Sequence[str]) -> bool:
    """Whether all of ``few`` occur in ``many`` in this order."""
    left = iter(many)
    return all(word in left for word in few)


def _place(piece: int, name: str, words: Sequence[str]) -> Place:
    """Where an atom that is a word stands first; others have no place."""
    start = words.index(name) if name in words else -1
    return Place(piece, start, start + 1) if start >= 0 else Place(piece)

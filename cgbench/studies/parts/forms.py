"""Probes for parts that are not n-grams: atoms of whole rows (words, logical forms), and CTER's
shorter compounds.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from cgbench.benchmark.measure.divergence.elements import ElementType, elements_of
from cgbench.studies.parts.folder import SIDES, Piece, Place
from cgbench.studies.parts.select import CHOICES, Candidates, once_per_text
from cgbench.text.formats import Pair
from cgbench.text.hashes import line_hashes, pair_hash
from cgbench.text.plain_text import words_of

Pairs = tuple[str, Sequence[Pair]]
"""The name of a corpus and its pairs."""


def element_candidates(
    kind: ElementType,
    side: str,
    test: Pairs,
    train: Pairs,
    corpora: Sequence[Pairs],
    excluded: Sequence[Sequence[np.ndarray]],
    *,
    max_length: int,
    k: int,
) -> Candidates:
    """The atoms of a test set, and the rows of corpora that may be their probes: those whose atoms
    and compounds are all in the training set, so that an error in one of them is not an error in a
    new combination.

    :param excluded: of each corpus the hashes of sources and of targets that may not be probes.
    :raises InputError: a row is not valid for the type of elements.
    """
    side_index = SIDES.index(side)
    elements = elements_of(
        kind,
        [(name, [pair[side_index] for pair in pairs]) for name, pairs in (train, test, *corpora)],
    )
    # What training does not contain, in each row.
    in_train = np.arange(elements.examples) < len(train[1])
    trained = elements.atoms.counts(in_train)
    new = np.zeros(elements.examples, np.int64)
    for counted in (elements.atoms, elements.compounds):
        new += np.bincount(
            counted.rows[counted.counts(in_train)[counted.ids] == 0], minlength=elements.examples
        )
    # The atoms of the test set, numbered in the order of the rows.
    atoms = [
        row_atoms.tolist()
        for row_atoms in np.split(elements.atoms.ids, elements.atoms.starts[1:-1])
    ]
    first = len(train[1]) + len(test[1])  # row of the corpora
    of_test, of_corpora = atoms[len(train[1]) : first], atoms[first:]
    numbers = {
        atom: index
        for index, atom in enumerate(
            dict.fromkeys(atom for row_atoms in of_test for atom in row_atoms)
        )
    }
    names = {atom: elements.atoms.names[atom] for atom in numbers}
    pieces = [
        Piece(names[atom], int(trained[atom]), reason="absent" if trained[atom] else "unknown")
        for atom in numbers
    ]
    rows = [
        [_place(numbers[atom], names[atom], words_of(pair[side_index])) for atom in row_atoms]
        for row_atoms, pair in zip(of_test, test[1], strict=True)
    ]
    # The rows that may be probes.
    pairs = [pair for _, corpus in corpora for pair in corpus]
    hashes = [line_hashes(texts) for texts in zip(*pairs, strict=True)]
    good, end = new[first:] == 0, 0
    for (_, corpus), of_corpus in zip(corpora, excluded, strict=True):
        of_pairs = slice(end, end := end + len(corpus))
        for codes, excluded_codes in zip(hashes, of_corpus, strict=True):
            good[of_pairs] &= ~np.isin(codes[of_pairs], excluded_codes)
    words = np.array([len(words_of(source)) for source, _ in pairs])
    good &= words <= max_length
    order = np.lexsort([pair_hash(*hashes), words])  # the shortest first
    ordered = order[good[order]].tolist()
    served = [
        np.array([numbers[element] for element in of_corpora[row] if element in numbers], np.int64)
        for row in ordered
    ]
    served = once_per_text([pairs[row] for row in ordered], served)
    seen, chosen = Counter[int](), []  # the shortest of each piece
    for candidate, serves in enumerate(served):
        if any(seen[piece] < max(CHOICES, k) for piece in serves.tolist()):
            chosen.append(candidate)
        seen.update(serves.tolist())
    return Candidates(
        pieces,
        rows,
        [served[candidate] for candidate in chosen],
        [pairs[ordered[candidate]] for candidate in chosen],
    )


def compound_candidates(pairs: Sequence[Pair], compounds: Sequence[str]) -> Candidates:
    """The parts of CTER's compounds (Li et al. 2021): the shorter compounds of the test set whose
    words occur in a compound in this order, and the words that are in none of them. The test rows
    of a shorter compound are its probes.

    :param compounds: that of each pair.
    """
    rows_of: dict[str, list[int]] = {}
    for row, compound in enumerate(compounds):
        rows_of.setdefault(compound, []).append(row)
    words = {compound: words_of(compound) for compound in rows_of}
    numbers: dict[str, int] = {}
    pieces_of: dict[str, list[int]] = {}
    for compound, compound_words in words.items():
        within = [
            shorter
            for shorter, shorter_words in words.items()
            if len(shorter_words) < len(compound_words) and _in_order(shorter_words, compound_words)
        ]
        uncovered = [
            word for word in compound_words if all(word not in words[shorter] for shorter in within)
        ]
        pieces_of[compound] = [
            numbers.setdefault(piece, len(numbers))
            for piece in dict.fromkeys([*within, *uncovered])
        ]
    pieces = [Piece(piece, len(rows_of.get(piece, ())), reason="absent") for piece in numbers]
    served = [row for piece in numbers for row in rows_of.get(piece, ())]
    of_probes = [np.array([numbers[compounds[row]]]) for row in served]
    rows = [[Place(piece) for piece in pieces_of[compound]] for compound in compounds]
    return Candidates(
        pieces,
        rows,
        once_per_text([pairs[row] for row in served], of_probes),
        [pairs[row] for row in served],
    )


def _in_order(few: Sequence[str], many: Sequence[str]) -> bool:
    """Whether all of ``few`` occur in ``many`` in this order."""
    remaining = iter(many)
    return all(word in remaining for word in few)


def _place(piece: int, name: str, words: Sequence[str]) -> Place:
    """Where an atom that is a word stands first; others have no place."""
    start = words.index(name) if name in words else -1
    return Place(piece, start, start + 1) if start >= 0 else Place(piece)

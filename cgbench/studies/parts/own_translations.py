"""What a system itself says for a piece, found in its outputs for the probes of the piece: no
reference is needed.

IBM Model 1 (Brown et al. 1993), learned from the sources and the system's own outputs, links each
n-gram of characters of an output to a word of its source. The translation of a piece are the
n-grams linked to it in its probes, counted once per probe. A piece *comes out* in an output that
contains at least half of them. A probe is judged by the other probes of the piece, so a piece with
one probe never comes out.

Unrelated outputs have n-grams in common, so a piece also comes out by chance. The outputs of other
rows say how often.

A prediction needs outputs that its translation has not seen: in each fold one probe of every piece
is held back, and the rest alone say what the translation is, whether the piece is known, and what
comes out of the test rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from cgbench.models.lexicons.linked_units import linked_to, linked_words, units_of

SHUFFLES, SEED = 5, 12345  # of the outputs that pieces come out of by chance


class Folds(NamedTuple):
    """With the f-th probe of every piece held back: ``passed`` int64 ``[folds, pieces]``, the other
    probes that it comes out of; ``rows`` bool ``[folds, places in rows]``, whether it comes out
    there."""

    passed: np.ndarray
    rows: np.ndarray


@dataclass(frozen=True)
class Outcomes:
    """What came out in one run: bool for each place of a piece in the probes and in the rows.

    Of whole sentences, all places in a sentence are alike. Where probes say how a piece is
    translated, ``folds`` is the same without each probe in turn, and ``chance`` the share of
    outputs for other rows that the piece comes out of, for each place in rows.
    """

    probes: np.ndarray
    rows: np.ndarray
    folds: Folds | None = None
    chance: np.ndarray | None = None


def judge_outputs(
    pieces: Sequence[Sequence[str]],
    sources: tuple[Sequence[Sequence[str]], Sequence[Sequence[str]]],
    outputs: tuple[Sequence[str], Sequence[str]],
    probes: tuple[np.ndarray, np.ndarray],
    rows: tuple[np.ndarray, np.ndarray],
) -> Outcomes:
    """Judge which pieces come out in the outputs of one run.

    :param pieces: the words of each piece.
    :param sources: the words of all probes and of all rows; ``outputs``: what the run made of them.
    :param probes: piece and probe of each place, int64 ``[m]``, sorted by piece; ``rows``: the same
        for rows.
    """
    probe_count, row_count = map(len, outputs)
    units = [units_of(text) for side in outputs for text in side]
    links = linked_words([*sources[0], *sources[1]], units)
    present = list(map(set, units))
    draw = np.random.default_rng(SEED)
    others = probe_count + np.stack([draw.permutation(row_count) for _ in range(SHUFFLES)])
    probe_starts = np.searchsorted(probes[0], np.arange(len(pieces) + 1))
    row_order = np.argsort(rows[0], kind="stable")
    row_starts = np.searchsorted(rows[0][row_order], np.arange(len(pieces) + 1))
    folds = max(int(np.diff(probe_starts).max(initial=0)), 1)
    in_probes, in_rows = np.zeros(len(probes[0]), bool), np.zeros(len(rows[0]), bool)
    chance = np.zeros(len(rows[0]))
    passed, rows_by_fold = (
        np.zeros((folds, len(pieces)), np.int64),
        np.zeros((folds, len(rows[0])), bool),
    )
    for piece, words in enumerate(pieces):
        places_of_piece = slice(probe_starts[piece], probe_starts[piece + 1])
        of_piece = probes[1][places_of_piece].tolist()
        if not of_piece:
            continue
        # Of each probe the linked units, and how many of them each output contains.
        linked = [
            linked_to(units[probe], links[probe], _positions(sources[0][probe], tuple(words)))
            for probe in of_piece
        ]
        places = row_order[row_starts[piece] : row_starts[piece + 1]]
        row_outputs = (probe_count + rows[1][places]).tolist()
        judged = [*of_piece, *row_outputs, *others[:, rows[1][places]].ravel().tolist()]
        shared = np.array(
            [[len(those & present[output]) for output in judged] for those in linked], np.int64
        )
        sizes, count = np.array(list(map(len, linked)), np.int64), len(of_piece)
        probe_shared, row_shared, other_shared = np.split(
            shared, [count, count + len(row_outputs)], axis=1
        )
        # Each probe by the others, each row by all probes.
        itself = np.diagonal(probe_shared)
        in_probes[places_of_piece] = _is_half(
            probe_shared.sum(axis=0) - itself, sizes.sum() - sizes
        )
        in_rows[places] = _is_half(row_shared.sum(axis=0), sizes.sum())
        by_chance = _is_half(other_shared.sum(axis=0), sizes.sum())
        chance[places] = by_chance.reshape(SHUFFLES, len(places)).mean(axis=0)
        # The same without the probe that is held back.
        for fold in range(folds):
            held = fold % count
            rest, size = np.arange(count) != held, sizes.sum() - sizes[held]
            left = probe_shared[rest].sum(axis=0) - itself
            passed[fold, piece] = _is_half(left[rest], size - sizes[rest]).sum()
            rows_by_fold[fold, places] = _is_half(row_shared[rest].sum(axis=0), size)
    return Outcomes(in_probes, in_rows, Folds(passed, rows_by_fold), chance)


def _is_half(shared: np.ndarray, size: np.ndarray) -> np.ndarray:
    return np.asarray((2 * shared >= size) & (size > 0))


def _positions(words: Sequence[str], piece: tuple[str, ...]) -> set[int]:
    """The positions of the words of a piece, wherever it occurs in a sentence."""
    starts = [
        at
        for at in range(len(words) + 1 - len(piece))
        if tuple(words[at : at + len(piece)]) == piece
    ]
    return {start + offset for start in starts for offset in range(len(piece))}

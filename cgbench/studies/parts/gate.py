"""Which pieces a run of a system knows, by their probes, and which test rows are given to it.

A piece is *known* if at least ``least`` of its probes come out right, or all of fewer. A test pair
is *given* if all its pieces are known. Rows longer or shorter than all probes are never given,
since a curve says little beyond its points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from cgbench.studies.parts.folder import PartsFolder, Place


class Incidence(NamedTuple):
    """Which piece stands in which sentence: ``piece`` and ``sentence`` int64 ``[m]``, from 0, no
    pair twice.
    """

    piece: np.ndarray
    sentence: np.ndarray

    @classmethod
    def of(cls, pairs: Sequence[tuple[int, int]]) -> Incidence:
        """From pairs of a piece and a sentence."""
        incidences = np.array(sorted(set(pairs)), np.int64).reshape(-1, 2)
        return cls(incidences[:, 0], incidences[:, 1])


@dataclass(frozen=True)
class Parts:
    """The pieces of test rows and of probes, with what the prediction depends on.

    ``frequency`` ``[pieces]``; ``length`` of test rows ``[rows]`` and ``probe_length``
    ``[probes]``, in words; ``whole``: sentences are right or wrong as a whole, not by piece.
    """

    rows: Incidence
    probes: Incidence
    frequency: np.ndarray
    length: np.ndarray
    probe_length: np.ndarray
    whole: bool

    @property
    def span(self) -> tuple[int, int]:
        """The lengths of the shortest and of the longest probe."""
        return int(self.probe_length.min(initial=2**31)), int(self.probe_length.max(initial=0))

    @property
    def in_span(self) -> np.ndarray:
        """Which test rows are as long as probes, bool ``[rows]``."""
        shortest, longest = self.span
        return np.asarray((self.length >= shortest) & (self.length <= longest))

    @property
    def counts(self) -> np.ndarray:
        """The probes of each piece, ``[pieces]``."""
        return np.bincount(self.probes.piece, minlength=len(self.frequency))


def parts_of_folder(
    folder: PartsFolder,
    rows: Sequence[Sequence[Place]],
    length: np.ndarray,
    probe_length: np.ndarray,
    whole: bool,
) -> Parts:
    """The pieces of the rows of a test set or control set, and those of the probes."""
    in_rows = Incidence.of(
        [(place.piece, row) for row, places in enumerate(rows) for place in places]
    )
    in_probes = Incidence.of(
        [(piece, probe) for piece, piece_ in enumerate(folder.pieces) for probe in piece_.probes]
    )
    frequency = np.array([piece.count for piece in folder.pieces], np.int64)
    return Parts(in_rows, in_probes, frequency, length, probe_length, whole)


class Gate(NamedTuple):
    """The result of the gate for one run: ``known`` bool ``[pieces]``; ``given`` bool
    ``[rows]``.
    """

    known: np.ndarray
    given: np.ndarray


def gate_of(parts: Parts, right: np.ndarray, least: int) -> Gate:
    """Which pieces a run knows, and which test rows are given to it.

    :param right: bool, which probes of which pieces came out right.
    """
    known = known_pieces(
        np.bincount(parts.probes.piece, right, len(parts.counts)), parts.counts, least
    )
    return Gate(known, given_rows(parts, known))


def known_pieces(passed: np.ndarray, counts: np.ndarray, least: int) -> np.ndarray:
    """Which pieces are known, ``[pieces]``, by how many of their probes came out right."""
    return np.asarray((counts > 0) & (passed >= np.minimum(least, counts)))


def given_rows(parts: Parts, known: np.ndarray) -> np.ndarray:
    """Which test rows have only known pieces, and a length that probes have, ``[rows]``."""
    lacking = np.bincount(parts.rows.sentence, ~known[parts.rows.piece], len(parts.length))
    pieces = np.bincount(parts.rows.sentence, minlength=len(parts.length))
    return np.asarray((lacking == 0) & (pieces > 0) & parts.in_span)

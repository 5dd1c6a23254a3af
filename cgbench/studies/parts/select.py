"""The fewest probes that give every piece k of them: set multi-cover, greedily, with its bound.

A probe covers the pieces that it serves. The greedy choice takes the probe that serves most pieces
which still lack some. It takes at most H(d) = 1 + 1/2 + ... + 1/d times as many as needed, d being
the most pieces that one probe serves (Dobson 1982; each probe at most once: Rajagopalan and
Vazirani 1998, section 5). Probes that the later ones made superfluous are dropped, which only
lowers the number.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from cgbench.studies.parts.folder import Piece, Place
from cgbench.text.formats import Pair

CHOICES = 50
"""Pairs that are considered for each piece: the best ones."""


def bound(served: Sequence[np.ndarray]) -> float:
    """H(d): the most that :func:`choose` may exceed the smallest number of probes by, as a
    factor.
    """
    most = max(map(len, served), default=0)
    return float(sum(1 / count for count in range(1, most + 1)))


def choose(served: Sequence[np.ndarray], pieces: int, k: int) -> list[int]:
    """The probes to take, so that each piece has k of them, or all that serve it if these are
    fewer.

    :param served: the different pieces of each probe, in the order of preference: of equal choices
        the first is taken.
    :returns: the numbers of the probes, rising.
    """
    lacking = np.minimum(
        k,
        np.bincount(np.concatenate([*served, np.zeros(0, np.int64)]).astype(int), minlength=pieces),
    )
    waiting = [(-len(of_probe), probe) for probe, of_probe in enumerate(served) if len(of_probe)]
    heapq.heapify(waiting)
    chosen: list[int] = []
    while waiting:
        gain, probe = waiting[0]
        now = -int(np.count_nonzero(lacking[served[probe]] > 0))
        if now == gain:  # the others gain at most what they did before: none gains more
            heapq.heappop(waiting)
            chosen.append(probe)
            lacking[served[probe]] -= 1
        elif now:
            heapq.heapreplace(waiting, (now, probe))
        else:
            heapq.heappop(waiting)
    needed = set(chosen)
    for probe in reversed(chosen):  # ``lacking`` is below 0 where a piece has more than it needs
        if np.all(lacking[served[probe]] < 0):
            lacking[served[probe]] += 1
            needed.remove(probe)
    return sorted(needed)


def once_per_text(pairs: Sequence[Pair], served: Sequence[np.ndarray]) -> list[np.ndarray]:
    """``served`` without pieces that an earlier candidate with the same words on either side
    serves.

    Such probes stand or fall together: the same source gives the same output, and the same target
    needs the same output. Two of them would count as two observations of a piece, which makes known
    pieces and the residual look more certain than they are. Case and punctuation make no
    difference.
    """
    before: dict[tuple[int, str], set[int]] = {}
    unserved = []
    for pair, pieces in zip(pairs, served, strict=True):
        of_texts = [before.setdefault((side, _bare(text)), set()) for side, text in enumerate(pair)]
        seen = set().union(*of_texts)
        unserved.append(
            np.array([piece for piece in pieces.tolist() if piece not in seen], np.int64)
        )
        for of_text in of_texts:
            of_text.update(pieces.tolist())
    return unserved


def _bare(text: str) -> str:
    """A text without case and punctuation; as it is where nothing else would remain."""
    words = "".join(
        letter if letter.isalnum() or letter.isspace() else " " for letter in text.casefold()
    )
    return " ".join(words.split()) or text


@dataclass(frozen=True)
class Candidates:
    """What probes are selected from. ``pieces``: without probes, ``reason`` is why there are none
    (where there are none); ``rows``: the pieces of each test row; ``probes``: the candidates, the
    best first, and the pieces that each has ``served``."""

    pieces: Sequence[Piece]
    rows: Sequence[Sequence[Place]]
    served: Sequence[np.ndarray]
    probes: Sequence[Pair]

    def select(self, k: int) -> tuple[list[Piece], list[Pair]]:
        """The pieces with their probes, k each where there are as many; and these probes, the best
        first.

        A piece has the first k of the chosen probes that serve it; every chosen probe is one of
        some piece.
        """
        chosen = choose(self.served, len(self.pieces), k)
        probes_of: list[list[int]] = [[] for _ in self.pieces]
        for rank, probe in enumerate(chosen):
            for piece in self.served[probe].tolist():
                if len(probes_of[piece]) < k:
                    probes_of[piece].append(rank)
        pieces = [
            replace(
                piece,
                probes=tuple(probes),
                reason=piece.reason if not probes else "few" if len(probes) < k else "",
            )
            for piece, probes in zip(self.pieces, probes_of, strict=True)
        ]
        return pieces, [self.probes[probe] for probe in chosen]

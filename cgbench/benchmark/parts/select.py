"""The fewest probes that give every piece k of them: set multi-cover, greedily, with its bound.

A probe covers the pieces that it serves. The greedy choice takes the probe that serves most pieces which still lack
some. It takes at most H(d) = 1 + 1/2 + ... + 1/d times as many as needed, d being the most pieces that one probe serves
(Dobson 1982; each probe at most once: Rajagopalan and Vazirani 1998, section 5). Probes that the later ones made
superfluous are dropped, which only lowers the number.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from cgbench.benchmark.parts.folder import Piece, Place
from cgbench.text.formats import Pair

CHOICES = 50
"""Pairs that are considered for each piece: the best ones."""


def bound(served: Sequence[np.ndarray]) -> float:
    """H(d): the most that :func:`choose` may exceed the smallest number of probes by, as a factor."""
    most = max(map(len, served), default=0)
    return float(sum(1 / size for size in range(1, most + 1)))


def choose(served: Sequence[np.ndarray], pieces: int, k: int) -> list[int]:
    """The probes to take, so that each piece has k of them, or all that serve it if these are fewer.

    :param served: the different pieces of each probe, in the order of preference: of equal choices the first is taken.
    :returns: the numbers of the probes, rising.
    """
    lacking = np.minimum(k, np.bincount(np.concatenate([*served, np.zeros(0, np.int64)]).astype(int), minlength=pieces))
    waiting = [(-len(mine), number) for number, mine in enumerate(served) if len(mine)]
    heapq.heapify(waiting)
    taken: list[int] = []
    while waiting:
        gain, number = waiting[0]
        now = -int(np.count_nonzero(lacking[served[number]] > 0))
        if now == gain:  # the others gain at most what they did before: none gains more
            heapq.heappop(waiting)
            taken.append(number)
            lacking[served[number]] -= 1
        elif now:
            heapq.heapreplace(waiting, (now, number))
        else:
            heapq.heappop(waiting)
    kept = set(taken)
    for number in reversed(taken):  # ``lacking`` is below 0 where a piece has more than it needs
        if np.all(lacking[served[number]] < 0):
            lacking[served[number]] += 1
            kept.remove(number)
    return sorted(kept)


def once_per_source(sources: Sequence[str], served: Sequence[np.ndarray]) -> list[np.ndarray]:
    """``served`` without pieces that an earlier candidate of the same source serves: it would be the same output."""
    before: dict[str, set[int]] = {}
    found = []
    for source, mine in zip(sources, served, strict=True):
        seen = before.setdefault(source, set())
        found.append(np.array([piece for piece in mine.tolist() if piece not in seen], np.int64))
        seen.update(mine.tolist())
    return found


@dataclass(frozen=True)
class Candidates:
    """What probes are selected from. ``pieces``: without probes, ``reason`` is why there are none (where there are
    none); ``rows``: the pieces of each test row; ``probes``: the candidates, the best first, and the pieces that each
    has ``served``."""

    pieces: Sequence[Piece]
    rows: Sequence[Sequence[Place]]
    served: Sequence[np.ndarray]
    probes: Sequence[Pair]

    def select(self, k: int) -> tuple[list[Piece], list[Pair]]:
        """The pieces with their probes, k each where there are as many; and these probes, the best first.

        A piece has the first k of the chosen probes that serve it; every chosen probe is one of some piece.
        """
        taken = choose(self.served, len(self.pieces), k)
        found: list[list[int]] = [[] for _ in self.pieces]
        for place, number in enumerate(taken):
            for piece in self.served[number].tolist():
                if len(found[piece]) < k:
                    found[piece].append(place)
        pieces = [
            replace(piece, probes=tuple(mine), reason=piece.reason if not mine else "few" if len(mine) < k else "")
            for piece, mine in zip(self.pieces, found, strict=True)
        ]
        return pieces, [self.probes[number] for number in taken]

"""Slow, obvious definitions of what choosing shots must give."""

import itertools
import math
from collections import Counter
from collections.abc import Collection, Sequence

import numpy as np
from twins import words_of


def contains(source: Sequence[str], piece: Sequence[str]) -> bool:
    return any(tuple(source[at : at + len(piece)]) == tuple(piece) for at in range(len(source)))


def smallest_cover(sets: Sequence[int]) -> int:
    """The number of sets in the smallest cover of the union: every combination is tried, fewest
    sets first.
    """
    union = 0
    for one in sets:
        union |= one
    for size in range(len(sets) + 1):
        for some in itertools.combinations(sets, size):
            together = 0
            for one in some:
                together |= one
            if together == union:
                return size
    raise AssertionError


def bm25(
    query: Sequence[str], sources: Sequence[Sequence[str]], k1: float = 1.5, b: float = 0.75
) -> list[float]:
    """Lucene's BM25 of each source: Kamphuis et al. 2020, with the positive idf."""
    mean = sum(map(len, sources)) / len(sources)
    held = Counter(word for source in sources for word in set(source))
    scores = []
    for source in sources:
        counts = Counter(source)
        score = 0.0
        for word in query:
            idf = math.log(1 + (len(sources) - held[word] + 0.5) / (held[word] + 0.5))
            score += idf * counts[word] / (counts[word] + k1 * (1 - b + b * len(source) / mean))
        scores.append(score)
    return scores


def masks(pieces: Sequence[Sequence[str]], sources: Sequence[str]) -> list[int]:
    """The pieces in each source as bits."""
    wanted = [f" {' '.join(piece)} " for piece in pieces]
    texts = (f" {' '.join(words_of(source))} " for source in sources)
    return [
        sum(1 << place for place, piece in enumerate(wanted) if piece in text) for text in texts
    ]


def least_cover(sets: Collection[int]) -> int:
    """:func:`smallest_cover` as an integer programme, which another program solves (HiGHS, by
    scipy).
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    union = 0
    for one in sets:
        union |= one
    if not union:
        return 0
    held = np.array(
        [[one >> bit & 1 for one in sets] for bit in range(union.bit_length()) if union >> bit & 1]
    )
    found = milp(
        np.ones(len(sets)),
        constraints=LinearConstraint(held, 1),
        integrality=1,
        bounds=Bounds(0, 1),
    )
    assert found.success
    return round(found.fun)

"""The selection of probes: against the smallest one, found by trying all."""

import itertools
import math
import random

import numpy as np
import pytest

from cgbench.studies.parts.folder import Piece
from cgbench.studies.parts.select import Candidates, bound, choose, once_per_text


def _needs(served, pieces, k):
    return [min(k, sum(piece in mine for mine in served)) for piece in range(pieces)]


def _covers(taken, served, needs):
    return all(
        sum(piece in served[number] for number in taken) >= need for piece, need in enumerate(needs)
    )


def _fewest(served, pieces, k):
    """The smallest number of probes, by trying all subsets from the small ones on."""
    needs = _needs(served, pieces, k)
    for size in range(len(served) + 1):
        if any(
            _covers(taken, served, needs)
            for taken in itertools.combinations(range(len(served)), size)
        ):
            return size
    raise AssertionError


def _plain_greedy(served, pieces, k):
    """Greedy by its definition, without a queue; then without what is superfluous, from the last
    on.
    """
    lacking = _needs(served, pieces, k)
    left, taken = list(range(len(served))), []
    while any(need > 0 for need in lacking):
        best = max(left, key=lambda one: (sum(lacking[piece] > 0 for piece in served[one]), -one))
        left.remove(best)
        taken.append(best)
        for piece in served[best]:
            lacking[piece] -= 1
    for one in taken[::-1]:
        rest = [other for other in taken if other != one]
        if _covers(rest, served, _needs(served, pieces, k)):
            taken = rest
    return sorted(taken)


def _draw(seed):
    draw = random.Random(seed)
    pieces, k = draw.randint(1, 7), draw.randint(1, 3)
    served = [
        sorted(draw.sample(range(pieces), draw.randint(0, min(4, pieces))))
        for _ in range(draw.randint(1, 11))
    ]
    return served, pieces, k


def _selected(served, pieces, k):
    """The probes of each piece, and those chosen, by name."""
    names = [str(number) for number in range(len(served))]
    found, probes = Candidates([Piece("p", 1) for _ in range(pieces)], [], served, names).select(k)
    return [piece.probes for piece in found], probes


def test_one_probe_for_many():
    served = [np.array([0, 1, 2]), np.array([0]), np.array([1]), np.array([2, 3])]
    assert choose(served, 4, 1) == [0, 3]
    assert choose(served, 4, 2) == [0, 1, 2, 3]  # piece 3 has one only
    pieces, probes = _selected(served, 4, 1)
    assert probes == ["0", "3"] and pieces == [(0,), (0,), (0,), (1,)]
    assert choose([], 2, 5) == [] and bound([]) == 0.0


def test_what_later_probes_make_superfluous_is_dropped():
    # Greedy takes the first for its three pieces; the two others are needed for 3 and 4, and have
    # the three as well.
    served = [np.array(one) for one in ([0, 1, 2], [0, 1, 3], [2, 4])]
    assert choose(served, 5, 1) == [1, 2]


def test_probes_with_the_same_words_count_once():
    """The same source, or the same target: they stand or fall together."""
    pairs = [
        ("der Hund", "the dog"),
        ("Der Hund.", "a dog"),  # the first source again
        ("ein Hund", "The dog!"),  # the first target again
        ("ein Hund", "one dog"),  # the source of the third, which serves other pieces
        ("!", "..."),
        ("?", "..."),
    ]
    served = [np.array(pieces) for pieces in ([0, 1], [1, 2], [0, 3], [2, 3], [4], [4])]
    unserved = [pieces.tolist() for pieces in once_per_text(pairs, served)]
    assert unserved == [[0, 1], [2], [3], [2], [4], []]


@pytest.mark.parametrize("seed", range(60))
def test_as_its_definition_and_within_its_bound_of_the_smallest(seed):
    served, pieces, k = _draw(seed)
    arrays = [np.array(mine, int) for mine in served]
    taken = choose(arrays, pieces, k)
    assert taken == _plain_greedy(served, pieces, k)
    fewest = _fewest(served, pieces, k)
    assert fewest <= len(taken) <= math.floor(bound(arrays) * fewest + 1e-9)
    given, probes = _selected(arrays, pieces, k)
    assert probes == list(map(str, taken)) and [len(one) for one in given] == _needs(
        served, pieces, k
    )
    assert {number for one in given for number in one} == set(range(len(taken)))
    for piece, mine in enumerate(given):  # the first that serve it
        assert list(mine) == [place for place, one in enumerate(taken) if piece in served[one]][:k]

"""The smallest set cover: the fewest sets that together have all elements of their union.

The problem is NP-hard, so the search has a limit. Its size here is small: the pieces of one sentence, and the sources
that are not within others.
"""

from __future__ import annotations

from collections.abc import Sequence

NODES = 2_000
"""Maximum number of partial covers that the search for a smaller one opens."""


def cover_sets(sets: Sequence[int], most: int) -> tuple[list[int], bool]:
    """Choose the fewest sets with all elements, or at most ``most`` sets with many of them.

    The greedy cover takes the set with the most new elements, the first of several (Chvátal 1979, "A greedy heuristic
    for the set-covering problem"). If it has more than two sets, a depth-first search over the rarest missing element
    looks for a smaller one.

    :param sets: bit masks, in order of preference.
    :returns: indices of the chosen sets; and whether the search reached its end, so that no smaller cover exists.
    """
    union = 0
    for one in sets:
        union |= one
    greedy, missing = [], union
    while missing:
        best = max(range(len(sets)), key=lambda index: ((sets[index] & missing).bit_count(), -index))
        greedy.append(best)
        missing &= ~sets[best]
    if len(greedy) <= 2:
        return greedy[:most], True
    least = -(-union.bit_count() // max(one.bit_count() for one in sets))
    nodes = [NODES]
    for size in range(least, min(len(greedy) - 1, most) + 1):
        if found := _search(sets, union, size, nodes):
            return found, nodes[0] > 0
    return greedy[:most], nodes[0] > 0


def _search(sets: Sequence[int], missing: int, size: int, nodes: list[int]) -> list[int]:
    """At most ``size`` sets with all ``missing`` elements; empty if there are none, or ``nodes`` are used up."""
    nodes[0] -= 1
    if size == 1:
        return next(([index] for index, one in enumerate(sets) if not missing & ~one), [])
    if nodes[0] <= 0 or max((one & missing).bit_count() for one in sets) * size < missing.bit_count():
        return []
    bits = [1 << place for place in range(missing.bit_length()) if missing >> place & 1]
    holders = min(([index for index, one in enumerate(sets) if one & bit] for bit in bits), key=len)
    for index in sorted(holders, key=lambda index: -(sets[index] & missing).bit_count()):
        rest = missing & ~sets[index]
        if not rest:
            return [index]
        if found := _search(sets, rest, size - 1, nodes):
            return [index, *found]
    return []

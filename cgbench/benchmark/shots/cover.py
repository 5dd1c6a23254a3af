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
    for members in sets:
        union |= members
    greedy, missing = [], union
    while missing:
        best = max(range(len(sets)), key=lambda index: ((sets[index] & missing).bit_count(), -index))
        greedy.append(best)
        missing &= ~sets[best]
    if len(greedy) <= 2:
        return greedy[:most], True
    least = -(-union.bit_count() // max(members.bit_count() for members in sets))
    nodes = [NODES]
    for count in range(least, min(len(greedy) - 1, most) + 1):
        if cover := _search(sets, union, count, nodes):
            return cover, nodes[0] > 0
    return greedy[:most], nodes[0] > 0


def _search(sets: Sequence[int], missing: int, count: int, nodes: list[int]) -> list[int]:
    """At most ``size`` sets with all ``missing`` elements; empty if there are none, or ``nodes`` are used up."""
    nodes[0] -= 1
    if count == 1:
        return next(([index] for index, members in enumerate(sets) if not missing & ~members), [])
    if nodes[0] <= 0 or max((members & missing).bit_count() for members in sets) * count < missing.bit_count():
        return []
    bits = [1 << index_of_bit for index_of_bit in range(missing.bit_length()) if missing >> index_of_bit & 1]
    holders = min(([index for index, members in enumerate(sets) if members & bit] for bit in bits), key=len)
    for index in sorted(holders, key=lambda index: -(sets[index] & missing).bit_count()):
        still_missing = missing & ~sets[index]
        if not still_missing:
            return [index]
        if cover := _search(sets, still_missing, count - 1, nodes):
            return [index, *cover]
    return []

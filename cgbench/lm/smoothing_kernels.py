"""The compiled loops of modified Kneser-Ney smoothing, over the sorted places of ``count_kernels``.

A *node* of order n is a distinct n-gram: a run of places with ``shared >= n`` after a first one with
``shared < n <= depth``. Nodes are numbered in the order of the places. Its first place stands for the n-gram.

``cells`` is float32 ``[1 + places, 2]``, a row a place of the *text*. It carries figures from an n-gram to
its context and back, because the two stand far apart in the sorting but side by side in the text: the context of the
n-gram at place p is at place p - 1. First row p holds the adjusted count of the n-gram that p stands for (as uint32;
0 where p stands for none), then its own share of the probability and the weight of its back-off.

The loops fetch from memory in blocks before they look at anything: a branch that waits for memory would stop the
processor from reading ahead. Each has a slow, obvious twin in ``tests/helpers/twins_lm.py``.
"""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from cgbench.engines.compiled import inlined, kernel

PRUNED = np.uint32(1 << 31)
"""Marks the count of an n-gram that is pruned."""

NO_EXTENSION = np.float32(2)
"""The back-off weight of an n-gram that no other begins with; weights are at most 1."""

_BLOCK = 1024


@kernel
def count_words(shared, starts, order, counts):
    """The adjusted count of each word: the number of different words before it; ``order`` 1: its occurrences."""
    for word in range(starts.size - 1):
        begin, end = starts[word], starts[word + 1]
        if order == 1:
            counts[word] = end - begin
        else:
            count = 0
            for k in range(begin, end):
                count += shared[k] < 2
            counts[word] = count


@inlined
def _end_of_node(shared, k, high, order):
    """The end of the node that begins at ``k``, and how many children (n-grams with one word more) it has."""
    children = np.int64(1)
    k += 1
    while k < high and shared[k] >= order:
        children += shared[k] == order
        k += 1
    return k, children


@inlined
def _next_node(shared, depths, k, high, order, highest):
    """The first node of an order from ``k`` on: (where it begins, where it ends, adjusted count)."""
    while k < high and not shared[k] < order <= depths[k]:
        k += 1
    if k == high:
        return high, high, np.int64(0)
    end, count = _end_of_node(shared, k, high, order)
    if order == highest or depths[k] == order:  # one that begins with <s> has nothing on its left
        count = end - k
    return k, end, count


@kernel
def tally_order(shared, depths, low, high, order, highest, threshold, figures):
    """Add to int64 ``figures[6]``: nodes of an order, those that occur more often than the threshold, and those with
    adjusted count 1, 2, 3 and 4."""
    while low < high:
        k, low, count = _next_node(shared, depths, low, high, order, highest)
        if k < low:
            figures[0] += 1
            figures[1] += low - k > threshold
            if count <= 4:
                figures[1 + count] += 1


@kernel
def enter_counts(places, shared, depths, low, high, order, highest, threshold, counts):
    """Enter the adjusted counts of the nodes of an order into ``cells``, here as uint32, where they are 0 so far.

    :param threshold: n-grams that occur so often or less are marked as PRUNED.
    """
    while low < high:
        k, low, count = _next_node(shared, depths, low, high, order, highest)
        if k < low:
            counts[places[k], 0] = np.uint32(count) | (PRUNED if low - k <= threshold else np.uint32(0))


def weigh_contexts(places, shared, depths, low, high, order, discounts, cells, counts, weights, node):
    """Turn the counts in ``cells`` into shares, and give each context of ``order`` words the weight of its back-off.

    The share of an n-gram is (count - discount) / sum of the counts in its context; the weight of the back-off is what
    the discounts took away, and the counts of pruned n-grams, over that sum (Chen and Goodman 1998, equations 13-15;
    pruning as in lmplz).

    :param discounts: float64 ``[4]``, by min(count, 3).
    :param counts: ``cells`` as uint32.
    :param weights: float32 out, a node of ``order`` words each, from ``node`` on; NO_EXTENSION for those that begin
        no n-gram that is kept.
    """
    fetched = np.empty(_longest_run(shared, low, high, order) + _BLOCK, np.uint32)
    given = places, shared, depths, low, high, order, discounts, cells, counts, weights, node
    _weigh_contexts(*given, fetched)


@kernel
def _longest_run(shared, low, high, order):
    """The most places that an n-gram of ``order`` words has."""
    longest = np.int64(0)
    begin = low
    for k in range(low + 1, high):
        if shared[k] < order:
            longest = max(longest, k - begin)
            begin = k
    return max(longest, high - begin)


@kernel
def _weigh_contexts(
    places, shared, depths, low, high, order, discounts, cells, counts, weights, node, fetched
):  # fmt: skip
    last = np.uint64(counts.shape[0] - 1)
    base = filled = low  # the places from ``base`` to ``filled`` have their followers' counts fetched
    k = low
    while k < high:
        end = k + 1
        while end < high and shared[end] >= order:
            end += 1
        if end > filled:
            base = k
            filled = min(high, max(end, k + _BLOCK))
            for i in range(base, filled):
                place = np.uint64(places[i])
                place = place * np.uint64(place != last) + np.uint64(1)
                fetched[np.uint64(i - base)] = counts[place, np.uint64(0)]
        if depths[k] >= order:
            total = np.int64(0)
            pruned = np.int64(0)
            ones = twos = more = 0
            for i in range(k - base, end - base):
                count = fetched[i]
                if count & PRUNED:
                    count ^= PRUNED
                    pruned += count
                else:
                    ones += count == 1
                    twos += count == 2
                    more += count > 2
                total += count
            if ones + twos + more > 0:
                lost = discounts[1] * ones + discounts[2] * twos + discounts[3] * more + pruned
                weight = np.float32(lost / total)
                for i in range(k, end):
                    count = fetched[i - base]
                    if count != 0 and not count & PRUNED:
                        place = np.uint64(places[i])
                        place = place * np.uint64(place != last) + np.uint64(1)
                        cells[place, np.uint64(0)] = (count - discounts[min(count, 3)]) / total
                        cells[place, np.uint64(1)] = weight
                weights[node] = weight
            else:
                weights[node] = NO_EXTENSION
            node += 1
        k = end


def interpolate(places, shared, depths, low, high, order, cells, shorter, parent, probabilities, node):
    """p(w | context) = share + weight of the back-off * p(w | shorter context), for the nodes of an order.

    :param shorter: float32, the probabilities of the nodes with one word less; ``parent`` of them begin before ``low``.
    :param probabilities: float32 out, from ``node`` on. Those of pruned n-grams mean nothing.
    """
    shares = np.empty((_BLOCK, 2), np.float32)
    _interpolate(places, shared, depths, low, high, order, cells, shorter, parent, probabilities, node, shares)


@kernel
def _interpolate(places, shared, depths, low, high, order, cells, shorter, parent, probabilities, node, shares):
    parent -= 1
    while low < high:
        size = min(_BLOCK, high - low)
        for i in range(size):
            if shared[low + i] < order <= depths[low + i]:
                place = np.uint64(places[low + i])
                shares[i, 0] = cells[place, np.uint64(0)]
                shares[i, 1] = cells[place, np.uint64(1)]
        for i in range(size):
            k = low + i
            parent += shared[k] < order - 1 <= depths[k]
            if shared[k] < order <= depths[k]:
                probabilities[node] = shares[i, 0] + shares[i, 1] * shorter[parent]
                node += 1
        low += size


@kernel
def next_cut(shared, k):
    """The first place from ``k`` on where no n-gram of two words or more goes on."""
    while k < shared.size and shared[k] >= 2:
        k += 1
    return k

"""Compiled loops of modified Kneser-Ney smoothing, over the sorted positions of ``count_kernels``.

A *node* of order n is a distinct n-gram: a position with ``shared < n <= depth`` and the following
ones with ``shared >= n``. Nodes are numbered in the order of the positions; the first position
represents the n-gram.

``cells``, float32 ``[1 + positions, 2]``, has one row per position of the *text*. It passes values
between an n-gram and its context: the two are far apart in the sorting but adjacent in the text,
where the context of the n-gram at position p is at position p - 1. At first row p holds the
adjusted count of the n-gram that p represents (as uint32; 0 if none), later its share of the
probability and its back-off weight.

The loops load memory in blocks before they branch: a branch that waits for memory would stop the
processor's prefetching. ``tests/helpers/twins_lm.py`` has a naive version of each.
"""

# mypy: ignore-errors

import numpy as np

from cgbench.engines.compiled import inlined, kernel

_BLOCK = 1024


@kernel
def count_words(shared, starts, order, counts):
    """The adjusted count of each word: the number of different words before it; ``order`` 1: its
    occurrences.
    """
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
    """The end of the node that begins at ``k``, and its number of children (n-grams with one more
    word).
    """
    children = np.int64(1)
    k += 1
    while k < high and shared[k] >= order:
        children += shared[k] == order
        k += 1
    return k, children


@inlined
def _next_node(shared, depths, k, high, order, highest):
    """The first node of an order from ``k`` on: (start, end, adjusted count)."""
    while k < high and not shared[k] < order <= depths[k]:
        k += 1
    if k == high:
        return high, high, np.int64(0)
    end, count = _end_of_node(shared, k, high, order)
    if order == highest or depths[k] == order:  # an n-gram with <s> has no left context
        count = end - k
    return k, end, count


@kernel
def tally_order(shared, depths, low, high, order, highest, counts):
    """Add to int64 ``counts[5]``: nodes of an order, nodes with adjusted count 1 to 4."""
    while low < high:
        k, low, count = _next_node(shared, depths, low, high, order, highest)
        if k < low:
            counts[0] += 1
            if count <= 4:
                counts[count] += 1


@kernel
def enter_counts(positions, shared, depths, low, high, order, highest, counts):
    """Store the adjusted counts of the nodes of an order in ``cells``, viewed as uint32 and
    initially 0.
    """
    while low < high:
        k, low, count = _next_node(shared, depths, low, high, order, highest)
        if k < low:
            counts[positions[k], 0] = np.uint32(count)


def weigh_contexts(
    positions, shared, depths, low, high, order, discounts, cells, counts, weights, node
):
    """Turn the counts in ``cells`` into shares, and compute the back-off weight of each context of
    ``order`` words.

    The share of an n-gram is (count - discount) / sum of the counts in its context. The back-off
    weight is the sum of the discounts, divided by the same sum (Chen and Goodman 1998, equations
    13-15).

    :param discounts: float64 ``[4]``, by min(count, 3).
    :param counts: ``cells`` as uint32.
    :param weights: float32 output, by node, from ``node`` on; 1 for nodes that begin no n-gram.
    """
    fetched = np.empty(_longest_run(shared, low, high, order) + _BLOCK, np.uint32)
    _weigh_contexts(
        positions,
        shared,
        depths,
        low,
        high,
        order,
        discounts,
        cells,
        counts,
        weights,
        node,
        fetched,
    )


@kernel
def _longest_run(shared, low, high, order):
    """Maximum number of positions of an n-gram of ``order`` words."""
    longest = np.int64(0)
    begin = low
    for k in range(low + 1, high):
        if shared[k] < order:
            longest = max(longest, k - begin)
            begin = k
    return max(longest, high - begin)


@kernel
def _weigh_contexts(
    positions, shared, depths, low, high, order, discounts, cells, counts, weights, node, fetched
):
    last = np.uint64(counts.shape[0] - 1)
    base = filled = low  # counts after the positions from ``base`` to ``filled`` are fetched
    k = low
    while k < high:
        # The positions of a context, and the counts after them.
        end = k + 1
        while end < high and shared[end] >= order:
            end += 1
        if end > filled:
            base = k
            filled = min(high, max(end, k + _BLOCK))
            for i in range(base, filled):
                position = np.uint64(positions[i])
                position = position * np.uint64(position != last) + np.uint64(1)
                fetched[np.uint64(i - base)] = counts[position, np.uint64(0)]
        # The counts of the n-grams that it begins become shares, and what the discounts take away
        # its weight.
        if depths[k] >= order:
            total = np.int64(0)
            ones = twos = higher = 0
            for i in range(k - base, end - base):
                count = fetched[i]
                ones += count == 1
                twos += count == 2
                higher += count > 2
                total += count
            if ones + twos + higher > 0:
                lost = discounts[1] * ones + discounts[2] * twos + discounts[3] * higher
                weight = np.float32(lost / total)
                for i in range(k, end):
                    count = fetched[i - base]
                    if count != 0:
                        position = np.uint64(positions[i])
                        position = position * np.uint64(position != last) + np.uint64(1)
                        cells[position, np.uint64(0)] = (count - discounts[min(count, 3)]) / total
                        cells[position, np.uint64(1)] = weight
                weights[node] = weight
            else:
                weights[node] = 1
            node += 1
        k = end


def interpolate(
    positions, shared, depths, low, high, order, cells, shorter, parent, probabilities, node
):
    """p(w | context) = share + back-off weight * p(w | shorter context), for the nodes of an order.

    :param shorter: float32, probabilities of the nodes with one word less; ``parent`` of them begin
        before ``low``.
    :param probabilities: float32 output, from ``node`` on.
    """
    shares = np.empty((_BLOCK, 2), np.float32)
    _interpolate(
        positions,
        shared,
        depths,
        low,
        high,
        order,
        cells,
        shorter,
        parent,
        probabilities,
        node,
        shares,
    )


@kernel
def _interpolate(
    positions, shared, depths, low, high, order, cells, shorter, parent, probabilities, node, shares
):
    parent -= 1
    while low < high:
        count = min(_BLOCK, high - low)
        for i in range(count):
            if shared[low + i] < order <= depths[low + i]:
                position = np.uint64(positions[low + i])
                shares[i, 0] = cells[position, np.uint64(0)]
                shares[i, 1] = cells[position, np.uint64(1)]
        for i in range(count):
            k = low + i
            parent += shared[k] < order - 1 <= depths[k]
            if shared[k] < order <= depths[k]:
                probabilities[node] = shares[i, 0] + shares[i, 1] * shorter[parent]
                node += 1
        low += count


@kernel
def next_cut(shared, k):
    """The first position from ``k`` on that splits no n-gram of two or more words."""
    while k < shared.size and shared[k] >= 2:
        k += 1
    return k

"""The compiled loops over n-grams: counting them into a trie, and covering sentences with them.

Conventions
    training text  int32 ids, runs of words that may take part in a known n-gram, each run ended by -1.
    trie           uint64 slots in buckets of 8, a line of cache each. A node is an int: a word's id for the n-gram
                   of that one word, otherwise ``words`` + the number of the slot that holds its entry (parent node,
                   word, flag), so that one read a token answers "does the piece go on?". The flag says that the
                   node has a tail: words that must follow it before it branches again (path compression; Morrison
                   1968, PATRICIA).
"""

# mypy: ignore-errors

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from cgbench.text.word_kernels import _LOW, _MIX, _0, _1, _32, _fold, _mix, trailing_zeros

NOWHERE = 0x7FFFFFFD
"""The node before a sentence's first word: no entry has it as its parent."""

BUCKET = 8
"""Slots that are compared at once; the size of a table is a multiple."""

_LANES = 8

SHORTEST_TAIL = 3
"""A chain of at least so many forced words becomes a tail; a shorter one is cheaper as ordinary nodes."""


@njit(nogil=True, cache=True)
def collapse(tokens, ids, expand_all):
    """Renumber the words of a training text in place and write equal runs of words once, with their number.

    :param tokens: int32, words and -1 at line ends.
    :param ids: int32, the new id of each old one; -1: the word can be in no known n-gram, so it ends a run.
    :param expand_all: keep a weight for runs that occur once, too.
    :return: (text, weights, ends): the training text, runs that are repeated first; for those positions the number
        of times their run occurs and the position of its -1. Runs of a single word are left out.
    """
    runs = 0
    begin = 0
    for i in range(tokens.size):
        if tokens[i] >= 0:
            tokens[i] = ids[tokens[i]]
        if tokens[i] < 0:
            runs += i - begin > 1
            begin = i + 1
    capacity = 16
    while capacity < 2 * runs:
        capacity *= 2
    slots = np.zeros(capacity, np.uint64)
    mask = np.uint64(capacity - 1)
    firsts = np.empty(runs, np.int32)
    times = np.empty(runs, np.int32)
    distinct = 0
    heavy = 0
    light = 0
    begin = 0
    code = _0
    for i in range(tokens.size):
        if tokens[i] >= 0:
            code = _fold(code, np.uint64(tokens[i] + 1))
            continue
        if i - begin > 1:
            at = _mix(code) & mask
            while True:
                slot = slots[at]
                if slot == _0:
                    slots[at] = (code >> _32 << _32) | np.uint64(distinct + 1)
                    firsts[distinct] = begin
                    times[distinct] = 1
                    distinct += 1
                    light += i - begin + 1
                    break
                run = np.int64(slot & _LOW) - 1
                if slot >> _32 == code >> _32 and _same_run(tokens, begin, firsts[run]):
                    if times[run] == 1:
                        light -= i - begin + 1
                        heavy += i - begin + 1
                    times[run] += 1
                    break
                at = (at + _1) & mask
        begin = i + 1
        code = _0
    if expand_all:
        heavy += light
        light = 0
    text = np.empty(heavy + light, np.int32)
    weights = np.empty(heavy, np.int32)
    ends = np.empty(heavy, np.int32)
    lower = 0
    upper = heavy
    for run in range(distinct):
        at_heavy = expand_all or times[run] > 1
        out = lower if at_heavy else upper
        start = out
        token = firsts[run]
        while True:
            text[out] = tokens[token]
            out += 1
            if tokens[token] < 0:
                break
            token += 1
        if at_heavy:
            weights[start:out] = times[run]
            ends[start:out] = out - 1
            lower = out
        else:
            upper = out
    return text, weights, ends


@njit
def _same_run(tokens, one, other):
    while tokens[one] == tokens[other]:
        if tokens[one] < 0:
            return True
        one += 1
        other += 1
    return False


@njit(nogil=True, cache=True)
def count_first(text, words):
    """Where each word's group begins in :func:`sort_first`'s result, int64 ``[words + 1]``."""
    starts = np.zeros(words + 1, np.int64)
    for i in range(text.size - 1):
        if text[i] >= 0 and text[i + 1] >= 0:
            starts[text[i] + 1] += 1
    for word in range(words):
        starts[word + 1] += starts[word]
    return starts


@njit(nogil=True, cache=True)
def sort_first(text, starts, positions):
    """Positions of every word but a run's last, plus one, grouped by the word."""
    free = starts.copy()
    for i in range(text.size - 1):
        word = text[i]
        if word >= 0 and text[i + 1] >= 0:
            positions[free[word]] = i + 1
            free[word] += 1


@njit(nogil=True, cache=True)
def grow_trie(text, weights, ends, groups, starts, word, high, min_count, nodes, filled, stack, depth, tally, touched):
    """The trie of the known n-grams that begin with the words ``word`` to ``high - 1``, depth first.

    A node's group is the positions that follow its occurrences. The group is counted by next word; the words that
    come ``min_count`` times are the node's children and take their share of the group along. Groups live in one row of
    ``groups`` and, one level down, in the same place of the other, and back. Where only one word goes on, the chain
    is followed without making nodes, so a passage that is repeated as a whole costs one node a position.

    Stops where ``nodes`` or ``stack`` is full: make it longer and call again with what was returned.

    :param nodes: int32 ``[capacity, 4]`` out: parent (an earlier row, or -1 - word for the n-gram of one word), the
        node's own word, and its tail as begin and length in ``text``.
    :param stack: int64 ``[capacity, 5]``, the groups still to do; ``depth`` of them, 0 at first.
    :param tally: int64 ``[words]`` zeros; ``touched`` int32 ``[words]``.
    :return: (word reached, depth, nodes filled)
    """
    heavy = weights.size
    while word < high:
        if depth == 0:
            stack[0, 0], stack[0, 1], stack[0, 2] = starts[word], starts[word + 1], 0
            stack[0, 3], stack[0, 4] = -1 - word, 0
            depth = 1
        while depth > 0:
            depth -= 1
            begin, end, side = stack[depth, 0], stack[depth, 1], stack[depth, 2]
            node, chain = stack[depth, 3], stack[depth, 4]
            known = 0
            while True:
                if end - begin == 1:
                    # One place that counts min_count times (it is known to, being here) goes on to its run's end.
                    position = groups[side, begin]
                    if position < heavy and weights[position] >= min_count:
                        chain += ends[position] - position
                        groups[side, begin] = ends[position]
                    break
                distinct = 0
                for i in range(begin, end):
                    position = groups[side, i]
                    label = text[position]
                    if label < 0:
                        continue
                    if tally[label] == 0:
                        touched[distinct] = label
                        distinct += 1
                    # The number of positions in the low half, their weight in the high half: one access for two.
                    weight = np.int64(weights[position]) if position < heavy else np.int64(1)
                    tally[label] += (weight << 32) + 1
                known = 0
                for i in range(distinct):
                    label = touched[i]
                    if tally[label] >> 32 >= min_count:
                        touched[known] = label
                        known += 1
                    else:
                        tally[label] = 0
                if known != 1:
                    break
                label = touched[0]
                tally[label] = 0
                known = 0
                to = begin
                for i in range(begin, end):
                    position = groups[side, i]
                    groups[side, to] = position + 1
                    to += text[position] == label
                end = to
                chain += 1

            if filled + known + SHORTEST_TAIL > nodes.shape[0] or depth + known > stack.shape[0]:
                for i in range(known):
                    tally[touched[i]] = 0
                stack[depth, 0], stack[depth, 1], stack[depth, 2] = begin, end, side
                stack[depth, 3], stack[depth, 4] = node, chain
                return word, depth + 1, filled

            chain_begin = groups[side, begin] - chain
            while chain > 0 and (chain < SHORTEST_TAIL or node < 0):
                nodes[filled, 0], nodes[filled, 1], nodes[filled, 3] = node, text[chain_begin], 0
                node = filled
                filled += 1
                chain -= 1
                chain_begin += 1
            if chain > 0:
                nodes[node, 2], nodes[node, 3] = chain_begin, chain
            if known == 0:
                continue

            free = begin
            for i in range(known):
                label = touched[i]
                count = tally[label] & 0xFFFFFFFF
                stack[depth, 0], stack[depth, 1], stack[depth, 2] = free, free + count, 1 - side
                stack[depth, 3], stack[depth, 4] = filled, 0
                depth += 1
                nodes[filled, 0], nodes[filled, 1], nodes[filled, 3] = node, label, 0
                filled += 1
                tally[label] = free + 1
                free += count
            for i in range(begin, end):
                position = groups[side, i]
                label = text[position]
                if label >= 0 and tally[label] != 0:
                    groups[1 - side, tally[label] - 1] = position + 1
                    tally[label] += 1
            for i in range(known):
                tally[touched[i]] = 0
        word += 1
    return word, depth, filled


@njit
def _entry(node, word):
    return (np.uint64(node) << _32) | (np.uint64(word + 1) << _1)


@intrinsic
def match_bucket(context: Any, slots: Any, first: Any, entry: Any) -> Any:
    """Which of the 8 slots from ``first`` on hold ``entry``, its flag apart: a bit each. One vector comparison."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        eight = ir.VectorType(ir.IntType(64), BUCKET)
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        pointer = builder.bitcast(builder.gep(data, [arguments[1]]), eight.as_pointer())
        row = builder.load(pointer, align=8)
        one = builder.insert_element(ir.Constant(eight, ir.Undefined), arguments[2], ir.Constant(ir.IntType(32), 0))
        all_lanes = ir.Constant(ir.VectorType(ir.IntType(32), BUCKET), [0] * BUCKET)
        copies = builder.shuffle_vector(one, ir.Constant(eight, ir.Undefined), all_lanes)
        unequal = builder.xor(row, copies)
        equal = builder.icmp_unsigned("<", unequal, ir.Constant(eight, [2] * BUCKET))
        bits = builder.bitcast(equal, ir.IntType(BUCKET))
        return builder.zext(bits, ir.IntType(64))

    return types.uint64(slots, types.int64, types.uint64), generate


@njit
def _home(entry, size):
    """The first slot of an entry's bucket: a hash scaled to the number of buckets (Lemire 2019)."""
    entry >>= _1  # the flag is no part of the key
    code = (entry ^ (entry >> np.uint64(29))) * _MIX
    return np.int64(((code >> _32) * np.uint64(size // BUCKET)) >> _32) * BUCKET


@njit
def _find_entry(entry, slots):
    """The slot of ``entry``, or -1."""
    first = _home(entry, slots.size)
    while True:
        found = match_bucket(slots, first, entry)
        if found != _0:
            return first + trailing_zeros(found)
        if slots[first + BUCKET - 1] == _0:  # a bucket fills up from its first slot
            return np.int64(-1)
        first += BUCKET
        if first == slots.size:
            first = 0


@njit
def _enter(entry, slots):
    """Put an entry that is not there into the table; returns its slot."""
    at = _home(entry, slots.size)
    while slots[at] != _0:
        at += 1
        if at == slots.size:
            at = 0
    slots[at] = entry
    return at


@njit(nogil=True, cache=True)
def build_trie(nodes, text, words, slots):
    """Enter the nodes of :func:`grow_trie` into the empty table ``slots`` and keep the text that tails point to.

    :return: (length of the longest n-gram, tail_nodes, tail_starts, tail_lengths, tail_text): one row a tail, by
        rising node.
    """
    place = np.empty(nodes.shape[0], np.int32)
    depths = np.empty(nodes.shape[0], np.int32)
    longest = 0
    tails = 0
    for node in range(nodes.shape[0]):
        parent, label, tail = nodes[node, 0], nodes[node, 1], nodes[node, 3]
        above = np.int64(-1 - parent) if parent < 0 else words + place[parent]
        at = _enter(_entry(above, label) | np.uint64(tail > 0), slots)
        place[node] = at
        depths[node] = tail + (2 if parent < 0 else depths[parent] + 1)
        longest = max(longest, depths[node])
        tails += tail > 0
    which = np.empty(tails, np.int64)
    tails = 0
    for node in range(nodes.shape[0]):
        if nodes[node, 3] > 0:
            which[tails] = node
            tails += 1

    # Tails overlap (every place of a repeated passage has one to its end): keep the union of the spans.
    begins = np.empty(tails, np.int32)
    lengths = np.empty(tails, np.int32)
    for tail in range(tails):
        begins[tail] = nodes[which[tail], 2]
        lengths[tail] = nodes[which[tail], 3]
    by_begin = np.argsort(begins, kind="mergesort")
    kept = 0
    covered = 0
    for tail in by_begin:
        begin, end = np.int64(begins[tail]), np.int64(begins[tail]) + lengths[tail]
        kept += max(0, end - max(begin, covered))
        covered = max(covered, end)
    tail_text = np.empty(kept, np.int32)
    moved = np.empty(tails, np.int32)
    kept = 0
    covered = 0
    for tail in by_begin:
        begin, end = np.int64(begins[tail]), np.int64(begins[tail]) + lengths[tail]
        if begin > covered:
            covered = begin
        moved[tail] = kept - (covered - begin)
        for i in range(covered, end):
            tail_text[kept] = text[i]
            kept += 1
        covered = max(covered, end)

    holders = place[which]
    by_node = np.argsort(holders, kind="mergesort")
    return longest, holders[by_node], moved[by_node], lengths[by_node], tail_text


@njit(nogil=True, cache=True)
def build_phrases(ids, bounds, words, slots):
    """Enter given phrases, ``ids[bounds[i]:bounds[i + 1]]`` each; here the flag marks the end of a phrase."""
    for phrase in range(bounds.size - 1):
        node = np.int64(ids[bounds[phrase]])
        for i in range(bounds[phrase] + 1, bounds[phrase + 1]):
            entry = _entry(node, ids[i])
            at = _find_entry(entry, slots)
            if at < 0:
                at = _enter(entry, slots)
            if i + 1 == bounds[phrase + 1]:
                slots[at] |= _1
            node = words + at


# --- covers -----------------------------------------------------------------------------------------------------


@njit
def _find_tail(slot, tail_nodes):
    low, high = 0, tail_nodes.size
    while low < high:
        middle = (low + high) >> 1
        if tail_nodes[middle] < slot:
            low = middle + 1
        else:
            high = middle
    return low


@njit(nogil=True, cache=True)
def cover_greedy(ids, lengths, words, slots, tail_nodes, tail_starts, tail_lengths, tail_text, begins, pieces):
    """Leftmost-longest covers of sentences by a set of n-grams that is closed under substrings.

    A piece that cannot go on ends, and the word at hand begins the next one, so each word costs one look-up. A
    look-up must wait for the one before it: several sentences take turns, so that one computes while another waits.

    :param ids: int32, the words of all sentences; ``lengths`` int32, words a sentence.
    :param begins: uint8 out, 1 where a piece begins; ``pieces`` int32 out, pieces a sentence.
    """
    sentence = np.full(_LANES, -1, np.int64)
    position = np.zeros(_LANES, np.int64)
    end = np.zeros(_LANES, np.int64)
    node = np.zeros(_LANES, np.int64)
    count = np.zeros(_LANES, np.int64)
    tail = np.zeros(_LANES, np.int64)
    tail_end = np.zeros(_LANES, np.int64)
    following = 0
    start = 0
    working = _LANES
    while working > 0:
        for lane in range(_LANES):
            i = position[lane]
            if i == end[lane]:
                if sentence[lane] == lengths.size:
                    continue
                if sentence[lane] >= 0:
                    pieces[sentence[lane]] = count[lane]
                sentence[lane] = following
                if following == lengths.size:
                    working -= 1
                    continue
                position[lane] = start
                start += lengths[following]
                end[lane] = start
                following += 1
                node[lane] = NOWHERE
                count[lane] = 0
                tail[lane] = tail_end[lane] = 0
                continue
            position[lane] = i + 1
            word = np.int64(ids[i])
            if tail[lane] < tail_end[lane]:
                goes_on = np.int64(tail_text[tail[lane]] == word)
                tail[lane] += 1
                tail_end[lane] *= goes_on
                onward = node[lane]
            else:
                # Whether a piece goes on cannot be foreseen, so no branch depends on it: 0 and 1 are multiplied.
                entry = _entry(node[lane], word)
                at = _home(entry, slots.size)
                found = match_bucket(slots, at, entry)
                if slots[at + BUCKET - 1] != _0 and found == _0:  # in this order: few buckets are full
                    at = max(_find_entry(entry, slots), 0)
                    found = match_bucket(slots, at - at % BUCKET, entry)
                else:
                    at += trailing_zeros(found) & (BUCKET - 1)
                goes_on = np.int64(found != _0)
                onward = words + at
                if slots[at] & np.uint64(goes_on) != _0:
                    row = _find_tail(at, tail_nodes)
                    tail[lane] = tail_starts[row]
                    tail_end[lane] = np.int64(tail_starts[row]) + tail_lengths[row]
            node[lane] = word + (onward - word) * goes_on
            count[lane] += 1 - goes_on
            begins[i] = 1 - goes_on


@njit(nogil=True, cache=True)
def cover_least(ids, lengths, words, slots, begins, pieces):
    """Covers with the fewest pieces, by dynamic programming, for a set that is not closed under substrings.

    ``best[j]`` is the least number of pieces for the first ``j`` words; single words are always pieces. Among equal
    covers the one whose last piece is longest is taken, and so on towards the front. Arguments as above.
    """
    longest = 0
    for length in lengths:
        longest = max(longest, length)
    best = np.empty(longest + 1, np.int32)
    back = np.empty(longest + 1, np.int32)
    offset = 0
    for sentence in range(lengths.size):
        length = np.int64(lengths[sentence])
        best[: length + 1] = length + 1
        best[0] = 0
        for i in range(length):
            cost = best[i] + 1
            if cost < best[i + 1]:
                best[i + 1] = cost
                back[i + 1] = i
            node = np.int64(ids[offset + i])
            for j in range(i + 1, length):
                at = _find_entry(_entry(node, ids[offset + j]), slots)
                if at < 0:
                    break
                if slots[at] & _1 != _0 and cost < best[j + 1]:
                    best[j + 1] = cost
                    back[j + 1] = i
                node = words + at
        pieces[sentence] = best[length]
        begins[offset : offset + length] = 0
        j = length
        while j > 0:
            j = np.int64(back[j])
            begins[offset + j] = 1
        offset += length

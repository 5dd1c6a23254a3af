"""Compiled loops that learn known n-grams: training text -> runs of words -> nodes -> the trie's
table.

Conventions
    training text  int32 ids, runs of words that may take part in a known n-gram, each run ended by
                   LINE_END.
    place          position of a word in the training text; runs are repeated where
                   ``place < weights.size``.
    group          of an n-gram: the places just after its occurrences.
    node           a known n-gram of two words or more: its parent and its last word. A node with a
                   *tail* also stands for the words that must follow before the trie branches again
                   (path compression; Morrison 1968, PATRICIA).

Three lines ``a b c d e``, ``a b c d e`` and ``a b x``, with a minimum count of 2 (ids by falling
count)::

    text     0 1 2 3 4 / 0 1 /
    weights  2 2 2 2 2 2
    ends     5 5 5 5 5 5
    groups   0: 1 7, 1: 2, 2: 3, 3: 4
    nodes    0-1-(2 3 4), 1-2, 1-2-3, 1-2-3-4, 2-3, 2-3-4, 3-4

The places after ``a`` (0) are 1 and 7. Both hold ``b``, and after it only ``c d e`` occurs twice:
one node with a tail. The table of nodes is in ``trie_table.py``; the loops that read it are in
``cover_kernels.py``.
"""

# mypy: ignore-errors

import numpy as np

from cgbench.benchmark.measure.known_ngrams.trie_arrays import Runs, Tails
from cgbench.benchmark.measure.known_ngrams.trie_table import enter, entry_of
from cgbench.engines.compiled import kernel, part
from cgbench.errors import InputError
from cgbench.text.byte_kernels import FIRST, LOW_HALF, U0, U1, U32, fold, mix
from cgbench.text.word_counts import LARGEST
from cgbench.text.word_kernels import copy_spans

PARENT, WORD, TAIL_BEGIN, TAIL_LENGTH = range(4)
"""Columns of nodes: an earlier row, or -1 - word for a parent of one word; the node's own word; its
tail.
"""

BEGIN, END, SIDE, NODE, CHAIN = range(5)
"""Columns of the stack of pending groups: span and row in ``groups``, the node, forced words since
that node.
"""

SHORTEST_TAIL = 3
"""Shortest chain of forced words stored as a tail; shorter ones are cheaper as ordinary nodes."""

_WEIGHT, _PLACES = 32, (1 << 32) - 1
"""Halves of a tally of :func:`grow_trie`: the bit where the weight begins, and the mask of the
number of places.
"""


def collapse(tokens, ids, expand_all):
    """Renumber the words of a training text in place, and keep each distinct run of words once with
    its count.

    :param tokens: int32, words and LINE_END at line ends.
    :param ids: int32, the new id of each old one; -1 for a word in no known n-gram, which ends a
        run.
    :param expand_all: also keep a weight for runs that occur once.
    :returns: the :class:`.Runs` of two words or more.
    """
    runs = _renumber(tokens, ids)
    slots = np.zeros(1 << max(2 * runs - 1, 15).bit_length(), np.uint64)
    firsts = np.empty(runs, np.int32)
    times = np.empty(runs, np.int32)
    distinct, repeated, single = _find_runs(tokens, slots, firsts, times)
    if expand_all:
        repeated += single
        single = 0
    text = np.empty(repeated + single, np.int32)
    weights = np.empty(repeated, np.int32)
    ends = np.empty(repeated, np.int32)
    _write_runs(tokens, firsts[:distinct], times, expand_all, text, weights, ends)
    return Runs(text, weights, ends)


@kernel
def _renumber(tokens, ids):
    """Give the words their new ids; returns the number of runs of two words or more."""
    runs = 0
    begin = 0
    for i in range(tokens.size):
        if tokens[i] >= 0:
            tokens[i] = ids[tokens[i]]
        if tokens[i] < 0:
            runs += i - begin > 1
            begin = i + 1
    return runs


@kernel
def _find_runs(tokens, slots, firsts, times):
    """The first occurrence and the count of each distinct run.

    :param slots: uint64 ``[2^k]`` zeros, a hash table: the high half of a run's hash, and its
        number + 1.
    :returns: (distinct runs, places in repeated runs, places in other runs)
    """
    mask = np.uint64(slots.size - 1)
    distinct = 0
    repeated = 0  # places in runs that occur more than once; single: in the others
    single = 0
    begin = FIRST
    code = U0
    for i in range(tokens.size):
        if tokens[i] >= 0:
            code = fold(code, np.uint64(tokens[i] + 1))
            continue
        # A run ends here: look it up, or enter it.
        if i - begin > 1:
            at = mix(code) & mask
            while True:
                slot = slots[at]
                if slot == U0:
                    slots[at] = (code >> U32 << U32) | np.uint64(distinct + 1)
                    firsts[distinct] = begin
                    times[distinct] = 1
                    distinct += 1
                    single += i - begin + 1
                    break
                run = np.int64(slot & LOW_HALF) - 1
                if slot >> U32 == code >> U32 and _same_run(tokens, begin, np.int64(firsts[run])):
                    if times[run] == 1:
                        single -= i - begin + 1
                        repeated += i - begin + 1
                    times[run] += 1
                    break
                at = (at + U1) & mask
        begin = i + 1
        code = U0
    return distinct, repeated, single


@kernel
def _write_runs(tokens, firsts, times, expand_all, text, weights, ends):
    """Write each distinct run once: runs with a weight first."""
    next_repeated = 0
    next_single = weights.size
    for run in range(firsts.size):
        weighed = expand_all or times[run] > 1
        first = next_repeated if weighed else next_single
        out = first
        token = firsts[run]
        while True:
            text[out] = tokens[token]
            out += 1
            if tokens[token] < 0:
                break
            token += 1
        if weighed:
            for index in range(first, out):
                weights[index] = times[run]
                ends[index] = out - 1
            next_repeated = out
        else:
            next_single = out


@part
def _same_run(tokens, first, second):
    while tokens[first] == tokens[second]:
        if tokens[first] < 0:
            return True
        first += 1
        second += 1
    return False


@kernel
def count_places(text, starts):
    """Add to ``starts[word + 1]`` the number of places where ``word`` is followed by another
    word.
    """
    for index in range(text.size - 1):
        if text[index] >= 0 and text[index + 1] >= 0:
            starts[text[index] + 1] += 1


@kernel
def sort_first(text, free, groups):
    """The places after every word but a run's last, grouped by that word: the initial groups of
    :func:`grow_trie`.

    :param free: the start of each word's group; becomes its end.
    """
    for index in range(text.size - 1):
        word = text[index]
        if word >= 0 and text[index + 1] >= 0:
            groups[free[word]] = index + 1
            free[word] += 1


@kernel
def grow_trie(runs, groups, starts, first, high, min_count, nodes, filled, stack, depth, tallies):
    """The trie of the known n-grams that begin with the words ``first`` to ``high - 1``, depth
    first.

    The words at the places of a group are counted. Those that occur ``min_count`` times are the
    node's children; each takes its share of the group, moved on by one place. Groups alternate
    between the two rows of ``groups`` from level to level. Where only one word can follow, no nodes
    are made along the chain, so a long repeated passage costs one node per place.

    Stops when ``nodes`` or ``stack`` is full: enlarge it and call again with the returned values.

    :param nodes: int32 ``[capacity, 4]`` out, see PARENT.
    :param stack: int64 ``[capacity, 5]``, the pending groups, see BEGIN; ``depth`` of them, 0 at
        first.
    :returns: (first word that is not done, depth, nodes filled)
    """
    text, weights, ends = runs
    tally, free, touched = tallies
    repeated = weights.size
    while first < high:
        if depth == 0:
            stack[0, BEGIN], stack[0, END], stack[0, SIDE] = starts[first], starts[first + 1], 0
            stack[0, NODE], stack[0, CHAIN] = -1 - first, 0
            depth = 1
        while depth > 0:
            depth -= 1
            begin, end, side = stack[depth, BEGIN], stack[depth, END], stack[depth, SIDE]
            node, chain = stack[depth, NODE], stack[depth, CHAIN]
            children = 0
            while True:
                if end - begin == 1:
                    # A single place with enough weight extends to the end of its run.
                    index = groups[side, begin]
                    if index < repeated and weights[index] >= min_count:
                        chain += ends[index] - index
                        groups[side, begin] = ends[index]
                    break
                distinct = 0
                for i in range(begin, end):
                    index = groups[side, i]
                    word = text[index]
                    if word < 0:
                        continue
                    if tally[word] == 0:
                        touched[distinct] = word
                        distinct += 1
                    # Places and their weight in one number: one memory access instead of two.
                    weight = np.int64(weights[index]) if index < repeated else np.int64(1)
                    tally[word] += (weight << _WEIGHT) + 1
                known = 0
                for i in range(distinct):
                    word = touched[i]
                    if tally[word] >> _WEIGHT >= min_count:
                        touched[known] = word
                        known += 1
                    else:
                        tally[word] = 0
                if known != 1:
                    children = known
                    break
                only = touched[0]
                tally[only] = 0
                to = begin
                for i in range(begin, end):
                    index = groups[side, i]
                    groups[side, to] = index + 1
                    to += text[index] == only
                end = to
                chain += 1

            if (
                filled + children + SHORTEST_TAIL > nodes.shape[0]
                or depth + children > stack.shape[0]
            ):
                for i in range(children):
                    tally[touched[i]] = 0
                stack[depth, BEGIN], stack[depth, END], stack[depth, SIDE] = begin, end, side
                stack[depth, NODE], stack[depth, CHAIN] = node, chain
                return first, depth + 1, filled

            chain_begin = groups[side, begin] - chain
            while chain > 0 and (chain < SHORTEST_TAIL or node < 0):
                nodes[filled, PARENT], nodes[filled, WORD] = node, text[chain_begin]
                nodes[filled, TAIL_LENGTH] = 0
                node = filled
                filled += 1
                chain -= 1
                chain_begin += 1
            if chain > 0:
                nodes[node, TAIL_BEGIN], nodes[node, TAIL_LENGTH] = chain_begin, chain
            if children == 0:
                continue

            # ``free`` is the next position of a child's places, plus one; 0 for words that are not
            # children.
            child_begin = begin
            for i in range(children):
                word = touched[i]
                child_end = child_begin + (tally[word] & _PLACES)
                tally[word] = 0
                free[word] = child_begin + 1
                stack[depth, BEGIN], stack[depth, END] = child_begin, child_end
                stack[depth, SIDE] = 1 - side
                stack[depth, NODE], stack[depth, CHAIN] = filled, 0
                depth += 1
                nodes[filled, PARENT], nodes[filled, WORD] = node, word
                nodes[filled, TAIL_LENGTH] = 0
                filled += 1
                child_begin = child_end
            for i in range(begin, end):
                index = groups[side, i]
                word = text[index]
                if word >= 0 and free[word] != 0:
                    groups[1 - side, free[word] - 1] = index + 1
                    free[word] += 1
            for i in range(children):
                free[touched[i]] = 0
        first += 1
    return first, depth, filled


def build_trie(nodes, text, words, slots):
    """Enter the nodes of :func:`grow_trie` into the empty table ``slots``, and keep the text of the
    tails.

    :returns: (length of the longest n-gram, :class:`.Tails`)
    """
    slot_of = np.empty(len(nodes), np.int32)
    longest = _enter_nodes(nodes, words, slots, slot_of, np.empty(len(nodes), np.int32))
    holds = nodes[:, TAIL_LENGTH] > 0
    holders = slot_of[holds]
    begins = nodes[holds, TAIL_BEGIN].astype(np.int64)
    lengths = nodes[holds, TAIL_LENGTH]
    del slot_of
    # Tails overlap (each place of a repeated passage has one to its end): keep the union of the
    # spans. Text before ``covered`` is kept already.
    by_begin = np.argsort(begins, kind="stable")
    begin = begins[by_begin]
    end = begin + lengths[by_begin]
    covered = np.maximum(begin, np.concatenate([[0], np.maximum.accumulate(end)])[:-1])
    sizes = np.maximum(0, end - covered)
    starts = np.cumsum(sizes) - sizes
    if int(sizes.sum()) > LARGEST:
        raise InputError(
            f"{int(sizes.sum()):,} words of repeated passages are more than the index can hold"
        )
    tail_text = np.empty(int(sizes.sum()), np.int32)
    copy_spans(text, covered, sizes, tail_text)
    moved = np.empty(len(begins), np.int32)
    moved[by_begin] = starts - (covered - begin)
    by_slot = np.argsort(holders, kind="stable")
    return longest, Tails(holders[by_slot], moved[by_slot], lengths[by_slot], tail_text)


@kernel
def _enter_nodes(nodes, words, slots, slot_of, depths):
    """Enter the nodes; returns the length of the longest n-gram.

    Fills ``slot_of`` and ``depths`` per node.
    """
    longest = 0
    for node in range(nodes.shape[0]):
        parent, word, length = nodes[node, PARENT], nodes[node, WORD], nodes[node, TAIL_LENGTH]
        above = np.int64(-1 - parent) if parent < 0 else words + slot_of[parent]
        slot_of[node] = enter(entry_of(above, np.int64(word)) | np.uint64(length > 0), slots)
        depths[node] = length + (2 if parent < 0 else depths[parent] + 1)
        longest = max(longest, depths[node])
    return longest

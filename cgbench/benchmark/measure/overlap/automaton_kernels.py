"""The compiled loops of ``automaton.py``: a suffix automaton of a test text, and a corpus read
through it.

The automaton is that of Blumer et al. (1985), built online for all sentences together. Its states
are classes of n-grams that end at the same places of the test text. Keys are compared in full, not
by hash alone: a row of the table has the whole key. Plain Python versions for tests are in
``tests/helpers/twins_overlap.py``.

Conventions
    ids       int32, words numbered from 0; ids from ``words`` on are not in the test text.
    states    0 is the empty n-gram. A state has the n-grams of ``lens[links[state]] + 1`` to
              ``lens[state]`` words, each the end of the next longer one.
    firsts    int32 ``[words]``: the state of each single word, its edge from state 0.
    table     uint64 ``[2^k, 2]``, open addressing, linear: state << 32 | word, or FREE; and the
              target of that edge (its number while the automaton is built).
    nodes     int32 ``[states, 4]``, the data of a state for a walk in 16 bytes: a word and the
              target of its edge (-1 and 0 for none), ``links``, ``lens``; the complement of
              ``lens`` if the table has more edges. Most states have one edge, so the table, which
              is too large for the cache, is rarely read.
    pairs     uint64 ``[2^k]``, a set of bits: set for each pair of adjacent words in the test text,
              and by collision for few others. Most pairs of a corpus are not in it. Then no n-gram
              of two words or more ends here, and one access to a small table is enough.
    matches   int32 ``[states, k]``, falling: the lengths of the k longest matches that ended in
              each state, 0 for none.

The test text ``a b a``, ``c b``: ``b`` ends where both ``a b`` and ``c b`` do, so it has a state of
its own, to which theirs are linked. The corpus ``c b a`` has its n-grams ``c``, ``c b`` and ``b
a``: with k = 1, ``matches`` gets 1 in the state of ``c``, 2 in that of ``c b``, and 2 in that of
``b a`` and ``a b a``, of which the longer did not occur.
"""

# mypy: ignore-errors

import numpy as np

from cgbench.engines.compiled import kernel, part

ALONE = -1
FREE = np.uint64(0xFFFFFFFFFFFFFFFF)  # no key: states and words are below 2^31
_MIX = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: Knuth, TAOCP 3, 6.4
_32, _6, _63, _1, _0 = np.uint64(32), np.uint64(6), np.uint64(63), np.uint64(1), np.uint64(0)


@part
def _find(table, state, word):
    """The row of a key, or the free row for it."""
    key = np.uint64(state) << _32 | np.uint64(word)
    last = table.shape[0] - 1
    row = np.int64(((key ^ key >> _32) * _MIX) >> _32) & last
    while table[row, 0] != key and table[row, 0] != FREE:
        row = (row + 1) & last
    return row


@part
def _edge(table, state, word):
    """The number of an edge, or -1."""
    row = _find(table, state, word)
    return np.int64(-1) if table[row, 0] == FREE else np.int64(table[row, 1])


@part
def _add_edge(table, heads, edges, filled, state, word, target):
    row = _find(table, state, word)
    table[row, 0] = np.uint64(state) << _32 | np.uint64(word)
    table[row, 1] = np.uint64(filled)
    edges[filled, 0] = word
    edges[filled, 1] = target
    edges[filled, 2] = heads[state]
    heads[state] = filled
    return filled + 1


@part
def _split(parent, state, word, clone, firsts, table, heads, edges, filled, links, lens):
    """Move the shorter n-grams of ``state``, which extend ``parent``, to a state of their own,
    ``clone``.
    """
    lens[clone] = lens[parent] + 1
    links[clone] = links[state]
    links[state] = clone
    edge = np.int64(heads[state])
    while edge >= 0:
        filled = _add_edge(table, heads, edges, filled, clone, edges[edge, 0], edges[edge, 1])
        edge = np.int64(edges[edge, 2])
    while parent > 0:
        edge = _edge(table, parent, word)
        if edge < 0 or edges[edge, 1] != state:
            return filled
        edges[edge, 1] = clone
        parent = np.int64(links[parent])
    if firsts[word] == state:
        firsts[word] = clone
    return filled


@part
def _bit(pairs, before, word):
    """The index of a pair's bit, and the bit."""
    code = (np.uint64(before) << _32 | np.uint64(word)) * _MIX
    code ^= code >> _32
    return np.int64(code >> _6) & (pairs.size - 1), _1 << (code & _63)


@kernel
def enter_pairs(ids, lengths, pairs):
    """Set the bits of all adjacent pairs of words."""
    position = 0
    for length in lengths:
        for i in range(position + 1, position + length):
            index, bit = _bit(pairs, ids[i - 1], ids[i])
            pairs[index] |= bit
        position += length


@kernel
def build_automaton(ids, lengths, firsts, table, heads, edges, links, lens):
    """Build the automaton of sentences, in arrays with room for 2 states and 3 edges per word, and
    one more state.

    ``firsts`` and ``heads`` (the last edge of each state) are -1 at first. ``edges`` int32: word,
    state, edge before.

    :returns: (states, edges)
    """
    states = np.int64(1)
    filled = np.int64(0)
    links[0] = -1
    lens[0] = 0
    position = 0
    for length in lengths:
        last = np.int64(0)
        for i in range(position, position + length):
            word = np.int64(ids[i])
            # Follow the edge of the word, if an earlier sentence made one.
            if last == 0:
                target = np.int64(firsts[word])
            else:
                edge = _edge(table, last, word)
                target = np.int64(-1) if edge < 0 else np.int64(edges[edge, 1])
            if target >= 0:  # an earlier sentence has the same beginning
                if lens[target] != lens[last] + 1:
                    filled = _split(
                        last, target, word, states, firsts, table, heads, edges, filled, links, lens
                    )
                    target = states
                    states += 1
                last = target
                continue
            # A new state, and its edges from the states of all shorter contexts.
            new = states
            states += 1
            lens[new] = lens[last] + 1
            parent = last
            target = np.int64(-1)
            while parent > 0:
                edge = _edge(table, parent, word)
                if edge >= 0:
                    target = np.int64(edges[edge, 1])
                    break
                filled = _add_edge(table, heads, edges, filled, parent, word, new)
                parent = np.int64(links[parent])
            if parent == 0 and target < 0:
                target = np.int64(firsts[word])
                if target < 0:
                    firsts[word] = new
            # Its link: the state of the longest n-gram that ended elsewhere before.
            if target < 0:
                links[new] = 0
            elif lens[target] == lens[parent] + 1:
                links[new] = target
            else:
                filled = _split(
                    parent, target, word, states, firsts, table, heads, edges, filled, links, lens
                )
                links[new] = states
                states += 1
            last = new
        position += length
    return states, filled


@kernel
def enter_edges(building, edges, table):
    """Copy the edges into the final table, with their targets instead of their numbers."""
    last = table.shape[0] - 1
    for old in range(building.shape[0]):
        key = building[old, 0]
        if key != FREE:
            row = np.int64(((key ^ key >> _32) * _MIX) >> _32) & last
            while table[row, 0] != FREE:
                row = (row + 1) & last
            table[row, 0] = key
            table[row, 1] = np.uint64(edges[np.int64(building[old, 1]), 1])


@part
def _step(word, state, matched, firsts, table, nodes):
    """Read a word: the state of the longest n-gram of the test text that ends here, and its
    length.
    """
    while state > 0:
        if nodes[state, 0] == word:
            return np.int64(nodes[state, 1]), matched + 1
        if nodes[state, 3] < 0:  # the table has more edges
            row = _find(table, state, word)
            if table[row, 0] != FREE:
                return np.int64(table[row, 1]), matched + 1
        state = np.int64(nodes[state, 2])
        matched = np.int64(nodes[state, 3])
        if matched < 0:
            matched = ~matched
    return np.int64(firsts[word]), np.int64(1)


@part
def _note(matches, state, matched):
    """Keep a match of a state if it is among the longest."""
    column = matches.shape[1] - 1
    if matched > matches[state, column]:
        while column > 0 and matches[state, column - 1] < matched:
            matches[state, column] = matches[state, column - 1]
            column -= 1
        matches[state, column] = matched


@kernel
def walk(ids, lengths, firsts, table, nodes, pairs, matches, noted):
    """Read sentences of a corpus, and keep the longest matches that end in each state.

    :param noted: uint8 zeros, one per word of the test text: the occurrences noted so far, up to
        the maximum.
    :returns: the number of words that are also in the test text
    """
    most = matches.shape[1]
    # In most pairs of words the second never follows the first in the test text. All such a word
    # adds is one occurrence. Once enough of these are noted, neither its state nor its matches are
    # read, which avoids cache misses.
    shared = 0
    position = 0
    for length in lengths:
        state = np.int64(0)  # ALONE: the state of the previous word alone, not looked up yet
        matched = np.int64(0)
        for i in range(position, position + length):
            word = np.int64(ids[i])
            if word >= firsts.size:
                state = np.int64(0)
                continue
            shared += 1
            if state != 0:
                before = np.int64(ids[i - 1])
                index, bit = _bit(pairs, before, word)
                if pairs[index] & bit != _0:
                    if state == ALONE:
                        state = np.int64(firsts[before])
                        matched = np.int64(1)
                    state, matched = _step(word, state, matched, firsts, table, nodes)
                    if matched > 1:
                        _note(matches, state, matched)
                        continue
            state = np.int64(ALONE)
            if noted[word] < most:
                _note(matches, np.int64(firsts[word]), np.int64(1))
                if noted[word] < 255:
                    noted[word] += np.uint8(1)
        position += length
    return shared


@kernel
def merge_matches(matches, states, further):
    """Merge the matches of another part of the corpus: ``more[i]`` are those of ``states[i]``."""
    for i in range(states.size):
        for j in range(further.shape[1]):
            _note(matches, np.int64(states[i]), np.int64(further[i, j]))


@kernel
def settle(order, links, lens, matches, min_count, totals, known):
    """The length of the longest n-gram that ends in each state and occurred at least ``min_count``
    times (0: none).

    A match in a state is also a match in the states that it is linked to, of all their n-grams.

    :param order: the states by rising length.
    :param totals: int32 ``[states]``, zeros: gets the number of matches of the states that are
        linked to each, up to ``matches.shape[1]``; ``known`` int32 ``[states]`` out.
    """
    most = matches.shape[1]
    for at in range(order.size - 1, 0, -1):
        state = order[at]
        below = totals[state]
        known[state] = lens[state] if below >= min_count else matches[state, min_count - 1 - below]
        total = below
        for j in range(most):
            total += matches[state, j] > 0
        link = links[state]
        if link > 0:
            totals[link] = min(most, totals[link] + total)
    known[0] = 0
    for at in range(1, order.size):
        state = order[at]
        if known[state] == 0:
            known[state] = known[links[state]]


@kernel
def find_ends(ids, lengths, firsts, table, nodes, known, ends):
    """Write the length of the longest known n-gram that ends at each word of sentences into
    ``ends``.

    :returns: the first sentence that is not in the test text; -1 if all are
    """
    position = 0
    for sentence in range(lengths.size):
        state = np.int64(0)
        matched = np.int64(0)
        end = position + lengths[sentence]
        for i in range(position, end):
            word = np.int64(ids[i])
            if word >= firsts.size:
                return sentence
            state, matched = _step(word, state, matched, firsts, table, nodes)
            if matched != i + 1 - position:
                return sentence
            ends[i] = known[state]
        position = end
    return -1


@kernel
def measure_overlap(ends, lengths, orders, counts, pieces, covered, longest, longest_end):
    """Measure sentences from the length of the longest known n-gram that ends at each of their
    words (``ends``).

    :param counts: int32 ``[sentences, orders]`` out: the number of known n-grams of each order;
        ``pieces``: of a least cover by known n-grams, leftmost-longest; ``covered``: words within
        known n-grams of the highest order or more; ``longest``: words of the longest known n-gram,
        and ``longest_end``: where the first of them ends, in words.
    """
    top = orders[orders.size - 1]
    position = 0
    for sentence in range(lengths.size):
        end = position + lengths[sentence]
        begin = position
        free = position  # the first uncovered word
        for i in range(position, end):
            if ends[i] < i + 1 - begin or i == position:
                begin = i
                pieces[sentence] += 1
            for j in range(orders.size):
                counts[sentence, j] += ends[i] >= orders[j]
            if ends[i] > longest[sentence]:
                longest[sentence] = ends[i]
                longest_end[sentence] = i + 1 - position
            if ends[i] >= top:
                start = max(free, i + 1 - ends[i])
                covered[sentence] += i + 1 - start
                free = i + 1
        position = end

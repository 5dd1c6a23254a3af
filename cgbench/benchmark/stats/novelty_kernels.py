"""The compiled loops of ``novelty.py``: a trie of the n-grams of a test text, and a training text walked through it.

Nothing is compared by hash alone: a slot of the table holds its whole key, (the node of the n-gram without its last
word, the last word), so that no two n-grams can ever be taken for one another. The twins are in
``tests/unit/benchmark/stats/test_novelty.py``.

Conventions
    ids       int32, words numbered from 0; what is not below ``words`` is a word that the test text does not have.
    nodes     node i < words is the word i; longer n-grams follow in the order of their first occurrence.
    keys      uint64 ``[2^k]``, open addressing, linear: parent node << 32 | word, or FREE.
    children  int32 ``[2^k]``: the node of the key beside it.
"""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from cgbench.compiled import kernel, part

FREE = np.uint64(0xFFFFFFFFFFFFFFFF)  # no key: nodes and words are below 2^31
_MIX = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: Knuth, TAOCP 3, 6.4
_32 = np.uint64(32)


@part
def _find(keys, parent, word):
    """The slot of a key: where it is, or the free one where it belongs."""
    key = np.uint64(parent) << _32 | np.uint64(word)
    last = keys.size - 1
    slot = np.int64(((key ^ key >> _32) * _MIX) >> _32) & last
    while keys[slot] != key and keys[slot] != FREE:
        slot = (slot + 1) & last
    return slot


@kernel
def enter_ngrams(ids, lengths, order, keys, children, parents, lasts, counts, filled, words, sentence, position):
    """Enter the n-grams of up to ``order`` words that begin in each sentence; go on at ``sentence``, ``position``.

    ``parents``, ``lasts`` int32 and ``counts`` int64, a row a node: the node without the last word, the last word, the
    occurrences. Stops before a sentence for which the table may be too small.

    :returns: (the sentence to go on with, its first word's position in ``ids``, nodes filled)
    """
    while sentence < lengths.size:
        length = lengths[sentence]
        room = filled - words + length * (order - 1)
        if 2 * room > keys.size or words + room > parents.size:
            break
        end = position + length
        for start in range(position, end):
            node = ids[start]
            counts[node] += 1
            for i in range(start + 1, min(end, start + order)):
                slot = _find(keys, node, ids[i])
                if keys[slot] == FREE:
                    keys[slot] = np.uint64(node) << _32 | np.uint64(ids[i])
                    children[slot] = filled
                    parents[filled] = node
                    lasts[filled] = ids[i]
                    filled += 1
                node = children[slot]
                counts[node] += 1
        position = end
        sentence += 1
    return sentence, position, filled


@kernel
def enter_nodes(keys, children, parents, lasts, words, filled):
    """Enter the nodes that are there already into an empty, larger table."""
    for node in range(words, filled):
        slot = _find(keys, parents[node], lasts[node])
        keys[slot] = np.uint64(parents[node]) << _32 | np.uint64(lasts[node])
        children[slot] = node


@kernel
def mark_seen(ids, lengths, order, keys, children, words, seen):
    """Set ``seen[node]`` (uint8) for every n-gram of up to ``order`` words of the trie that a training text holds."""
    position = 0
    for length in lengths:
        end = position + length
        for start in range(position, end):
            node = ids[start]
            if node >= words:
                continue
            seen[node] = 1
            for i in range(start + 1, min(end, start + order)):
                if ids[i] >= words:
                    break
                slot = _find(keys, node, ids[i])
                if keys[slot] == FREE:
                    break
                node = children[slot]
                seen[node] = 1
        position = end

"""Compiled loops that cover sentences with the fewest known pieces.

With the known n-grams of the example in ``trie_kernels.py`` (``a b c d e`` and its parts)::

    sentence  a b c x b c d e a
    ids       0 1 2 ? 1 2 3 4 0
    begins    1 0 0 1 1 0 0 0 1
    pieces    4

``x`` is in no known n-gram of two words or more, so it is a piece of its own. Unknown words are
also single pieces. The lookup table is described in ``trie_table.py``.
"""

# mypy: ignore-errors

from typing import NamedTuple

import numpy as np

from cgbench.benchmark.measure.known_ngrams.trie_table import (
    BUCKET,
    entry_of,
    find_entry,
    home_slot,
    match_bucket,
)
from cgbench.engines.compiled import kernel, part
from cgbench.text.byte_kernels import U0, trailing_zeros

NOWHERE = 0x7FFFFFFD
"""The node before a sentence's first word: no entry has it as its parent."""

_LANES = 8
"""Sentences that :func:`cover_greedy` interleaves."""


@part
def _find_tail(slot, tail_nodes):
    """The row of the tail of the node in ``slot``, by bisection."""
    low, high = 0, tail_nodes.size
    while low < high:
        middle = (low + high) >> 1
        if tail_nodes[middle] < slot:
            low = middle + 1
        else:
            high = middle
    return low


class Lanes(NamedTuple):
    """The sentences that are covered in turns: int64 ``[_LANES]`` each."""

    sentence: np.ndarray
    """Its number; -1 before the first."""
    position: np.ndarray
    """The next word in ``ids``."""
    end: np.ndarray
    """The word after its last."""
    node: np.ndarray
    """The piece so far."""
    count: np.ndarray
    """Pieces so far."""
    tail: np.ndarray
    """The next word of the node's tail in ``tails.text``."""
    tail_end: np.ndarray
    """The word after the tail's last."""


def cover_greedy(ids, lengths, words, slots, tails, begins, pieces):
    """Leftmost-longest covers of sentences by a set of n-grams that is closed under substrings.

    A piece that cannot be extended ends, and the current word begins the next one, so each word
    costs one lookup. Each lookup depends on the one before it, so sentences are interleaved: one
    computes while another waits for memory.

    :param ids: int32, the words of all sentences; ``lengths`` int32, words per sentence.
    :param words: number of words; ``slots``: the table; ``tails``: its :class:`.Tails`.
    :param begins: uint8 out, 1 where a piece begins; ``pieces`` int32 out, pieces per sentence.
    """
    lanes = Lanes(*(np.zeros(_LANES, np.int64) for _ in Lanes._fields))
    lanes.sentence[:] = -1
    _cover_greedy(ids, lengths, words, slots, tails, lanes, begins, pieces)


@kernel
def _cover_greedy(ids, lengths, words, slots, tails, lanes, begins, pieces):
    sentence, position, end, node, count, tail, tail_end = lanes
    tail_nodes, tail_starts, tail_lengths, tail_text = tails
    next_sentence = 0
    next_position = 0
    working = _LANES
    while working > 0:
        for lane in range(_LANES):
            i = position[lane]
            if i == end[lane]:
                if sentence[lane] == lengths.size:
                    continue
                if sentence[lane] >= 0:
                    pieces[sentence[lane]] = count[lane]
                sentence[lane] = next_sentence
                if next_sentence == lengths.size:
                    working -= 1
                    continue
                position[lane] = next_position
                next_position += lengths[next_sentence]
                end[lane] = next_position
                next_sentence += 1
                node[lane] = NOWHERE
                count[lane] = 0
                tail[lane] = tail_end[lane] = 0
                continue
            position[lane] = i + 1
            word = np.int64(ids[i])
            if tail[lane] < tail_end[lane]:
                extends = np.int64(tail_text[tail[lane]] == word)
                tail[lane] += 1
                tail_end[lane] *= extends
                longer = node[lane]
            else:
                # Whether a piece is extended cannot be predicted: multiply by 0 or 1 instead of
                # branching.
                entry = entry_of(node[lane], word)
                slot = home_slot(entry, slots.size)
                match = match_bucket(slots, slot, entry)
                # In this order: full buckets are rare.
                if slots[slot + BUCKET - 1] != U0 and match == U0:
                    slot = max(find_entry(entry, slots), 0)
                    match = match_bucket(slots, slot - slot % BUCKET, entry)
                else:
                    slot += trailing_zeros(match) & (BUCKET - 1)
                extends = np.int64(match != U0)
                longer = words + slot
                if slots[slot] & np.uint64(extends) != U0:
                    row = _find_tail(slot, tail_nodes)
                    tail[lane] = tail_starts[row]
                    tail_end[lane] = np.int64(tail_starts[row]) + tail_lengths[row]
            node[lane] = word + (longer - word) * extends
            count[lane] += 1 - extends
            begins[i] = 1 - extends

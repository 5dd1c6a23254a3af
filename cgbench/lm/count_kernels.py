"""Compiled loops that sort the positions (places) of a corpus by the words that end there, last word first.

Conventions
    text      int32 ``[1 + places]``: word ids; END ends every sentence, and one END precedes the first sentence.
              The END before a sentence represents ``<s>``. The text is a ring: the first END is also the last, so
              place 1 follows the last place.
    places    int32, from 1: indices into ``text``, sorted by the word there, then by the word before it, and so on,
              up to ``order`` words or to the END before the sentence. Ties are in text order, except that n-grams
              that begin with the first ``<s>`` of the text come last.
    depths    uint8, per place: words in its longest n-gram, ``<s>`` included; at most the order.
    shared    uint8, per place: words that its longest n-gram shares with that of the previous place in the sorting;
              0 if the last word differs.

Example: the lines ``a b`` and ``b``, for n-grams of up to 3 words (``b`` is 3, ``a`` 4)::

    text    2 4 3 2 3 2
    places  5 3 4 2 1
    words   2 3 2, 2 3 4, 3 2, 3 4 2, 4 2
    depths  3 3 2 3 2
    shared  0 2 0 1 0

So a distinct n-gram of n words starts where ``shared < n <= depth`` and continues while ``shared >= n``.
``tests/helpers/twins_lm.py`` has a naive version of each loop.
"""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from cgbench.engines.compiled import kernel, part

UNKNOWN, BEGIN, END = 0, 1, 2
"""Ids of ``<unk>``, ``<s>`` and ``</s>``."""

SPECIAL = 4
"""The number of special words, which come first while reading: ``<unk>``, ``<s>``, ``</s>`` and ``<UNK>``."""

_BLOCK = 256  # places compared at a time


@kernel
def renumber(text, low, high, ids):
    """Replace the words in a range of the text by their new ids."""
    for i in range(low, high):
        text[i] = ids[text[i]]


@kernel
def count_part(words, low, high, counts):
    """Count the words in a range of an array."""
    for i in range(low, high):
        counts[words[i]] += 1


@kernel
def place_part(text, low, high, free, places):
    """Store the places ``low + 1`` to ``high`` by word; ``free`` is the next free index of each word."""
    for place in range(low + 1, high + 1):
        word = text[place]
        places[free[word]] = place
        free[word] += 1


@kernel
def read_following(text, places, low, high, following):
    """Store the word after each place in ``following``."""
    last = np.uint64(text.size - 1)
    for k in range(low, high):
        place = np.uint64(places[k])
        place = place * np.uint64(place != last) + np.uint64(1)  # branch-free, so that the processor can prefetch
        following[k] = text[place]


@kernel
def place_following(places, following, low, high, last, free, placed):
    """Store the successors of a range of sorted places by word, keeping their order.

    ``last`` is the last place of the text.
    """
    for k in range(low, high):
        word = following[k]
        placed[free[word]] = places[k] + 1 if places[k] < last else 1
        free[word] += 1


def compare_neighbours(text, places, low, high, order, shared, depths):
    """Fill ``shared`` and ``depths`` for a range of sorted places."""
    words = np.full((_BLOCK + 1, order), -1, np.int32)
    _compare_neighbours(text, places, low, high, order, shared, depths, words)


@kernel
def _compare_neighbours(text, places, low, high, order, shared, depths, words):
    if low > 0:
        _gather(text, places, low - 1, low, words, np.int64(0))
    while low < high:
        size = min(_BLOCK, high - low)
        _gather(text, places, low, low + size, words, np.int64(1))
        for i in range(1, size + 1):
            depth = 1
            while depth < order:
                depth += 1
                if words[i, depth - 1] == END:
                    break
            same = 0
            while same < depth and words[i, same] == words[i - 1, same]:
                same += 1
            depths[low + i - 1] = depth
            shared[low + i - 1] = same
        for back in range(order):
            words[0, back] = words[size, back]
        low += size


@part
def _gather(text, places, low, high, words, to):
    """Store the words at some places and before them, from row ``to`` on, in a loop without branches."""
    order = np.uint64(words.shape[1])
    for k in range(low, high):
        # Unsigned: Numba skips the check for negative indices. Index 0 holds the first END.
        place, row = np.uint64(places[k]), np.uint64(k - low + to)
        for back in range(order):
            words[row, back] = text[place - min(back, place)]

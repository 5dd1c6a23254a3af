"""The compiled loops that sort the places of a language model's corpus by the words that lead to them.

Conventions
    text      int32 ``[1 + places]``: word ids, every sentence ended by END, with one END in front of the first
              sentence. The END before a sentence stands for ``<s>``. The text is a ring: the END in front is the last
              one, so place 1 follows the last place.
    places    int32, 1 and up: where words stand in ``text``, sorted by the word there, then the word before it, and so
              on back to ``order`` words or to the END before the sentence. Equal ones in the order of the text, but
              those that begin with the text's first ``<s>`` come last.
    depths    uint8, a place: how many words its longest n-gram has, ``<s>`` included; at most the order.
    shared    uint8, a place: how many words its longest n-gram has in common with the place before it in the sorting;
              0 where the last word differs.

The lines ``a b`` and ``b``, for n-grams of up to 3 words (``b`` is 3, ``a`` 4)::

    text    2 4 3 2 3 2
    places  5 3 4 2 1
    words   2 3 2, 2 3 4, 3 2, 3 4 2, 4 2
    depths  3 3 2 3 2
    shared  0 2 0 1 0

So a distinct n-gram of n words begins where ``shared < n <= depth`` and goes on while ``shared >= n``.
Each loop has a slow, obvious twin in ``tests/helpers/twins_lm.py``.
"""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from cgbench.engines.compiled import kernel, part

UNKNOWN, BEGIN, END = 0, 1, 2
"""Ids of ``<unk>``, ``<s>`` and ``</s>``."""

SPECIAL = 4
"""The first words of a vocabulary that is being read: ``<unk>``, ``<s>``, ``</s>`` and ``<UNK>``."""

_BLOCK = 256
"""Places that are compared in one go."""


@kernel
def renumber(text, low, high, ids):
    """Replace the words of a part of the text by their new ids."""
    for i in range(low, high):
        text[i] = ids[text[i]]


@kernel
def count_part(words, low, high, counts):
    """Add the words of a part of an array to ``counts``."""
    for i in range(low, high):
        counts[words[i]] += 1


@kernel
def place_part(text, low, high, free, places):
    """Enter the places ``low + 1`` to ``high`` under their words; ``free`` is where each word's next place goes."""
    for place in range(low + 1, high + 1):
        word = text[place]
        places[free[word]] = place
        free[word] += 1


@kernel
def read_following(text, places, low, high, following):
    """The word after each place, into ``following``."""
    last = np.uint64(text.size - 1)
    for k in range(low, high):
        place = np.uint64(places[k])
        place = place * np.uint64(place != last) + np.uint64(1)  # no branch: the processor reads ahead
        following[k] = text[place]


@kernel
def place_following(places, following, low, high, last, free, placed):
    """Enter the places after a part of the sorted ones under their words, so that they keep that order.

    ``last`` is the last place of the text.
    """
    for k in range(low, high):
        word = following[k]
        placed[free[word]] = places[k] + 1 if places[k] < last else 1
        free[word] += 1


def compare_neighbours(text, places, low, high, order, shared, depths):
    """Fill ``shared`` and ``depths`` for a part of the sorted places."""
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
    """The words at some places and those before them, from the row ``to`` on: a loop of its own, so that no branch
    waits for memory."""
    order = np.uint64(words.shape[1])
    for k in range(low, high):
        # Unsigned, so that nobody asks whether an index counts from the end. At 0 stands the END in front.
        place, row = np.uint64(places[k]), np.uint64(k - low + to)
        for back in range(order):
            words[row, back] = text[place - min(back, place)]

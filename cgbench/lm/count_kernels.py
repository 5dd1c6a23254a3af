"""Compiled loops that sort the positions of a corpus by the words that end there, last word first.

Conventions
    text      int32 ``[1 + positions]``: word ids; END ends every sentence, and one END precedes the
              first sentence. The END before a sentence represents ``<s>``. The text is a ring: the
              first END is also the last, so position 1 follows the last position.
    positions int32, from 1: indices into ``text``, sorted by the word there, then by the word
              before it, and so on, up to ``order`` words or to the END before the sentence. Ties
              are in text order, except that n-grams that begin with the first ``<s>`` of the text
              come last.
    depths    uint8, per position: words in its longest n-gram, ``<s>`` included; at most the order.
    shared    uint8, per position: words that its longest n-gram shares with that of the previous
              position in the sorting; 0 if the last word differs.

Example: the lines ``a b`` and ``b``, for n-grams of up to 3 words (``b`` is 3, ``a`` 4)::

    text       2 4 3 2 3 2
    positions  5 3 4 2 1
    words      2 3 2, 2 3 4, 3 2, 3 4 2, 4 2
    depths     3 3 2 3 2
    shared     0 2 0 1 0

So a distinct n-gram of n words starts where ``shared < n <= depth`` and continues while ``shared >=
n``. ``tests/helpers/twins_lm.py`` has a naive version of each loop.
"""

# mypy: ignore-errors

import numpy as np

from cgbench.engines.compiled import kernel

UNKNOWN, BEGIN, END = 0, 1, 2
"""Ids of ``<unk>``, ``<s>`` and ``</s>``."""

SPECIAL = 4
"""The number of special words, which come first while reading: ``<unk>``, ``<s>``, ``</s>`` and
``<UNK>``.
"""


@kernel
def count_range(words, low, high, counts):
    """Count the words in a range of an array."""
    for i in range(low, high):
        counts[words[i]] += 1


@kernel
def sort_by_word(text, low, high, free, positions):
    """Store the positions ``low + 1`` to ``high`` by word; ``free`` is the next free index of each
    word.
    """
    for position in range(low + 1, high + 1):
        word = text[position]
        positions[free[word]] = position
        free[word] += 1


@kernel
def read_following(text, positions, low, high, following):
    """Store the word after each position in ``following``."""
    last = np.uint64(text.size - 1)
    for k in range(low, high):
        position = np.uint64(positions[k])
        # Branch-free, so that the processor can prefetch.
        position = position * np.uint64(position != last) + np.uint64(1)
        following[k] = text[position]


@kernel
def sort_following(positions, following, low, high, last, free, sorted_):
    """Store the successors of a range of sorted positions by word, keeping their order.

    ``last`` is the last position of the text.
    """
    for k in range(low, high):
        word = following[k]
        sorted_[free[word]] = positions[k] + 1 if positions[k] < last else 1
        free[word] += 1


@kernel
def compare_neighbours(text, positions, low, high, order, shared, depths):
    """Fill ``shared`` and ``depths`` for a range of sorted positions."""
    for k in range(low, high):
        position = np.int64(positions[k])
        before = np.int64(positions[k - 1]) if k > 0 else np.int64(0)
        depth = 1
        while depth < order:
            depth += 1
            if text[position - depth + 1] == END:
                break
        same = 0
        while k > 0 and same < depth and text[position - same] == text[before - same]:
            same += 1
        depths[k] = depth
        shared[k] = same

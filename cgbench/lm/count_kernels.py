"""The compiled loops that read a corpus for a language model and sort its places by the words that lead to them.

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

So a distinct n-gram of n words begins where ``shared < n <= depth`` and goes on while ``shared >= n``.
Each loop has a slow, obvious twin in ``tests/unit/twins_lm.py``.
"""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np
from numba import njit

from cgbench.text.word_kernels import PAD, _enter_word, _find_word, _read_word, _separates, load8

UNKNOWN, BEGIN, END = 0, 1, 2
"""Ids of ``<unk>``, ``<s>`` and ``</s>``."""

SPECIAL = 4
"""The first words of a vocabulary that is being read: ``<unk>``, ``<s>``, ``</s>`` and ``<UNK>``."""

_BLOCK = 256


@njit(nogil=True, cache=True)
def read_sentences(buffer, i, size, text, filled, arena, starts, counts, table, words):
    """Append the words of whole lines to ``text``, each line ended by END; as ``kernels.read_words``, but empty lines
    are empty sentences, and the SPECIAL words are counted and left out.

    The two loops are the same but for that. Sharing the part that enters a word made reading take twice as long.

    :return: (position reached, places filled, words)
    """
    while i < size:
        if load8(buffer, i) == 10:
            text[filled] = END
            filled += 1
            i += 1
            continue
        if _separates(load8(buffer, i)):
            i += 1
            continue
        end, one, two, code = _read_word(buffer, i)
        word = _find_word(buffer, i, end, one, two, code, arena, starts, table)
        if word < 0:
            used = starts[words]
            full = used + (end - i) + PAD > arena.size or words + 1 == starts.size
            if full or 5 * (words + 1) > 4 * table.shape[0]:
                break
            word = words
            words += 1
            arena[used : used + (end - i)] = buffer[i:end]
            starts[words] = used + (end - i)
            _enter_word(table, arena, used, starts[words], word)
        counts[word] += 1
        if word >= SPECIAL:
            text[filled] = word
            filled += 1
        i = end
    return i, filled, words


@njit(nogil=True, cache=True)
def renumber(text, low, high, ids):
    """Replace the words of a part of the text by their new ids."""
    for i in range(low, high):
        text[i] = ids[text[i]]


@njit(nogil=True, cache=True)
def count_part(words, low, high, counts):
    """Add the words of a part of an array to ``counts``."""
    for i in range(low, high):
        counts[words[i]] += 1


@njit(nogil=True, cache=True)
def place_part(text, low, high, free, places):
    """Enter the places ``low + 1`` to ``high`` under their words; ``free`` is where each word's next place goes."""
    for place in range(low + 1, high + 1):
        word = text[place]
        places[free[word]] = place
        free[word] += 1


@njit(nogil=True, cache=True)
def read_following(text, places, low, high, following):
    """The word after each place, into ``following``."""
    last = np.uint64(text.size - 1)
    for k in range(low, high):
        place = np.uint64(places[k])
        place = place * np.uint64(place != last) + np.uint64(1)  # no branch: the processor reads ahead
        following[k] = text[place]


@njit(nogil=True, cache=True)
def place_following(places, following, low, high, last, free, placed):
    """Enter the places after a part of the sorted ones under their words, so that they keep that order.

    ``last`` is the last place of the text.
    """
    for k in range(low, high):
        word = following[k]
        placed[free[word]] = places[k] + 1 if places[k] < last else 1
        free[word] += 1


@njit(nogil=True, cache=True)
def compare_neighbours(text, places, low, high, order, shared, depths):
    """Fill ``shared`` and ``depths`` for a part of the sorted places."""
    words = np.empty((_BLOCK + 1, order), np.int32)
    words[0] = -1
    if low > 0:
        _gather(text, places, low - 1, low, words[:1])
    while low < high:
        size = min(_BLOCK, high - low)
        _gather(text, places, low, low + size, words[1:])
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
        words[0] = words[size]
        low += size


@njit
def _gather(text, places, low, high, words):
    """The words at some places and those before them: a loop of its own, so that no branch waits for memory."""
    order = np.uint64(words.shape[1])
    for k in range(low, high):
        # Unsigned, so that nobody asks whether an index counts from the end. At 0 stands the END in front.
        place, row = np.uint64(places[k]), np.uint64(k - low)
        for back in range(order):
            words[row, back] = text[place - min(back, place)]

"""The compiled loops that learn known n-grams from a text on disk (``disk_learning.py``), a stretch of it at a time.

A stretch is int32 ids, whole runs of words, each ended by LINE_END; conventions are those of ``trie_kernels.py``. What
a part of the trie needs of the text is copied: of each run all from the first place that the part begins at. That copy
is the part's own text, with groups and places of its own.
"""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from cgbench.compiled import kernel
from cgbench.text.word_kernels import _FIRST, _0, _fold, _mix


@kernel
def keep_runs(tokens, ids):
    """Give the words of lines their new ids and write runs of two words or more to the front; how much that is.

    :param ids: int32, the new id of each old one; -1 ends a run.
    """
    filled = 0
    begin = _FIRST
    for i in range(tokens.size):
        word = np.int32(-1)
        if tokens[i] >= 0:
            word = ids[tokens[i]]
        tokens[filled] = word
        filled += 1
        if word < 0:
            if filled - begin < 3:
                filled = begin
            begin = np.int64(filled)
    return filled


@kernel
def hash_runs(text, codes):
    """128 bits of hash of each run, into ``codes`` uint64 ``[runs, 2]``; how many runs there are."""
    run = 0
    one = other = _0
    for i in range(text.size):
        if text[i] >= 0:
            word = np.uint64(text[i] + 1)
            one, other = _fold(one, word), _fold(other, _mix(word))
        else:
            codes[run, 0], codes[run, 1] = _mix(one), _mix(other)
            run += 1
            one = other = _0
    return run


@kernel
def split_runs(text, times, expand_all, repeated, single):
    """Write each run once, where it first is: to ``repeated`` if it has a weight, else to ``single``.

    :param times: int32 ``[runs]``, how often a run occurs; 0 where it has been before.
    :returns: how much of each is filled
    """
    first = second = 0
    run = 0
    for i in range(text.size):
        if times[run] > 1 or (expand_all and times[run] > 0):
            repeated[first] = text[i]
            first += 1
        elif times[run] > 0:
            single[second] = text[i]
            second += 1
        run += text[i] < 0
    return first, second


@kernel
def tally_next(text, word, weights, tally, places, touched, distinct):
    """Count what follows a word.

    :param weights: int32, of each run; empty: 1 of all.
    :param tally: int64 ``[words]``, how often each follows, and ``places``, at how many places; brought up to date.
    :param touched: int32 ``[words]``, those that follow in the order in which they first did; ``distinct`` of them.
    :returns: ``distinct``, brought up to date
    """
    run = 0
    for place in range(text.size - 1):
        if text[place] < 0:
            run += 1
        elif text[place] == word and text[place + 1] >= 0:
            after = text[place + 1]
            if places[after] == 0:
                touched[distinct] = after
                distinct += 1
            places[after] += 1
            tally[after] += weights[run] if weights.size else 1
    return distinct


@kernel
def take_part(
    text, place_of, weights, low, high, free, behind, out, out_weights, out_ends, filled, segments, taken, groups
):
    """Copy what a part of the trie needs of a stretch of text, and enter its places into groups.

    A place begins there if its word is from ``low`` to ``high - 1`` and the word (``behind`` 1) or the two (2) after it
    have a group; its group is that of its word (1), or of the word after it (2).

    :param place_of: the stretch's first place in all of the text; ``weights`` as in :func:`tally_next`.
    :param free: int64 ``[words]``, where the next place of a group goes; -1: the word has no group.
    :param out: int32, the part's text, ``filled`` so far; ``out_weights`` and ``out_ends`` of its weighted begin.
    :param segments: int64 ``[capacity, 2]``: where a copy begins in ``out`` and in all of the text; ``taken`` so far.
    :param groups: int32, places in ``out`` behind the n-grams.
    :returns: ``filled`` and ``taken``, brought up to date
    """
    run = 0
    place = _FIRST
    while place < text.size:
        began = np.int64(-1)
        while text[place] >= 0:
            word, after = text[place], text[place + 1]
            if low <= word < high and after >= 0:
                key = word if behind == 1 else after
                if free[key] >= 0:
                    if began < 0:
                        began = place
                        segments[taken, 0], segments[taken, 1] = filled, place_of + place
                        taken += 1
                    groups[free[key]] = filled + (place - began) + behind
                    free[key] += 1
            place += 1
        if began >= 0:
            end = filled + place - began
            for i in range(began, place + 1):
                out[filled] = text[i]
                if weights.size:
                    out_weights[filled] = weights[run]
                    out_ends[filled] = end
                filled += 1
        run += 1
        place += 1
    return filled, taken

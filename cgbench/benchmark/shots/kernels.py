"""The compiled loops of ``choose.py``: BM25 scores of all sources, the best of them, the sources worth covering with.

Plain Python versions for tests are in ``tests/helpers/twins_shots.py``. Posting lists are compressed sparse rows: those
of row i are the entries ``starts[i]`` to ``starts[i + 1] - 1``.
"""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from cgbench.engines.compiled import kernel

_1 = np.uint64(1)


@kernel
def add_weights(words, counts, starts, sources, weights, scores):
    """Sum the weights of a sentence's words in each source, times their ``counts`` in the sentence."""
    for source in range(scores.size):
        scores[source] = 0.0
    for j in range(words.size):
        for at in range(starts[words[j]], starts[words[j] + 1]):
            scores[sources[at]] += counts[j] * weights[at]


@kernel
def take_best(scores, taken, best):
    """Write the sources with the highest scores, best first; ties by number. Those in ``taken`` are left out.

    :returns: how many there are, at most the size of ``best``.
    """
    filled = 0
    for source in range(scores.size):
        if taken[source] or (filled == best.size and scores[source] <= scores[best[filled - 1]]):
            continue
        filled = min(filled + 1, best.size)
        place = filled - 1
        while place > 0 and scores[best[place - 1]] < scores[source]:
            best[place] = best[place - 1]
            place -= 1
        best[place] = source
    return filled


@kernel
def find_widest(pieces, starts, sources, masks, kept, rows):
    """The sources whose set of pieces is not within that of another source; of equal sets, the first source.

    :param pieces: at most 64; piece i is bit i of a mask. ``masks`` uint64 ``[sources]`` is overwritten.
    :param kept: uint64, masks of the sources found; ``rows`` int64, their numbers. Both in any order.
    :returns: how many there are; if ``kept`` is full, others may be missing.
    """
    for source in range(masks.size):
        masks[source] = 0
    for j in range(pieces.size):
        for at in range(starts[pieces[j]], starts[pieces[j] + 1]):
            masks[sources[at]] |= _1 << np.uint64(j)
    filled = 0
    for source in range(masks.size):
        mask = masks[source]
        if mask == 0:
            continue
        place = 0
        while place < filled and mask & ~kept[place] != 0:
            place += 1
        if place < filled:  # towards the front, where the next source finds it sooner
            other = place // 2
            kept[place], kept[other] = kept[other], kept[place]
            rows[place], rows[other] = rows[other], rows[place]
            continue
        last = 0
        for j in range(filled):
            if kept[j] & ~mask != 0:
                kept[last], rows[last] = kept[j], rows[j]
                last += 1
        filled = last
        if filled < kept.size:
            kept[filled], rows[filled] = mask, source
            filled += 1
    return filled

"""Learn the known n-grams of a training text held in memory as ids: from the text to the trie's
table.
"""

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeAlias

import numpy as np

from cgbench.benchmark.measure.known_ngrams.trie_arrays import Runs, Tails, Tallies
from cgbench.benchmark.measure.known_ngrams.vocabulary import Vocabulary
from cgbench.errors import InputError
from cgbench.machine import usable_cores
from cgbench.text.word_counts import LARGEST, cut_words, longer

_PARTITION = 1 << 18

Trie: TypeAlias = tuple[np.ndarray, int, int, Tails]
"""The last fields of :class:`~cgbench.benchmark.measure.known_ngrams.known.KnownNgrams`."""


def grow_ngrams(
    vocabulary: Vocabulary,
    word_min_count: int,
    runs: Runs,
    min_count: int,
    jobs: int | None = None,
) -> Trie:
    """The n-grams that occur ``min_count`` times in a text, and the words that occur
    ``word_min_count`` times.

    :param runs: the text as ``trie_kernels.collapse`` returns it.
    :param jobs: threads; the result does not depend on it.
    :raises InputError: the index cannot hold the n-grams.
    """
    from cgbench.benchmark.measure.known_ngrams import trie_kernels

    known_words = int(np.count_nonzero(vocabulary.counts >= word_min_count))
    starts = np.zeros(known_words + 1, np.int64)
    trie_kernels.count_places(runs.text, starts)
    np.cumsum(starts, out=starts)
    # 8 bytes per word: much of the memory that learning takes.
    groups = np.empty((2, int(starts[-1])), np.int32)
    trie_kernels.sort_first(runs.text, starts.copy(), groups[0])

    # The partition depends on the text alone, so the order of nodes does not depend on the number
    # of threads.
    cuts = cut_words(starts, _PARTITION)
    work = partial(_grow_words, runs, groups, starts, min_count)
    with ThreadPoolExecutor(jobs or usable_cores()) as pool:
        partitions = list(pool.map(work, cuts[:-1], cuts[1:]))
    base = 0
    for partition in partitions:
        partition[partition[:, 0] >= 0, 0] += base
        base += len(partition)
    nodes = np.concatenate([np.empty((0, 4), np.int32), *partitions])
    del partitions
    slots = empty_slots(base)
    if len(vocabulary) + len(slots) > LARGEST:
        raise InputError(
            f"{base:,} known n-grams are more than the index can hold; raise min_count"
        )
    longest, tails = trie_kernels.build_trie(nodes, runs.text, len(vocabulary), slots)
    # Nodes stand for their tails as well.
    tail_words = int(nodes[:, trie_kernels.TAIL_LENGTH].sum(dtype=np.int64))
    ngrams = known_words + len(nodes) + tail_words
    return slots, ngrams, max(longest, min(known_words, 1)), tails


def _grow_words(
    runs: Runs, groups: np.ndarray, starts: np.ndarray, min_count: int, low: int, high: int
) -> np.ndarray:
    """The nodes of the n-grams that begin with the words ``low`` to ``high - 1``
    (``trie_kernels.grow_trie``).
    """
    from cgbench.benchmark.measure.known_ngrams import trie_kernels

    known_words = len(starts) - 1
    nodes = np.empty((int(starts[high] - starts[low]) // 4 + 64, 4), np.int32)
    stack = np.empty((1 << 8, 5), np.int64)
    tallies = Tallies.of(known_words)
    word, depth, filled = low, 0, 0
    while word < high:
        word, depth, filled = trie_kernels.grow_trie(
            runs, groups, starts, word, high, min_count, nodes, filled, stack, depth, tallies
        )
        # A node has at most known_words children: with this much room the next call makes progress.
        if word < high and len(nodes) < filled + known_words + trie_kernels.SHORTEST_TAIL:
            nodes = longer(nodes, 2 * filled + known_words + trie_kernels.SHORTEST_TAIL)
        if word < high and len(stack) < depth + known_words:
            stack = longer(stack, 2 * depth + known_words)
    return nodes[:filled].copy()


def empty_slots(entries: int) -> np.ndarray:
    """A table for ``entries``, at most 55% full, with buckets aligned to cache lines."""
    from cgbench.benchmark.measure.known_ngrams.trie_table import BUCKET

    slot_count = (entries * 20 // 11 // BUCKET + 1) * BUCKET
    memory = np.zeros(slot_count + BUCKET, np.uint64)
    skip = -memory.ctypes.data % (8 * BUCKET) // 8
    return memory[skip : skip + slot_count]

"""The known n-grams and words of a pool in a corpus of any size, for a scan (``build-react --known-from``).

They come from a ``cgbench overlap`` result on the pool's text (:mod:`cgbench.benchmark.overlap.saved`) and are limited
to that text, so each pair gets the same pieces and rare words as from the whole corpus. The text of the longest known
n-grams, once each, has exactly these known n-grams; they are learned from it like from any text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from cgbench.benchmark.known_ngrams.known import BYTES_A_WORD, KnownNgrams
from cgbench.benchmark.known_ngrams.learning import grow
from cgbench.benchmark.known_ngrams.vocabulary import Vocabulary
from cgbench.benchmark.overlap.saved import KnownOfTest, check_count, not_within
from cgbench.benchmark.overlap.units import Words
from cgbench.machine import check_memory
from cgbench.text.blocks import Block

Named = tuple[str, Iterable[Block]]
"""A text of the pool, with its name."""


def words_of_pool(known: KnownOfTest, texts: Sequence[Named], min_count: int) -> Vocabulary:
    """The words of a pool that occur ``min_count`` times in the corpus, with their counts there, up to the highest
    count in the result."""
    for name, blocks in texts:
        _ends(known, name, blocks, 1)  # checks that all lines are in the result
    return _vocabulary(known, min_count, min_count)[0]


def ngrams_of_pool(known: KnownOfTest, texts: Sequence[Named], *, min_count: int, word_min_count: int) -> KnownNgrams:
    """The n-grams of a pool that occur ``min_count`` times in the corpus, over its words."""
    from cgbench.benchmark.known_ngrams import trie_kernels

    vocabulary, numbers = _vocabulary(known, min_count, word_min_count)
    id_blocks = [np.zeros(0, np.int32)]
    for name, blocks in texts:
        id_blocks += _ends(known, name, blocks, min_count, numbers)
    size = sum(map(len, id_blocks))
    check_memory(f"{known.folder}: the known n-grams of a pool", BYTES_A_WORD * size, "use the pool in parts")
    tokens = np.concatenate(id_blocks)
    del id_blocks
    text, weights, ends = trie_kernels.collapse(tokens, np.arange(len(vocabulary), dtype=np.int32), True)
    known_words = int(np.count_nonzero(vocabulary.counts >= min_count))
    return KnownNgrams(vocabulary, min_count, True, *grow(len(vocabulary), known_words, text, weights, ends, 1))


def _vocabulary(known: KnownOfTest, min_count: int, word_min_count: int) -> tuple[Vocabulary, np.ndarray]:
    """The words that are known or not rare, by falling count; and the new number, or -1, of each word of the result."""
    from cgbench.text import word_kernels

    check_count(known.folder, known.matches.shape[1], max(min_count, word_min_count))
    counts = known.automaton.count_words(known.matches)
    order = np.argsort(-counts, kind="stable")
    order = order[: int(np.count_nonzero(counts >= min(min_count, word_min_count)))]
    numbers = np.full(len(counts), -1, np.int32)
    numbers[order] = np.arange(len(order))
    arena, starts, table = word_kernels.order_words(known.words.arena, known.words.starts, order)
    usable = int(np.count_nonzero(counts >= word_min_count))
    return Vocabulary(arena, starts, counts[order], table, word_min_count, usable), numbers


def _ends(
    known: KnownOfTest, name: str, blocks: Iterable[Block], min_count: int, numbers: np.ndarray | None = None
) -> list[np.ndarray]:
    """The longest known n-grams of a text that are not part of a longer one: int32, in ``numbers``, each ended by -1.

    :param numbers: None: only check the lines.
    :raises InputError: a line is not in the text of the result.
    """
    units, settled = Words(known.words), known.automaton.known(known.matches, min_count)
    ends_found = []
    for block in blocks:
        ids, lengths = units.read(block)
        ends, unknown = known.automaton.ends(ids, lengths, settled)
        if unknown >= 0:
            raise known.unknown(f"row {block.line + unknown + 1} of {name}")
        if numbers is not None:
            ends_found.append(_spans(numbers[ids], lengths, ends))
    return ends_found


def _spans(ids: np.ndarray, lengths: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """The longest known n-grams that are not part of a longer one, each ended by -1."""
    last = np.flatnonzero(not_within(lengths, ends) & (ends > 1))  # single words are known by their counts
    sizes = ends[last].astype(np.int64) + 1
    behind = np.cumsum(sizes)
    positions = np.repeat(last + 2 - behind, sizes) + np.arange(int(sizes.sum()))
    spans = ids[np.minimum(positions, max(0, len(ids) - 1))]
    spans[behind - 1] = -1
    return spans

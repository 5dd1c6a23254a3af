"""The known n-grams and words of a pool in a corpus of any size, for a scan (``--known-from``).

They come from a ``cgbench overlap`` result on the pool's text (``corpus_counts.py``) and are
limited to that text, so each pair gets the same pieces and rare words as from the whole corpus. The
text of the longest known n-grams, once each, has exactly these known n-grams; they are learned from
it like from any text.
"""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from cgbench.benchmark.measure.known_ngrams.known import BYTES_A_WORD, KnownNgrams
from cgbench.benchmark.measure.known_ngrams.learning import grow_ngrams
from cgbench.benchmark.measure.known_ngrams.vocabulary import Vocabulary, rank_words
from cgbench.benchmark.measure.overlap.corpus_counts import CorpusCounts, check_count
from cgbench.machine import check_memory
from cgbench.text.blocks import Block, join_blocks

Named = tuple[str, Iterable[Block]]
"""A text of the pool, with its name."""


def words_of_pool(known: CorpusCounts, texts: Sequence[Named], min_count: int) -> Vocabulary:
    """The words of a pool that occur ``min_count`` times in the corpus, with their counts there, up
    to the highest count in the result."""
    for name, blocks in texts:
        for _ in known.ends(name, blocks, 1):  # checks that all lines are in the result
            pass
    return _vocabulary(known, min_count, min_count)[0]


def ngrams_of_pool(
    known: CorpusCounts, texts: Sequence[Named], *, min_count: int, word_min_count: int
) -> KnownNgrams:
    """The n-grams of a pool that occur ``min_count`` times in the corpus, over its words."""
    from cgbench.benchmark.measure.known_ngrams import trie_kernels

    vocabulary, ids = _vocabulary(known, min_count, word_min_count)
    spans = [np.zeros(0, np.int32)]
    for name, blocks in texts:
        spans += _spans(
            known, name, blocks, min_count
        )  # without single words, which are known by their counts
    words = sum(map(len, spans))
    check_memory(
        f"{known.folder}: the known n-grams of a pool",
        BYTES_A_WORD * words,
        "use the pool in parts",
    )
    tokens = np.concatenate(spans)
    del spans
    runs = trie_kernels.collapse(tokens, ids, True)
    return KnownNgrams(vocabulary, min_count, *grow_ngrams(vocabulary, min_count, runs, 1))


def ngrams_of_lines(known: CorpusCounts, lines: Iterable[str], min_count: int) -> KnownNgrams:
    """The same for lines of the text of a result."""
    texts = [("the text", join_blocks(lines))]
    return ngrams_of_pool(known, texts, min_count=min_count, word_min_count=min_count)


def _vocabulary(
    known: CorpusCounts, min_count: int, word_min_count: int
) -> tuple[Vocabulary, np.ndarray]:
    """The words that are known or not rare, by falling count; and the new id, or -1, of each word
    of the result.
    """
    check_count(known.folder, known.matches.shape[1], max(min_count, word_min_count))
    counts = known.automaton.count_words(known.matches)
    return rank_words(known.words.arena, known.words.starts, counts, min_count, word_min_count)


def text_of_lines(known: CorpusCounts, lines: Iterable[str]) -> list[str]:
    """The longest n-grams of lines of the text of a result that occur in the corpus and are not
    part of a longer one; together they have the same n-grams in it as the lines."""
    spans = (
        span[:-1]
        for block_spans in _spans(known, "the text", join_blocks(lines), 1, shortest=1)
        for span in np.split(block_spans, np.flatnonzero(block_spans < 0) + 1)[:-1]
    )
    return [known.words.text(span.tolist()) for span in spans]


def _spans(
    known: CorpusCounts, name: str, blocks: Iterable[Block], min_count: int, shortest: int = 2
) -> Iterator[np.ndarray]:
    """The longest known n-grams of each block that are not part of a longer one, each ended by
    -1.
    """
    for ids, lengths, ends in known.ends(name, blocks, min_count):
        # Whether the n-gram that ends at each word is not part of the one that ends at the next.
        outermost = np.ones(len(ends), bool)
        outermost[:-1] = ends[1:] != ends[:-1] + 1
        outermost[np.cumsum(lengths[lengths > 0]) - 1] = True
        last = np.flatnonzero(outermost & (ends >= shortest))
        sizes = ends[last].astype(np.int64) + 1
        behind = np.cumsum(sizes)
        positions = np.repeat(last + 2 - behind, sizes) + np.arange(int(sizes.sum()))
        spans = ids[np.minimum(positions, max(0, len(ids) - 1))]
        spans[behind - 1] = -1
        yield spans

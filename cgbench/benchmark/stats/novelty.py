"""Novel n-grams: those of a test text that never occur in the training text (Zheng and Lapata 2023, Table 2).

An n-gram is a sequence of n words, or of n tags, within one sentence; there are no boundary symbols, and case is kept.
Each is counted once, however often it occurs (*types*); occurrences are counted beside.

Only the n-grams of the test text are held, in a trie; the training text is read through it once, block by block. So
memory goes with the test text, and the counts are exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cgbench.benchmark.known_ngrams.vocabulary import Vocabulary
from cgbench.errors import InputError
from cgbench.text.blocks import Block, join_blocks

LARGEST_ORDER = 64


@dataclass(frozen=True)
class Novelty:
    """The n-grams of one order in a test text: ``types`` different ones with ``occurrences`` in all.

    ``novel`` types never occur in training; ``novel_occurrences`` are theirs.
    """

    types: int
    novel: int
    occurrences: int
    novel_occurrences: int

    @property
    def share(self) -> float | None:
        """Novel types over types, from 0 to 1; None when no sentence is long enough to have such an n-gram."""
        return self.novel / self.types if self.types else None

    @property
    def occurrence_share(self) -> float | None:
        """The same of occurrences."""
        return self.novel_occurrences / self.occurrences if self.occurrences else None

    def as_dict(self) -> dict[str, Any]:
        """The figures as JSON."""
        return {
            "types": self.types,
            "novel": self.novel,
            "share": self.share,
            "occurrences": self.occurrences,
            "novel_occurrences": self.novel_occurrences,
            "occurrence_share": self.occurrence_share,
        }


class NgramTrie:
    """Every n-gram of a test text, up to ``order`` words, and which of them a training text has.

    Sentences are ``ids`` int32 ``[words of all sentences]``, one after another, with ``lengths`` int32 ``[sentences]``;
    ids are below ``words``. :meth:`mark` takes training sentences in the same ids, any other id being a word that the
    test text does not have.
    """

    def __init__(self, ids: np.ndarray, lengths: np.ndarray, words: int, order: int) -> None:
        from cgbench.benchmark.stats import novelty_kernels

        if not 1 <= order <= LARGEST_ORDER:
            raise InputError(f"n-grams of {order} words: orders go from 1 to {LARGEST_ORDER}")
        self.order, self.words = order, words
        self.keys, self.children = _table(1 << 10)
        self.parents: np.ndarray = np.full(words + 1, -1, np.int32)
        self.lasts: np.ndarray = np.arange(words + 1, dtype=np.int32)
        self.counts: np.ndarray = np.zeros(words + 1, np.int64)
        filled, sentence, position = words, 0, 0
        while sentence < len(lengths):
            nodes = self.parents, self.lasts, self.counts
            sentence, position, filled = novelty_kernels.enter_ngrams(
                ids, lengths, order, self.keys, self.children, *nodes, filled, words, sentence, position
            )
            if sentence < len(lengths):
                self._make_room(filled, int(lengths[sentence]) * order)
        self.parents, self.lasts, self.counts = (array[:filled] for array in (self.parents, self.lasts, self.counts))
        self.seen = np.zeros(filled, np.uint8)
        self.depths = self._depths()

    def _make_room(self, filled: int, more: int) -> None:
        """Enlarge the table to hold what is there twice over, and ``more``."""
        from cgbench.benchmark.stats import novelty_kernels

        entries = 2 * (filled - self.words) + more
        self.keys, self.children = _table(1 << (2 * entries).bit_length())
        novelty_kernels.enter_nodes(self.keys, self.children, self.parents, self.lasts, self.words, filled)
        for name in ("parents", "lasts", "counts"):
            array = getattr(self, name)
            longer = np.zeros(self.words + entries, array.dtype)
            longer[: len(array)] = array[: len(longer)]
            setattr(self, name, longer)

    def _depths(self) -> np.ndarray:
        """The length of each n-gram, uint8 ``[nodes]``."""
        depths = np.ones(len(self.parents), np.uint8)
        level = np.arange(self.words, len(self.parents))
        ancestors = self.parents[level]
        while len(level):
            depths[level] += 1
            longer = ancestors >= self.words
            level, ancestors = level[longer], self.parents[ancestors[longer]]
        return depths

    def mark(self, ids: np.ndarray, lengths: np.ndarray) -> None:
        """Note the n-grams that these training sentences hold. May be called for one part after another."""
        from cgbench.benchmark.stats import novelty_kernels

        novelty_kernels.mark_seen(ids, lengths, self.order, self.keys, self.children, self.words, self.seen)

    def novelty(self, order: int) -> Novelty:
        """The figures of the n-grams of ``order`` words."""
        here = (self.depths == order) & (self.counts > 0)
        novel = here & (self.seen == 0)
        return Novelty(
            int(np.count_nonzero(here)),
            int(np.count_nonzero(novel)),
            int(self.counts[here].sum()),
            int(self.counts[novel].sum()),
        )

    def novel_ngrams(self, order: int) -> list[tuple[tuple[int, ...], int]]:
        """The novel n-grams of ``order`` words as ids, each with its occurrences, in order of first occurrence."""
        found = []
        for node in np.flatnonzero((self.depths == order) & (self.counts > 0) & (self.seen == 0)).tolist():
            ids, count = [int(self.lasts[node])], int(self.counts[node])
            while node >= self.words:
                node = int(self.parents[node])
                ids.append(int(self.lasts[node]))
            found.append((tuple(reversed(ids)), count))
        return found


def _table(size: int) -> tuple[np.ndarray, np.ndarray]:
    from cgbench.benchmark.stats.novelty_kernels import FREE

    return np.full(size, FREE, np.uint64), np.zeros(size, np.int32)


@dataclass(frozen=True)
class NovelNgrams:
    """What was found: figures by order, and the novel n-grams themselves; ``name`` gives the word of an id."""

    trie: NgramTrie
    name: Callable[[int], str]

    def figures(self, orders: Iterable[int]) -> dict[int, Novelty]:
        """The figures of each order."""
        return {order: self.trie.novelty(order) for order in orders}

    def most_frequent(self, order: int, count: int) -> list[tuple[str, int]]:
        """The ``count`` most frequent novel n-grams of an order with their occurrences; ties by the alphabet."""
        found = [(" ".join(map(self.name, ids)), times) for ids, times in self.trie.novel_ngrams(order)]
        return sorted(found, key=lambda item: (-item[1], item[0]))[:count]


def novel_ngrams(train: Iterable[Block], test: Sequence[str], order: int) -> NovelNgrams:
    """The n-grams of ``test`` (a sentence a line) up to ``order`` words that never occur in the blocks of ``train``.

    Words are what ASCII white space separates, as everywhere in cgbench.
    """
    words = Vocabulary.learn_lines(test, min_count=1)
    parts = [_ids(words, block) for block in join_blocks(test)]
    ids, lengths = (np.concatenate([np.zeros(0, np.int32), *column]) for column in zip(*parts, strict=True))
    trie = NgramTrie(ids, lengths, len(words), order)
    for block in train:
        trie.mark(*_ids(words, block))
    return NovelNgrams(trie, words.word)


def _ids(words: Vocabulary, block: Block) -> tuple[np.ndarray, np.ndarray]:
    """The ids of a block's words, and the words a line."""
    from cgbench.text import word_kernels

    lengths = np.empty(block.count_lines(), np.int32)
    ids = np.empty(block.size // 2 + 1, np.int32)
    filled = word_kernels.read_ids(block.buffer, block.size, words.arena, words.starts, words.table, ids, lengths)
    return ids[:filled], lengths


def novel_tag_ngrams(train: Iterable[Sequence[str]], test: Sequence[Sequence[str]], order: int) -> NovelNgrams:
    """The same for sentences that are sequences of tags."""
    names: dict[str, int] = {}
    ids, lengths = _tag_ids(test, names, grow=True)
    trie = NgramTrie(ids, lengths, len(names), order)
    trie.mark(*_tag_ids(train, names, grow=False))
    return NovelNgrams(trie, list(names).__getitem__)


def _tag_ids(sentences: Iterable[Sequence[str]], names: dict[str, int], grow: bool) -> tuple[np.ndarray, np.ndarray]:
    ids: list[int] = []
    lengths: list[int] = []
    for sentence in sentences:
        lengths.append(len(sentence))
        if grow:
            ids.extend(names.setdefault(tag, len(names)) for tag in sentence)
        else:
            ids.extend(names.get(tag, len(names)) for tag in sentence)
    return np.array(ids, np.int32), np.array(lengths, np.int32)

"""Novel n-grams: those of a test text that never occur in the training text (Zheng and Lapata 2023, Table 2).

An n-gram is a sequence of n words, or of n tags, within one sentence; there are no boundary symbols, and case is kept.
Each different n-gram counts once (*types*); occurrences are counted as well.

Only the n-grams of the test text are in memory, in the automaton of :mod:`cgbench.benchmark.overlap.automaton`. The
training text is read through it once, block by block. So memory depends on the test text, and the counts are exact.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cgbench.benchmark.known_ngrams.vocabulary import Vocabulary
from cgbench.benchmark.overlap.automaton import Automaton
from cgbench.text.blocks import Block


@dataclass(frozen=True)
class Novelty:
    """The n-grams of one order in a test text: different n-grams (``types``) and all ``occurrences``. ``novel`` types
    never occur in training; ``novel_occurrences`` counts their occurrences."""

    types: int
    novel: int
    occurrences: int
    novel_occurrences: int

    @property
    def share(self) -> float | None:
        """Novel types over types, from 0 to 1; None if no sentence is long enough."""
        return self.novel / self.types if self.types else None

    @property
    def occurrence_share(self) -> float | None:
        """Novel occurrences over occurrences; None as for :attr:`share`."""
        return self.novel_occurrences / self.occurrences if self.occurrences else None

    def as_dict(self) -> dict[str, Any]:
        """The counts and shares as JSON."""
        return {
            "types": self.types,
            "novel": self.novel,
            "share": self.share,
            "occurrences": self.occurrences,
            "novel_occurrences": self.novel_occurrences,
            "occurrence_share": self.occurrence_share,
        }


def novel_ngrams(train: Iterable[Block], test: Sequence[str], orders: Sequence[int]) -> dict[int, Novelty]:
    """The n-grams of ``test`` (one sentence per line) by order, against the blocks of ``train``."""
    words = Vocabulary.learn(test, min_count=1)
    texts = (words.read(block) for block in train)
    return _novel(*words.read_lines(test), len(words), orders, texts)


def novel_tag_ngrams(
    train: Iterable[Sequence[str]], test: Sequence[Sequence[str]], orders: Sequence[int]
) -> dict[int, Novelty]:
    """:func:`novel_ngrams` for sentences that are sequences of tags."""
    names: dict[str, int] = {}
    ids, lengths = _tag_ids(test, lambda tag: names.setdefault(tag, len(names)))
    seen = _tag_ids(train, lambda tag: names.get(tag, len(names)))
    return _novel(ids, lengths, len(names), orders, [seen])


def _tag_ids(sentences: Iterable[Sequence[str]], id_of: Callable[[str], int]) -> tuple[np.ndarray, np.ndarray]:
    numbers = [[id_of(tag) for tag in sentence] for sentence in sentences]
    ids = np.fromiter((tag_id for sentence in numbers for tag_id in sentence), np.int32)
    return ids, np.array([len(sentence) for sentence in numbers], np.int32)


def _novel(
    ids: np.ndarray,
    lengths: np.ndarray,
    words: int,
    orders: Sequence[int],
    train: Iterable[tuple[np.ndarray, np.ndarray]],
) -> dict[int, Novelty]:
    from cgbench.benchmark.divergence.word_ngrams import number_ngrams

    automaton = Automaton.build(ids, lengths, words)
    matches = automaton.no_matches(1)
    for seen in train:
        automaton.read(*seen, matches)
    # The length of the longest n-gram that ends at each word and occurs in training.
    ends, _ = automaton.ends(ids, lengths, automaton.known(matches, 1))
    _, numbers, firsts = number_ngrams(ids, lengths, max(orders, default=1))
    novel_counts = {}
    for order in orders:
        counts = np.bincount(numbers[order], minlength=len(firsts[order]))
        novel = ends[firsts[order] + order - 1] < order
        occurrences = int(counts.sum()), int(counts[novel].sum())
        novel_counts[order] = Novelty(len(counts), int(np.count_nonzero(novel)), *occurrences)
    return novel_counts

"""Novel n-grams: those of a test text that never occur in the training text (Zheng and Lapata 2023,
Table 2).

An n-gram is a sequence of n words, or of n tags, within one sentence; there are no boundary
symbols, and case is kept. Each different n-gram counts once (*types*); occurrences are counted as
well.

Only the n-grams of the test text are in memory, in the automaton of :mod:`~.overlap.automaton`. The
training text is read through it once, block by block. So memory depends on the test text, and the
counts are exact.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cgbench.benchmark.measure.divergence.occurrences import numbering
from cgbench.benchmark.measure.divergence.word_ngrams import first_places, number_ngrams
from cgbench.benchmark.measure.known_ngrams.vocabulary import Vocabulary
from cgbench.benchmark.measure.overlap.automaton import Automaton
from cgbench.text.blocks import Block, join_blocks


@dataclass(frozen=True)
class Novelty:
    """The n-grams of one order in a test text: different n-grams (``types``) and all
    ``occurrences``. ``novel`` types never occur in training; ``novel_occurrences`` counts their
    occurrences."""

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
        names = ("types", "novel", "share", "occurrences", "novel_occurrences", "occurrence_share")
        return {name: getattr(self, name) for name in names}


def novel_ngrams(
    train: Iterable[Block], test: Sequence[str], orders: Sequence[int]
) -> dict[int, Novelty]:
    """The n-grams of ``test`` (one sentence per line) by order, against the blocks of ``train``."""
    words = Vocabulary.learn(test, min_count=1)
    ids, lengths = words.read_lines(test)
    automaton = Automaton.build(ids, lengths, len(words))
    matches = automaton.no_matches(1)
    for block in train:
        automaton.read(*words.read(block), matches)
    # The length of the longest n-gram that ends at each word and occurs in training.
    ends, _ = automaton.ends(ids, lengths, automaton.known(matches, 1))
    novel_counts = {}
    for order, (begins, numbers) in enumerate(
        number_ngrams(ids, lengths, max(orders, default=0)), 1
    ):
        if order not in orders:
            continue
        counts = np.bincount(numbers)
        novel = ends[first_places(begins, numbers) + order - 1] < order
        occurrences = int(counts.sum()), int(counts[novel].sum())
        novel_counts[order] = Novelty(len(counts), int(np.count_nonzero(novel)), *occurrences)
    return novel_counts


def novel_tag_ngrams(
    train: Iterable[Sequence[str]], test: Sequence[Sequence[str]], orders: Sequence[int]
) -> dict[int, Novelty]:
    """:func:`novel_ngrams` for sentences that are sequences of tags."""
    numbers = numbering()  # a tag may be empty or contain a blank
    train_lines, test_lines = (
        [" ".join(str(numbers[tag]) for tag in sentence) for sentence in sentences]
        for sentences in (train, test)
    )
    return novel_ngrams(join_blocks(train_lines), test_lines, orders)

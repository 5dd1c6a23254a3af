"""Parallel text as ids, and the co-occurrences of source and target words: the input of all lexicon
learners.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cgbench.errors import InputError
from cgbench.machine import check_memory
from cgbench.text.plain_text import word_bytes

BYTES_A_WORD = 60  # of both sides, for the simplest learner (59 measured)


@dataclass(frozen=True)
class WordSide:
    """One side of a parallel text.

    :param words: by id, in the order of their first occurrence.
    :param ids: the words of all sentences, concatenated, int32 [N].
    :param lengths: words of each sentence, int64 [S].
    """

    words: list[str]
    ids: np.ndarray
    lengths: np.ndarray

    @cached_property
    def starts(self) -> np.ndarray:
        """The first word of each sentence, int64 [S]."""
        return np.cumsum(self.lengths) - self.lengths

    @cached_property
    def sentences(self) -> np.ndarray:
        """Number of sentences with each word, int64 [V]."""
        sentence = np.repeat(np.arange(len(self.lengths)), self.lengths)
        present = np.unique(sentence * len(self.words) + self.ids)
        return np.bincount(present % len(self.words), minlength=len(self.words))


@dataclass(frozen=True)
class Bitext:
    """Sentence pairs as ids; ASCII white space separates words."""

    source: WordSide
    target: WordSide

    @classmethod
    def read(cls, pairs: Iterable[tuple[str, str]]) -> Bitext:
        """Number the words of sentence pairs."""
        numbers: list[dict[bytes, int]] = [{}, {}]
        ids: list[list[int]] = [[], []]
        lengths: list[list[int]] = [[], []]
        for pair in pairs:
            for known, side_ids, side_lengths, sentence in zip(
                numbers, ids, lengths, pair, strict=True
            ):
                words = word_bytes(sentence)
                side_ids.extend([known.setdefault(word, len(known)) for word in words])
                side_lengths.append(len(words))
        for known, name in zip(numbers, ("source", "target"), strict=True):
            if not known:
                raise InputError(f"the {name} side has no words to learn from")
        sides = (
            WordSide(
                [word.decode() for word in known],
                np.array(side_ids, np.int32),
                np.array(side_lengths, np.int64),
            )
            for known, side_ids, side_lengths in zip(numbers, ids, lengths, strict=True)
        )
        return cls(*sides)

    def __len__(self) -> int:
        return len(self.source.lengths)


@dataclass(frozen=True)
class Cooccurrences:
    """The distinct pairs of a source and a target word that occur in the same sentence pair, by
    source word.

    :param source: id of the source word, int32 [P]; ``target``: of the target word, int32 [P].
    :param sentences: number of sentence pairs with both, int64 [P].
    :param cells: index of the co-occurrence of each source word i with each target word j of a
        sentence pair, int32; for sentence pair s at ``offsets[s] + i * (target words) + j``.
        Optional.
    """

    source: np.ndarray
    target: np.ndarray
    sentences: np.ndarray
    cells: np.ndarray
    offsets: np.ndarray


def find_cooccurrences(text: Bitext, cells: bool = False) -> Cooccurrences:
    """Find all co-occurrences; ``cells``: also index every position of one (4 bytes each)."""
    from cgbench.models.lexicons.kernels import number_cooccurrences

    source, target = text.source, text.target
    sizes = source.lengths * target.lengths
    offsets = np.cumsum(sizes) - sizes
    if cells:
        count = int(sizes.sum())
        check_memory(
            f"a text with {count:,} co-occurrences of words",
            4 * count,
            "learn from shorter sentences",
        )
    targets, sentences, counts, numbers = number_cooccurrences(
        np.argsort(source.ids, kind="stable"),
        np.bincount(source.ids, minlength=len(source.words)),
        np.repeat(np.arange(len(text)), source.lengths),
        source.starts,
        target.ids,
        target.starts,
        target.lengths,
        len(target.words),
        offsets,
        np.empty(int(sizes.sum()) if cells else 0, np.int32),
    )
    sources = np.repeat(np.arange(len(source.words), dtype=np.int32), counts)
    return Cooccurrences(sources, targets, sentences, numbers, offsets)

"""Known n-grams of a training corpus, and the fewest known pieces that cover a sentence.

A known n-gram is a sequence of words, of any length and within one sentence, that occurs at least
``min_count`` times in training. The compositional degree of a sentence is the least number of known
n-grams that concatenate to it, divided by its length in words (Zheng and Lapata 2023, section 4).
Single words always count as pieces.

Known n-grams are closed under taking substrings, so the greedy leftmost-longest cover is minimal
(``cover_kernels.py``).

Saved layout (:meth:`KnownNgrams.save`; :meth:`Vocabulary.save` writes the files that begin with
``words``). All arrays are ``.npy``, little-endian, C order, read by memory mapping; V is the number
of words:

====================== ======== ========= ==========================================================
file                   type     shape     content
====================== ======== ========= ==========================================================
words.json, ngrams.json                   format version, thresholds, sizes, SHA-256 of each file
                                          and of this one
words.arena.npy        uint8    [B + 16]  the words' UTF-8 bytes by falling count, then 16 zeros
words.starts.npy       int64    [V + 1]   word i is arena[starts[i]:starts[i + 1]]
words.counts.npy       int64    [V]       occurrences in training
words.table.npy        uint64   [R, 3]    hash table, one row per word: 24 bits of its hash << 40 |
                                          min(its bytes, 255) << 32 | i + 1; its first 8 bytes and
                                          its next 8, each as a little-endian number moved to the
                                          high end
trie.slots.npy         uint64   [S]       hash table in buckets of 8 slots: parent node << 32 |
                                          (word + 1) << 1 | flag; 0 is empty, an entry is in the
                                          first free slot from the start of its bucket on
                                          (``trie_table.home_slot``). Node i < V is the word i, node
                                          V + s the n-gram entered in slot s
tail.nodes.npy         int32    [T]       slots whose flag says "a tail follows", rising
tail.starts.npy        int32    [T]       where the tail begins in tail.text
tail.lengths.npy       int32    [T]       words in the tail
tail.text.npy          int32    [...]     word ids
====================== ======== ========= ==========================================================
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import overload

import numpy as np

from cgbench.benchmark.measure.known_ngrams import saved as saved_ngrams
from cgbench.benchmark.measure.known_ngrams.learning import grow_ngrams
from cgbench.benchmark.measure.known_ngrams.trie_arrays import Tails
from cgbench.benchmark.measure.known_ngrams.vocabulary import Vocabulary, blocks_of, read_training
from cgbench.errors import InputError, argument
from cgbench.machine import check_memory
from cgbench.request import check, check_path
from cgbench.text.blocks import Block, join_blocks, release_memory, sentences
from cgbench.text.plain_text import words_of
from cgbench.text.word_counts import estimate_words

_SIZES = {"longest": int, "min_count": int, "ngrams": int}  # in ngrams.json
BYTES_A_WORD = 18  # memory for learning the n-grams of a text; measured in perf/load.py
LARGER = (
    "count a larger text with cgbench overlap, and pass its output folder as"
    f" {argument('known_from')}"
)


@dataclass(frozen=True, eq=False, repr=False)
class KnownNgrams:
    """A set of known n-grams with its vocabulary.

    ``ngrams`` is their number (single words included) and ``longest`` the length of the longest, in
    words. ``slots`` and ``tails`` are the arrays of the layout above. Two sets are equal if they
    hold the same n-grams with the same word ids; one text always gives the same ids.
    """

    words: Vocabulary
    min_count: int
    slots: np.ndarray
    ngrams: int
    longest: int
    tails: Tails = field(default_factory=Tails.none)

    @classmethod
    def learn(
        cls,
        text: str | os.PathLike[str] | Iterable[str],
        *,
        min_count: int = 3,
        word_min_count: int | None = None,
        jobs: int | None = None,
    ) -> KnownNgrams:
        """Find the n-grams that occur at least ``min_count`` times in a text.

        :param text: the name of a plain text file, one sentence per line; or a list of sentences.
        :param word_min_count: a word below this count is rare (default: ``min_count``).
        :param jobs: threads (default: one per core); the result does not depend on it.
        :raises InputError: the file is missing or not UTF-8, the list has items that are not
            strings, a threshold is below 1, the index cannot hold the n-grams or words, or there is
            not enough memory.
        """
        from cgbench.benchmark.measure.known_ngrams import trie_kernels

        check(int, 1, min_count=min_count, word_min_count=word_min_count, jobs=jobs)
        if isinstance(text, (str, os.PathLike)):
            expected_words = estimate_words(Path(text)) or 0
            check_memory(
                f"{text}: learning the n-grams of about {expected_words:,} words",
                BYTES_A_WORD * expected_words,
                LARGER,
            )
        word_min_count = min_count if word_min_count is None else word_min_count
        words, tokens, ids = read_training(blocks_of(text), min_count, word_min_count, keep=True)
        runs = trie_kernels.collapse(tokens, ids, min_count == 1)
        del tokens, ids  # 4 bytes per word
        state = grow_ngrams(words, min_count, runs, min_count, jobs)
        release_memory()
        return cls(words, min_count, *state)

    def __len__(self) -> int:
        return self.ngrams

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, KnownNgrams):
            return NotImplemented
        if self._sizes() != other._sizes():
            return False
        own_arrays, other_arrays = (
            [ngrams.slots, *ngrams.tails, *ngrams.words.arrays()] for ngrams in (self, other)
        )
        return all(map(np.array_equal, own_arrays, other_arrays))

    def __hash__(self) -> int:
        return hash(self._sizes())  # equal sets have equal sizes

    def __repr__(self) -> str:
        sizes = f"{self.ngrams:,} n-grams of {len(self.words):,} words"
        return f"<KnownNgrams: {sizes}, min_count={self.min_count}, longest {self.longest}>"

    def _sizes(self) -> tuple[int | bool, ...]:
        words = self.words
        return self.ngrams, self.longest, self.min_count, len(words), words.min_count, words.usable

    def __contains__(self, ngram: str | Sequence[str]) -> bool:
        """Whether this is a single piece: a known n-gram, or a word of the training corpus."""
        words = words_of(ngram) if isinstance(ngram, str) else ngram
        if len(words) == 1:
            return self.words.count(words[0]) >= self.min_count
        return bool(words) and len(self._cover(words)) == 1

    @overload
    def cover(self, text: str) -> list[tuple[str, ...]]: ...  # type: ignore[overload-overlap]
    @overload
    def cover(self, text: Iterable[str]) -> list[list[tuple[str, ...]]]: ...

    def cover(
        self, text: str | Iterable[str]
    ) -> list[tuple[str, ...]] | list[list[tuple[str, ...]]]:
        """The pieces of a smallest cover, from left to right. An unknown word is a piece of its
        own.

        :param text: a sentence; or a list of sentences, for a list of covers.
        :raises InputError: the list contains items that are not strings.
        """
        if not isinstance(text, str):
            return [self.cover(sentence) for sentence in sentences(text)]
        return self._cover(words_of(text))

    def _cover(self, words: Sequence[str]) -> list[tuple[str, ...]]:
        ids = self.words.ids(words)
        _, begins = self.count_pieces(ids, np.array([len(ids)], np.int32))
        starts = [*np.flatnonzero(begins).tolist(), len(words)]
        return [tuple(words[start:end]) for start, end in itertools.pairwise(starts)]

    @overload
    def degree(self, text: str) -> float: ...  # type: ignore[overload-overlap]
    @overload
    def degree(self, text: Iterable[str]) -> list[float]: ...

    def degree(self, text: str | Iterable[str]) -> float | list[float]:
        """Pieces over words (0.0 if empty) of a sentence, or of each sentence of a list.

        :raises InputError: the list contains items that are not strings.
        """
        if not isinstance(text, str):
            pieces, lengths = self.measure(text)
            return (pieces / np.maximum(lengths, 1)).tolist()
        cover = self.cover(text)
        return len(cover) / sum(map(len, cover)) if cover else 0.0

    def measure(self, lines: Iterable[str]) -> tuple[np.ndarray, np.ndarray]:
        """Pieces and lengths of many sentences at once, both int32 ``[lines]``."""
        empty = np.zeros(0, np.int32)
        blocks = map(self.measure_block, join_blocks(sentences(lines)))
        pieces, lengths = zip((empty, empty), *blocks, strict=True)
        return np.concatenate(pieces), np.concatenate(lengths)

    def measure_block(self, block: Block) -> tuple[np.ndarray, np.ndarray]:
        """Pieces and length of the lines of a block."""
        ids, lengths = self.words.read(block)
        return self.count_pieces(ids, lengths)[0], lengths

    def count_pieces(self, ids: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Smallest covers of sentences given as ids, one after another.

        :param ids: int32 ``[words of all sentences]``.
        :param lengths: int32 ``[sentences]``.
        :returns: pieces per sentence, int32 ``[sentences]``; uint8 ``[words]``, 1 where a piece
            begins.
        """
        from cgbench.benchmark.measure.known_ngrams import cover_kernels

        pieces = np.empty(len(lengths), np.int32)
        begins = np.empty(len(ids), np.uint8)
        cover_kernels.cover_greedy(
            ids, lengths, len(self.words), self.slots, self.tails, begins, pieces
        )
        return pieces, begins

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the arrays and, last, ``ngrams.json`` into ``folder``, in the layout of the
        module's docstring.
        """
        folder = Path(folder)
        self.words.save(folder)
        sizes = {name: getattr(self, name) for name in _SIZES} | {"slots": len(self.slots)}
        tails = {f"tail.{name}.npy": array for name, array in self.tails._asdict().items()}
        saved_ngrams.save_arrays(
            folder, "ngrams.json", sizes, {"trie.slots.npy": self.slots, **tails}
        )

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> KnownNgrams:
        """Map saved n-grams into memory. Pages load on first use; processes share them.

        :raises InputError: a file is missing, damaged or of another format version.
        """
        check_path(folder=folder)
        folder = Path(folder)
        sizes = saved_ngrams.read_sizes(folder / "ngrams.json", {**_SIZES, "slots": int})
        slots = saved_ngrams.read_array(folder / "trie.slots.npy", "uint64")
        if len(slots) != sizes["slots"]:
            raise InputError(
                f"{folder}: ngrams.json and trie.slots.npy do not match; {saved_ngrams.REMEDY}"
            )
        paths = [folder / f"tail.{name}.npy" for name in Tails._fields]
        tails = Tails(*(saved_ngrams.read_array(path, "int32") for path in paths))
        words = Vocabulary.load(folder)
        saved_ngrams.check_trie(folder, len(words), slots, tails)
        return cls(
            words,
            slots=slots,
            tails=tails,
            **{name: sizes[name] for name in _SIZES},
        )


def learn_sides(
    first: Path,
    second: Path,
    *,
    min_count: int = 3,
    word_min_count: int | None = None,
    jobs: int | None = None,
) -> tuple[KnownNgrams, Vocabulary]:
    """The known n-grams of one side of a training corpus and the words of the other, read in
    parallel.
    """
    with ThreadPoolExecutor(1) as thread:
        words = thread.submit(
            Vocabulary.learn,
            second,
            min_count=min_count if word_min_count is None else word_min_count,
        )
        ngrams = KnownNgrams.learn(
            first, min_count=min_count, word_min_count=word_min_count, jobs=jobs
        )
        return ngrams, words.result()

"""The words of one side of a training corpus: counted, numbered by falling count, saved and loaded.

The layout of the files is in ``known.py``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cgbench.benchmark.measure.known_ngrams import saved as saved_ngrams
from cgbench.errors import InputError
from cgbench.text.blocks import Block, join_blocks, padded_text, read_blocks, sentences
from cgbench.text.word_counts import WordCounter


@dataclass(frozen=True, eq=False, repr=False)
class Vocabulary:
    """The words of one side of a training corpus, by falling count.

    A word is rare when it occurs fewer than ``min_count`` times; the first ``usable`` words are
    not.
    """

    arena: np.ndarray
    starts: np.ndarray
    counts: np.ndarray
    table: np.ndarray
    min_count: int
    usable: int

    @classmethod
    def learn(
        cls, text: str | os.PathLike[str] | Iterable[str], *, min_count: int = 3
    ) -> Vocabulary:
        """Count the words of a text (blank-separated, one sentence per line; see
        ``text/blocks.py``).

        :param text: the name of a file, or a list of sentences.
        :raises InputError: the file is missing or not UTF-8, the list has items that are not
            strings, or ``min_count`` is below 1.
        """
        return read_training(blocks_of(text), min_count, min_count, keep=False)[0]

    def arrays(self) -> tuple[np.ndarray, ...]:
        """The arrays; with ``min_count`` and ``usable`` they are the whole vocabulary."""
        return self.arena, self.starts, self.counts, self.table

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        same = (self.min_count, self.usable) == (other.min_count, other.usable)
        return same and all(map(np.array_equal, self.arrays(), other.arrays()))

    def __hash__(self) -> int:
        return hash((len(self), self.min_count, self.usable))

    def __repr__(self) -> str:
        return f"<Vocabulary: {len(self):,} words, min_count={self.min_count}>"

    def __len__(self) -> int:
        return len(self.counts)

    def __contains__(self, word: str) -> bool:
        return self.count(word) > 0

    def word(self, index: int) -> str:
        """The word with this id."""
        return self.arena[self.starts[index] : self.starts[index + 1]].tobytes().decode()

    def ids(self, words: Sequence[str]) -> np.ndarray:
        """The ids of words, int32 ``[len(words)]``; ``word_kernels.UNKNOWN`` for unknown words."""
        from cgbench.text import word_kernels

        ids = np.full(len(words), word_kernels.UNKNOWN, np.int32)
        spellings = [word.encode("utf-8", "surrogatepass") for word in words]
        # A string that is empty or holds a blank is not a word, and must not get the id of its
        # first part.
        single = [i for i, spelling in enumerate(spellings) if spelling.split() == [spelling]]
        text = b"".join(spellings[i] + b"\n" for i in single)
        ids[single], _ = self.read(Block(padded_text(text), len(text), 0))
        return ids

    def read(self, block: Block) -> tuple[np.ndarray, np.ndarray]:
        """The ids of a block's words, ``word_kernels.UNKNOWN`` for unknown ones, and the words per
        line, both int32.
        """
        from cgbench.text import word_kernels

        ids, lengths = (
            np.empty(block.size // 2 + 1, np.int32),
            np.empty(block.count_lines(), np.int32),
        )
        filled = word_kernels.read_ids(
            block.buffer, block.size, self.arena, self.starts, self.table, ids, lengths
        )
        return ids[:filled], lengths

    def read_lines(self, lines: Iterable[str]) -> tuple[np.ndarray, np.ndarray]:
        """:meth:`read` for lines: ids int32 ``[words of all]``, lengths int32 ``[lines]``."""
        empty = np.zeros(0, np.int32)
        ids, lengths = zip((empty, empty), *map(self.read, join_blocks(lines)), strict=True)
        return np.concatenate(ids), np.concatenate(lengths)

    def text(self, ids: Sequence[int]) -> str:
        """The words with these ids, separated by spaces."""
        return " ".join(map(self.word, ids))

    def count(self, word: str) -> int:
        """Occurrences in training; 0 for an unknown word."""
        index = int(self.ids([word])[0])
        return int(self.counts[index]) if index < len(self) else 0

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the arrays and, last, ``words.json`` into ``folder``."""
        folder = Path(folder)
        arrays = {f"words.{name}.npy": getattr(self, name) for name in saved_ngrams.WORD_ARRAYS}
        sizes = {"words": len(self), "min_count": self.min_count, "usable": self.usable}
        saved_ngrams.save_arrays(folder, "words.json", sizes, arrays)

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Vocabulary:
        """Map a saved vocabulary into memory."""
        folder = Path(folder)
        sizes = saved_ngrams.read_sizes(
            folder / "words.json", {"words": int, "min_count": int, "usable": int}
        )
        arrays = {
            name: saved_ngrams.read_array(
                folder / f"words.{name}.npy", dtype, 3 if name == "table" else None
            )
            for name, dtype in saved_ngrams.WORD_ARRAYS.items()
        }
        saved_ngrams.check_vocabulary(folder, sizes["words"], sizes["usable"], arrays)
        return cls(**arrays, min_count=sizes["min_count"], usable=sizes["usable"])


def blocks_of(text: str | os.PathLike[str] | Iterable[str]) -> Iterator[Block]:
    """The blocks of a file, or of a list of sentences."""
    return (
        read_blocks(Path(text))
        if isinstance(text, (str, os.PathLike))
        else join_blocks(sentences(text))
    )


def read_training(
    blocks: Iterator[Block], min_count: int, word_min_count: int, keep: bool
) -> tuple[Vocabulary, np.ndarray, np.ndarray]:
    """Count words; return the vocabulary, the text in ids by first occurrence, and the new id of
    each of those.
    """
    for name, value in (("min_count", min_count), ("word_min_count", word_min_count)):
        if value < 1:
            raise InputError(f"{name} is {value}; it must be at least 1")
    counter = WordCounter()
    for block in blocks:
        counter.read(block, keep)
    counts = counter.counts[: counter.words]
    vocabulary, ids = rank_words(counter.arena, counter.starts, counts, min_count, word_min_count)
    return vocabulary, counter.tokens[: counter.filled], ids


def rank_words(
    arena: np.ndarray, starts: np.ndarray, counts: np.ndarray, min_count: int, word_min_count: int
) -> tuple[Vocabulary, np.ndarray]:
    """The vocabulary of the words that are known or not rare, and the new id of each word, int32
    ``[words]``.

    A new id is -1 where the word occurs fewer than ``min_count`` times, so that no known n-gram
    contains it.
    """
    from cgbench.text import word_kernels

    order = np.argsort(-counts, kind="stable")
    ids = np.empty(len(order), np.int32)
    ids[order] = np.arange(len(order))
    ids[counts < min_count] = -1
    order = order[: int(np.count_nonzero(counts >= min(min_count, word_min_count)))]
    arena, starts, table = word_kernels.order_words(arena, starts, order)
    usable = int(np.count_nonzero(counts >= word_min_count))
    return Vocabulary(arena, starts, counts[order], table, word_min_count, usable), ids

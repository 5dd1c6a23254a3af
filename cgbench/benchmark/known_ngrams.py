"""Known n-grams: what a training corpus makes known, and how few known pieces a sentence needs.

A known n-gram is a sequence of words, of any length and within one sentence, that occurs at least ``min_count`` times
in training. The compositional degree of a sentence is the least number of known n-grams whose concatenation it
is, over its length in words (Zheng and Lapata 2023, section 4). Single words always count as pieces.

Known n-grams are closed under taking substrings, so the greedy leftmost-longest cover is a least one; a given phrase
list is not closed, and there the dynamic programme is used. Both run in ``trie_kernels.py``.

Saved layout (:meth:`KnownNgrams.save`; :meth:`Vocabulary.save` writes the files that begin with ``words``). All arrays
are ``.npy``, little-endian, C order, read by memory mapping; V is the number of words:

====================== ======== ========= ====================================================================
file                   type     shape     content
====================== ======== ========= ====================================================================
words.json, ngrams.json                   format version, thresholds, sizes
words.arena.npy        uint8    [B + 16]  the words' UTF-8 bytes one after another by falling count, 16 zeros
words.starts.npy       int64    [V + 1]   word i is arena[starts[i]:starts[i + 1]]
words.counts.npy       int64    [V]       occurrences in training
words.table.npy        uint64   [R, 3]    hash table, a row a word: 24 bits of its hash << 40 | min(its bytes, 255)
                                          << 32 | i + 1; its first 8 bytes and its next 8, each as a
                                          little-endian number moved to the high end
trie.slots.npy         uint64   [S]       hash table in buckets of 8 slots: parent node << 32 |
                                          (word + 1) << 1 | flag; 0 is empty, an entry is in the first free slot
                                          from its bucket's begin on (``trie_kernels._home``).
                                          Node i < V is the word i, node V + s the n-gram entered in slot s
tail.nodes.npy         int32    [T]       slots whose flag says "a tail follows", rising (phrase lists: T = 0, the
                                          flag says "a phrase ends here")
tail.starts.npy        int32    [T]       where the tail begins in tail.text
tail.lengths.npy       int32    [T]       words in the tail
tail.text.npy          int32    [...]     word ids
====================== ======== ========= ====================================================================
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from cgbench.errors import InputError
from cgbench.files import atomic_path, read_json, write_json
from cgbench.text.blocks import Block, join_blocks, padded, read_blocks, release_memory

FORMAT = 1
_LARGEST = 2**31 - 2
_PARTITION = 1 << 18


@dataclass(frozen=True)
class Vocabulary:
    """The words of one side of a training corpus, by falling count.

    A word is rare when it occurs fewer than ``min_count`` times; the first ``usable`` words are not.
    """

    arena: np.ndarray
    starts: np.ndarray
    counts: np.ndarray
    table: np.ndarray
    min_count: int
    usable: int

    @classmethod
    def learn(cls, text: Path, *, min_count: int = 3) -> Vocabulary:
        """Count the words of a plain text file (blank-separated, one sentence a line).

        :raises InputError: the file is missing or not UTF-8, or ``min_count`` is below 1.
        """
        return _read_training(read_blocks(text), min_count, min_count, keep=False)[0]

    @classmethod
    def learn_lines(cls, lines: Iterable[str], *, min_count: int = 3) -> Vocabulary:
        """Count the words of lines in memory."""
        return _read_training(join_blocks(lines), min_count, min_count, keep=False)[0]

    def __len__(self) -> int:
        return len(self.counts)

    def __contains__(self, word: str) -> bool:
        return self.count(word) > 0

    def word(self, index: int) -> str:
        """The word with this id."""
        return self.arena[self.starts[index] : self.starts[index + 1]].tobytes().decode()

    def ids(self, words: Sequence[str]) -> np.ndarray:
        """The ids of words, int32 ``[len(words)]``; ``kernels.UNKNOWN`` for words that are not held."""
        from cgbench.text import word_kernels as kernels

        ids = np.full(len(words), kernels.UNKNOWN, np.int32)
        parts = [word.encode("utf-8", "surrogatepass") for word in words]
        # What holds a blank, or nothing, is no word; an id must not be that of a part of it.
        whole = [i for i, part in enumerate(parts) if part.split() == [part]]
        text = b"\n".join([*(parts[i] for i in whole), bytes(1)])
        buffer = padded(len(text))
        buffer[: len(text)] = np.frombuffer(text, np.uint8)
        buffer[len(text) - 1 :] = 10
        found = np.empty(len(whole), np.int32)
        lengths = np.empty(len(whole), np.int32)
        kernels.read_ids(buffer, len(text) - 1, self.arena, self.starts, self.table, found, lengths)
        ids[whole] = found
        return ids

    def count(self, word: str) -> int:
        """Occurrences in training; 0 for a word that is not held."""
        index = int(self.ids([word])[0])
        return int(self.counts[index]) if index < len(self) else 0

    def is_rare(self, word: str) -> bool:
        """Does the word occur fewer than ``min_count`` times?"""
        return int(self.ids([word])[0]) >= self.usable

    def save(self, folder: Path) -> None:
        """Write the arrays and, last, ``words.json`` into ``folder``."""
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("arena", "starts", "counts", "table"):
            _save_array(folder / f"words.{name}.npy", getattr(self, name))
        sizes = {"format": FORMAT, "words": len(self), "min_count": self.min_count, "usable": self.usable}
        write_json(folder / "words.json", sizes)

    @classmethod
    def load(cls, folder: Path) -> Vocabulary:
        """Map a saved vocabulary into memory.

        :raises InputError: something is missing, cut short or of another format version.
        """
        sizes = _read_sizes(folder / "words.json")
        arrays = [_load_array(folder / f"words.{name}.npy") for name in ("arena", "starts", "counts", "table")]
        if len(arrays[2]) != sizes["words"]:
            raise InputError(f"{folder}: words.json and words.counts.npy do not belong together; save it again")
        return cls(*arrays, sizes["min_count"], sizes["usable"])  # type: ignore[call-arg, arg-type]


@dataclass(frozen=True)
class KnownNgrams:
    """A set of known n-grams with its vocabulary; ``closed`` under substrings unless it is a phrase list.

    ``ngrams`` is their number (single words included) and ``longest`` the length of the longest, in words.
    """

    words: Vocabulary
    slots: np.ndarray
    min_count: int
    closed: bool
    ngrams: int
    longest: int
    tail_nodes: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int32))
    tail_starts: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int32))
    tail_lengths: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int32))
    tail_text: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int32))

    @classmethod
    def learn(
        cls, text: Path, *, min_count: int = 3, word_min_count: int | None = None, jobs: int | None = None
    ) -> KnownNgrams:
        """Find the n-grams that occur at least ``min_count`` times in a plain text file.

        :param word_min_count: a word below this count is rare (default: ``min_count``).
        :param jobs: threads (default: one a core); the result does not depend on it.
        :raises InputError: the file is missing or not UTF-8, a threshold is below 1, or there are more than
            2^31 - 2 words and line ends.
        """
        ngrams = _learn(read_blocks(text), min_count, word_min_count, jobs)
        release_memory()
        return ngrams

    @classmethod
    def learn_lines(
        cls, lines: Iterable[str], *, min_count: int = 3, word_min_count: int | None = None, jobs: int | None = None
    ) -> KnownNgrams:
        """The same for lines in memory."""
        return _learn(join_blocks(lines), min_count, word_min_count, jobs)

    @classmethod
    def from_phrases(cls, phrases: Path | Iterable[str], words: Vocabulary | None = None) -> KnownNgrams:
        """Take a given set of phrases, one a line, words separated by blanks.

        :param words: decides which words are rare (default: a word that is in no phrase is).
        """
        from cgbench.benchmark import trie_kernels
        from cgbench.text import word_kernels as kernels

        state = _Counter()
        if words is not None:
            for block in join_blocks(words.word(i) for i in range(len(words))):
                state.read(block, keep=False)
        for block in read_blocks(phrases) if isinstance(phrases, Path) else join_blocks(phrases):
            state.read(block, keep=True)
        size = state.words
        arena, starts, table = kernels.order_words(state.arena, state.starts, np.arange(size))
        counts = state.counts[:size].copy()
        if words is not None:
            counts[: len(words)] = words.counts
            counts[len(words) :] = 0
        tokens = state.tokens[: state.filled]
        ends = np.flatnonzero(tokens < 0)
        bounds = np.concatenate([[0], ends - np.arange(len(ends))])
        ids = tokens[tokens >= 0]
        trie = _empty_slots(len(ids))
        trie_kernels.build_phrases(ids, bounds, size, trie)
        vocabulary = Vocabulary(
            arena,
            starts,
            counts,
            table,
            min_count=words.min_count if words is not None else 1,
            usable=words.usable if words is not None else size,
        )
        longest = max([int(size > 0), *np.diff(bounds).tolist()])
        return cls(vocabulary, trie, 1, False, size + int(np.count_nonzero(trie & np.uint64(1))), longest)

    @property
    def word_min_count(self) -> int:
        """A word that occurs fewer times in training is rare."""
        return self.words.min_count

    def __len__(self) -> int:
        return self.ngrams

    def __contains__(self, ngram: str | Sequence[str]) -> bool:
        """Is this a single piece (a known n-gram, or a single word of the training corpus)?"""
        words = ngram.encode().split() if isinstance(ngram, str) else ngram
        if len(words) == 1:
            return self.words.count(_text(words[0])) >= (self.min_count if self.closed else 0)
        return bool(words) and self.pieces(ngram) == 1

    def is_rare(self, word: str) -> bool:
        """Does the word occur fewer than ``word_min_count`` times in training?"""
        return self.words.is_rare(word)

    def cover(self, sentence: str | Sequence[str]) -> list[tuple[str, ...]]:
        """The pieces of a least cover, from left to right. A word that is not known is a piece of its own."""
        words = [_text(word) for word in sentence.encode().split()] if isinstance(sentence, str) else list(sentence)
        ids = self.words.ids(words)
        _, begins = self.count_pieces(ids, np.array([len(ids)], np.int32))
        starts = [*np.flatnonzero(begins).tolist(), len(words)]
        return [tuple(words[start:end]) for start, end in itertools.pairwise(starts)]

    def pieces(self, sentence: str | Sequence[str]) -> int:
        """The least number of pieces."""
        return len(self.cover(sentence))

    def degree(self, sentence: str | Sequence[str]) -> float:
        """Pieces over words; 0.0 for an empty sentence."""
        cover = self.cover(sentence)
        return len(cover) / sum(map(len, cover)) if cover else 0.0

    def measure(self, lines: Iterable[str]) -> tuple[np.ndarray, np.ndarray]:
        """Pieces and length of many sentences at once, both int32 ``[lines]``."""
        pieces = [np.zeros(0, np.int32)]
        lengths = [np.zeros(0, np.int32)]
        for block in join_blocks(lines):
            some_pieces, some_lengths = self.measure_block(block)
            pieces.append(some_pieces)
            lengths.append(some_lengths)
        return np.concatenate(pieces), np.concatenate(lengths)

    def measure_block(self, block: Block) -> tuple[np.ndarray, np.ndarray]:
        """Pieces and length of the lines of a block."""
        from cgbench.text import word_kernels as kernels

        lengths = np.empty(block.count_lines(), np.int32)
        ids = np.empty(block.size // 2 + 1, np.int32)
        words = self.words
        filled = kernels.read_ids(block.buffer, block.size, words.arena, words.starts, words.table, ids, lengths)
        return self.count_pieces(ids[:filled], lengths)[0], lengths

    def count_pieces(self, ids: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Least covers of sentences given as ids, one after another.

        :param ids: int32 ``[words of all sentences]``.
        :param lengths: int32 ``[sentences]``.
        :return: pieces a sentence, int32 ``[sentences]``; uint8 ``[words]``, 1 where a piece begins.
        """
        from cgbench.benchmark import trie_kernels

        pieces = np.empty(len(lengths), np.int32)
        begins = np.empty(len(ids), np.uint8)
        size = len(self.words)
        if self.closed:
            tails = self.tail_nodes, self.tail_starts, self.tail_lengths, self.tail_text
            trie_kernels.cover_greedy(ids, lengths, size, self.slots, *tails, begins, pieces)
        else:
            trie_kernels.cover_least(ids, lengths, size, self.slots, begins, pieces)
        return pieces, begins

    def save(self, folder: Path) -> None:
        """Write the arrays and, last, ``ngrams.json`` into ``folder``: the layout is in the module's docstring."""
        self.words.save(folder)
        _save_array(folder / "trie.slots.npy", self.slots)
        for name in ("nodes", "starts", "lengths", "text"):
            _save_array(folder / f"tail.{name}.npy", getattr(self, f"tail_{name}"))
        sizes = {
            "closed": self.closed,
            "format": FORMAT,
            "longest": self.longest,
            "min_count": self.min_count,
            "ngrams": self.ngrams,
            "slots": len(self.slots),
        }
        write_json(folder / "ngrams.json", sizes)

    @classmethod
    def load(cls, folder: Path) -> KnownNgrams:
        """Map saved n-grams into memory: pages are read when they are used and shared between processes.

        :raises InputError: something is missing, cut short or of another format version.
        """
        sizes = _read_sizes(folder / "ngrams.json")
        slots = _load_array(folder / "trie.slots.npy")
        if len(slots) != sizes["slots"]:
            raise InputError(f"{folder}: ngrams.json and trie.slots.npy do not belong together; save it again")
        tails = [_load_array(folder / f"tail.{name}.npy") for name in ("nodes", "starts", "lengths", "text")]
        return cls(
            Vocabulary.load(folder),
            slots,
            sizes["min_count"],
            sizes["closed"],
            sizes["ngrams"],
            sizes["longest"],
            *tails,
        )


def learn_sides(
    ours: Path, other: Path, *, min_count: int = 3, word_min_count: int | None = None, jobs: int | None = None
) -> tuple[KnownNgrams, Vocabulary]:
    """The known n-grams of one side of a training corpus and the words of the other, read side by side."""
    with ThreadPoolExecutor(1) as thread:
        words = thread.submit(
            Vocabulary.learn, other, min_count=min_count if word_min_count is None else word_min_count
        )
        ngrams = KnownNgrams.learn(ours, min_count=min_count, word_min_count=word_min_count, jobs=jobs)
        return ngrams, words.result()


def preload() -> None:
    """Load the compiled loops; half a second that a thread can spend while files are hashed."""
    block = next(iter(join_blocks(["a"])))
    counter = _Counter()
    counter.read(block, keep=True)


class _Counter:
    """A growing vocabulary and, where wanted, the text as its ids."""

    def __init__(self) -> None:
        self.tokens = np.empty(0, np.int32)
        self.filled = 0
        self.arena = np.zeros(1 << 16, np.uint8)
        self.starts = np.zeros(1 << 12, np.int64)
        self.counts = np.zeros(1 << 12, np.int64)
        self.table = np.zeros((1 << 13, 3), np.uint64)
        self.words = 0

    def read(self, block: Block, keep: bool) -> None:
        from cgbench.text import word_kernels as kernels

        room = self.filled + block.size + 1
        if keep and room > len(self.tokens):
            # In place, so that the system moves pages instead of copying them.
            self.tokens.resize(max(room, len(self.tokens) * 5 // 4), refcheck=False)
        i = 0
        while i < block.size:
            state = self.arena, self.starts, self.counts, self.table, self.words
            i, self.filled, self.words = kernels.read_words(
                block.buffer, i, block.size, keep, self.tokens, self.filled, *state
            )
            if i < block.size:
                self.make_room(block.size)
        if self.filled > _LARGEST:
            raise InputError(
                f"the training text has more than {_LARGEST:,} words and line ends; learn from a part of it"
            )

    def make_room(self, word: int) -> None:
        """Enlarge what is nearly full; ``word`` is the length of the longest word that may come, in bytes."""
        from cgbench.text import word_kernels as kernels

        if 2 * self.words > len(self.starts):
            self.starts, self.counts = (_longer(array, 2 * len(array)) for array in (self.starts, self.counts))
        used = int(self.starts[self.words])
        if used + word + kernels.PAD > len(self.arena):
            self.arena = _longer(self.arena, 2 * (used + word + kernels.PAD))
        if 2 * self.words > len(self.table):
            self.table = np.zeros((2 * len(self.table), 3), np.uint64)
            kernels.enter_words(self.table, self.arena, self.starts, self.words)


def _longer(array: np.ndarray, size: int) -> np.ndarray:
    """A copy with ``size`` rows."""
    result = np.zeros((size, *array.shape[1:]), array.dtype)
    result[: len(array)] = array
    return result


def _read_training(
    blocks: Iterator[Block], min_count: int, word_min_count: int, keep: bool
) -> tuple[Vocabulary, np.ndarray, np.ndarray]:
    """Count words; return the vocabulary, the text in first-come ids, and the new id of each of those (or -1).

    A new id is -1 where the word occurs fewer than ``min_count`` times, so that no known n-gram holds it.
    """
    from cgbench.text import word_kernels as kernels

    for name, value in (("min_count", min_count), ("word_min_count", word_min_count)):
        if value < 1:
            raise InputError(f"{name} is {value}, and must be at least 1")
    counter = _Counter()
    for block in blocks:
        counter.read(block, keep)
    counts = counter.counts[: counter.words]
    order = np.argsort(-counts, kind="stable")
    held = int(np.count_nonzero(counts >= min(min_count, word_min_count)))
    ids = np.empty(len(order), np.int32)
    ids[order] = np.arange(len(order))
    ids[counts < min_count] = -1
    order = order[:held]
    arena, starts, table = kernels.order_words(counter.arena, counter.starts, order)
    usable = int(np.count_nonzero(counts >= word_min_count))
    vocabulary = Vocabulary(arena, starts, counts[order], table, word_min_count, usable)
    return vocabulary, counter.tokens[: counter.filled], ids


def _learn(blocks: Iterator[Block], min_count: int, word_min_count: int | None, jobs: int | None) -> KnownNgrams:
    from cgbench.benchmark import trie_kernels

    vocabulary, tokens, ids = _read_training(
        blocks, min_count, min_count if word_min_count is None else word_min_count, keep=True
    )
    size = len(vocabulary)
    known_words = int(np.count_nonzero(vocabulary.counts >= min_count))
    text, weights, ends = trie_kernels.collapse(tokens, ids, min_count == 1)
    del tokens, ids
    starts = trie_kernels.count_first(text, known_words)
    groups = np.empty((2, int(starts[-1])), np.int32)  # 8 bytes a word: much of the memory that learning takes
    trie_kernels.sort_first(text, starts, groups[0])

    # The parts depend on the text alone, so that the nodes come in the same order whatever the number of threads.
    cuts = np.searchsorted(starts, np.arange(_PARTITION, groups.shape[1], _PARTITION))
    cuts = np.unique(np.concatenate([[0], cuts, [known_words]]))

    def grow(low: int, high: int) -> np.ndarray:
        nodes = np.empty((int(starts[high] - starts[low]) // 4 + 64, 4), np.int32)
        stack = np.empty((1 << 8, 5), np.int64)
        tally, touched = np.zeros(known_words, np.int64), np.empty(known_words, np.int32)
        word, depth, filled = low, 0, 0
        while word < high:
            word, depth, filled = trie_kernels.grow_trie(
                text, weights, ends, groups, starts, word, high, min_count, nodes, filled, stack, depth, tally, touched
            )
            # A node has at most known_words children: with so much room the next call goes on.
            if word < high and len(nodes) < filled + known_words + trie_kernels.SHORTEST_TAIL:
                nodes = _longer(nodes, 2 * filled + known_words + trie_kernels.SHORTEST_TAIL)
            if word < high and len(stack) < depth + known_words:
                stack = _longer(stack, 2 * depth + known_words)
        return nodes[:filled].copy()

    with ThreadPoolExecutor(jobs or len(os.sched_getaffinity(0))) as pool:
        parts = list(pool.map(grow, cuts[:-1].tolist(), cuts[1:].tolist()))
    base = 0
    for part in parts:
        part[part[:, 0] >= 0, 0] += base
        base += len(part)
    slots = _empty_slots(base)
    if size + len(slots) > _LARGEST:
        raise InputError(f"{base:,} known n-grams are more than the index can hold; raise min_count")
    nodes = np.concatenate([np.empty((0, 4), np.int32), *parts])
    del parts
    longest, *tails = trie_kernels.build_trie(nodes, text, size, slots)
    ngrams = known_words + len(nodes) + int(nodes[:, 3].sum(dtype=np.int64))
    return KnownNgrams(vocabulary, slots, min_count, True, ngrams, max(longest, min(known_words, 1)), *tails)


def _empty_slots(entries: int) -> np.ndarray:
    """A table for so many entries, at most 55 % full, each bucket a line of cache."""
    from cgbench.benchmark.trie_kernels import BUCKET

    size = (entries * 20 // 11 // BUCKET + 1) * BUCKET
    memory = np.zeros(size + BUCKET, np.uint64)
    skip = -memory.ctypes.data % (8 * BUCKET) // 8
    return memory[skip : skip + size]


def _text(word: bytes | str) -> str:
    return word if isinstance(word, str) else word.decode()


def _save_array(path: Path, array: np.ndarray) -> None:
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        np.save(file, array, allow_pickle=False)


def _load_array(path: Path) -> np.ndarray:
    try:
        # Copy-on-write rather than read-only: the compiled loops would count a read-only array as another type.
        return np.load(path, mmap_mode="c", allow_pickle=False).view(np.ndarray)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except (ValueError, EOFError, OSError) as error:
        raise InputError(f"{path}: not a whole array file ({error}); save it again") from None


def _read_sizes(path: Path) -> dict:
    sizes = read_json(path)
    if sizes.get("format") != FORMAT:
        raise InputError(f"{path}: format {sizes.get('format')}, but this version reads format {FORMAT}; save it again")
    return sizes

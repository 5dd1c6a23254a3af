"""Count the n-grams of a corpus: its text as word ids, and its positions sorted by the words that
end there.

``smoothing.py`` derives all counts of modified Kneser-Ney smoothing from this sorting. The n-grams
of every order form runs in it; the run of an n-gram consists of the runs of the n-grams with one
more word on the left.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import pairwise, repeat
from pathlib import Path
from typing import Any

import numpy as np

from cgbench.errors import InputError
from cgbench.progress import bar
from cgbench.text.blocks import BLOCK, Block, block_of_bytes, read_blocks
from cgbench.text.streams import is_plain_file, shown
from cgbench.text.word_counts import WordCounter

LONGEST = 255  # highest order that 8-bit depths can hold
_PART = 1 << 20
SPECIAL_WORDS = (b"<unk>", b"<s>", b"</s>", b"<UNK>")


@dataclass(frozen=True)
class Corpus:
    """A corpus as word ids.

    ``text``, int32 ``[positions]``, is described in ``count_kernels``. The bytes of word ``i`` are
    ``arena[starts[i]:starts[i + 1]]``; ``counts``, int64 ``[words]``, includes the ``</s>`` of each
    sentence. Words 0, 1, 2 are ``<unk>``, ``<s>``, ``</s>``; the others follow by decreasing count,
    ties by first occurrence.
    """

    text: np.ndarray
    arena: np.ndarray
    starts: np.ndarray
    counts: np.ndarray
    tokens: int
    sentences: int
    sha256: str

    @property
    def words(self) -> int:
        """Vocabulary size, including the three special words."""
        return len(self.counts)

    @property
    def longest(self) -> int:
        """Length of the longest word in bytes."""
        return int(np.diff(self.starts).max())


@dataclass(frozen=True)
class SortedPositions:
    """Every position of a text, sorted by the words that end there, last word first; see
    ``count_kernels``.

    ``starts``, int64 ``[words + 1]``: index of the first position of each word.
    """

    positions: np.ndarray
    shared: np.ndarray
    depths: np.ndarray
    starts: np.ndarray
    order: int


def read_text_corpus(path: Path) -> Corpus:
    """Read a text with one sentence per line, words separated by ASCII white space; ``-`` is
    standard input.

    Compressed files are decompressed; ``TABLE:COLUMN`` is a column of a table. An empty line is
    an empty sentence, as in KenLM's lmplz.

    :raises InputError: the file is missing, damaged, empty, too long or not UTF-8; it contains a
        NUL byte, or ``<s>``, ``</s>``, ``<unk>`` or ``<UNK>``.
    """
    from cgbench.lm import count_kernels

    name = shown(path)
    digest = hashlib.sha256()
    counter = WordCounter(
        line_end=count_kernels.END, first_kept=count_kernels.SPECIAL, keep_empty=True
    )
    counter.read(block_of_bytes(b"\n".join([*SPECIAL_WORDS, b""])), keep=False)
    counter.counts[:] = 0
    counter.tokens = np.full(1, count_kernels.END, np.int32)
    counter.filled = 1
    file_bytes = path.stat().st_size if is_plain_file(path) and path.is_file() else None
    with ThreadPoolExecutor(1) as reader, bar(file_bytes, "read", "B") as progress:
        blocks = _blocks(path, name, digest)
        following = reader.submit(next, blocks, None)
        while (block := following.result()) is not None:
            following = reader.submit(next, blocks, None)
            counter.read(block, keep=True)
            if counter.counts[: count_kernels.SPECIAL].any():
                raise _special_word(block, name)
            progress.update(block.size)
    # A copy frees the spare capacity, and uses large pages, unlike a resized array.
    text, counter.tokens = counter.tokens[: counter.filled].copy(), np.empty(0, np.int32)
    counts = counter.counts[: counter.words]
    tokens = int(counts[count_kernels.SPECIAL :].sum())
    if not tokens:
        raise InputError(
            f"{name}: contains no words; a language model needs text, one sentence per line"
        )
    return _renumbered(counter, text, tokens, digest.hexdigest())


def _blocks(path: Path, name: str, digest: Any) -> Iterator[Block]:
    """Read blocks of whole lines, each in its own memory, and check that they contain no NUL
    byte.
    """
    for block in read_blocks(path, BLOCK, shared=False, digest=digest):
        if not block.buffer[: block.size].all():
            raise InputError(
                f"{name}, line {block.lines_with(0)[1] + 1}: contains a NUL byte, which is not"
                " allowed; remove it"
            )
        yield block


def _special_word(block: Block, name: str) -> InputError:
    for line_number, line in enumerate(
        block.buffer[: block.size].tobytes().split(b"\n"), block.line + 1
    ):
        for word in line.split():
            if word in SPECIAL_WORDS:
                return InputError(
                    f"{name}, line {line_number}: contains the special symbol {word.decode()};"
                    " remove it"
                )
    raise AssertionError("a special word was counted that is not there")


def _renumbered(counter: WordCounter, text: np.ndarray, tokens: int, sha256: str) -> Corpus:
    from cgbench.lm import count_kernels
    from cgbench.text import word_kernels

    special = count_kernels.SPECIAL
    counts = counter.counts[: counter.words]
    order = special + np.argsort(-counts[special:], kind="stable")
    ids = np.zeros(counter.words, np.int32)
    ids[count_kernels.END] = count_kernels.END
    ids[order] = np.arange(3, 3 + len(order))
    arena, starts, _ = word_kernels.order_words(
        counter.arena, counter.starts, np.concatenate([np.arange(3), order])
    )
    for low in range(0, len(text), _PART):
        text[low : low + _PART] = ids[text[low : low + _PART]]
    final = np.zeros(3 + len(order), np.int64)
    final[3:] = counts[order]
    sentences = len(text) - 1 - tokens
    final[count_kernels.END] = sentences
    return Corpus(text, arena, starts, final, tokens, sentences, sha256)


def sort_positions(corpus: Corpus, order: int, jobs: int) -> SortedPositions:
    """Sort all positions of a corpus for n-grams of up to ``order`` words, in ``jobs`` threads.

    If the positions are sorted by the last n words, distributing their successors to their words,
    in that order, sorts them by n + 1 words. Words before the start of a sentence do not count:
    until the last round every END stays in text order.
    """
    from cgbench.lm import count_kernels

    text, end = corpus.text, count_kernels.END
    count = len(text) - 1
    starts = np.concatenate([[0], np.cumsum(corpus.counts)])
    sentences = slice(int(starts[end]), int(starts[end + 1]))
    ranges = split_range(count, jobs)
    with ThreadPoolExecutor(jobs) as pool, bar(order + 1, "sort", "round") as progress:

        def each(work: Callable[..., None], *arguments: Iterable[Any]) -> None:
            list(pool.map(lambda bounds, *values: work(*bounds, *values), ranges, *arguments))

        def free(words: np.ndarray) -> list[np.ndarray]:
            """The index at which each range stores the positions of each word: after those of the
            earlier ranges.
            """
            counts = [np.zeros(corpus.words, np.int64) for _ in ranges]
            each(partial(count_kernels.count_range, words), counts)
            progress.update()
            return list(np.cumsum([starts[:-1], *counts[:-1]], axis=0))

        # Sort by the last word, then by one more word per round.
        positions, sorted_, following = (np.empty(count, np.int32) for _ in range(3))
        each(partial(count_kernels.sort_by_word, text), free(text[1:]), repeat(positions))
        work: Callable[..., None] | None = None
        for known in range(1, order):
            each(partial(count_kernels.read_following, text, positions), repeat(following))
            work = partial(count_kernels.sort_following, positions, following)
            each(work, repeat(count), free(following), repeat(sorted_))
            if known < order - 1:
                sorted_[sentences] = positions[sentences]
            positions, sorted_ = sorted_, positions
        del sorted_, following, work
        # Compare neighbours in the sorting.
        shared, depths = np.empty(count, np.uint8), np.empty(count, np.uint8)
        each(
            partial(count_kernels.compare_neighbours, text, positions),
            repeat(order),
            repeat(shared),
            repeat(depths),
        )
        progress.update()
    return SortedPositions(positions, shared, depths, starts, order)


def split_range(length: int, count: int) -> list[tuple[int, int]]:
    """Split 0 to ``length`` into ``count`` ranges of nearly equal length."""
    return list(pairwise(np.linspace(0, length, count + 1).astype(np.int64).tolist()))

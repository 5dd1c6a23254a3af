"""A vocabulary that grows while text is read, and the text as word ids."""

from pathlib import Path

import numpy as np

from cgbench.errors import InputError
from cgbench.text.blocks import Block
from cgbench.text.streams import PAD, is_plain_file

LARGEST = 2**31 - 2
SAMPLE = 1 << 20  # bytes


class WordCounter:
    """A growing vocabulary and, optionally, the text as word ids.

    ``tokens`` int32, of which ``filled`` are used: ids in the order of first occurrence, each line
    ended by ``line_end``; without words below ``first_kept``, and without empty lines unless
    ``keep_empty``. There are ``words`` words: the bytes of word ``i`` are
    ``arena[starts[i]:starts[i + 1]]``, and ``counts[i]`` is its frequency. ``table`` is the hash
    table of ``word_kernels.py``. The arrays have room for more.
    """

    def __init__(
        self, *, line_end: int = -1, first_kept: int = 0, keep_empty: bool = False
    ) -> None:
        self.line_end, self.first_kept, self.keep_empty = line_end, first_kept, keep_empty
        self.tokens = np.empty(0, np.int32)
        self.filled = 0
        self.arena = np.zeros(1 << 16, np.uint8)
        self.starts = np.zeros(1 << 12, np.int64)
        self.counts = np.zeros(1 << 12, np.int64)
        self.table = np.zeros((1 << 13, 3), np.uint64)
        self.words = 0

    def read(self, block: Block, keep: bool) -> None:
        """Count the words of a block; ``keep``: append its ids to ``tokens``.

        :raises InputError: there are more than 2^31 - 2 words and line ends.
        """
        from cgbench.text import word_kernels

        room = self.filled + block.size + 1
        if keep and room > len(self.tokens):
            # In place, so that the system can remap pages instead of copying them.
            self.tokens.resize(max(room, len(self.tokens) * 5 // 4), refcheck=False)
        i = 0
        while i < block.size:
            first_kept = self.first_kept if keep else word_kernels.KEEP_NONE
            how = first_kept, self.line_end, keep and self.keep_empty
            state = self.arena, self.starts, self.counts, self.table, self.words
            i, self.filled, self.words = word_kernels.read_words(
                block.buffer, i, block.size, *how, self.tokens, self.filled, *state
            )
            if i < block.size:
                self.make_room(block.size)
        if self.filled > LARGEST:
            raise InputError(
                f"the training text has more than {LARGEST:,} words and line ends; use a part of it"
            )

    def make_room(self, word: int) -> None:
        """Enlarge arrays that are nearly full; ``word``: maximum length of the next word, in
        bytes.
        """
        from cgbench.text import word_kernels

        if 2 * self.words > len(self.starts):
            self.starts, self.counts = (
                longer(array, 2 * len(array)) for array in (self.starts, self.counts)
            )
        used = int(self.starts[self.words])
        if used + word + PAD > len(self.arena):
            self.arena = longer(self.arena, 2 * (used + word + PAD))
        if 2 * self.words > len(self.table):
            self.table = np.zeros((2 * len(self.table), 3), np.uint64)
            word_kernels.enter_words(self.table, self.arena, self.starts, self.words)


def estimate_words(lines: str | Path) -> int | None:
    """Estimated number of words and line ends, from the file size and samples; None unless it is a
    plain file.
    """
    path = Path(lines)
    if not is_plain_file(lines) or not path.is_file():
        return None
    file_size = path.stat().st_size
    words = used = 0
    with path.open("rb") as file:
        for position in sorted({0, max(0, file_size // 2), max(0, file_size - SAMPLE)}):
            file.seek(position)
            sample = file.read(SAMPLE)
            words += len(sample.split()) + sample.count(b"\n")
            used += len(sample)
    return words * file_size // used if used else 0


def longer(array: np.ndarray, length: int) -> np.ndarray:
    """A copy with ``length`` rows."""
    result = np.zeros((length, *array.shape[1:]), array.dtype)
    result[: len(array)] = array
    return result


def cut_words(starts: np.ndarray, step: int) -> list[int]:
    """Word ids, from 0 to the vocabulary size, that cut the vocabulary into ranges of about
    ``step`` positions.
    """
    inner = np.searchsorted(starts, np.arange(step, int(starts[-1]), step))
    return np.unique(np.concatenate([[0], inner, [len(starts) - 1]])).tolist()

"""Sampled pairs of a corpus as arrays, for checks of many pairs at once.

Each text is divided into words and characters once, whatever the number of checks that read them.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TypeAlias

import numpy as np

from cgbench.text.formats import Pair

Run: TypeAlias = "tuple[int, Sequence[Pair]]"
"""Consecutive pairs, and the line of the first."""
_CJK = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"  # no blanks between words: single characters
_WORD = re.compile(rf"[{_CJK}]|[^\W{_CJK}]+")


@dataclass(frozen=True)
class Words:
    """The words of one side of all pairs: int64 ``[words]``, in order."""

    numbers: np.ndarray  # in the vocabulary of the sample
    rows: np.ndarray  # the pair of each
    begins: np.ndarray  # int64 ``[pairs + 1]``: the first word of each pair, then the end

    @property
    def lengths(self) -> np.ndarray:
        """The number of words of each pair."""
        return np.diff(self.begins)

    def of(self, row: int) -> np.ndarray:
        """The words of one pair."""
        return self.numbers[self.begins[row] : self.begins[row + 1]]


def different(values: np.ndarray) -> np.ndarray:
    """The different ones of integers from 0, sorted: ``np.unique``, which may take 40 times as long
    because it hashes.
    """
    ordered = np.sort(values)
    return ordered[np.diff(ordered, prepend=-1) != 0]


class PairSample:
    """A sample of a corpus in runs of consecutive lines."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self.runs = runs
        self.pairs = [pair for _, run in runs for pair in run]

    def __len__(self) -> int:
        return len(self.pairs)

    @cached_property
    def lines(self) -> list[int]:
        """The line of each pair in the corpus, from 1."""
        return [first + row for first, run in self.runs for row in range(len(run))]

    @cached_property
    def run_of(self) -> np.ndarray:
        """The index of the run of each pair: int64 ``[pairs]``."""
        return np.repeat(np.arange(len(self.runs)), [len(run) for _, run in self.runs])

    @cached_property
    def texts(self) -> tuple[list[str], list[str]]:
        """The sources and the targets."""
        return [source for source, _ in self.pairs], [target for _, target in self.pairs]

    @cached_property
    def word_lists(self) -> list[list[list[str]]]:
        """The words of each text, of the sources and of the targets."""
        return [[_WORD.findall(text.casefold()) for text in texts] for texts in self.texts]

    @cached_property
    def vocabulary(self) -> list[str]:
        """The different words of both sides, without case, in order; a word is a number here."""
        sides = map(chain.from_iterable, self.word_lists)
        return sorted({*chain.from_iterable(sides)})

    @cached_property
    def words(self) -> tuple[Words, Words]:
        """The words of the sources and of the targets."""
        number_of = {word: number for number, word in enumerate(self.vocabulary)}

        def read(words_of_texts: Sequence[list[str]]) -> Words:
            words = chain.from_iterable(words_of_texts)
            numbers = np.array([number_of[word] for word in words], np.int64)
            lengths = [len(words) for words in words_of_texts]
            rows = np.repeat(np.arange(len(lengths)), lengths)
            return Words(numbers, rows, np.cumsum([0, *lengths]))

        source, target = map(read, self.word_lists)
        return source, target

    def count_characters(self, side: int, class_of: Callable[[str], str]) -> dict[str, np.ndarray]:
        """The number of characters of each class in each text of a side: int64 ``[pairs]`` by
        class.

        :param class_of: the class of a character; called once for each different one.
        """
        texts = self.texts[side]
        encoded = "".join(texts).encode("utf-32-le", "surrogatepass")
        points = np.frombuffer(encoded, np.uint32).astype(np.int64)
        different = np.flatnonzero(np.bincount(points))
        classes = [class_of(chr(point)) for point in different.tolist()]
        names = [*dict.fromkeys(classes)]
        class_of_point = np.zeros(int(points.max(initial=0)) + 1, np.int64)
        class_of_point[different] = [names.index(name) for name in classes]
        rows = np.repeat(np.arange(len(texts)), [len(text) for text in texts])
        cells = rows * len(names) + class_of_point[points]
        counts = np.bincount(cells, minlength=len(texts) * len(names))
        return dict(zip(names, counts.reshape(len(texts), len(names)).T, strict=True))

"""Words as atoms, their n-grams as compounds."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from cgbench.benchmark.measure.divergence.occurrences import (
    Occurrences,
    from_entries,
    numbering,
    occurrence_weights,
)
from cgbench.text.plain_text import words_of


class NgramNames(Sequence[str]):
    """The n-grams by number, built on access: millions of strings would fill the memory."""

    def __init__(
        self, words: list[str], ids: np.ndarray, begins: np.ndarray, lengths: np.ndarray
    ) -> None:
        """``ids``: the words of the text; n-gram k begins at ``begins[k]`` and has ``lengths[k]``
        words.
        """
        self.words, self.ids, self.begins, self.lengths = words, ids, begins, lengths

    def __len__(self) -> int:
        return len(self.begins)

    def __getitem__(self, index: int) -> str:  # type: ignore[override]
        begin = self.begins[index]
        return " ".join(self.words[word] for word in self.ids[begin : begin + self.lengths[index]])


def number_ngrams(
    ids: np.ndarray, lengths: np.ndarray, longest: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Number the n-grams of 1 to ``longest`` words within sentences.

    :param ids: int ``[words of all sentences]``, all numbers from 0 on; ``lengths``
        ``[sentences]``.
    :returns: by order, the places where n-grams begin; and the number of each, from 0, the same for
        equal ones.
    """
    begins, numbers, words = np.arange(len(ids)), ids.astype(np.int64), int(ids.max(initial=0)) + 1
    room = (
        np.repeat(np.cumsum(lengths, dtype=np.int64), lengths) - begins
    )  # words up to the end of the sentence
    for order in range(1, longest + 1):
        if order > 1:
            # Combine the number of the first n - 1 words with the last word.
            fits = room[begins] >= order
            begins, keys = begins[fits], numbers[fits] * words
            numbers = np.unique(keys + ids[begins + order - 1], return_inverse=True)[1]
        yield begins, numbers


def first_places(begins: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """The first place of each number of :func:`number_ngrams`."""
    firsts = np.empty(numbers.max(initial=-1) + 1, np.int64)
    firsts[numbers[::-1]] = begins[::-1]  # of equal numbers the last is stored
    return firsts


def words_and_ngrams(
    lines: Iterable[str], orders: Sequence[int], *, specific: bool
) -> tuple[Occurrences, Occurrences]:
    """Atoms and compounds of texts, one row per line.

    :param orders: lengths of the n-grams that are compounds.
    :param specific: weight them (:func:`occurrence_weights`), the greatest weight in a line;
        otherwise each occurrence counts 1.
    """
    numbers_of_words, sentences, lengths = numbering(), [], []
    for line in lines:
        words = words_of(line)
        sentences.append(np.array([numbers_of_words[word] for word in words], np.int32))
        lengths.append(len(words))
    examples = len(lengths)
    ids = np.concatenate([*sentences, np.zeros(0, np.int32)])
    rows = np.repeat(np.arange(examples), lengths)
    words = list(numbers_of_words)
    atoms = from_entries(rows, ids, examples, words)

    begins, numbers = dict[int, np.ndarray](), dict[int, np.ndarray]()
    firsts, count = list[np.ndarray](), 0
    for order, (starts, ngrams) in enumerate(
        number_ngrams(ids, np.array(lengths, np.int64), max(orders)), 1
    ):
        if order in orders:
            begins[order], numbers[order] = starts, ngrams + count
            firsts.append(first_places(starts, ngrams))
            count += len(firsts[-1])
    listed = NgramNames(
        words, ids, np.concatenate(firsts), np.repeat(list(orders), list(map(len, firsts)))
    )
    at, compounds = (np.concatenate(list(by_order.values())) for by_order in (begins, numbers))
    weights = (
        occurrence_weights(compounds, *_within(begins, numbers, len(ids))) if specific else None
    )
    return atoms, from_entries(rows[at], compounds, examples, listed, weights)


def _within(
    begins: dict[int, np.ndarray], numbers: dict[int, np.ndarray], words: int
) -> tuple[np.ndarray, np.ndarray]:
    """The pairs (occurrence, longer n-gram that contains it) for :func:`occurrence_weights`.

    All longer orders are needed, not only the next: ``c a c a`` contains both of its ``c a``, and
    no 3-gram does.
    """
    contained, wholes = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    begin = 0
    for order in begins:
        for longer in (length for length in begins if length > order):
            there = np.full(words, -1, np.int64)
            there[begins[longer]] = numbers[longer]
            for shift in range(longer - order + 1):
                start = begins[order] - shift
                container = np.where(start >= 0, there[np.maximum(start, 0)], -1)
                inside = np.flatnonzero(
                    container >= 0
                )  # in the same line, where the longer one ends
                contained.append(inside + begin)
                wholes.append(container[inside])
        begin += len(begins[order])
    return np.concatenate(contained), np.concatenate(wholes)

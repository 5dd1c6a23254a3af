"""Words as atoms, their n-grams as compounds."""

from collections.abc import Iterable, Sequence

import numpy as np

from cgbench.benchmark.divergence.occurrences import (
    Occurrences,
    from_entries,
    from_weights,
    numbering,
    occurrence_weights,
)
from cgbench.text.plain_text import words_of


class NgramNames(Sequence[str]):
    """The n-grams by number, built on access: millions of strings would fill the memory."""

    def __init__(self, words: list[str], ids: np.ndarray, begins: np.ndarray, lengths: np.ndarray) -> None:
        """``ids``: the words of the text; n-gram k begins at ``begins[k]`` and has ``lengths[k]`` words."""
        self.words, self.ids, self.begins, self.lengths = words, ids, begins, lengths

    def __len__(self) -> int:
        return len(self.begins)

    def __getitem__(self, index: int) -> str:  # type: ignore[override]
        begin = self.begins[index]
        return " ".join(self.words[word] for word in self.ids[begin : begin + self.lengths[index]])


def number_ngrams(
    ids: np.ndarray, lengths: np.ndarray, longest: int
) -> tuple[dict[int, np.ndarray], dict[int, np.ndarray], dict[int, np.ndarray]]:
    """A number for each different n-gram of 1 to ``longest`` words within sentences.

    :param ids: int32 ``[words of all sentences]``; ``lengths`` ``[sentences]``.
    :returns: by order, the places where n-grams begin; the number of each; and the first place of each number.
    """
    ends = np.repeat(np.cumsum(lengths, dtype=np.int64), lengths)
    room = ends - np.arange(len(ids))  # words up to the end of the sentence
    words = int(ids.max(initial=0)) + 1
    begins, numbers, firsts = {}, {}, {}
    before = np.zeros(len(ids), np.int64)
    for order in range(1, longest + 1):
        begin = np.flatnonzero(room >= order)
        # Combine the number of the first n - 1 words with the last word.
        keys = before[begin] * words + ids[begin + order - 1]
        _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        numbers[order], begins[order], firsts[order] = inverse.ravel(), begin, begin[first]
        before = np.full(len(ids), -1, np.int64)
        before[begin] = numbers[order]
    return begins, numbers, firsts


def words_and_ngrams(lines: Iterable[str], orders: Sequence[int], *, specific: bool) -> tuple[Occurrences, Occurrences]:
    """Atoms and compounds of texts, one row per line.

    :param orders: lengths of the n-grams that are compounds.
    :param specific: weight them (:func:`occurrence_weights`), the greatest weight in a line; otherwise each occurrence
        counts 1.
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

    begins, numbers, firsts = number_ngrams(ids, np.array(lengths, np.int64), max(orders))
    offsets, offset = {}, 0
    for order in orders:
        offsets[order] = offset
        offset += len(firsts[order])
    listed = NgramNames(
        words,
        ids,
        np.concatenate([firsts[order] for order in orders]),
        np.repeat(list(orders), [len(firsts[order]) for order in orders]),
    )
    at = np.concatenate([begins[order] for order in orders])
    compounds = np.concatenate([numbers[order] + offsets[order] for order in orders])
    if not specific:
        return atoms, from_entries(rows[at], compounds, examples, listed)
    contained, wholes = _within(orders, begins, numbers, offsets, len(ids))
    weights = occurrence_weights(compounds, contained, wholes)
    return atoms, from_weights(rows[at], compounds, weights, examples, listed)


def _within(
    orders: Sequence[int],
    begins: dict[int, np.ndarray],
    numbers: dict[int, np.ndarray],
    offsets: dict[int, int],
    words: int,
) -> tuple[np.ndarray, np.ndarray]:
    """The pairs (occurrence, longer n-gram that contains it) for :func:`occurrence_weights`.

    All longer orders are needed, not only the next: ``c a c a`` contains both of its ``c a``, and no 3-gram does.
    """
    contained, wholes = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    begin = 0
    for order in orders:
        for longer in (length for length in orders if length > order):
            there = np.full(words, -1, np.int64)
            there[begins[longer]] = numbers[longer] + offsets[longer]
            for shift in range(longer - order + 1):
                start = begins[order] - shift
                container = np.where(start >= 0, there[np.maximum(start, 0)], -1)
                inside = np.flatnonzero(container >= 0)  # in the same line, where the longer one ends
                contained.append(inside + begin)
                wholes.append(container[inside])
        begin += len(begins[order])
    return np.concatenate(contained), np.concatenate(wholes)

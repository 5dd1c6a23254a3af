"""Words as atoms, their n-grams as compounds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from cgbench.benchmark.divergence.occurrences import (
    Numbering,
    Occurrences,
    from_entries,
    from_weights,
    occurrence_weights,
)
from cgbench.text.plain_text import words_of


class NgramNames(Sequence[str]):
    """The n-grams by number, built on access: millions of strings would fill the memory."""

    def __init__(self, words: list[str], ids: np.ndarray, places: np.ndarray, lengths: np.ndarray) -> None:
        """``ids``: the words of the text; n-gram k begins at ``places[k]`` and has ``lengths[k]`` words."""
        self.words, self.ids, self.places, self.lengths = words, ids, places, lengths

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, number: int) -> str:  # type: ignore[override]
        place = self.places[number]
        return " ".join(self.words[one] for one in self.ids[place : place + self.lengths[number]])


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
    places, numbers, firsts = {}, {}, {}
    before = np.zeros(len(ids), np.int64)
    for order in range(1, longest + 1):
        place = np.flatnonzero(room >= order)
        # Combine the number of the first n - 1 words with the last word.
        keys = before[place] * words + ids[place + order - 1]
        _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        numbers[order], places[order], firsts[order] = inverse.ravel(), place, place[first]
        before = np.full(len(ids), -1, np.int64)
        before[place] = numbers[order]
    return places, numbers, firsts


def words_and_ngrams(lines: Iterable[str], orders: Sequence[int], *, specific: bool) -> tuple[Occurrences, Occurrences]:
    """Atoms and compounds of texts, one row per line.

    :param orders: lengths of the n-grams that are compounds.
    :param specific: weight them (:func:`occurrence_weights`), the greatest weight in a line; otherwise each occurrence
        counts 1.
    """
    names, found, lengths = Numbering(), [], []
    for line in lines:
        words = words_of(line)
        found.append(np.array(names.all(words), np.int32))
        lengths.append(len(words))
    examples = len(lengths)
    ids = np.concatenate([*found, np.zeros(0, np.int32)])
    rows = np.repeat(np.arange(examples), lengths)
    words = names.listed()
    atoms = from_entries(rows, ids, examples, words)

    places, numbers, firsts = number_ngrams(ids, np.array(lengths, np.int64), max(orders))
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
    at = np.concatenate([places[order] for order in orders])
    compounds = np.concatenate([numbers[order] + offsets[order] for order in orders])
    if not specific:
        return atoms, from_entries(rows[at], compounds, examples, listed)
    parts, wholes = _within(orders, places, numbers, offsets, len(ids))
    weights = occurrence_weights(compounds, parts, wholes)
    return atoms, from_weights(rows[at], compounds, weights, examples, listed)


def _within(
    orders: Sequence[int],
    places: dict[int, np.ndarray],
    numbers: dict[int, np.ndarray],
    offsets: dict[int, int],
    size: int,
) -> tuple[np.ndarray, np.ndarray]:
    """The pairs (occurrence, longer n-gram that contains it) for :func:`occurrence_weights`.

    All longer orders are needed, not only the next: ``c a c a`` contains both of its ``c a``, and no 3-gram does.
    """
    parts, wholes = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    begin = 0
    for order in orders:
        for longer in (one for one in orders if one > order):
            there = np.full(size, -1, np.int64)
            there[places[longer]] = numbers[longer] + offsets[longer]
            for shift in range(longer - order + 1):
                start = places[order] - shift
                whole = np.where(start >= 0, there[np.maximum(start, 0)], -1)
                inside = np.flatnonzero(whole >= 0)  # in the same line, where the longer one ends
                parts.append(inside + begin)
                wholes.append(whole[inside])
        begin += len(places[order])
    return np.concatenate(parts), np.concatenate(wholes)

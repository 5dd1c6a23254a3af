"""Vectorised BLEU statistics: the same counts as in sacrebleu, for many examples at once.

Lengths, clipped matches and totals (Papineni et al. 2002) are integers, so the order of counting
does not matter. Words come from sacrebleu's tokenisers. The rules of 13a never cross a blank
(``mteval-v13a.pl``), so it tokenises each distinct string between blanks once.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cgbench.benchmark.measure.divergence.word_ngrams import number_ngrams


class _Pieces(dict[str, list[int]]):
    """Word numbers by string; a new string is tokenised.

    :param keeps: whether the tokeniser leaves letters and digits without a mark as they are.
    """

    def __init__(self, words: Callable[[str], str], keeps: bool) -> None:
        super().__init__()
        self.words, self.keeps = words, keeps
        self.numbers: dict[str, int] = {}

    def __missing__(self, piece: str) -> list[int]:
        numbers = self.numbers
        words = [piece] if self.keeps and piece.isalnum() else self.words(piece).split()
        ids = self[piece] = [numbers.setdefault(word, len(numbers)) for word in words]
        return ids


def bleu_statistics(
    metric: Any, references: Sequence[Sequence[str]], runs: Sequence[Sequence[str]]
) -> list[np.ndarray]:
    """Lengths of hypothesis and closest reference, matches and totals of each order, as counted by
    sacrebleu.

    :param metric: sacrebleu's ``BLEU``, for its tokeniser, case and order.
    :param references: one or more per example; ``runs``: lists of hypotheses, one per example.
    :returns: float64 ``[examples, 2 + 2 * order]`` for each run
    """
    by_piece = metric.tokenizer.signature() == "13a"
    pieces = _Pieces(metric.tokenizer if by_piece else metric._preprocess_segment, keeps=by_piece)

    def read(texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        flat: list[int] = []
        ends = np.zeros(len(texts) + 1, np.int64)
        for text_number, text in enumerate(texts, 1):
            if by_piece:
                for piece in (text.lower() if metric.lowercase else text).rstrip().split(" "):
                    flat += pieces[piece]
            else:
                flat += pieces.__missing__(text)  # not cached: lines seldom repeat
            ends[text_number] = len(flat)
        return np.array(flat, np.int64), np.diff(ends)

    # Numbers for pieces; the reference texts stand flat, each with its example.
    owners = np.repeat(np.arange(len(references)), [len(example) for example in references])
    read_texts = [read([text for example in references for text in example]), *map(read, runs)]
    lengths = [sentence_lengths for _, sentence_lengths in read_texts]
    # Lengths, and the totals of each order.
    order: int = metric.max_ngram_order
    statistics = [np.zeros((len(references), 2 + 2 * order)) for _ in runs]
    for sizes, run_statistics in zip(lengths[1:], statistics, strict=True):
        run_statistics[:, 0] = sizes
        run_statistics[:, 1] = _closest(sizes, owners, lengths[0])
        run_statistics[:, 2 + order :] = np.maximum(sizes[:, None] - np.arange(order), 0)
    # Matches: each n-gram counts at most as often as in the reference that contains it most.
    words = np.concatenate([ids for ids, _ in read_texts])
    ends = np.cumsum([len(ids) for ids, _ in read_texts])[:-1]
    for n, (begins, numbers) in enumerate(number_ngrams(words, np.concatenate(lengths), order)):
        different = 1 + int(numbers.max(initial=0))
        ngrams = np.split(numbers, np.searchsorted(begins, ends))
        texts, reference_ngrams, counts = _counts(
            ngrams[0], np.maximum(lengths[0] - n, 0), different
        )
        known, most = _most(owners[texts] * different + reference_ngrams, counts)
        for ids, sizes, run_statistics in zip(ngrams[1:], lengths[1:], statistics, strict=True):
            rows, hypothesis_ngrams, counts = _counts(ids, np.maximum(sizes - n, 0), different)
            keys = rows * different + hypothesis_ngrams
            positions = np.searchsorted(known, keys)
            matched = np.append(known, -1)[positions] == keys
            clipped = np.minimum(counts, np.append(most, 0)[positions])
            run_statistics[:, 2 + n] = np.bincount(
                rows[matched], clipped[matched], minlength=len(references)
            )
    return statistics


def _closest(sizes: np.ndarray, owners: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """The length of the reference closest to that of each hypothesis; the shorter one of two."""
    order = np.lexsort((lengths, np.abs(lengths - sizes[owners]), owners))
    return lengths[order][np.searchsorted(owners, np.arange(len(sizes)))]


def _counts(
    ngrams: np.ndarray, sizes: np.ndarray, different: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The counts of n-grams in texts, sorted: texts, n-grams, counts."""
    keys, counts = np.unique(
        np.repeat(np.arange(len(sizes)), sizes) * different + ngrams, return_counts=True
    )
    return keys // different, keys % different, counts


def _most(keys: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    order = np.lexsort((counts, keys))
    keys, counts = keys[order], counts[order]
    last = np.append(keys[1:] != keys[:-1], True)[: len(keys)]
    return keys[last], counts[last]

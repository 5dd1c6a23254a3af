"""How frequent the words of sentences are in a training text, in figures that are the same on every machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cgbench.text.blocks import join_blocks

if TYPE_CHECKING:
    from cgbench.benchmark.known_ngrams.vocabulary import Vocabulary

STEPS = 64  # of a logarithm, to the base of 2
_STEP = 0.6931471805599453 / STEPS  # in natural logarithms


class Frequency(NamedTuple):
    """Of each sentence: the count of its rarest word, int64 ``[lines]`` (0 for a word too rare to be known, and for a
    sentence without words), and the mean natural logarithm of its words' counts, float64 ``[lines]``."""

    rarest: np.ndarray
    log_count: np.ndarray


def log_counts(counts: np.ndarray) -> np.ndarray:
    """The natural logarithms of counts, float64 ``[n]``, of 0 as of 1: exact to 0.011, and by whole numbers alone.

    A library's logarithm may differ in its last digit from one processor to the next, and a draw that goes by it, too.
    """
    return _steps(counts) * _STEP


def _steps(counts: np.ndarray) -> np.ndarray:
    values, places = np.unique(counts, return_inverse=True)
    steps = [(max(1, value) ** STEPS).bit_length() - 1 for value in values.tolist()]
    return np.array(steps, np.int64)[places]


def word_frequency(vocabulary: Vocabulary, lines: Sequence[str]) -> Frequency:
    """How frequent the words of each line are in the text that ``vocabulary`` was learned from."""
    from cgbench.benchmark.overlap.units import Words

    words, held = Words(vocabulary), np.append(vocabulary.counts, 0)
    steps = _steps(held)
    rarest, log_count = [np.zeros(0, np.int64)], [np.zeros(0)]
    for block in join_blocks(lines):
        ids, lengths = words.read(block)
        lowest, total = np.zeros((2, len(lengths)), np.int64)
        if len(ids):
            filled = np.flatnonzero(lengths)
            begins = (np.cumsum(lengths, dtype=np.int64) - lengths)[filled]
            known = np.minimum(ids, len(vocabulary))
            lowest[filled] = np.minimum.reduceat(held[known], begins)
            total[filled] = np.add.reduceat(steps[known], begins)
        rarest.append(lowest)
        log_count.append(total / np.maximum(lengths, 1) * _STEP)
    return Frequency(np.concatenate(rarest), np.concatenate(log_count))

"""What a model may have seen of a test set: exposure of its pairs to a corpus.

A pair is a new combination of known pieces: each piece of its cover by the training text ends where
the next word would make an n-gram that is not known from training. The shortest such n-gram is the
*new combination* of that place. If a larger corpus has it, a model that was pre-trained on this
corpus has seen it ("combination leakage", arXiv 2604.27340). The exposure of a pair is the share of
its new combinations that the corpus has.
"""

from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path

import numpy as np

from cgbench.argument_types import AnyPath
from cgbench.benchmark.measure.known_ngrams.known import KnownNgrams
from cgbench.benchmark.measure.overlap.corpus_counts import CorpusCounts
from cgbench.text.blocks import join_blocks
from cgbench.text.plain_text import words_of


def new_combinations(line: str, known: KnownNgrams) -> list[tuple[int, int]]:
    """The new combinations of a line: the place of the last word, and the number of words."""
    words, combinations = words_of(line), []
    for end in list(accumulate(map(len, known.cover(line))))[:-1]:  # where the next piece begins
        sizes = range(1, end + 2)
        combinations.append(
            (
                end,
                next(length for length in sizes if words[end + 1 - length : end + 1] not in known),
            )
        )
    return combinations


def exposure_of(
    lines: Sequence[str], folder: AnyPath, train: Sequence[str] | None, min_count: int
) -> np.ndarray:
    """The share of new combinations that a corpus has, float64 ``[lines]``; NaN for lines without
    new combinations.

    :param folder: a folder of ``cgbench overlap --out``.
    :param train: None: the share of words in the longest span that the corpus has, instead.
    :param min_count: the smallest count in ``train`` of a known n-gram.
    :raises InputError: ``folder`` is something else, or has counts of another text.
    """
    blocks = CorpusCounts.load(Path(folder)).ends("the text", join_blocks(lines), 1)
    ends = [
        line_ends
        for _, lengths, block_ends in blocks
        for line_ends in np.split(block_ends, np.cumsum(lengths)[:-1])
    ]
    if train is None:
        return np.array(
            [line_ends.max() / len(line_ends) if len(line_ends) else np.nan for line_ends in ends]
        )
    known = KnownNgrams.learn(train, min_count=min_count)
    seen = [
        [line_ends[end] >= length for end, length in new_combinations(line, known)]
        for line, line_ends in zip(lines, ends, strict=True)
    ]
    return np.array([np.mean(is_seen) if is_seen else np.nan for is_seen in seen])

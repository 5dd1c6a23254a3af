"""Where words and pieces of test sentences occur in training sources, as sparse matrices; and
BM25.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

K1, B = 1.5, 0.75  # the defaults of rank_bm25 and bm25s


def bm25_weights(ids: np.ndarray, lengths: np.ndarray, words: np.ndarray) -> csr_matrix:
    """The BM25 weight of each wanted word in each source, ``[wanted, sources]``.

    The weights are those of Lucene's BM25 (Kamphuis et al. 2020, "Which BM25 do you mean?",
    equation 3 with the positive idf), with exact lengths.

    :param ids: int32 ``[words of all sources]``; ``lengths`` ``[sources]``; ``words``: ids.
    """
    weights = piece_counts([(word,) for word in words.tolist()], ids, lengths)
    sources = np.diff(weights.indptr)
    idf = np.log1p((len(lengths) - sources + 0.5) / (sources + 0.5))
    long = 1 - B + B * lengths / max(1.0, float(lengths.mean()))
    weights.data = (
        np.repeat(idf, sources) * weights.data / (weights.data + K1 * long[weights.indices])
    )
    return weights


def piece_counts(
    pieces: Sequence[tuple[int, ...]], ids: np.ndarray, lengths: np.ndarray
) -> csr_matrix:
    """How often each source contains each piece, a tuple of word ids: ``[pieces, sources]``,
    indices rising.
    """
    from scipy.sparse import coo_matrix

    numbers, begins = places_of(pieces, ids, lengths)
    sources = np.repeat(np.arange(len(lengths)), lengths)[begins]
    counts = coo_matrix(
        (np.ones(len(begins)), (numbers, sources)), (len(pieces), len(lengths))
    ).tocsr()
    counts.sort_indices()
    return counts


def places_of(
    pieces: Sequence[tuple[int, ...]], ids: np.ndarray, lengths: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Every place where a piece stands within a sentence: which piece, and its first word in
    ``ids``.

    Pieces, which differ, are searched word by word: those that begin alike are a node, numbered by
    word and the node before.
    """
    sizes = np.array(list(map(len, pieces)), np.int64)
    words, first = (
        np.array([word for piece in pieces for word in piece], np.int64),
        np.cumsum(sizes) - sizes,
    )
    node, here, starts = (
        np.zeros(len(sizes), np.int64),
        np.zeros(len(ids), np.int64),
        np.arange(len(ids)),
    )
    ends = np.repeat(np.cumsum(lengths, dtype=np.int64), lengths)
    numbers, begins = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for length in range(1, sizes.max(initial=0) + 1):
        longer, complete = np.flatnonzero(sizes >= length), np.flatnonzero(sizes == length)
        keys, node[longer] = np.unique(
            node[longer] << 32 | words[first[longer] + length - 1], return_inverse=True
        )
        inside = starts + length <= ends[starts]
        starts, here = starts[inside], here[inside]
        sought = here << 32 | ids[starts + length - 1]
        here = np.minimum(np.searchsorted(keys, sought), len(keys) - 1)
        there = keys[here] == sought
        starts, here = starts[there], here[there]
        piece_of = np.full(len(keys), -1)
        piece_of[node[complete]] = complete
        matches = piece_of[here]
        numbers.append(matches[matches >= 0])
        begins.append(starts[matches >= 0])
    return np.concatenate(numbers), np.concatenate(begins)

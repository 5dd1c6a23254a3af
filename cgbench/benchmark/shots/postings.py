"""Where words and pieces of test sentences occur in training sources, as sparse matrices; and BM25."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

K1, B = 1.5, 0.75  # the defaults of rank_bm25 and bm25s


def bm25_weights(ids: np.ndarray, lengths: np.ndarray, wanted: np.ndarray) -> csr_matrix:
    """The BM25 weight of each wanted word in each source, ``[wanted, sources]``.

    The weights are those of Lucene's BM25 (Kamphuis et al. 2020, "Which BM25 do you mean?", equation 3 with the
    positive idf), with exact lengths.

    :param ids: int32 ``[words of all sources]``; ``lengths`` ``[sources]``; ``wanted``: ids.
    """
    weights = piece_counts([(word,) for word in wanted.tolist()], ids, lengths)
    held = np.diff(weights.indptr)
    idf = np.log1p((len(lengths) - held + 0.5) / (held + 0.5))
    long = 1 - B + B * lengths / max(1.0, float(lengths.mean()))
    weights.data = np.repeat(idf, held) * weights.data / (weights.data + K1 * long[weights.indices])
    return weights


def piece_counts(pieces: Sequence[tuple[int, ...]], ids: np.ndarray, lengths: np.ndarray) -> csr_matrix:
    """How often each source contains each piece, a tuple of word ids: ``[pieces, sources]``, indices rising."""
    from scipy.sparse import coo_matrix

    numbers, places = places_of(pieces, ids, lengths)
    sources = np.repeat(np.arange(len(lengths)), lengths)[places]
    counts = coo_matrix((np.ones(len(places)), (numbers, sources)), (len(pieces), len(lengths))).tocsr()
    counts.sort_indices()
    return counts


def places_of(pieces: Sequence[tuple[int, ...]], ids: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Every place where a piece stands within a sentence: which piece, and its first word in ``ids``.

    Pieces, which differ, are searched word by word: those that begin alike are a node, numbered by word and the node
    before.
    """
    sizes = np.array(list(map(len, pieces)), np.int64)
    words, first = np.array([word for piece in pieces for word in piece], np.int64), np.cumsum(sizes) - sizes
    node, here, starts = np.zeros(len(sizes), np.int64), np.zeros(len(ids), np.int64), np.arange(len(ids))
    ends = np.repeat(np.cumsum(lengths, dtype=np.int64), lengths)
    numbers, places = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for size in range(1, sizes.max(initial=0) + 1):
        longer, whole = np.flatnonzero(sizes >= size), np.flatnonzero(sizes == size)
        keys, node[longer] = np.unique(node[longer] << 32 | words[first[longer] + size - 1], return_inverse=True)
        inside = starts + size <= ends[starts]
        starts, here = starts[inside], here[inside]
        wanted = here << 32 | ids[starts + size - 1]
        here = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        there = keys[here] == wanted
        starts, here = starts[there], here[there]
        number = np.full(len(keys), -1)
        number[node[whole]] = whole
        found = number[here]
        numbers.append(found[found >= 0])
        places.append(starts[found >= 0])
    return np.concatenate(numbers), np.concatenate(places)

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

    ends = np.repeat(np.cumsum(lengths, dtype=np.int64), lengths)
    found = _places(pieces, ids, ends - np.arange(len(ids)))
    places = np.concatenate([np.zeros(0, np.int64), *found])
    numbers = np.repeat(np.arange(len(pieces)), list(map(len, found)))
    sources = np.repeat(np.arange(len(lengths)), lengths)[places]
    counts = coo_matrix((np.ones(len(places)), (numbers, sources)), (len(pieces), len(lengths))).tocsr()
    counts.sort_indices()
    return counts


def _places(pieces: Sequence[tuple[int, ...]], ids: np.ndarray, room: np.ndarray) -> list[np.ndarray]:
    """Where each piece begins; what begins alike is searched once.

    :param room: words up to the end of the sentence.
    """
    order = np.argsort(ids, kind="stable")
    rising = ids[order]
    known: dict[tuple[int, ...], np.ndarray] = {}
    for piece in pieces:
        for size in range(1, len(piece) + 1):
            if piece[:size] in known:
                continue
            word = piece[size - 1]
            if size == 1:
                known[piece[:1]] = order[slice(*np.searchsorted(rising, (word, word + 1)))]
            else:
                before = known[piece[: size - 1]]
                before = before[room[before] >= size]
                known[piece[:size]] = before[ids[before + size - 1] == word]
    return [known[piece] for piece in pieces]

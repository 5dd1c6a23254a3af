"""Where words and pieces of test sentences occur in training sources: sparse posting lists, and BM25."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

K1, B = 1.5, 0.75  # the defaults of rank_bm25 and bm25s


@dataclass(frozen=True)
class Postings:
    """The sources of each row (a word or a piece), rising: those of row i are ``sources[starts[i]:starts[i + 1]]``."""

    starts: np.ndarray
    sources: np.ndarray
    counts: np.ndarray

    @classmethod
    def of(cls, rows: np.ndarray, sources: np.ndarray, size: int) -> Postings:
        """:param rows: the row of each occurrence, below ``size``; ``sources``: where it is."""
        number = int(sources.max(initial=0)) + 1
        keys, counts = np.unique(rows.astype(np.int64) * number + sources, return_counts=True)
        found, at = np.divmod(keys, number)
        return cls(np.searchsorted(found, np.arange(size + 1)), at.astype(np.int32), counts)


def bm25_postings(ids: np.ndarray, lengths: np.ndarray, wanted: np.ndarray) -> tuple[Postings, np.ndarray]:
    """The sources of each wanted word, and the word's BM25 weight in each.

    The weights are those of Lucene's BM25 (Kamphuis et al. 2020, "Which BM25 do you mean?", equation 3 with the
    positive idf), with exact lengths.

    :param ids: int32 ``[words of all sources]``; ``lengths`` ``[sources]``; ``wanted``: ids, rising.
    """
    place = np.searchsorted(wanted, ids)
    held = np.flatnonzero(wanted[np.minimum(place, len(wanted) - 1)] == ids) if len(wanted) else place[:0]
    postings = Postings.of(place[held], np.repeat(np.arange(len(lengths)), lengths)[held], len(wanted))
    sizes = np.diff(postings.starts)
    idf = np.log1p((len(lengths) - sizes + 0.5) / (sizes + 0.5))
    long = 1 - B + B * lengths / max(1.0, float(lengths.mean()))
    return postings, np.repeat(idf, sizes) * postings.counts / (postings.counts + K1 * long[postings.sources])


def piece_postings(pieces: Sequence[tuple[int, ...]], ids: np.ndarray, lengths: np.ndarray) -> Postings:
    """The sources that contain each piece, a tuple of word ids."""
    ends = np.repeat(np.cumsum(lengths, dtype=np.int64), lengths)
    found = list(_occurrences(pieces, ids, ends - np.arange(len(ids))))
    numbers, places = (np.concatenate([np.zeros(0, np.int64), *column]) for column in zip(*found, strict=True))
    return Postings.of(numbers, np.repeat(np.arange(len(lengths)), lengths)[places], len(pieces))


def _occurrences(
    pieces: Sequence[tuple[int, ...]], ids: np.ndarray, room: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Read the text through the trie of the pieces, all places at once, one word further per step.

    :param room: words up to the end of the sentence.
    :returns: numbers of pieces, and the places where they begin.
    """
    edges: dict[tuple[int, int], int] = {}
    ended: dict[int, int] = {}
    for number, piece in enumerate(pieces):
        node = 0
        for word in piece:
            node = edges.setdefault((node, word), len(edges) + 1)
        ended[node] = number
    words = 1 + max(int(ids.max(initial=0)), *(word for _, word in edges), 0)
    keys = np.array([node * words + word for node, word in edges], np.int64)
    order = np.argsort(keys)
    keys, targets = keys[order], np.array([*edges.values()], np.int64)[order]
    numbers = np.array([ended.get(node, -1) for node in range(len(edges) + 1)], np.int64)
    places, nodes, depth = np.arange(len(ids)), np.zeros(len(ids), np.int64), 0
    yield numbers[:0], places[:0]
    while len(places) and len(keys):
        wanted = nodes * words + ids[places + depth]
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        held = keys[at] == wanted
        places, nodes, depth = places[held], targets[at[held]], depth + 1
        ending = numbers[nodes] >= 0
        yield numbers[nodes[ending]], places[ending]
        more = room[places] > depth
        places, nodes = places[more], nodes[more]

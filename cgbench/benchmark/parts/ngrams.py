"""Probes for known n-grams: pairs of a corpus of any size in which they stand in known surroundings.

A neighbour of a piece, the word before or after it, is known with it if the two together are a known n-gram. Of the
pairs with a piece the best are kept: those in which both neighbours are known with it, then one, then none; of these
those with few words that are rare in training, then with few pieces in their own cover (so they are short and of a low
degree), then with few words. Equal ones are ordered by a hash of their words, so the order of a corpus does not matter.
Memory depends on the pieces, not on the corpus.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np

from cgbench.benchmark.candidates.cut import fetch_texts
from cgbench.benchmark.candidates.scan import NO_LIMIT, Chunk, chunks_of, in_threads, open_sides, pair_hash
from cgbench.benchmark.known_ngrams.known import KnownNgrams
from cgbench.benchmark.known_ngrams.vocabulary import Vocabulary
from cgbench.benchmark.parts.folder import SIDES, STAGES, Piece, Place, Probe
from cgbench.benchmark.parts.select import Candidates, once_per_source
from cgbench.machine import usable_cores
from cgbench.progress import bar
from cgbench.text.blocks import Block, check_text, join_blocks, padded, read_range
from cgbench.text.corpus import ParallelText

Places = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Line, piece and first word (an index of the words of all lines) of occurrences of pieces."""

Rows = dict[str, np.ndarray]
CHOICES = 50
"""Pairs kept per piece, for the selection."""
_ORDER = ("line", "pool", "content", "rank")
_NEAR = np.uint64(62)  # where the neighbours that are not known begin in a rank
_COLUMNS = ("piece", "rank", "content", "source", "pool", "line", "source_offset", "target_offset")


class Limits(NamedTuple):
    """What a probe may be: at most the words of its source, and at least the neighbours that are known with a piece;
    ``k``: the probes wanted per piece."""

    max_length: int
    neighbours: int
    k: int


class NgramPieces:
    """Pieces of known words, to be found in sentences of ids by their beginnings.

    ``_levels[i]`` has the beginnings of i + 1 words: their keys, sorted, and the piece that each is (-1: none). A key
    is the place of the beginning without its last word on the level before, and that word.
    """

    def __init__(self, known: KnownNgrams, pieces: Sequence[Sequence[str]]) -> None:
        self.known, self.sizes = known, np.array(list(map(len, pieces)), np.int64)
        ids = known.words.ids([word for piece in pieces for word in piece])
        first, node = np.cumsum(self.sizes) - self.sizes, np.zeros(len(pieces), np.int64)
        self._levels = []
        for size in range(1, self.sizes.max(initial=0) + 1):
            longer = np.flatnonzero(self.sizes >= size)
            keys, node[longer] = np.unique(_key(node[longer], ids[first[longer] + size - 1]), return_inverse=True)
            numbers, ending = np.full(len(keys), -1), np.flatnonzero(self.sizes == size)
            numbers[node[ending]] = ending
            self._levels.append((keys, numbers))

    def __len__(self) -> int:
        return len(self.sizes)

    def find(self, ids: np.ndarray, lengths: np.ndarray) -> Places:
        """Every occurrence in sentences.

        :param ids: the words of all sentences; ``lengths``: words per sentence.
        """
        lines = np.repeat(np.arange(len(lengths)), lengths)
        ends = np.cumsum(lengths, dtype=np.int64)[lines]
        starts, node = np.arange(len(ids)), np.zeros(len(ids), np.int64)
        pieces, places = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for offset, (keys, numbers) in enumerate(self._levels):
            inside = starts + offset < ends[starts]
            starts, node = starts[inside], node[inside]
            wanted = _key(node, ids[starts + offset])
            node = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            there = keys[node] == wanted
            starts, node = starts[there], node[there]
            whole = numbers[node] >= 0
            pieces.append(numbers[node[whole]])
            places.append(starts[whole])
        found = np.concatenate(places)
        return lines[found], np.concatenate(pieces), found

    def lines_with(self, found: Places, near: np.ndarray) -> Places:
        """Lines with their pieces, each pair of them once, by line; and the most that ``near``, 0 to 2, is there."""
        size = max(len(self), 1)
        both = np.unique((found[0] * size + found[1]) * 3 + (2 - near))
        both = both[np.unique(both // 3, return_index=True)[1]]
        return both // 3 // size, both // 3 % size, 2 - both % 3

    def neighbours(self, ids: np.ndarray, lengths: np.ndarray, found: Places) -> np.ndarray:
        """How many of the neighbours of each occurrence, 0 to 2, are known together with it, int64 ``[occurrences]``;
        the edge of a sentence is known."""
        lines, pieces, starts = found
        ends = np.cumsum(lengths, dtype=np.int64)
        after = starts + self.sizes[pieces]
        left = np.maximum(starts - 1, (ends - lengths)[lines]), after
        right = starts, np.minimum(after + 1, ends[lines])
        return self._are_known(ids, *left).astype(np.int64) + self._are_known(ids, *right)

    def _are_known(self, ids: np.ndarray, first: np.ndarray, last: np.ndarray) -> np.ndarray:
        sizes = last - first
        places = np.repeat(first - (np.cumsum(sizes) - sizes), sizes) + np.arange(int(sizes.sum()))
        return self.known.count_pieces(ids[places], sizes.astype(np.int32))[0] == 1

    def ids(self, block: Block) -> tuple[np.ndarray, np.ndarray]:
        """The ids of all words of a block, int32, and the words of each line, int32."""
        from cgbench.text import word_kernels

        words, lengths = self.known.words, np.empty(block.count_lines(), np.int32)
        ids = np.empty(block.size // 2 + 1, np.int32)
        filled = word_kernels.read_ids(block.buffer, block.size, words.arena, words.starts, words.table, ids, lengths)
        return ids[:filled], lengths

    def count(self, blocks: Iterator[Block]) -> np.ndarray:
        """The occurrences of each piece in a text, int64 ``[pieces]``."""
        counts = (np.bincount(self.find(*self.ids(block))[1], minlength=len(self)) for block in blocks)
        return sum(counts, np.zeros(len(self), np.int64))


class Search:
    """The search in corpora. ``found`` int64 ``[pieces]``: the pairs with each piece; ``stage``: how far the best of
    them got, an index of :data:`STAGES`.

    :param other: the words of the other side. ``held``: the hashes of sources and of targets that may not be probes.
    """

    def __init__(
        self, pieces: NgramPieces, other: Vocabulary, side: str, limits: Limits, held: Sequence[np.ndarray]
    ) -> None:
        self.pieces, self.limits, self.held, self.own = pieces, limits, held, SIDES.index(side)
        self.words = [pieces.known.words if name == side else other for name in SIDES]
        self.found, self.stage, self.near = (np.full(len(pieces), value) for value in (0, 0, 2))
        self._worst = np.full(len(pieces), 2**64 - 1, np.uint64)  # pairs of a higher rank are not kept

    def read(self, corpora: Sequence[ParallelText]) -> None:
        """Find the best pairs of each piece; they depend neither on the number of cores nor on the order of pairs."""
        jobs = usable_cores()
        waiting: list[Rows] = []
        for number, corpus in enumerate(corpora):
            with (
                open_sides(corpus) as files,
                bar(corpus.lines, f"probes in {corpus.target.path.name}", "pair") as shown,
            ):
                chunks = chunks_of(corpus, files)
                read = partial(self._read_chunk, corpus, number, files)
                for chunk, (rows, found, stage) in zip(chunks, in_threads(read, chunks, jobs, jobs), strict=True):
                    self.found += found
                    np.maximum(self.stage, stage, out=self.stage)
                    waiting.append(rows)
                    if sum(len(one["piece"]) for one in waiting[1:]) > max(1_000_000, len(waiting[0]["piece"])):
                        waiting = [self._keep(waiting)]
                    shown.update(chunk[1][0] - chunk[0][0])
        self.kept = self._keep(waiting)

    def _read_chunk(
        self, corpus: ParallelText, number: int, files: Sequence[int], chunk: Chunk
    ) -> tuple[Rows, np.ndarray, np.ndarray]:
        """The rows of a chunk that may be kept; the pairs with each piece, and how far they got."""
        from cgbench.text import word_kernels

        (first, *_), (last, *_) = chunk
        states = np.full(last - first, word_kernels.KEPT, np.uint8)
        rare = np.zeros(last - first, np.int64)
        offsets, lengths, codes = (np.zeros((2, last - first), kind) for kind in (np.int64, np.int32, np.uint64))
        for at in (1 - self.own, self.own):
            text, words = getattr(corpus, SIDES[at]), self.words[at]
            start, stop = chunk[0][at + 1], chunk[1][at + 1]
            buffer = padded(stop - start)
            read_range(files[at], buffer, start, stop, text.path)
            block = check_text(buffer, stop - start, first, text.path)
            ids = np.empty(block.size // 2 + 1, np.int32)
            known = words.arena, words.starts, words.table, NO_LIMIT
            found = offsets[at], lengths[at], codes[at]
            _, filled = word_kernels.filter_lines(block.buffer, block.size, *known, states, ids, *found)
            ids = ids[:filled]
            offsets[at] += start - text.begin
            rare += np.bincount(np.repeat(np.arange(len(rare)), lengths[at])[ids >= words.usable], minlength=len(rare))
        lengths[self.own][states != word_kernels.KEPT] = 0
        covers, _ = self.pieces.known.count_pieces(ids, lengths[self.own])
        places = self.pieces.find(ids, lengths[self.own])
        lines, pieces, _ = places
        with_piece = self.pieces.lines_with(places, np.zeros(len(lines), np.int64))[1]
        # The stage of a piece is that of its best pair.
        stage = np.zeros(len(self.pieces), np.int64)
        free = ~(np.isin(codes[0], self.held[0]) | np.isin(codes[1], self.held[1]))
        fits = free & (lengths[0] <= self.limits.max_length)
        for passed, rows in enumerate((np.ones_like(free), free, fits), 1):
            stage[pieces[rows[lines]]] = passed
        content = pair_hash(codes[0], codes[1])
        rank = _rank(rare, covers, lengths.sum(axis=0), content)
        left = fits[lines] & (rank[lines] <= self._worst[pieces])
        places = lines[left], pieces[left], places[2][left]
        lines, pieces, near = self.pieces.lines_with(places, self.pieces.neighbours(ids, lengths[self.own], places))
        lines, pieces, near = (values[near >= self.limits.neighbours] for values in (lines, pieces, near))
        stage[pieces] = 4
        ranks = rank[lines] | ((2 - near).astype(np.uint64) << _NEAR)
        columns = (
            *(pieces, ranks, content[lines], codes[0][lines], np.full(len(lines), number), lines + first),
            *(offsets[0][lines], offsets[1][lines]),
        )
        return dict(zip(_COLUMNS, columns, strict=True)), np.bincount(with_piece, minlength=len(stage)), stage

    def _keep(self, parts: Sequence[Rows]) -> Rows:
        """The best pairs of each piece, of different sources."""
        rows = {name: np.concatenate([part[name] for part in parts]) for name in _COLUMNS}
        rows = _ordered(rows, "line", "pool", "content", "rank", "source", "piece")
        new = np.ones(len(rows["piece"]), bool)
        new[1:] = (np.diff(rows["piece"]) != 0) | (rows["source"][1:] != rows["source"][:-1])
        rows = _ordered({name: values[new] for name, values in rows.items()}, "content", "rank", "piece")
        place = _places(rows["piece"])
        choices = max(CHOICES, self.limits.k)
        last = place == choices - 1
        self._worst[rows["piece"][last]] = rows["rank"][last]
        return {name: values[place < choices] for name, values in rows.items()}

    def served(self, corpora: Sequence[ParallelText]) -> tuple[Rows, list[list[str]], list[np.ndarray]]:
        """The pairs kept, the best first; their texts by side; and the pieces of each: all whose neighbours are known
        in it as they are in the k-th best pair with the piece (``near``), not only those that it was kept for."""
        kept = self.kept
        best = _places(kept["piece"]) < self.limits.k
        np.minimum.at(self.near, kept["piece"][best], 2 - (kept["rank"][best] >> _NEAR).astype(np.int64))
        kept = _ordered(kept | {"rank": kept["rank"] & ((np.uint64(1) << _NEAR) - np.uint64(1))}, *_ORDER)
        first = np.sort(np.unique(kept["content"], return_index=True)[1])
        kept = {name: values[first] for name, values in kept.items()}
        texts = [[text.decode() for text in fetch_texts(kept, corpora, side)[0]] for side in SIDES]
        served, degrees = [], [np.zeros(0)]
        for block in join_blocks(texts[self.own]):
            ids, lengths = self.pieces.ids(block)
            places = self.pieces.find(ids, lengths)
            lines, mine, near = self.pieces.lines_with(places, self.pieces.neighbours(ids, lengths, places))
            good = near >= self.near[mine]
            served += np.split(mine[good], np.searchsorted(lines[good], np.arange(1, len(lengths))))
            degrees.append(self.pieces.known.count_pieces(ids, lengths)[0] / lengths)
        return kept | {"degree": np.concatenate(degrees)}, texts, once_per_source(texts[0], served)


def ngram_candidates(
    lines: Sequence[str],
    known: KnownNgrams,
    other: Vocabulary,
    side: str,
    limits: Limits,
    held: Sequence[np.ndarray],
    train: Iterator[Block] | None,
    corpora: Sequence[ParallelText],
) -> Candidates:
    """The pieces of a test text, and the pairs of corpora that may be their probes.

    :param other: the words of the other side than ``side``, that of the pieces; ``held``: as for :class:`Search`.
    :param train: the training text of their side, if it is there.
    """
    covers = known.cover(lines)
    least = known.min_count if known.closed else 1
    distinct = dict.fromkeys(piece for cover in covers for piece in cover)
    good = [piece for piece in distinct if len(piece) > 1 or known.words.count(piece[0]) >= least]
    numbers = {piece: number for number, piece in enumerate(dict.fromkeys([*good, *distinct]))}
    pieces = NgramPieces(known, good)
    search = Search(pieces, other, side, limits, held)
    search.read(corpora)
    kept, texts, served = search.served(corpora)
    counts = pieces.count(train) if train is not None else None
    listed = []
    for number, piece in enumerate(numbers):
        text = " ".join(piece)
        if number >= len(good):
            listed.append(Piece(text, known.words.count(piece[0]), 0, reason="unknown"))
            continue
        stage = STAGES[search.stage[number]]
        near = int(search.near[number]) if stage == "few" else None
        count = None if counts is None else int(counts[number])
        listed.append(Piece(text, count, int(search.found[number]), near, reason=stage))

    def probe(number: int) -> Probe:
        row = {name: kept[name][number].item() for name in ("pool", "line", "degree")}
        return Probe(texts[0][number], texts[1][number], row["pool"] + 1, row["line"] + 1, degree=row["degree"])

    rows = [
        [
            Place(numbers[piece], *ends)
            for piece, ends in zip(cover, pairwise([0, *accumulate(map(len, cover))]), strict=True)
        ]
        for cover in covers
    ]
    return Candidates(listed, rows, served, probe)


def _key(node: np.ndarray, word: np.ndarray) -> np.ndarray:
    return (node << 32) | word.astype(np.int64)


def _ordered(rows: Rows, *names: str) -> Rows:
    """Rows sorted by columns, the last first."""
    order = np.lexsort([rows[name] for name in names])
    return {name: values[order] for name, values in rows.items()}


def _places(sorted_pieces: np.ndarray) -> np.ndarray:
    """The place of each row among those of its piece."""
    found: np.ndarray = np.arange(len(sorted_pieces)) - np.searchsorted(sorted_pieces, sorted_pieces)
    return found


def _rank(rare: np.ndarray, covers: np.ndarray, words: np.ndarray, content: np.ndarray) -> np.ndarray:
    """The order of preference, below 2^62: rare words, pieces of the cover, words of both sides, a hash."""
    rank = content >> np.uint64(32)
    for values, bits, shift in ((rare, 6, 56), (covers, 12, 44), (words, 12, 32)):
        rank |= np.minimum(values, (1 << bits) - 1).astype(np.uint64) << np.uint64(shift)
    return rank

"""Probes for known n-grams: pairs of a corpus of any size that contain them in a known context.

A neighbour of a piece, the word before or after it, is known with it if the two together are a
known n-gram. Of the pairs with a piece the best are kept: those in which both neighbours are known
with it, then one, then none; of these those with few pieces in their own cover (so they are short
and of a low degree), then with few words. Equal ones are ordered by a hash of their words, so the
order of a corpus does not matter. Memory depends on the pieces, not on the corpus.
"""

from collections.abc import Sequence
from functools import partial
from itertools import accumulate, pairwise

import numpy as np

from cgbench.benchmark.candidates.pool_scan import Chunk, Scan, chunks_of, open_sides
from cgbench.benchmark.candidates.row_texts import read_side
from cgbench.benchmark.measure.known_ngrams.known import KnownNgrams
from cgbench.benchmark.release.shots.postings import places_of
from cgbench.machine import in_threads, usable_cores
from cgbench.progress import bar
from cgbench.studies.parts.folder import SIDES, Piece, Place
from cgbench.studies.parts.select import CHOICES, Candidates, once_per_text
from cgbench.text.blocks import read_blocks
from cgbench.text.corpus import ParallelText
from cgbench.text.hashes import pair_hash

Places = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Line, piece and first word (an index of the words of all lines) of occurrences of pieces."""

Rows = dict[str, np.ndarray]
WAITING = 1_000_000
"""Rows that are read before the best are kept."""
_NO_RANK = np.uint64(2**64 - 1)
_COLUMNS = (
    "piece",
    "new",
    "rank",
    "content",
    "source",
    "pool",
    "line",
    "source_offset",
    "target_offset",
)


class Search:
    """The search in corpora for the best pairs of each piece.

    :param pieces: the pieces, of known words. ``side``: theirs.
    :param excluded: of each corpus the hashes of sources and of targets that may not be probes.
    :param max_length: of a source, in words. ``k``: the probes wanted per piece.
    """

    def __init__(
        self,
        known: KnownNgrams,
        pieces: Sequence[Sequence[str]],
        side: str,
        excluded: Sequence[Sequence[np.ndarray]],
        max_length: int,
        k: int,
    ) -> None:
        self.known, self.sizes = known, np.array(list(map(len, pieces)), np.int64)
        self._ids = [tuple(known.words.ids(piece).tolist()) for piece in pieces]
        self.excluded, self.own, self.max_length, self.k = (
            excluded,
            SIDES.index(side),
            max_length,
            k,
        )
        self._worst = np.full(len(pieces), _NO_RANK)  # pairs of a higher rank are not kept

    def find(self, ids: np.ndarray, lengths: np.ndarray) -> Places:
        """Every occurrence in sentences.

        :param ids: the words of all sentences; ``lengths``: words per sentence.
        """
        pieces, starts = places_of(self._ids, ids, lengths)
        return np.repeat(np.arange(len(lengths)), lengths)[starts], pieces, starts

    def lines_with(self, ids: np.ndarray, lengths: np.ndarray, occurrences: Places) -> Places:
        """Lines with their pieces, each pair of them once, by line; and at the best place of the
        piece in the line, how many of its neighbours, 0 to 2, are not known together with it. The
        edge of a sentence is known.
        """
        lines, pieces, starts = occurrences
        ends, after = np.cumsum(lengths, dtype=np.int64), starts + self.sizes[pieces]
        new = 2 - self._are_known(ids, np.maximum(starts - 1, (ends - lengths)[lines]), after)
        new -= self._are_known(ids, starts, np.minimum(after + 1, ends[lines]))
        piece_count = max(len(self.sizes), 1)
        keys = np.unique((lines * piece_count + pieces) * 3 + new)
        keys = keys[np.unique(keys // 3, return_index=True)[1]]
        return keys // 3 // piece_count, keys // 3 % piece_count, keys % 3

    def _are_known(self, ids: np.ndarray, first: np.ndarray, last: np.ndarray) -> np.ndarray:
        sizes = last - first
        columns = np.repeat(first - (np.cumsum(sizes) - sizes), sizes) + np.arange(int(sizes.sum()))
        return (self.known.count_pieces(ids[columns], sizes.astype(np.int32))[0] == 1).astype(
            np.int64
        )

    def read(self, corpora: Sequence[ParallelText]) -> None:
        """Find the best pairs of each piece; they depend neither on the number of cores nor on the
        order of pairs.
        """
        jobs = usable_cores()
        waiting: list[Rows] = []
        for corpus_number, corpus in enumerate(corpora):
            with (
                open_sides(corpus) as files,
                bar(corpus.lines, f"probes in {corpus.target.path.name}", "pair") as progress,
            ):
                chunks = chunks_of(corpus, files)
                work = Scan(
                    corpus, corpus_number, self.known, None, SIDES[self.own], filter_sides="neither"
                )
                read = partial(self._read_chunk, work, files)
                for chunk, rows in zip(chunks, in_threads(read, chunks, jobs, jobs), strict=True):
                    waiting.append(rows)
                    if sum(len(batch["piece"]) for batch in waiting[1:]) > max(
                        WAITING, len(waiting[0]["piece"])
                    ):
                        waiting = [self._keep(waiting)]
                    progress.update(chunk.lines)
        self.kept = self._keep(waiting)

    def _read_chunk(self, work: Scan, files: list[int], chunk: Chunk) -> Rows:
        """The rows of a chunk that may be kept."""
        kept = work.read_chunk(files, chunk)
        ids, codes = kept.ids, (kept.source.codes, kept.target.codes)
        fits = kept.source.lengths <= self.max_length
        for hashes, excluded in zip(codes, self.excluded[work.number], strict=True):
            fits &= ~np.isin(hashes, excluded)
        content, own_lengths = pair_hash(*codes), kept.sides[self.own].lengths
        # The order of preference: pieces of the cover, words of both sides, a hash.
        rank = content >> np.uint64(32)
        for values, shift in (
            (self.known.count_pieces(ids, own_lengths)[0], 47),
            (kept.source.lengths + kept.target.lengths, 32),
        ):
            rank |= np.minimum(values, (1 << 15) - 1).astype(np.uint64) << np.uint64(shift)
        lines, pieces, starts = self.find(ids, own_lengths)
        remaining = fits[lines] & (rank[lines] <= self._worst[pieces])
        lines, pieces, new = self.lines_with(
            ids, own_lengths, (lines[remaining], pieces[remaining], starts[remaining])
        )
        columns = (
            *(pieces, new, rank[lines], content[lines], codes[0][lines]),
            np.full(len(lines), work.number),
            kept.lines[lines],
            kept.source.offsets[lines],
            kept.target.offsets[lines],
        )
        return dict(zip(_COLUMNS, columns, strict=True))

    def _keep(self, batches: Sequence[Rows]) -> Rows:
        """The best pairs of each piece, of different sources."""
        rows = {name: np.concatenate([batch[name] for batch in batches]) for name in _COLUMNS}
        rows = _ordered(rows, "line", "pool", "content", "rank", "new", "source", "piece")
        first = np.ones(len(rows["piece"]), bool)
        first[1:] = (np.diff(rows["piece"]) != 0) | (rows["source"][1:] != rows["source"][:-1])
        rows = _ordered(
            {name: values[first] for name, values in rows.items()},
            "content",
            "rank",
            "new",
            "piece",
        )
        rank, choices = _places(rows["piece"]), max(CHOICES, self.k)
        last = (rank == choices - 1) & (rows["new"] == 0)
        self._worst[rows["piece"][last]] = rows["rank"][last]
        return {name: values[rank < choices] for name, values in rows.items()}

    def served(self, corpora: Sequence[ParallelText]) -> tuple[list[list[str]], list[np.ndarray]]:
        """The texts of the pairs kept by side, the best first; and the pieces of each: all whose
        neighbours are known in it as they are in the k-th best pair with the piece, not only those
        that it was kept for.
        """
        rows = self.kept
        most, best = np.zeros(len(self.sizes), np.int64), _places(rows["piece"]) < self.k
        np.maximum.at(most, rows["piece"][best], rows["new"][best])
        rows = _ordered(rows, "line", "pool", "content", "rank")
        first = np.sort(np.unique(rows["content"], return_index=True)[1])
        rows = {name: values[first] for name, values in rows.items()}
        texts = [[text.decode() for text in read_side(rows, corpora, side).texts] for side in SIDES]
        ids, lengths = self.known.words.read_lines(texts[self.own])
        lines, pieces, new = self.lines_with(ids, lengths, self.find(ids, lengths))
        good = new <= most[pieces]
        served = np.split(pieces[good], np.searchsorted(lines[good], np.arange(len(lengths))))[1:]
        return texts, once_per_text(list(zip(*texts, strict=True)), served)


def ngram_candidates(
    lines: Sequence[str],
    train: ParallelText,
    corpora: Sequence[ParallelText],
    side: str,
    excluded: Sequence[Sequence[np.ndarray]],
    *,
    min_count: int,
    max_length: int,
    k: int,
) -> Candidates:
    """The pieces of a test text, and the pairs of corpora that may be their probes.

    :param lines: the test text on ``side``, that of the pieces.
    :param excluded: and the rest as for :class:`Search`.
    """
    text = getattr(train, side).path
    known = KnownNgrams.learn(text, min_count=min_count)
    covers = known.cover(lines)
    distinct = dict.fromkeys(piece for cover in covers for piece in cover)
    good = [piece for piece in distinct if piece in known]
    numbers = {piece: index for index, piece in enumerate(dict.fromkeys([*good, *distinct]))}
    search = Search(known, good, side, excluded, max_length, k)
    search.read(corpora)
    texts, served = search.served(corpora)
    counts = [known.words.count(piece[0]) for piece in numbers]
    in_train = [
        np.bincount(search.find(*known.words.read(block))[1], minlength=len(good))
        for block in read_blocks(text)
    ]
    counts[: len(good)] = np.sum(in_train, axis=0).tolist()
    listed = [
        Piece(" ".join(piece), count, reason="absent" if index < len(good) else "unknown")
        for (piece, index), count in zip(numbers.items(), counts, strict=True)
    ]
    rows = []
    for cover in covers:
        ends = pairwise([0, *accumulate(map(len, cover))])
        rows.append([Place(numbers[piece], *span) for piece, span in zip(cover, ends, strict=True)])
    return Candidates(listed, rows, served, list(zip(*texts, strict=True)))


def _ordered(rows: Rows, *names: str) -> Rows:
    """Rows sorted by columns, the last first."""
    order = np.lexsort([rows[name] for name in names])
    return {name: values[order] for name, values in rows.items()}


def _places(sorted_pieces: np.ndarray) -> np.ndarray:
    """The place of each row among those of its piece."""
    return np.arange(len(sorted_pieces)) - np.searchsorted(sorted_pieces, sorted_pieces)

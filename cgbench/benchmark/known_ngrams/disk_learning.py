"""Learn the known n-grams of a training text that does not fit into memory as ids: the same bytes, from the disk.

The text goes to a file without a name, which is gone with the process however that ends: words as ids, then runs of
words that may take part in a known n-gram, equal ones once with their number (``trie_kernels.collapse``, by 128 bits of
hash instead of by their bytes). The trie is grown a part at a time: the n-grams that begin with some words, or, where a
word is at too many places, with that word and some that follow it. Each part reads the text once, from end to end, and
holds what it needs of it; nodes come in the order in which ``learning.py`` makes them, and so does all that is saved.

In memory are the vocabulary, 4 bytes a run, the table that is made, and, of the text, what parts that are worked on
side by side need: no less than for the pair of words that is at most places.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

import numpy as np

from cgbench.benchmark.known_ngrams.learning import Learnt, count_ngrams, grow_words, table_for
from cgbench.benchmark.known_ngrams.vocabulary import Vocabulary, check_counts, vocabulary_of
from cgbench.errors import InputError
from cgbench.machine import usable_cores
from cgbench.progress import bar
from cgbench.text.blocks import Block, read_range
from cgbench.text.word_counts import LARGEST, WordCounter, longer

STRETCH = 1 << 20  # ids that are read at once
LEAST_PLACES = 1 << 18  # of a part, however little memory there is
BYTES_A_PLACE = 96  # of a part: its groups, its text with what is from where, its nodes; measured
BYTES_A_RUN = 64  # while equal runs are found
DISK_A_WORD = 8  # bytes of the disk at most
RUNS, PARTS = 0.5, 0.75  # of the memory that is free: while equal runs are found, and for parts of the trie


def check_disk(text: object, words: int, folder: Path) -> None:
    """Check that the disk has room for a text as ids.

    :raises InputError: it has not.
    """
    free = shutil.disk_usage(folder).free
    if DISK_A_WORD * words > free:
        raise InputError(
            f"{text}: the n-grams of about {words:,} words do not fit into memory; learning them on disk needs about "
            f"{DISK_A_WORD * words / 1e9:,.1f} GB in {folder}, where {free / 1e9:,.1f} GB are free; make room, or name "
            "another folder with TMPDIR"
        )


def learn_from_disk(
    blocks: Iterable[Block],
    min_count: int,
    word_min_count: int,
    jobs: int | None,
    folder: Path,
    memory: int,
    places: int | None = None,
) -> tuple[Vocabulary, Learnt]:
    """As :func:`cgbench.benchmark.known_ngrams.learning.learn_blocks`, the same bytes.

    :param folder: where the text goes, in files without a name.
    :param memory: bytes to go about with; what cannot be cut smaller takes more.
    :param places: of a part of the trie at most (default: what fits into ``memory``); changes no byte.
    :raises InputError: as there, or one word occurs more than 2^31 - 2 times.
    """
    check_counts(min_count, word_min_count)
    jobs = jobs or usable_cores()
    with ExitStack() as stack:

        def file() -> IO[bytes]:
            return stack.enter_context(tempfile.TemporaryFile(dir=folder, prefix="cgbench-"))

        counter, tokens = WordCounter(), file()
        for block in blocks:
            counter.read(block, keep=True)
            tokens.write(counter.tokens[: counter.filled].data)
            counter.filled = 0
        vocabulary, ids = vocabulary_of(counter, min_count, word_min_count)
        del counter
        # Sums of weights have 31 bits; no n-gram is at more places than its words.
        if len(vocabulary) and int(vocabulary.counts[0]) > LARGEST:
            raise InputError(
                f"the training text has a word that occurs {int(vocabulary.counts[0]):,} times, and {LARGEST:,} can be "
                "counted; learn from a part of it"
            )
        runs = file()
        count = _keep_runs(tokens, ids, runs)
        tokens.close()
        del ids
        text = _collapse(runs, count, min_count == 1, max(1, int(RUNS * memory)), file(), file())
        runs.close()
        known_words = int(np.count_nonzero(vocabulary.counts >= min_count))
        places = places or max(LEAST_PLACES, int(PARTS * memory) // (BYTES_A_PLACE * jobs))
        return vocabulary, _grow(text, len(vocabulary), known_words, min_count, places, jobs, file())


@dataclass(frozen=True)
class _Text:
    """Each run once: those with a weight, then the others. ``weights`` int32, of the former, a run each."""

    repeated: IO[bytes]
    single: IO[bytes]
    weights: np.ndarray

    def stretches(self) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """The text from end to end: the first place of each stretch, its ids, the weights of its runs or none."""
        place = run = 0
        for file in (self.repeated, self.single):
            for ids in _stretches(file):
                weights = self.weights[:0]
                if file is self.repeated:
                    runs = int(np.count_nonzero(ids < 0))
                    weights = self.weights[run : run + runs]
                    run += runs
                yield place, ids, weights
                place += len(ids)

    def copy_spans(self, begins: np.ndarray, sizes: np.ndarray, out: np.ndarray) -> None:
        """Copy spans, each within a run, by rising places, one behind the other."""
        from cgbench.benchmark.known_ngrams import trie_kernels

        behind = np.concatenate([[0], np.cumsum(sizes)])
        for place, ids, _ in self.stretches():
            low, high = np.searchsorted(begins, (place, place + len(ids)))
            some = begins[low:high] - place, sizes[low:high]
            trie_kernels.copy_spans(ids, *some, out[behind[low] : behind[high]])


def _size(file: IO[bytes]) -> int:
    """The ids in a file."""
    file.flush()
    return os.fstat(file.fileno()).st_size // 4


def _read(file: IO[bytes], place: int, size: int) -> np.ndarray:
    """Some of a file, int32."""
    found = np.empty(size, np.int32)
    _fill(file, found, place)
    return found


def _fill(file: IO[bytes], ids: np.ndarray, place: int) -> None:
    read_range(file.fileno(), ids.view(np.uint8), 4 * place, 4 * (place + len(ids)), "a temporary file")


def _stretches(file: IO[bytes]) -> Iterator[np.ndarray]:
    """The ids of a file, some at a time: whole runs, or lines. Valid until the next are asked for, because fresh memory
    costs more than to look through it."""
    whole, done = _size(file), 0
    held = np.empty(min(STRETCH, whole), np.int32)
    while done < whole:
        ids = held[: whole - done]
        _fill(file, ids, done)
        end = _last_end(ids)
        if not end:
            held = np.empty(2 * len(held), np.int32)  # a line that is longer than that
            continue
        yield ids[:end]
        done += end


def _last_end(ids: np.ndarray) -> int:
    """Where the last line of some ids ends, 0 if none does."""
    looked = 1 << 10
    while True:
        if len(found := np.flatnonzero(ids[-looked:] < 0)):
            return max(0, len(ids) - looked) + int(found[-1]) + 1
        if looked >= len(ids):
            return 0
        looked *= 8


def _keep_runs(tokens: IO[bytes], ids: np.ndarray, runs: IO[bytes]) -> int:
    """Write the runs of two words or more that may take part in a known n-gram; how many there are."""
    from cgbench.benchmark.known_ngrams.disk_kernels import keep_runs

    count = 0
    for some in _stretches(tokens):
        kept = some[: keep_runs(some, ids)]
        count += int(np.count_nonzero(kept < 0))
        runs.write(kept.data)
    return count


def _collapse(
    runs: IO[bytes], count: int, expand_all: bool, memory: int, repeated: IO[bytes], single: IO[bytes]
) -> _Text:
    """Write equal runs once, as :func:`cgbench.benchmark.known_ngrams.trie_kernels.collapse` does."""
    from cgbench.benchmark.known_ngrams.disk_kernels import split_runs

    times = _count_runs(runs, count, -(-count * BYTES_A_RUN // memory))
    run = 0
    out = np.empty((2, 0), np.int32)
    for some in _stretches(runs):
        if out.shape[1] < len(some):
            out = np.empty((2, len(some)), np.int32)
        here = int(np.count_nonzero(some < 0))
        filled = split_runs(some, times[run : run + here + 1], expand_all, out[0], out[1])
        for file, ids, size in zip((repeated, single), out, filled, strict=True):
            file.write(ids[:size].data)
        run += here
    return _Text(repeated, single, times[:count][times[:count] > (0 if expand_all else 1)])


def _count_runs(runs: IO[bytes], count: int, parts: int) -> np.ndarray:
    """How often each run occurs, where it is for the first time; 0 elsewhere: int32 ``[runs + 1]``.

    :param parts: runs are told apart by their hashes, so many parts of these one after the other.
    """
    from cgbench.benchmark.known_ngrams.disk_kernels import hash_runs

    times = np.zeros(count + 1, np.int32)
    for part in range(parts):
        codes, places, run = [np.zeros((0, 2), np.uint64)], [np.zeros(0, np.int64)], 0
        for some in _stretches(runs):
            found = np.empty((int(np.count_nonzero(some < 0)), 2), np.uint64)
            hash_runs(some, found)
            chosen = np.flatnonzero(found[:, 0] % np.uint64(parts) == part)
            codes.append(found[chosen])
            places.append(chosen + run)
            run += len(found)
        both, place = np.concatenate(codes), np.concatenate(places)
        del codes, places
        order = np.lexsort((both[:, 1], both[:, 0]))  # stable: of equal runs the first comes first
        both, place = both[order], place[order]
        fresh = np.ones(len(both), bool)
        fresh[1:] = np.any(both[1:] != both[:-1], axis=1)
        begins = np.flatnonzero(fresh)
        times[place[begins]] = np.diff(np.append(begins, len(both)))
    return times


@dataclass
class _Grown:
    """Nodes that begin with some words, ``size`` of them, and the tails among them: rows, places in all of the text."""

    nodes: np.ndarray
    size: int = 0
    rows: list[np.ndarray] = field(default_factory=list)
    begins: list[np.ndarray] = field(default_factory=list)

    def cut(self, size: int) -> _Grown:
        """With so many nodes."""
        self.nodes, self.size = self.nodes[:size].copy(), size
        return self


def _grow(text: _Text, size: int, known_words: int, min_count: int, places: int, jobs: int, kept: IO[bytes]) -> Learnt:
    """The known n-grams of a text.

    :param places: of a part; ``kept``: where nodes wait for the size of the table to be known.
    """
    from cgbench.benchmark.known_ngrams.trie_kernels import TAIL_LENGTH, count_places, enter_nodes, lay_out_tails

    starts = np.zeros(known_words + 1, np.int64)
    for _, ids, _ in text.stretches():
        count_places(ids, starts)
    starts = np.cumsum(starts)
    parts = list(pairwise(_cuts(starts, places)))
    grower = _Grower(text, known_words, min_count, places, starts)
    grown: list[_Grown] = []
    with ThreadPoolExecutor(jobs) as pool, bar(len(parts), "learn n-grams on disk", "part") as progress:
        for part in pool.map(lambda part: grower.part(*part), parts):
            kept.write(part.nodes.data)
            part.nodes = part.nodes[:0]
            grown.append(part)
            progress.update(1)
    nodes, place = _size(kept) // 4, 0
    slots = table_for(nodes, size)
    longest = ngrams = 0
    holders, begins, lengths = [np.zeros(0, np.int32)], [np.zeros(0, np.int64)], [np.zeros(0, np.int32)]
    for part in grown:  # parents are nodes of the same part
        some = _read(kept, place, 4 * part.size).reshape(-1, 4)
        place += 4 * part.size
        longest_here, slot_of = enter_nodes(some, size, slots)
        longest, ngrams = max(longest, longest_here), ngrams + count_ngrams(some)
        for rows, places_of in zip(part.rows, part.begins, strict=True):
            holders.append(slot_of[rows])
            begins.append(places_of)
            lengths.append(some[rows, TAIL_LENGTH])
    tails = lay_out_tails(np.concatenate(holders), np.concatenate(begins), np.concatenate(lengths), text.copy_spans)
    return Learnt(slots, known_words + ngrams, max(longest, min(known_words, 1)), tails)


def _cuts(starts: np.ndarray, places: int) -> list[int]:
    """Where parts begin, and the number of words: of ``places`` at most, or of one word."""
    cuts, words = [0], len(starts) - 1
    while cuts[-1] < words:
        end = int(np.searchsorted(starts, starts[cuts[-1]] + places, side="right")) - 1
        cuts.append(min(words, max(end, cuts[-1] + 1)))
    return cuts


@dataclass(frozen=True)
class _Grower:
    """What the parts of a trie have in common."""

    text: _Text
    known_words: int
    min_count: int
    places: int
    starts: np.ndarray

    def part(self, low: int, high: int) -> _Grown:
        """The nodes of the n-grams that begin with the words ``low`` to ``high - 1``."""
        count = int(self.starts[high] - self.starts[low])
        grown = _Grown(np.empty((count // 4 + 64, 4), np.int32))
        if not count:
            return grown.cut(0)
        if high - low == 1 and count > self.places:
            return self._frequent(low, grown)
        free = np.full(self.known_words, -1, np.int64)
        free[low:high] = self.starts[low:high] - self.starts[low]
        copy = self._copy(low, high, free, count, 1)
        starts = self.starts - self.starts[low]
        return grown.cut(self._run(grown, copy, starts, low, high, 0, []))

    def _frequent(self, word: int, grown: _Grown) -> _Grown:
        """Those of a word at too many places: its children, as ``trie_kernels.grow_trie`` makes them, then the tries
        below them, the last first, some at a time."""
        from cgbench.benchmark.known_ngrams.disk_kernels import tally_next
        from cgbench.benchmark.known_ngrams.trie_kernels import PARENT, TAIL_LENGTH, WORD

        tally, places = (np.zeros(self.known_words, np.int64) for _ in range(2))
        touched, distinct = np.empty(self.known_words, np.int32), 0
        for _, ids, weights in self.text.stretches():
            distinct = tally_next(ids, np.int32(word), weights, tally, places, touched, distinct)
        children = touched[:distinct][tally[touched[:distinct]] >= self.min_count]
        if len(grown.nodes) < len(children):
            grown.nodes = np.empty((2 * len(children), 4), np.int32)
        grown.nodes[: len(children), PARENT] = -1 - word
        grown.nodes[: len(children), WORD] = children
        grown.nodes[: len(children), TAIL_LENGTH] = 0
        filled, end = len(children), len(children)
        while end:
            begin = end - 1
            while begin and int(places[children[begin - 1 : end]].sum()) <= self.places:
                begin -= 1
            some = children[begin:end]
            limits = np.concatenate([[0], np.cumsum(places[some])])
            free = np.full(self.known_words, -1, np.int64)
            free[some] = limits[:-1]
            copy = self._copy(word, word + 1, free, int(limits[-1]), 2)
            waiting = [
                (int(low), int(high), 0, row, 0)
                for low, high, row in zip(limits[:-1], limits[1:], range(begin, end), strict=True)
            ]
            filled = self._run(grown, copy, self.starts, word, word + 1, filled, waiting)
            end = begin
        return grown.cut(filled)

    def _copy(self, low: int, high: int, free: np.ndarray, count: int, behind: int) -> _Copy:
        """What such places need of the text (``disk_kernels.take_part``)."""
        from cgbench.benchmark.known_ngrams.disk_kernels import take_part

        copy = _Copy(np.empty((2, count), np.int32))
        for place, ids, weights in self.text.stretches():
            copy.make_room(len(ids), len(weights) > 0)
            if copy.filled + len(ids) > LARGEST:
                raise InputError(
                    "a pair of words is at too many places of the training text: more words than can be numbered "
                    "follow it; learn from a part"
                )
            arrays = copy.text, copy.weights, copy.ends, copy.filled, copy.segments, copy.taken, copy.groups[0]
            low_and_high = np.int32(low), np.int32(high)
            before = copy.filled
            copy.filled, copy.taken = take_part(ids, place, weights, *low_and_high, free, behind, *arrays)
            if len(weights):
                copy.weighted += copy.filled - before
        return copy

    def _run(
        self, grown: _Grown, copy: _Copy, starts: np.ndarray, low: int, high: int, filled: int, waiting: Sequence[Any]
    ) -> int:
        """Grow what a copy of the text has, behind ``filled`` nodes; how many there are then."""
        from cgbench.benchmark.known_ngrams.trie_kernels import TAIL_BEGIN, TAIL_LENGTH

        given = copy.text, copy.weights[: copy.weighted], copy.ends[: copy.weighted], copy.groups, starts
        before = filled
        grown.nodes, filled = grow_words(
            given, low, high, self.known_words, self.min_count, grown.nodes, filled, waiting
        )
        # Nodes that were there get tails, too: those that wait for what is below them.
        rows = np.concatenate([np.array([entry[3] for entry in waiting], np.int64), np.arange(before, filled)])
        rows = rows[grown.nodes[rows, TAIL_LENGTH] > 0]
        begins = grown.nodes[rows, TAIL_BEGIN].astype(np.int64)
        segments = copy.segments[: copy.taken]
        at = np.searchsorted(segments[:, 0], begins, side="right") - 1
        grown.rows.append(rows)
        grown.begins.append(begins - segments[at, 0] + segments[at, 1])
        return filled


@dataclass
class _Copy:
    """The text of a part: ``filled`` of ``text``, the first ``weighted`` with ``weights`` and ``ends``; where its
    ``taken`` segments are from."""

    groups: np.ndarray
    text: np.ndarray = field(default_factory=lambda: np.empty(0, np.int32))
    weights: np.ndarray = field(default_factory=lambda: np.empty(0, np.int32))
    ends: np.ndarray = field(default_factory=lambda: np.empty(0, np.int32))
    segments: np.ndarray = field(default_factory=lambda: np.empty((0, 2), np.int64))
    filled: int = 0
    weighted: int = 0
    taken: int = 0

    def make_room(self, ids: int, weighted: bool) -> None:
        """For so many ids more."""
        names = ("text", "weights", "ends") if weighted else ("text",)
        for name in names:
            array = getattr(self, name)
            if len(array) < self.filled + ids:
                array.resize(max(self.filled + ids, len(array) * 5 // 4), refcheck=False)
        if len(self.segments) < self.taken + ids // 2:
            self.segments = longer(self.segments, max(self.taken + ids // 2, len(self.segments) * 5 // 4))

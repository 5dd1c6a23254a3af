"""A control set: pairs of the pool that are like those of the test set, but for what makes these hard.

What a system loses from the control set to the test set is what combinations and uncertainty cost it, and not length
or domain: DBCA reports the same as a ratio (Moisio et al. 2023). A control pair has passed every filter that the test
set has passed (rare words, length bounds, seen text, repeats), has the same number of words on both sides as a test
pair and comes from the same corpus of the pool; neither its source nor its target is in the test set. Its degree and
its uncertainty may be any.

Pairs of a corpus and of equal lengths are a *bin*. In every bin as many pairs are drawn as the test set has, those of
the smallest seeded hash of content, so that neither the order of the pool nor the number of workers matters. Where a
bin has too few, the nearest bins of the same corpus give the rest. Memory grows with the test set, not with the pool.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cgbench.benchmark.cut import COLUMNS, fetch_texts, read_parts, seen_texts, within_bounds
from cgbench.benchmark.selection import seeded_hash
from cgbench.text.corpus import ParallelText

SIDES = ("source", "target")
_BITS = 25  # of a length in a bin's number: a line of 64 MiB has fewer than 2^25 words


@dataclass(frozen=True)
class Control:
    """The pairs of a control set in the order of the pool: ``rows`` (a scan's columns, by name) and their texts.

    ``short`` bins had too few pairs, which ``missing`` in all; ``moved`` of these were drawn from bins that are up to
    ``farthest`` words away, both sides together. The others are not to be had.
    """

    rows: dict[str, np.ndarray]
    sources: list[str]
    targets: list[str]
    bins: int
    short: int = 0
    missing: int = 0
    moved: int = 0
    farthest: int = 0

    @property
    def counts(self) -> dict[str, int]:
        """The figures for a manifest."""
        return {"control": len(self.sources), "control_bins": self.bins, "control_short_bins": self.short}

    @property
    def warning(self) -> str | None:
        """One line on bins with too few pairs, and what was done."""
        if not self.short:
            return None
        line = (
            f"control set: {self.short:,} of {self.bins:,} bins of corpus and lengths have too few pairs for those of "
            f"the test set ({self.missing:,} missing); {self.moved:,} were drawn from the nearest bins of the same "
            f"corpus (up to {self.farthest:,} words away)"
        )
        if self.moved < self.missing:
            line += f", {self.missing - self.moved:,} are not to be had, so that it is smaller than the test set"
        return line


def bins_of(rows: Mapping[str, np.ndarray]) -> np.ndarray:
    """The bin of each row as a number [rows] int64, from its corpus and its two lengths."""
    pool, source, target = (rows[name].astype(np.int64) for name in ("pool", "source_length", "target_length"))
    return (((pool << _BITS) + source) << _BITS) + target


def draw_control(
    parts: Sequence[Path],
    pools: Sequence[ParallelText],
    test: Mapping[str, np.ndarray],
    texts: tuple[Sequence[bytes], Sequence[bytes]],
    *,
    seed: int,
    min_length: int = 1,
    max_length: int | None = None,
    seen: Sequence[ParallelText] = (),
    degree_side: str = "target",
) -> Control:
    """Draw a control set for a test set.

    :param parts: the files of :func:`~cgbench.benchmark.scan.scan`, for all ``pools``.
    :param test: of the test set ``pool`` (as in the scan), ``source_length``, ``target_length``, an array each;
        ``texts``: its sources and targets, words joined by one blank.
    :param min_length: as of the cut (:func:`~cgbench.benchmark.cut.cut`), with ``max_length``, ``seen`` and
        ``degree_side``.
    """
    wanted = Counter(bins_of(test).tolist())
    reader = _Reader(parts, degree_side, min_length, max_length, seed)
    there = reader.sizes()
    usable = dict(there)  # of each bin, the most pairs that may be drawn from it
    slack: Counter[int] = Counter()
    pick = _Pick(pools, seen, texts)
    while True:
        quota, moves = allocate(wanted, usable)
        ask = {key: min(there[key], count + max(8, count // 4) + slack[key]) for key, count in quota.items()}
        rows = reader.smallest(ask)
        chosen, drawn = pick(rows, quota)
        too_few = [key for key, count in quota.items() if drawn[key] < count]
        if not too_few:
            break
        if unread := [key for key in too_few if ask[key] < there[key]]:
            slack.update({key: 3 * slack[key] + 32 for key in unread})  # look at more of these rows
        else:
            usable |= {key: drawn[key] for key in too_few}
    chosen = chosen[np.lexsort((rows["line"][chosen], rows["pool"][chosen]))]
    sources, targets = (pick.texts_of(rows, chosen, side) for side in SIDES)
    missing = {key: count - min(count, usable.get(key, 0)) for key, count in wanted.items()}
    return Control(
        {name: rows[name][chosen] for name in COLUMNS},
        sources,
        targets,
        bins=len(wanted),
        short=sum(count > 0 for count in missing.values()),
        missing=sum(missing.values()),
        moved=sum(count for _, _, count in moves),
        farthest=max((distance(one, other) for one, other, _ in moves), default=0),
    )


def distance(one: int, other: int) -> int:
    """By how many words, both sides together, the lengths of two bins differ."""
    mask = (1 << _BITS) - 1
    return abs((one >> _BITS & mask) - (other >> _BITS & mask)) + abs((one & mask) - (other & mask))


def allocate(wanted: Mapping[int, int], usable: Mapping[int, int]) -> tuple[dict[int, int], list[tuple[int, int, int]]]:
    """How many pairs are drawn from each bin, and the moves (bin, nearest bin, pairs) where one has too few.

    :param wanted: pairs of the test set, by bin; ``usable``: the most that can be drawn.
    """
    quota = {key: min(count, usable.get(key, 0)) for key, count in sorted(wanted.items())}
    moves = []
    for key, count in sorted(wanted.items()):
        lacking = count - min(count, usable.get(key, 0))
        if not lacking:
            continue
        corpus = key >> 2 * _BITS
        near = sorted((distance(key, other), other) for other in usable if other >> 2 * _BITS == corpus)
        for _, other in near:
            taken = min(lacking, usable[other] - quota.get(other, 0))
            # What a bin needs for its own pairs is set aside already.
            if other != key and taken > 0:
                quota[other] = quota.get(other, 0) + taken
                moves.append((key, other, taken))
                lacking -= taken
            if not lacking:
                break
    return {key: count for key, count in quota.items() if count}, moves


class _Reader:
    """The rows of a scan that may be in a control set, a part at a time."""

    def __init__(
        self, parts: Sequence[Path], degree_side: str, min_length: int, max_length: int | None, seed: int
    ) -> None:
        self.parts, self.seed = parts, seed
        self.length, self.bounds = f"{degree_side}_length", (min_length, max_length)

    def sizes(self) -> Counter[int]:
        """How many rows each bin has."""
        total: Counter[int] = Counter()
        for part in read_parts(self.parts):
            keys, counts = np.unique(bins_of(part)[within_bounds(part[self.length], *self.bounds)], return_counts=True)
            total.update(dict(zip(keys.tolist(), counts.tolist(), strict=True)))
        return total

    def smallest(self, ask: Mapping[int, int]) -> dict[str, np.ndarray]:
        """The rows of the smallest seeded hashes, ``ask[bin]`` of each bin, by rising hash; with ``bin``, ``tie``."""
        keys = np.array(sorted(ask), np.int64)
        most = np.array([ask[key] for key in keys.tolist()], np.int64)
        held: list[dict[str, np.ndarray]] = [
            {name: np.zeros(0, np.int64) for name in COLUMNS}
            | {"bin": np.zeros(0, np.int64), "tie": np.zeros(0, np.uint64), "content": np.zeros(0, np.uint64)}
        ]
        waiting = 0
        for part in read_parts(self.parts):
            part["bin"] = bins_of(part)
            part["tie"] = seeded_hash(part["content"], self.seed, "control")
            rows = np.flatnonzero(within_bounds(part[self.length], *self.bounds) & np.isin(part["bin"], keys))
            held.append({name: values[rows] for name, values in part.items()})
            waiting += len(rows)
            if waiting > 2 * most.sum() + 10_000:
                held = [_smallest(held, keys, most)]
                waiting = len(held[0]["tie"])
        rows_held = _smallest(held, keys, most)
        order = np.lexsort((rows_held["line"], rows_held["pool"], rows_held["bin"], rows_held["tie"]))
        return {name: values[order] for name, values in rows_held.items()}


def _smallest(parts: Sequence[dict[str, np.ndarray]], keys: np.ndarray, most: np.ndarray) -> dict[str, np.ndarray]:
    """Of each bin, the ``most`` rows of the smallest hashes; of equal pairs the first line."""
    rows = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    order = np.lexsort((rows["line"], rows["tie"], rows["bin"]))
    bins = rows["bin"][order]
    begin = np.searchsorted(bins, keys)
    place = np.arange(len(order)) - begin[np.searchsorted(keys, bins)]
    kept = order[place < most[np.searchsorted(keys, bins)]]
    return {name: values[kept] for name, values in rows.items()}


class _Pick:
    """Goes down rows and takes those that are neither seen, nor a repeat, nor of the test set."""

    def __init__(
        self,
        pools: Sequence[ParallelText],
        seen: Sequence[ParallelText],
        texts: tuple[Sequence[bytes], Sequence[bytes]],
    ) -> None:
        self.pools, self.seen, self.test = pools, seen, texts
        self.texts: tuple[list[bytes], list[bytes]] = ([], [])

    def __call__(self, rows: dict[str, np.ndarray], quota: Mapping[int, int]) -> tuple[np.ndarray, Counter[int]]:
        """The places of the rows that are taken, ``quota[bin]`` of each bin if there are so many, and how many."""
        with ThreadPoolExecutor(2) as threads:
            found = list(threads.map(lambda side: fetch_texts(rows, self.pools, side), SIDES))
            seen = [[getattr(corpus, side) for corpus in self.seen] for side in SIDES]
            known = list(threads.map(lambda number: seen_texts(found[number], seen[number]), (0, 1)))
        self.texts = found[0][0], found[1][0]
        taken = [set(side) for side in self.test]
        drawn: Counter[int] = Counter()
        chosen = []
        for place, (key, source, target) in enumerate(zip(rows["bin"].tolist(), *self.texts, strict=True)):
            if drawn[key] == quota[key] or source in known[0] or target in known[1]:
                continue
            if source not in taken[0] and target not in taken[1]:
                drawn[key] += 1
                chosen.append(place)
                taken[0].add(source)
                taken[1].add(target)
        return np.array(chosen, np.int64), drawn

    def texts_of(self, rows: dict[str, np.ndarray], places: np.ndarray, side: str) -> list[str]:
        """The texts of one side of some rows of the last call."""
        texts = self.texts[SIDES.index(side)]
        return [texts[place].decode("utf-8") for place in places.tolist()]

"""A control set: pairs of the pool that are like those of the test set, except in what makes those
hard.

A system's loss from the control set to the test set is then due to combinations and uncertainty,
not to length, domain or rare words. DBCA reports the same as a ratio (Moisio et al. 2023). A
control pair has passed every filter of the test set (rare words, length bounds, seen text,
repeats), and neither its source nor its target is in the test set. Its degree and uncertainty are
not restricted. Each test pair gets one pair of the same corpus with a similar length and similar
word frequencies (:mod:`cgbench.benchmark.candidates.matching`).

The choice is among the :data:`NEAR` pairs per test pair that are nearest in length; ties go to the
smallest seeded hash of content, so neither the order of the pool nor the number of workers matters.
Memory grows with the test set, not with the pool.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cgbench.benchmark.candidates.cut import COLUMNS, Bounds, read_parts
from cgbench.benchmark.candidates.matching import (
    LENGTHS,
    RAREST,
    MatchedControl,
    balance,
    covariates_of,
    match,
    scaled_covariates,
    word_frequency,
)
from cgbench.benchmark.candidates.row_texts import read_texts
from cgbench.benchmark.candidates.selection import seeded_hash
from cgbench.benchmark.measure.known_ngrams.vocabulary import Vocabulary
from cgbench.text.corpus import ParallelText
from cgbench.text.normalisation import SIDES

NEAR = 16
_BITS = 25  # of a length in a bin's number: a line of 64 MiB has fewer than 2^25 words
Texts = tuple[Sequence[bytes], Sequence[bytes]]


def draw_control(
    scans: Sequence[Path],
    pools: Sequence[ParallelText],
    test: Mapping[str, np.ndarray],
    texts: Texts,
    vocabularies: tuple[Vocabulary, Vocabulary],
    *,
    seed: int,
    bounds: Bounds,
    seen: Sequence[ParallelText] = (),
) -> MatchedControl:
    """Draw a control set for a test set.

    :param scans: the files of :func:`.pool_scan.scan`, for all ``pools``.
    :param test: arrays ``pool`` (as in the scan), ``source_length`` and ``target_length`` of the
        test set; ``texts``: its sources and targets, words joined by one blank.
    :param vocabularies: the words of the training text, source and target.
    :param bounds: as for the cut (:func:`~cgbench.benchmark.candidates.cut.cut`), with ``seen``.
    """
    bins, available, near = Counter(bins_of(test).tolist()), _bin_sizes(scans, bounds), NEAR
    pairs = Counter(test["pool"].tolist())
    while True:
        limits = nearest_bins(bins, available, near)
        rows, sides = _usable(_nearest_rows(scans, bounds, seed, limits), pools, seen, texts)
        counts = Counter(rows["pool"].tolist())
        if all(counts[pool] >= count for pool, count in pairs.items()):
            break
        if limits == {key: count for key, count in available.items() if key >> 2 * _BITS in pairs}:
            break  # everything was read
        near *= 4
    test_rows = _with_frequency(test, _decoded(texts), vocabularies)
    rows = _with_frequency(rows, sides, vocabularies)
    points = scaled_covariates(covariates_of(test_rows), covariates_of(rows))
    chosen = np.zeros(0, np.int64)
    for pool in sorted(pairs):
        in_pool = np.flatnonzero(rows["pool"] == pool)
        chosen = np.append(
            chosen, in_pool[match(points[0][test["pool"] == pool], points[1][in_pool])]
        )
    chosen = chosen[np.lexsort((rows["line"][chosen], rows["pool"][chosen]))]
    drawn = {name: values[chosen] for name, values in rows.items()}
    sources, targets = ([lines[row] for row in chosen.tolist()] for lines in sides)
    return MatchedControl(
        {name: drawn[name] for name in (*COLUMNS, *RAREST)},
        sources,
        targets,
        missing=len(texts[0]) - len(chosen),
        balance=balance(covariates_of(test_rows), covariates_of(drawn)) if len(chosen) else [],
    )


def bins_of(rows: Mapping[str, np.ndarray]) -> np.ndarray:
    """A number for the corpus and the two lengths of each row, int64 [rows]."""
    pool, source, target = (rows[name].astype(np.int64) for name in ("pool", *LENGTHS))
    return (((pool << _BITS) + source) << _BITS) + target


def nearest_bins(
    test_bins: Mapping[int, int], available: Mapping[int, int], near: int
) -> dict[int, int]:
    """The number of pairs to read from each bin: ``near`` times the test pairs of each bin, from
    the bins of the same corpus with the nearest lengths.

    :param test_bins: pairs of the test set, by bin; ``available``: pairs of the pool.
    """
    keys = np.array(sorted(available), np.int64)
    sizes, limits = (
        np.array([available[key] for key in keys.tolist()], np.int64),
        np.zeros(len(keys), np.int64),
    )
    corpus, source, target = _parts(keys)
    for key, count in sorted(test_bins.items()):
        pool, source_length, target_length = _parts(np.int64(key))
        same = np.flatnonzero(corpus == pool)
        order = same[
            np.argsort(
                np.abs(source[same] - source_length) + np.abs(target[same] - target_length),
                kind="stable",
            )
        ]
        before = np.cumsum(sizes[order]) - sizes[order]
        limits[order] += np.clip(near * count - before, 0, sizes[order])
    limits = np.minimum(limits, sizes)
    return {key: count for key, count in zip(keys.tolist(), limits.tolist(), strict=True) if count}


def _parts(keys: Any) -> tuple[Any, Any, Any]:
    mask = (1 << _BITS) - 1
    return keys >> 2 * _BITS, keys >> _BITS & mask, keys & mask


def _usable(
    rows: dict[str, np.ndarray],
    pools: Sequence[ParallelText],
    seen: Sequence[ParallelText],
    test: Texts,
) -> tuple[dict[str, np.ndarray], tuple[list[str], list[str]]]:
    """The rows that are neither seen, nor in the test set, nor repeats, with their texts."""
    sides, known = read_texts(rows, pools, seen)
    all_lines = [side.texts for side in sides]
    seen_lines = [known[side] | set(test[side]) for side in (0, 1)]
    usable = []
    for row, (source, target) in enumerate(zip(*all_lines, strict=True)):
        if source not in seen_lines[0] and target not in seen_lines[1]:
            usable.append(row)
            seen_lines[0].add(source)
            seen_lines[1].add(target)
    lines = _decoded(tuple([texts[row] for row in usable] for texts in all_lines))
    return {name: values[usable] for name, values in rows.items()}, lines


def _decoded(texts: Sequence[Sequence[bytes]]) -> tuple[list[str], list[str]]:
    source, target = ([line.decode("utf-8") for line in side] for side in texts)
    return source, target


def _with_frequency(
    rows: Mapping[str, np.ndarray],
    texts: Sequence[Sequence[str]],
    vocabularies: Sequence[Vocabulary],
) -> dict[str, np.ndarray]:
    """``rows`` with the word frequencies that ``covariates_of`` needs."""
    columns = dict(rows)
    for side, lines, vocabulary in zip(SIDES, texts, vocabularies, strict=True):
        frequency = word_frequency(vocabulary, lines)
        columns |= {f"{side}_{name}": values for name, values in frequency._asdict().items()}
    return columns


def _bin_sizes(scans: Sequence[Path], bounds: Bounds) -> Counter[int]:
    total: Counter[int] = Counter()
    for columns in read_parts(scans):
        keys, counts = np.unique(bins_of(columns)[bounds.hold(columns)], return_counts=True)
        total.update(dict(zip(keys.tolist(), counts.tolist(), strict=True)))
    return total


def _nearest_rows(
    scans: Sequence[Path], bounds: Bounds, seed: int, limits: Mapping[int, int]
) -> dict[str, np.ndarray]:
    """The ``limits[bin]`` rows of each bin with the smallest seeded hashes, by rising hash; with
    ``bin``, ``tie``.
    """
    keys = np.array(sorted(limits), np.int64)
    most = np.array([limits[key] for key in keys.tolist()], np.int64)
    blocks: list[dict[str, np.ndarray]] = [
        {name: np.zeros(0, np.int64) for name in (*COLUMNS, "bin")}
        | {name: np.zeros(0, np.uint64) for name in ("tie", "content")}
    ]
    waiting = 0
    for columns in read_parts(scans):
        columns["bin"] = bins_of(columns)
        columns["tie"] = seeded_hash(columns["content"], seed, "control")
        rows = np.flatnonzero(bounds.hold(columns) & np.isin(columns["bin"], keys))
        blocks.append({name: values[rows] for name, values in columns.items()})
        waiting += len(rows)
        if waiting > 2 * most.sum() + 10_000:
            blocks = [_smallest(blocks, keys, most)]
            waiting = len(blocks[0]["tie"])
    rows_held = _smallest(blocks, keys, most)
    order = np.lexsort((rows_held["line"], rows_held["pool"], rows_held["bin"], rows_held["tie"]))
    return {name: values[order] for name, values in rows_held.items()}


def _smallest(
    blocks: Sequence[dict[str, np.ndarray]], keys: np.ndarray, most: np.ndarray
) -> dict[str, np.ndarray]:
    """The ``most`` rows of each bin with the smallest hashes; of equal pairs the first line."""
    rows = {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}
    order = np.lexsort((rows["line"], rows["tie"], rows["bin"]))
    bins = rows["bin"][order]
    begin = np.searchsorted(bins, keys)
    rank = np.arange(len(order)) - begin[np.searchsorted(keys, bins)]
    chosen = order[rank < most[np.searchsorted(keys, bins)]]
    return {name: values[chosen] for name, values in rows.items()}

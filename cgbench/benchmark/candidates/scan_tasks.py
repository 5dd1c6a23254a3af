"""Shards of a scan as tasks of an engine: machines that see the pool and what was learned scan it side by side.

On one machine threads do as well, and share what was learned; so they do where not every machine sees the pool.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cgbench.benchmark.candidates.scan import Scanner, Shard, open_sides, scan, scan_shard
from cgbench.benchmark.known_ngrams.known import KnownNgrams
from cgbench.benchmark.known_ngrams.vocabulary import Vocabulary
from cgbench.engines import Engine
from cgbench.machine import usable_cores
from cgbench.text.corpus import ParallelText

NGRAMS, WORDS = "ngrams", "other-words"  # in the folder of what was learned


@dataclass(frozen=True, eq=False)
class Scan:
    """A corpus of the pool, its number, the folder of what was learned, and how the filter and the degree are meant."""

    pool: ParallelText
    number: int
    learned: Path
    degree_side: str
    filter_sides: str

    def scanner(self) -> Scanner:
        """What scans it, opened."""
        return Scanner(
            self.pool,
            number=self.number,
            ngrams=KnownNgrams.load(self.learned / NGRAMS),
            other_words=Vocabulary.load(self.learned / WORDS),
            degree_side=self.degree_side,
            filter_sides=self.filter_sides,
        )


def scan_with(engine: Engine, work: Scan, out: Path) -> dict[str, Any]:
    """:func:`cgbench.benchmark.candidates.scan.scan`, on all machines of an engine."""

    def spread(shards: Sequence[Shard]) -> Iterator[dict[str, Any]]:
        return engine.map(functools.partial(_one, work), shards)

    elsewhere = not engine.here and engine.sees([work.pool.source.path, work.pool.target.path])
    return scan(
        work.pool,
        number=work.number,
        ngrams=KnownNgrams.load(work.learned / NGRAMS),
        other_words=Vocabulary.load(work.learned / WORDS),
        degree_side=work.degree_side,
        filter_sides=work.filter_sides,
        out=out,
        jobs=engine.jobs if engine.here else usable_cores(),
        spread=spread if elsewhere else None,
    )


_last: tuple[Any, Scanner] | None = None  # of this process: a worker opens what was learned once


def _one(work: Scan, shard: Shard) -> dict[str, Any]:
    global _last
    key = work.learned, work.number, work.pool.hashes, work.degree_side, work.filter_sides
    if _last is None or _last[0] != key:
        _last = key, work.scanner()
    with open_sides(work.pool) as files:
        return scan_shard(_last[1], files, shard)

"""Which candidates become the benchmark: rank by uncertainty, cut the noise, draw (ReaCT, section 4).

The most uncertain candidates are mostly noise and are dropped; the benchmark is drawn at random from the next most
uncertain ones. The draw goes by a seeded hash of each pair's content, so it depends neither on the order of the
candidates nor on a random generator's version. With a language model, the candidates of the highest perplexity may be
dropped before all that: what a model of the language finds least likely is mostly noise too.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from cgbench.benchmark.scan import mix

STAGES = ("rest", "dropped", "window", "selected", "dropped_perplexity")


@dataclass(frozen=True)
class Selection:
    """``rank`` [candidates]: place by uncertainty from 0, the most uncertain first; ``stage`` [candidates]: indices
    into :data:`STAGES` (``window`` means: could have been drawn, was not)."""

    rank: np.ndarray
    stage: np.ndarray

    @property
    def selected(self) -> np.ndarray:
        """The positions of the chosen candidates, ascending."""
        return np.flatnonzero(self.stage == STAGES.index("selected"))


def count_stages(stages: list[str]) -> dict[str, int]:
    """How many candidates are in each stage; those that could have been drawn count as ``window`` when they were, too.

    ``dropped_perplexity`` is left out where there is none.
    """
    counts = {stage: stages.count(stage) for stage in STAGES}
    counts["window"] += counts["selected"]
    if not counts["dropped_perplexity"]:
        del counts["dropped_perplexity"]
    return counts


def select(
    uncertainty: np.ndarray,
    content: np.ndarray,
    *,
    drop: int,
    window: int,
    count: int,
    seed: int,
    perplexity: np.ndarray | None = None,
    drop_perplexity: int = 0,
) -> Selection:
    """Drop the ``drop`` most uncertain candidates and draw ``count`` of the next ``window``.

    :param uncertainty: [candidates] float, higher is more uncertain; a value that is not a number counts as noise
        beyond all others.
    :param content: [candidates] uint64, a hash of each pair's words: breaks ties, and decides the draw with ``seed``.
    :param perplexity: [candidates] float; the ``drop_perplexity`` candidates of the highest are dropped first, and
        count for nothing but the ranks.
    :raises ValueError: the numbers do not fit together (callers check them, with better words).
    """
    total = len(uncertainty)
    if not (count <= window and drop_perplexity + drop + window <= total):
        raise ValueError(f"cannot drop {drop} and draw {count} of the next {window} from {total} candidates")
    tie = seeded_hash(content, seed, "rank")
    order = np.lexsort((tie, -np.where(np.isnan(uncertainty), np.inf, uncertainty)))
    rank = np.empty(total, np.int64)
    rank[order] = np.arange(total)
    stage = np.zeros(total, np.int8)
    if drop_perplexity:
        assert perplexity is not None
        worst = np.lexsort((seeded_hash(content, seed, "perplexity"), -perplexity))[:drop_perplexity]
        stage[worst] = STAGES.index("dropped_perplexity")
        order = order[stage[order] == 0]
    stage[order[:drop]] = STAGES.index("dropped")
    inside = order[drop : drop + window]
    stage[inside] = STAGES.index("window")
    stage[inside[np.argsort(seeded_hash(content[inside], seed, "draw"), kind="stable")[:count]]] = STAGES.index(
        "selected"
    )
    return Selection(rank, stage)


def seeded_hash(content: np.ndarray, seed: int, purpose: str) -> np.ndarray:
    """A fresh, uniformly distributed hash [n] uint64 of each content hash; one a ``seed`` and ``purpose``."""
    salt = int.from_bytes(hashlib.sha256(f"{seed} {purpose}".encode()).digest()[:8], "little")
    return mix(content.astype(np.uint64) + np.uint64(salt))

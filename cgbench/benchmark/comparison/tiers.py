"""Rank ranges and tiers of systems from tests of all pairs, as in WMT (where tiers are clusters)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cgbench.benchmark.comparison.comparison import SubsetScores, SystemScores
from cgbench.benchmark.comparison.significance import LEVEL
from cgbench.benchmark.metrics.metric import Metric


@dataclass(frozen=True)
class Rank:
    """The rank range of a system and its tier, from 1.

    ``best``: one more than the number of significantly better systems; ``worst``: the number of systems, including
    itself, that are not significantly worse.
    """

    number: int
    best: int
    worst: int
    tier: int


@dataclass(frozen=True)
class AllPairs:
    """All pairs of systems; ``order`` (best first) and ``tiers`` contain system numbers.

    ``difference`` and ``p_star`` (:attr:`~cgbench.benchmark.comparison.comparison.Pair.p_star`) by (first, second).
    """

    order: list[int]
    tiers: list[list[int]]
    difference: dict[tuple[int, int], float]
    p_star: dict[tuple[int, int], float | None]


def compare_all(metric: Metric, names: Sequence[str], parts: Sequence[SubsetScores]) -> AllPairs | None:
    """All pairs by the main score; None if pairs were not compared, or a system has no score."""
    estimates = [part.figures[metric.figures[0]] for part in parts]
    if any(one.value is None for one in estimates) or not any(one.pairs for one in estimates):
        return None
    numbers = {name: number for number, name in enumerate(names)}
    difference: dict[tuple[int, int], float] = {}
    p_star: dict[tuple[int, int], float | None] = {}
    for number, estimate in enumerate(estimates):
        for pair in estimate.pairs:
            other = numbers[pair.against]
            difference[number, other], difference[other, number] = pair.difference, -pair.difference
            p_star[number, other] = p_star[other, number] = pair.p_star
    sign = 1 if metric.lower_is_better else -1
    order = sorted(numbers.values(), key=lambda one: (sign * float(estimates[one].value or 0), one))
    return AllPairs(order, tiers(order, p_star), difference, p_star)


def ranks(metric: Metric, results: Sequence[SystemScores]) -> list[Rank]:
    """The ranks of all systems by the main score, best first; ``number`` is the index in ``results``.

    Empty if pairs were not compared, or a system has no score.
    """
    pairs = compare_all(metric, [result.system for result in results], [result.whole for result in results])
    if pairs is None:
        return []
    tier_of = {one: count for count, some in enumerate(pairs.tiers, 1) for one in some}
    sign = -1 if metric.lower_is_better else 1
    found = []
    for number in pairs.order:
        sure = [other for other in pairs.order if other != number and _below(pairs.p_star.get((number, other)))]
        gaps = [sign * pairs.difference[number, other] for other in sure]
        better, worse = sum(gap < 0 for gap in gaps), sum(gap > 0 for gap in gaps)
        found.append(Rank(number, 1 + better, len(pairs.order) - worse, tier_of[number]))
    return found


def tiers(order: Sequence[int], p_star: dict[tuple[int, int], float | None]) -> list[list[int]]:
    """Group systems, best first, so that all in a group are significantly better than all in later groups.

    Systems within a group may still differ significantly.
    """
    found: list[list[int]] = [[]]
    for place, number in enumerate(order):
        ahead, behind = order[:place], order[place:]
        if ahead and all(_below(p_star.get((one, other))) for one in ahead for other in behind):
            found.append([])
        found[-1].append(number)
    return found


def _below(p: float | None) -> bool:
    return p is not None and p < LEVEL

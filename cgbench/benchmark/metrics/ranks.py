"""Ranks of systems that were compared all with all: a range for each, and clusters, as the tables of WMT have them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cgbench.benchmark.metrics.comparison import SubsetScores, SystemScores
from cgbench.benchmark.metrics.metric import Metric
from cgbench.benchmark.metrics.significance import LEVEL


@dataclass(frozen=True)
class Rank:
    """A system's place: from ``best`` (one more than are significantly better) to ``worst`` (so many are not
    significantly worse), and its cluster, from 1."""

    number: int
    best: int
    worst: int
    cluster: int


@dataclass(frozen=True)
class AllPairs:
    """All systems against all, best first: ``order`` and ``clusters`` hold their numbers.

    ``difference`` and ``p_star`` (:attr:`~cgbench.benchmark.metrics.comparison.Pair.p_star`) by (first, second); a
    p-value is None where there is none.
    """

    order: list[int]
    clusters: list[list[int]]
    difference: dict[tuple[int, int], float]
    p_star: dict[tuple[int, int], float | None]


def compare_all(metric: Metric, names: Sequence[str], parts: Sequence[SubsetScores]) -> AllPairs | None:
    """All systems against all by the headline figure; None where there are no pairs, or a system has no figure."""
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
    return AllPairs(order, clusters(order, p_star), difference, p_star)


def ranks(metric: Metric, results: Sequence[SystemScores]) -> list[Rank]:
    """The ranks of all systems by the headline figure, best first; ``number`` is a system's place in ``results``.

    Empty where there are no pairs, or a system has no figure.
    """
    pairs = compare_all(metric, [result.system for result in results], [result.whole for result in results])
    if pairs is None:
        return []
    cluster_of = {one: count for count, some in enumerate(pairs.clusters, 1) for one in some}
    sign = -1 if metric.lower_is_better else 1
    found = []
    for number in pairs.order:
        sure = [other for other in pairs.order if other != number and _below(pairs.p_star.get((number, other)))]
        gaps = [sign * pairs.difference[number, other] for other in sure]
        better, worse = sum(gap < 0 for gap in gaps), sum(gap > 0 for gap in gaps)
        found.append(Rank(number, 1 + better, len(pairs.order) - worse, cluster_of[number]))
    return found


def clusters(order: Sequence[int], p_star: dict[tuple[int, int], float | None]) -> list[list[int]]:
    """Systems, best first, in groups: all of a group are significantly better than all of the groups behind.

    As the tables of WMT have them. Within a group, some may still differ significantly.
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

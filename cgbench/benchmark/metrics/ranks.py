"""Ranks of systems that were compared all with all: a range for each, and clusters, as the tables of WMT have them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cgbench.benchmark.metrics.comparison import SystemScores
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


def ranks(metric: Metric, results: Sequence[SystemScores]) -> list[Rank]:
    """The ranks of all systems by the headline figure, best first; ``number`` is a system's place in ``results``.

    Empty where there are no pairs, or a system has no figure.
    """
    figure = metric.figures[0]
    estimates = [result.whole.figures[figure] for result in results]
    if any(one.value is None for one in estimates) or not any(one.pairs for one in estimates):
        return []
    places = {result.system: number for number, result in enumerate(results)}
    p_star: dict[tuple[int, int], float | None] = {}
    for number, estimate in enumerate(estimates):
        for pair in estimate.pairs:
            other = places[pair.against]
            p_star[number, other] = p_star[other, number] = pair.p_star
    sign = 1 if metric.lower_is_better else -1
    values = [sign * float(one.value or 0) for one in estimates]
    order = sorted(places.values(), key=lambda one: (values[one], one))
    cluster_of = {one: count for count, some in enumerate(clusters(order, p_star), 1) for one in some}
    found = []
    for number in order:
        sure = [other for other in order if other != number and _below(p_star.get((number, other)))]
        better = sum(values[other] < values[number] for other in sure)
        worse = sum(values[other] > values[number] for other in sure)
        found.append(Rank(number, 1 + better, len(order) - worse, cluster_of[number]))
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

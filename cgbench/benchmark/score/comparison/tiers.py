"""Rank ranges, tiers and winners among systems from tests of all pairs, as in WMT (where tiers are
clusters).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cgbench.benchmark.measure.metrics.metric import Metric
from cgbench.benchmark.score.comparison.comparison import Score, SubsetScores, SystemScores
from cgbench.benchmark.score.comparison.significance import LEVEL


@dataclass(frozen=True)
class Rank:
    """The rank range of a system and its tier, from 1.

    ``best``: one more than the number of significantly better systems; ``worst``: the number of
    systems, including itself, that are not significantly worse.
    """

    number: int
    best: int
    worst: int
    tier: int


@dataclass(frozen=True)
class AllPairs:
    """All pairs of systems; ``order`` (best first) and ``tiers`` contain system numbers.

    ``difference`` and ``p_star`` (:attr:`~cgbench.benchmark.score.comparison.comparison.Pair.p_star`) by
    (first, second).
    """

    order: list[int]
    tiers: list[list[int]]
    difference: dict[tuple[int, int], float]
    p_star: dict[tuple[int, int], float | None]

    def differ(self, first: int, second: int) -> bool:
        """Whether two systems differ significantly."""
        return _below(self.p_star.get((first, second)))


def compare_all(
    metric: Metric, names: Sequence[str], subsets: Sequence[SubsetScores]
) -> AllPairs | None:
    """All pairs by the main score; None if pairs were not compared, or a system has no score."""
    scores = [subset.figures[metric.figures[0]] for subset in subsets]
    if any(score.value is None for score in scores) or not any(score.pairs for score in scores):
        return None
    index_of = {name: index for index, name in enumerate(names)}
    difference: dict[tuple[int, int], float] = {}
    p_star: dict[tuple[int, int], float | None] = {}
    for system, score in enumerate(scores):
        for pair in score.pairs:
            rival = index_of[pair.against]
            difference[system, rival], difference[rival, system] = pair.difference, -pair.difference
            p_star[system, rival] = p_star[rival, system] = pair.p_star
    sign = 1 if metric.lower_is_better else -1
    order = sorted(
        index_of.values(), key=lambda system: (sign * float(scores[system].value or 0), system)
    )
    return AllPairs(order, tiers(order, p_star), difference, p_star)


def ranks(metric: Metric, results: Sequence[SystemScores]) -> list[Rank]:
    """The ranks of all systems by the main score, best first; ``number`` is the index in
    ``results``.

    Empty if pairs were not compared, or a system has no score.
    """
    pairs = compare_all(
        metric, [result.system for result in results], [result.whole for result in results]
    )
    if pairs is None:
        return []
    tier_of = {system: tier for tier, systems in enumerate(pairs.tiers, 1) for system in systems}
    sign = -1 if metric.lower_is_better else 1
    ranking = []
    for system in pairs.order:
        rivals = [rival for rival in pairs.order if pairs.differ(system, rival)]
        gaps = [sign * pairs.difference[system, rival] for rival in rivals]
        better, worse = sum(gap < 0 for gap in gaps), sum(gap > 0 for gap in gaps)
        ranking.append(Rank(system, 1 + better, len(pairs.order) - worse, tier_of[system]))
    return ranking


def tiers(order: Sequence[int], p_star: dict[tuple[int, int], float | None]) -> list[list[int]]:
    """Group systems, best first, so that all in a group are significantly better than all in later
    groups.

    Systems within a group may still differ significantly.
    """
    grouped: list[list[int]] = [[]]
    for position, system in enumerate(order):
        ahead, behind = order[:position], order[position:]
        if ahead and all(
            _below(p_star.get((better, worse))) for better in ahead for worse in behind
        ):
            grouped.append([])
        grouped[-1].append(system)
    return grouped


def _below(p: float | None) -> bool:
    return p is not None and p < LEVEL


def winners_of(
    scores: Mapping[str, Score], baseline: str | None, *, lower_is_better: bool
) -> set[str]:
    """The system with the best score and those that the test does not find worse.

    Empty unless the test compared the best system with every other: without a test, or if the best
    of three or more systems was compared with the baseline only.

    :param scores: of each system, compared with ``baseline``, or in all pairs.
    """
    defined = {system: score.value for system, score in scores.items() if score.value is not None}
    p_star: dict[frozenset[str], float | None] = {}
    for system in defined:
        p_star |= {frozenset((system, pair.against)): pair.p_star for pair in scores[system].pairs}
        if baseline is not None and scores[system].p_star is not None:
            p_star[frozenset((system, baseline))] = scores[system].p_star
    if len(defined) < 2:
        return set()
    best = (min if lower_is_better else max)(defined, key=defined.__getitem__)
    p_values = {
        system: p_star.get(frozenset((best, system))) for system in defined if system != best
    }
    if None in p_values.values():
        return set()
    return {best, *(system for system, p in p_values.items() if not _below(p))}

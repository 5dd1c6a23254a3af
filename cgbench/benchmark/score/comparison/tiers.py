"""Rank ranges and tiers of systems from tests of all pairs, as in WMT, where tiers are clusters."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from cgbench.benchmark.measure.metrics.metric import Metric
from cgbench.benchmark.score.comparison.results import Pair, SubsetScores, SystemScores
from cgbench.records import Record


class Rank(Record):
    """The rank range of a system and its tier, from 1.

    ``best``: one more than the number of significantly better systems; ``worst``: the number of
    systems, including itself, that are not significantly worse.
    """

    number: int
    best: int
    worst: int
    tier: int

    @property
    def span(self) -> str:
        """``2`` or ``2-4``."""
        return f"{self.best}" if self.best == self.worst else f"{self.best}-{self.worst}"


class AllPairs(Record):
    """All pairs of systems; ``order`` (best first) and ``tiers`` contain system numbers.

    ``pairs``: the first system minus the second, by both numbers, in both orders. ``tiers`` are
    empty if a pair could not be tested.
    """

    order: list[int]
    tiers: list[list[int]]
    pairs: dict[tuple[int, int], Pair]

    def differ(self, first: int, second: int) -> bool:
        """Whether two systems differ significantly."""
        pair = self.pairs.get((first, second))
        return pair is not None and bool(pair.significant)

    def difference(self, first: int, second: int) -> float:
        """The first system minus the second."""
        difference = self.pairs[first, second].difference
        assert difference is not None  # a pair always has one
        return difference


def compare_all(
    metric: Metric, names: Sequence[str], subsets: Sequence[SubsetScores]
) -> AllPairs | None:
    """All pairs by the main score; None if pairs were not compared, or a system has no score."""
    scores = [subset.figures[metric.figures[0]] for subset in subsets]
    if any(score.value is None for score in scores) or not any(score.pairs for score in scores):
        return None
    index_of = {name: index for index, name in enumerate(names)}
    pairs: dict[tuple[int, int], Pair] = {}
    for system, score in enumerate(scores):
        for pair in score.pairs:
            rival = index_of[pair.against]
            pairs[system, rival] = pair
            pairs[rival, system] = _reversed(pair, names[system])
    sign = 1 if metric.lower_is_better else -1
    order = sorted(
        index_of.values(), key=lambda system: (sign * float(scores[system].value or 0), system)
    )
    significant = {key: pair.significant for key, pair in pairs.items()}
    return AllPairs(order, tiers(order, significant), pairs)


def _reversed(pair: Pair, against: str) -> Pair:
    """The same difference, seen from the other system."""

    def negative(value: float | None) -> float | None:
        return None if value is None else 0.0 - value  # never -0.0

    return replace(
        pair,
        against=against,
        difference=negative(pair.difference),
        difference_low=negative(pair.difference_high),
        difference_high=negative(pair.difference_low),
    )


def ranks(metric: Metric, results: Sequence[SystemScores]) -> list[Rank]:
    """The ranks of all systems by the main score, best first; ``number`` is the index in
    ``results``.

    Empty if pairs were not compared or could not be tested, or a system has no score.
    """
    names, wholes = [result.system for result in results], [result.whole for result in results]
    pairs = compare_all(metric, names, wholes)
    if pairs is None or not pairs.tiers:
        return []
    tier_of = {system: tier for tier, systems in enumerate(pairs.tiers, 1) for system in systems}
    sign = -1 if metric.lower_is_better else 1
    ranking = []
    for system in pairs.order:
        rivals = [rival for rival in pairs.order if pairs.differ(system, rival)]
        gaps = [sign * pairs.difference(system, rival) for rival in rivals]
        better, worse = sum(gap < 0 for gap in gaps), sum(gap > 0 for gap in gaps)
        ranking.append(Rank(system, 1 + better, len(pairs.order) - worse, tier_of[system]))
    return ranking


def tiers(
    order: Sequence[int], significant: Mapping[tuple[int, int], bool | None]
) -> list[list[int]]:
    """Group systems, best first, so that all in a group are significantly better than all in later
    groups.

    Systems within a group may still differ significantly.

    :param significant: whether two systems differ, in both orders; None without a test.
    :returns: empty if a pair was not tested.
    """
    if None in significant.values():
        return []
    grouped: list[list[int]] = [[]]
    for position, system in enumerate(order):
        ahead, behind = order[:position], order[position:]
        if ahead and all(significant.get((better, worse)) for better in ahead for worse in behind):
            grouped.append([])
        grouped[-1].append(system)
    return grouped

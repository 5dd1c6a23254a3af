"""Does a part of the candidates rank systems like all of them?

Scores, intervals and tests on each part are those of ``cgbench score``. For the interval of
Kendall's tau, scores on parts of the same examples are resampled together: a sample of the examples
is a sample of each of their parts.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cgbench.benchmark.candidates.correlations import Interval, interval_of
from cgbench.benchmark.measure.metrics.metric import Metric
from cgbench.benchmark.score.comparison.comparison import (
    Comparison,
    compare_statistics,
    statistics_of,
)
from cgbench.benchmark.score.comparison.design import Clusters, Sampling
from cgbench.benchmark.score.comparison.intervals import percentile_interval
from cgbench.benchmark.score.comparison.significance import draw_runs, resampled_runs
from cgbench.benchmark.score.comparison.tiers import AllPairs, compare_all

FEWEST_SYSTEMS = 3
"""With two, Kendall's tau is always 1 or -1."""


@dataclass(frozen=True)
class PartScores:
    """Scores of systems on a part of the examples.

    ``size``: of the part; ``values`` ``[systems]`` and ``intervals``, of 95%; ``samples``
    ``[samples, systems]``, from the same samples of the examples for all parts; ``pairs``: tests of
    all pairs of systems.
    """

    size: int
    values: np.ndarray
    intervals: list[Interval]
    samples: np.ndarray
    pairs: AllPairs


def score_parts(
    metric: Metric,
    clusters: Clusters | None,
    systems: Mapping[str, Sequence[Sequence[str]]],
    sets: Mapping[str, np.ndarray],
    *,
    samples: int,
    seed: int,
) -> dict[str, PartScores]:
    """Score the runs of each system on each part.

    :param sets: the examples of each part, ascending.
    """
    statistics = dict(zip(systems, statistics_of(metric, systems.values()), strict=True))
    many, every = len(systems) > 1, list(range(len(systems)))
    comparison = Comparison(
        paired="calibrated" if many else None, all_pairs=many, confidence=True, seed=seed
    )
    drawn = _samples(metric, clusters, list(statistics.values()), sets, samples, seed)
    parts = {}
    for name, rows in sets.items():
        # Scores, intervals and tests, each part on its own.
        (subsets,) = compare_statistics(
            metric, Sampling.of(metric, clusters), statistics, comparison, [rows]
        )
        scores = [subset.figures[metric.figures[0]] for subset in subsets]
        parts[name] = PartScores(
            len(rows),
            np.array([math.nan if score.value is None else score.value for score in scores]),
            [interval_of(score.ci_low, score.ci_high) for score in scores],
            drawn[name],
            compare_all(metric, list(systems), subsets) or AllPairs(every, [every], {}),
        )
    return parts


def _samples(
    metric: Metric,
    clusters: Clusters | None,
    statistics: Sequence[np.ndarray],
    sets: Mapping[str, np.ndarray],
    samples: int,
    seed: int,
) -> dict[str, np.ndarray]:
    """The first score of each system ``[samples, systems]`` by part, from the same samples of
    examples and seeds.
    """
    labels = clusters.labels[0] if clusters else np.arange(metric.n)

    def side_by_side(run: np.ndarray) -> np.ndarray:
        """The sums of the statistics of each part by cluster, ``[clusters, parts * k]``."""
        columns = [(labels[rows], column) for rows in sets.values() for column in run[rows].T]
        return np.stack([np.bincount(*column, int(labels.max()) + 1) for column in columns], axis=1)

    def compute(sums: np.ndarray) -> np.ndarray:
        return np.concatenate(
            [metric.compute(part)[:, :1] for part in np.split(sums, len(sets), axis=1)], axis=1
        )

    units = [np.stack(list(map(side_by_side, runs))) for runs in statistics]
    drawn = np.stack(draw_runs(resampled_runs(units, compute, samples, seed), seed), axis=1)
    return {name: drawn[:, :, part] for part, name in enumerate(sets)}


@dataclass(frozen=True)
class Ranking:
    """How well a part ranks systems like the whole.

    ``chance``: the probability of such a tau for a random order. ``decided``: pairs that differ on
    the whole. Of these, ``kept`` differ in the same direction on the part, ``reversed`` in the
    other, and the rest does not differ. ``swapped``: pairs in another order, significant or not.
    """

    tau: float
    interval: Interval
    chance: float | None
    pairs: int
    swapped: int
    decided: int
    kept: int
    reversed: int
    whole: AllPairs
    part: AllPairs

    def as_dict(self, names: Sequence[str]) -> dict[str, Any]:
        """The ranking as JSON; ``names`` of the systems."""
        low, high = self.interval or (None, None)
        return {
            **{"tau": None if math.isnan(self.tau) else self.tau, "tau_low": low, "tau_high": high},
            **{"chance": self.chance, "pairs": self.pairs, "swapped": self.swapped},
            **{
                "differ_on_whole": self.decided,
                "differ_alike": self.kept,
                "differ_reversed": self.reversed,
            },
            "clusters": {
                name: [[names[system] for system in tier] for tier in pairs.tiers]
                for name, pairs in (("whole", self.whole), ("part", self.part))
            },
        }


def rank(part: PartScores, whole: PartScores) -> Ranking:
    """Compare the order of the systems on a part with that on the whole, by Kendall's tau-b (NaN
    for equal scores).
    """
    from scipy.stats import kendalltau

    samples = [
        float(kendalltau(a, b).statistic) for a, b in zip(part.samples, whole.samples, strict=True)
    ]
    on_part, on_whole = (
        np.sign(np.subtract.outer(scores.values, scores.values)) for scores in (part, whole)
    )
    pairs = list(itertools.combinations(range(len(whole.values)), 2))
    decided = [pair for pair in pairs if whole.pairs.differ(*pair)]
    decided_in_both = [pair for pair in decided if part.pairs.differ(*pair)]
    agreed = sum(int(on_whole[pair] == on_part[pair]) for pair in decided_in_both)
    ties = any(not on_whole[pair] or not on_part[pair] for pair in pairs)
    # How probable a tau at least as high is for a random order: one-sided, exact.
    test = kendalltau(
        part.values, whole.values, method="auto" if ties else "exact", alternative="greater"
    )
    return Ranking(
        tau=float(test.statistic),
        interval=percentile_interval(np.array(samples)),
        chance=None if ties else float(test.pvalue),
        pairs=len(pairs),
        swapped=sum(bool(on_whole[pair] * on_part[pair] < 0) for pair in pairs),
        decided=len(decided),
        kept=agreed,
        reversed=len(decided_in_both) - agreed,
        whole=whole.pairs,
        part=part.pairs,
    )

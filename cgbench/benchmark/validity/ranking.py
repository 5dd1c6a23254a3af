"""Does a part of the candidates rank systems like all of them?

Scores, intervals and tests on each part are those of ``cgbench score``. For the interval of Kendall's tau, scores on
parts of the same examples are resampled together: a sample of the examples is a sample of each of their parts.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cgbench.benchmark.comparison.comparison import Comparison, SubsetScores, SystemScores, parts_of
from cgbench.benchmark.comparison.design import Clusters, Sampling
from cgbench.benchmark.comparison.intervals import percentile_interval
from cgbench.benchmark.comparison.significance import LEVEL, bootstrap_counts, draw_runs
from cgbench.benchmark.comparison.tiers import AllPairs, compare_all
from cgbench.benchmark.metrics.bins import Bin
from cgbench.benchmark.metrics.metric import Metric

Interval = tuple[float, float] | None
FEWEST_SYSTEMS = 3
"""With two, Kendall's tau is always 1 or -1."""


@dataclass(frozen=True)
class PartScores:
    """Scores of systems on parts of the same examples.

    ``values`` [systems] by part; ``samples`` [samples, systems] by part, from the same samples of the examples;
    ``pairs`` by part: tests of all pairs of systems; ``intervals`` by part: 95% confidence intervals of the scores.
    """

    systems: tuple[str, ...]
    sizes: dict[str, int]
    values: dict[str, np.ndarray]
    samples: dict[str, np.ndarray]
    pairs: dict[str, AllPairs] = field(default_factory=dict)
    intervals: dict[str, list[Interval]] = field(default_factory=dict)


def score_parts(
    metric: Metric,
    clusters: Clusters | None,
    systems: Mapping[str, Sequence[Sequence[str]]],
    sets: Mapping[str, np.ndarray],
    *,
    samples: int,
    seed: int,
) -> PartScores:
    """Score the runs of each system on each part.

    :param sets: the examples of each part, ascending.
    """
    names = tuple(systems)
    of_runs = iter(metric.all_statistics([run for runs in systems.values() for run in runs]))
    statistics = [np.stack([next(of_runs) for _ in runs]) for runs in systems.values()]
    # Scores, intervals and tests, each part on its own.
    many = len(names) > 1
    comparison = Comparison(paired="calibrated" if many else None, all_pairs=many, confidence=True, seed=seed)
    results = [
        SystemScores(name, len(runs), SubsetScores(0, 0, {}), statistics=runs)
        for name, runs in zip(names, statistics, strict=True)
    ]
    scores = {
        set_name: parts_of(metric, Sampling.of(metric, clusters), results, comparison, [Bin(set_name, rows)])[0]
        for set_name, rows in sets.items()
    }
    # The main score of each system, its interval, and samples of it on all parts together.
    main = {set_name: [of.figures[metric.figures[0]] for of in subsets] for set_name, subsets in scores.items()}
    unknown = AllPairs(list(range(len(names))), [list(range(len(names)))], {}, {})
    return PartScores(
        names,
        {set_name: len(rows) for set_name, rows in sets.items()},
        {
            set_name: np.array([math.nan if score.value is None else score.value for score in of])
            for set_name, of in main.items()
        },
        _samples(metric, clusters, statistics, sets, samples, seed),
        {set_name: compare_all(metric, names, subsets) or unknown for set_name, subsets in scores.items()},
        {
            set_name: [
                None if score.ci_low is None or score.ci_high is None else (score.ci_low, score.ci_high) for score in of
            ]
            for set_name, of in main.items()
        },
    )


def _samples(
    metric: Metric,
    clusters: Clusters | None,
    statistics: Sequence[np.ndarray],
    sets: Mapping[str, np.ndarray],
    samples: int,
    seed: int,
) -> dict[str, np.ndarray]:
    """The first score of each system ``[samples, systems]`` by part, from the same samples of examples and seeds."""
    drawn: dict[str, list[list[np.ndarray]]] = {name: [[] for _ in statistics] for name in sets}
    labels = clusters.labels[0] if clusters else None
    for counts in bootstrap_counts(metric.n if labels is None else int(labels.max()) + 1, samples, seed):
        if labels is not None:
            counts = counts[:, labels]
        for name, rows in sets.items():
            weights = counts[:, rows]
            for system, runs in enumerate(statistics):
                scores = [metric.compute(weights @ run[rows])[:, :1] for run in runs]
                drawn[name][system].append(np.stack(scores, axis=1))
    # The same sample of seeds on each part: the generator restarts.
    joined = {name: draw_runs([np.concatenate(blocks) for blocks in of], seed) for name, of in drawn.items()}
    return {name: np.stack([of[:, 0] for of in systems], axis=1) for name, systems in joined.items()}


def kendall(first: Sequence[float] | np.ndarray, second: Sequence[float] | np.ndarray) -> float:
    """Kendall's tau-b of two lists of scores; NaN if one of them is constant."""
    from scipy.stats import kendalltau

    return float(kendalltau(first, second).statistic)


def chance_of(first: np.ndarray, second: np.ndarray) -> float:
    """The probability that a random order has a tau at least as high: one-sided, exact, for scores without ties."""
    from scipy.stats import kendalltau

    return float(kendalltau(first, second, method="exact", alternative="greater").pvalue)


def differ(pairs: AllPairs, first: int, second: int) -> bool:
    """Whether two systems differ significantly."""
    p = pairs.p_star.get((first, second))
    return p is not None and p < LEVEL


@dataclass(frozen=True)
class Ranking:
    """How well a part ranks systems like the whole.

    ``chance``: the probability of such a tau for a random order. ``decided``: pairs that differ on the whole. Of these,
    ``kept`` differ in the same direction on the part, ``reversed`` in the other, and the rest does not differ.
    ``swapped``: pairs in another order, significant or not.
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
            **{"differ_on_whole": self.decided, "differ_alike": self.kept, "differ_reversed": self.reversed},
            "clusters": {
                name: [[names[system] for system in tier] for tier in pairs.tiers]
                for name, pairs in (("whole", self.whole), ("part", self.part))
            },
        }


def rank(scores: PartScores, subset: str, whole_set: str) -> Ranking:
    """Compare the order of the systems on a part with that on the whole."""
    tau = kendall(scores.values[subset], scores.values[whole_set])
    samples = [kendall(a, b) for a, b in zip(scores.samples[subset], scores.samples[whole_set], strict=True)]
    tests = {name: scores.pairs[name] for name in (whole_set, subset)}
    count = len(scores.systems)
    signs = {name: np.sign(np.subtract.outer(scores.values[name], scores.values[name])) for name in (whole_set, subset)}
    pairs = list(itertools.combinations(range(count), 2))
    decided = [pair for pair in pairs if differ(tests[whole_set], *pair)]
    decided_in_both = [pair for pair in decided if differ(tests[subset], *pair)]
    agreed = sum(signs[whole_set][pair] == signs[subset][pair] for pair in decided_in_both)
    ties = any(not signs[name][pair] for name in signs for pair in pairs)
    return Ranking(
        tau=tau,
        interval=percentile_interval(np.array(samples)),
        chance=None if ties else chance_of(scores.values[subset], scores.values[whole_set]),
        pairs=len(pairs),
        swapped=sum(bool(signs[whole_set][pair] * signs[subset][pair] < 0) for pair in pairs),
        decided=len(decided),
        kept=int(agreed),
        reversed=len(decided_in_both) - int(agreed),
        whole=tests[whole_set],
        part=tests[subset],
    )

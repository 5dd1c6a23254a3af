"""Does a part of the candidates rank systems like all of them?

Scores on parts of the same examples are resampled together: a sample of the examples is a sample of each of their
parts, so intervals of differences between parts are valid.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cgbench.benchmark.metrics.contrast import Contrasts
from cgbench.benchmark.metrics.intervals import percentile_interval, score_interval
from cgbench.benchmark.metrics.metric import Metric
from cgbench.benchmark.metrics.significance import bootstrap_counts, draw_runs, holm
from cgbench.benchmark.metrics.variance import ExampleCovariance, covariance_of_clusters, covariance_of_samples

Interval = tuple[float, float] | None
LEVEL = 0.05
FEWEST_SYSTEMS = 3
"""With two, Kendall's tau is always 1 or -1."""


@dataclass(frozen=True)
class PartScores:
    """Scores of systems on parts of the same examples.

    ``values`` [systems] by part; ``samples`` [samples, systems] by part, from the same samples of the examples;
    ``contrasts`` by part: differences between systems, with the variance of examples and of seeds; ``intervals`` by
    part: 95 % confidence intervals of the scores.
    """

    systems: tuple[str, ...]
    sizes: dict[str, int]
    values: dict[str, np.ndarray]
    samples: dict[str, np.ndarray]
    contrasts: dict[str, Contrasts] = field(default_factory=dict)
    intervals: dict[str, list[Interval]] = field(default_factory=dict)


def score_parts(
    metric: Metric,
    systems: Mapping[str, Sequence[Sequence[str]]],
    parts: Mapping[str, np.ndarray],
    *,
    samples: int,
    seed: int,
) -> PartScores:
    """Score the runs of each system on each part.

    :param parts: the examples of each part, ascending.
    """
    names = tuple(systems)
    found = iter(metric.all_statistics([run for runs in systems.values() for run in runs]))
    statistics = [[next(found) for _ in runs] for runs in systems.values()]
    of_runs = {
        part: [np.stack([metric.compute(run[rows].sum(axis=0, keepdims=True))[0, :1] for run in runs])
               for runs in statistics]
        for part, rows in parts.items()
    }  # fmt: skip
    drawn: dict[str, list[list[np.ndarray]]] = {part: [[] for _ in names] for part in parts}
    labels = metric.clusters.labels[0] if metric.clusters else None
    for counts in bootstrap_counts(metric.n if labels is None else int(labels.max()) + 1, samples, seed):
        if labels is not None:
            counts = counts[:, labels]
        for part, rows in parts.items():
            weights = counts[:, rows]
            for number, runs in enumerate(statistics):
                scores = [metric.compute(weights @ run[rows])[:, :1] for run in runs]
                drawn[part][number].append(np.stack(scores, axis=1))
    joined = {part: [np.concatenate(blocks) for blocks in of] for part, of in drawn.items()}
    sizes = {part: len(rows) for part, rows in parts.items()}
    found_covariances = {
        part: _covariance(metric, statistics, parts[part], of) for part, of in joined.items() if sizes[part] > 1
    }
    covariances = {part: one for part, one in found_covariances.items() if one}
    return PartScores(
        names,
        sizes,
        {part: np.array([float(runs.mean()) for runs in of]) for part, of in of_runs.items()},
        # The same sample of seeds on each part: the generator restarts.
        {part: np.stack([one[:, 0] for one in draw_runs(of, seed)], axis=1) for part, of in joined.items()},
        {part: Contrasts(of_runs[part], one) for part, one in covariances.items()},
        {part: _intervals(metric, of_runs[part], of, covariances.get(part)) for part, of in joined.items()},
    )


def _intervals(
    metric: Metric,
    values: Sequence[np.ndarray],
    samples: Sequence[np.ndarray],
    covariance: ExampleCovariance | None,
) -> list[Interval]:
    """The intervals of the scores: percentiles for a single run, as sacrebleu, else with the spread of the runs.

    :param values: of each system ``[runs, 1]``; ``samples``: ``[samples, runs, 1]``.
    """
    intervals: list[Interval] = []
    begin = 0
    for own, drawn in zip(values, samples, strict=True):
        runs, begin = slice(begin, begin + len(own)), begin + len(own)
        if len(own) == 1:
            intervals.append(percentile_interval(drawn[:, 0, 0]))
        elif covariance is None:
            intervals.append(None)
        else:
            limits = metric.limits(next(iter(metric.figures)))
            intervals.append(score_interval(covariance.of_runs(0, runs), own[:, 0], *limits))
    return intervals


def _covariance(
    metric: Metric, statistics: Sequence[Sequence[np.ndarray]], rows: np.ndarray, samples: Sequence[np.ndarray]
) -> ExampleCovariance | None:
    """That of the first score, over examples or their clusters."""
    if metric.clusters is None:
        return covariance_of_samples(samples, len(rows))
    found = covariance_of_clusters(metric, [np.stack(runs) for runs in statistics], rows, metric.clusters)
    return found and found.select(lambda part: part[:1])


def kendall(first: Sequence[float] | np.ndarray, second: Sequence[float] | np.ndarray) -> float:
    """Kendall's tau-b of two lists of scores; NaN if one of them is constant."""
    from scipy.stats import kendalltau

    return float(kendalltau(first, second).statistic)


def chance_of(first: np.ndarray, second: np.ndarray) -> float:
    """The probability that a random order has a tau at least as high: one-sided, exact, for scores without ties."""
    from scipy.stats import kendalltau

    return float(kendalltau(first, second, method="exact", alternative="greater").pvalue)


@dataclass(frozen=True)
class Tests:
    """Significance tests of every pair of systems on one part, by :mod:`cgbench.benchmark.metrics.contrast` with Holm's
    correction.

    ``p`` [systems, systems], adjusted; ``clusters``: the systems from the best down, in groups. A group ends where
    every system above differs from every system below.
    """

    p: np.ndarray
    clusters: tuple[tuple[int, ...], ...]

    def differ(self, first: int, second: int) -> bool:
        """Whether two systems differ at 5 %."""
        return bool(self.p[first, second] <= LEVEL)


def compare_pairs(scores: PartScores, part: str, lower_is_better: bool = False) -> Tests:
    """Test every pair of systems on a part."""
    values = scores.values[part]
    pairs = list(itertools.combinations(range(len(values)), 2))
    contrasts = scores.contrasts.get(part)
    found = [float(contrasts.of(a, b).p_value()[0]) if contrasts else math.nan for a, b in pairs]
    adjusted = holm([None if math.isnan(p) else p for p in found])
    p = np.ones((len(values), len(values)))
    for (a, b), value in zip(pairs, adjusted, strict=True):
        p[a, b] = p[b, a] = 1.0 if value is None else value
    order = np.argsort(values if lower_is_better else -values, kind="stable").tolist()
    clusters: list[tuple[int, ...]] = []
    begin = 0
    for end in range(1, len(order) + 1):
        above, below = order[:end], order[end:]
        if all(p[a, b] <= LEVEL for a in above for b in below):
            clusters.append(tuple(order[begin:end]))
            begin = end
    return Tests(p, tuple(clusters))


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
    whole: Tests
    part: Tests

    def as_dict(self, names: Sequence[str]) -> dict[str, Any]:
        """The ranking as JSON; ``names`` of the systems."""
        low, high = self.interval or (None, None)
        return {
            **{"tau": None if math.isnan(self.tau) else self.tau, "tau_low": low, "tau_high": high},
            **{"chance": self.chance, "pairs": self.pairs, "swapped": self.swapped},
            **{"differ_on_whole": self.decided, "differ_alike": self.kept, "differ_reversed": self.reversed},
            "clusters": {
                name: [[names[system] for system in cluster] for cluster in tests.clusters]
                for name, tests in (("whole", self.whole), ("part", self.part))
            },
        }


def rank(scores: PartScores, part: str, whole: str, lower_is_better: bool = False) -> Ranking:
    """Compare the order of the systems on a part with that on the whole."""
    tau = kendall(scores.values[part], scores.values[whole])
    samples = [kendall(a, b) for a, b in zip(scores.samples[part], scores.samples[whole], strict=True)]
    tests = {name: compare_pairs(scores, name, lower_is_better) for name in (whole, part)}
    count = len(scores.systems)
    signs = {name: np.sign(np.subtract.outer(scores.values[name], scores.values[name])) for name in (whole, part)}
    pairs = list(itertools.combinations(range(count), 2))
    decided = [pair for pair in pairs if tests[whole].differ(*pair)]
    both = [pair for pair in decided if tests[part].differ(*pair)]
    kept = sum(signs[whole][pair] == signs[part][pair] for pair in both)
    ties = any(not signs[name][pair] for name in signs for pair in pairs)
    return Ranking(
        tau=tau,
        interval=percentile_interval(np.array(samples)),
        chance=None if ties else chance_of(scores.values[part], scores.values[whole]),
        pairs=len(pairs),
        swapped=sum(bool(signs[whole][pair] * signs[part][pair] < 0) for pair in pairs),
        decided=len(decided),
        kept=int(kept),
        reversed=len(both) - int(kept),
        whole=tests[whole],
        part=tests[part],
    )


@dataclass(frozen=True)
class OwnFamily:
    """The disadvantage of a family of systems on the part that its own kind selected, in points of the metric.

    The loss of a family on a part is its mean score on the whole minus that on the part. The disadvantage is the
    family's loss on its own part minus the mean loss of the other families on that part. The difficulty of the part and
    the quality of the family cancel out. Above 0, the family is at a disadvantage.
    """

    family: str
    points: float
    interval: Interval


def own_family(
    scores: PartScores,
    parts: Mapping[str, str],
    families: Sequence[str | None],
    whole: str,
    lower_is_better: bool = False,
) -> list[OwnFamily]:
    """The disadvantage of each family with systems and a part; empty if there is only one.

    :param parts: the part that each family selected.
    :param families: of the systems; None for systems of no such family.
    :param whole: the part from which losses are measured.
    """
    present = [family for family in parts if family in families]
    sign = -1.0 if lower_is_better else 1.0
    rows = {family: [row for row, name in enumerate(families) if name == family] for family in present}

    def loss(family: str, part: str) -> tuple[float, np.ndarray]:
        value = scores.values[whole][rows[family]].mean() - scores.values[part][rows[family]].mean()
        samples = scores.samples[whole][:, rows[family]] - scores.samples[part][:, rows[family]]
        return sign * float(value), sign * samples.mean(axis=1)

    found = []
    for family in present if len(present) > 1 else ():
        value, samples = loss(family, parts[family])
        others = [loss(other, parts[family]) for other in present if other != family]
        value -= float(np.mean([points for points, _ in others]))
        samples = samples - np.mean([drawn for _, drawn in others], axis=0)
        found.append(OwnFamily(family, value, percentile_interval(samples)))
    return found

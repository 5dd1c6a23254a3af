"""How often tests with clusters reject a true null, and how often intervals hold the truth: a grid,
by simulation.

    python lab/clusters.py means                    # 2,000 trials per cell, all cells
    python lab/clusters.py texts                    # BLEU and CTER, 1,000 trials per cell
    python lab/clusters.py documents                # 40 documents of five sentences, 10,000 trials
    python lab/clusters.py few                      # 2 to 6 clusters, 2,000 trials per cell
    python lab/clusters.py means --trials 200       # a quick look

Two systems are equally good. Their scores vary by example, by cluster and by seed. ``correlation``
is the share of the variance that examples of a cluster have in common. Clusters have equal sizes,
or sizes by Zipf's law. With two ways, every example belongs to a cluster of each, at random, and
each way has half of the correlation. Prints a Markdown table: the share of tests with p below 0.05,
the share of 95% intervals of one system's score that hold the true one, and the level of the test
that takes examples as independent.
"""

import argparse
import datetime
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import special
from significance import LEVELS, POOL, generated

from cgbench.benchmark.measure.metrics.cter import Cter
from cgbench.benchmark.measure.metrics.metric import Metric
from cgbench.benchmark.score.comparison.design import Clusters
from cgbench.benchmark.score.comparison.intervals import score_interval
from cgbench.benchmark.score.comparison.variance import ExampleCovariance, covariance_of_clusters
from cgbench.benchmark.score.comparison.variance_components import Contrasts
from cgbench.machine import description

CLUSTERS = (5, 10, 20, 40, 200)
FEW_CLUSTERS = (2, 3, 4, 5, 6)
CORRELATIONS = (0.0, 0.1, 0.3, 0.6)
SIZE = 10  # examples per cluster, on average
OWN = 0.5  # variance of a seed's own luck on an example, where examples have 1


class Mean(Metric):
    """The mean of values, which need not be between 0 and 100."""

    bottom = top = None

    def statistics(self, hypotheses: Any) -> np.ndarray:
        raise NotImplementedError

    def compute(self, sums: np.ndarray) -> np.ndarray:
        return sums[:, :1] / sums[:, 1:]


class Share(Mean):
    """The share of examples that are right."""

    bottom, top = 0.0, 1.0


class Groups(Cter):
    """CTER of rows whose groups are known."""

    def __init__(self, groups: np.ndarray, size: int) -> None:
        self.groups, self.group_size = groups, size


def sizes(count: int, shape: str, examples: int) -> np.ndarray:
    if shape == "equal":
        return np.full(count, examples // count)
    weights = 1 / np.arange(1, count + 1)
    return np.maximum(1, np.round(weights / weights.sum() * examples)).astype(int)


def layout(rng: np.random.Generator, count: int, shape: str, ways: int) -> list[np.ndarray]:
    """The labels of examples, one way or two."""
    first = np.repeat(np.arange(count), sizes(count, shape, SIZE * count))
    if ways == 1:
        return [first]
    other = np.resize(np.repeat(np.arange(count), sizes(count, shape, len(first))), len(first))
    return [first, rng.permutation(other)]


def latent(
    rng: np.random.Generator, labels: list[np.ndarray], correlation: float, runs: int, spread: float
) -> np.ndarray:
    """How well every run of two systems does on every example, ``[2, runs, n]``; ``spread``: of
    seeds.
    """
    n = len(labels[0])
    hard = rng.standard_normal((2, 1, n)) * math.sqrt(1 - correlation)
    for way in labels:
        hard += (
            math.sqrt(correlation / len(labels))
            * rng.standard_normal((2, 1, way.max() + 1))[:, :, way]
        )
    if runs > 1:
        hard = (
            hard
            + math.sqrt(OWN) * rng.standard_normal((2, runs, n))
            + spread * rng.standard_normal((2, runs, 1))
        )
    return hard


def cell(
    trials: int,
    metric: Metric,
    labels: list[np.ndarray],
    draw: Callable[[], np.ndarray],
    truth: float,
) -> dict[str, float]:
    """Levels and coverage. ``draw`` makes the statistics of both systems, ``[2, runs, n, k]``."""
    clusters = Clusters(("a", "b")[: len(labels)], tuple(labels))
    rows = np.arange(len(labels[0]))
    rejected = held = naive = 0
    for _ in range(trials):
        systems = list(draw())
        values = [
            metric.compute(np.stack([metric.collect(run, rows).sum(axis=0) for run in one]))
            for one in systems
        ]
        covariance = covariance_of_clusters(metric, systems, rows, clusters)
        assert covariance is not None
        rejected += differ(values, covariance)
        runs = slice(0, len(systems[0]))
        bounds = score_interval(
            covariance.of_runs(0, runs), values[0][:, 0], metric.top, metric.bottom
        )
        held += bool(bounds and bounds[0] <= truth <= bounds[1])
        alone = covariance_of_clusters(metric, systems, rows, Clusters(("row",), (rows,)))
        assert alone is not None
        naive += differ(values, alone)
    return {
        "level": rejected / trials,
        "coverage": held / trials,
        "level without clusters": naive / trials,
    }


def differ(values: list[np.ndarray], covariance: ExampleCovariance) -> bool:
    """Whether zero is outside the interval of the difference, which is where p is below 0.05."""
    low, high = Contrasts(values, covariance).of(0, 1).interval()
    return bool(low[0] > 0 or high[0] < 0)


def means(trials: int) -> None:
    of_values(trials, (1, 2), CLUSTERS, CORRELATIONS)


def few(trials: int) -> None:
    """Few clusters: normal values, and right or wrong (10% right)."""
    for right in (None, 0.1):
        of_values(trials, (1,), FEW_CLUSTERS, (0.0, 0.3, 0.6), right)


def of_values(
    trials: int,
    numbers_of_ways: Sequence[int],
    counts: Sequence[int],
    correlations: Sequence[float],
    right: float | None = None,
) -> None:
    """The grid of a mean of normal values, or of the share ``right`` of them that are highest."""
    grid = itertools.product(numbers_of_ways, (1, 3), ("equal", "zipf"), counts, correlations)
    for ways, runs, shape, count, correlation in grid:
        rng = np.random.default_rng([ways, runs, len(shape), count, round(10 * correlation)])
        labels = layout(rng, count, shape, ways)
        metric = (Mean if right is None else Share)([["-"]] * len(labels[0]))
        spread = math.sqrt(1 / len(labels[0]))  # as much as examples without clusters contribute

        def draw() -> np.ndarray:
            found = latent(rng, labels, correlation, runs, spread)  # noqa: B023 - used at once
            if right is not None:
                scale = math.sqrt(1 + (OWN + spread**2 if runs > 1 else 0))  # noqa: B023
                found = (found > scale * special.ndtri(1 - right)).astype(float)
            return np.stack([found, np.ones_like(found)], axis=-1)

        results = cell(trials, metric, labels, draw, right or 0.0)
        name = "mean" if right is None else f"{right:.0%} right"
        show(name, ways, runs, shape, count, correlation, results)


def texts(trials: int) -> None:
    """A balanced fraction of the grid: every pair of levels occurs."""
    cells = [
        one
        for number, one in enumerate(
            itertools.product(("BLEU", "CTER"), (1, 3), ("equal", "zipf"), CLUSTERS, CORRELATIONS)
        )
        if (number + number // 4 + number // 20) % 5 in (0, 2)
    ]
    for name, runs, shape, count, correlation in cells:
        rng = np.random.default_rng([runs, len(shape), count, round(10 * correlation), len(name)])
        if name == "BLEU":
            metric, labels, draw = bleu(rng, count, shape, correlation, runs)
        else:
            metric, labels, draw = cter(rng, count, shape, correlation, runs)
        total = np.zeros(4 if name == "CTER" else draw().shape[-1])
        rows = np.arange(len(labels[0]))
        for _ in range(2000):
            total += metric.collect(draw()[0, 0], rows).sum(axis=0)
        truth = float(metric.compute(total[None])[0, 0])
        show(
            name,
            len(labels),
            runs,
            shape,
            count,
            correlation,
            cell(trials, metric, labels, draw, truth),
        )


Cell = tuple[Metric, list[np.ndarray], Callable[[], np.ndarray]]


def bleu(rng: np.random.Generator, count: int, shape: str, correlation: float, runs: int) -> Cell:
    """BLEU of generated text: how good a translation is varies by document."""
    metric, pool = generated()
    labels = layout(rng, count, shape, 1)

    def draw() -> np.ndarray:
        found = special.ndtr(latent(rng, labels, correlation, runs, 0.05) / math.sqrt(1 + OWN))
        level = np.clip(np.rint(found * LEVELS - 0.5), 0, LEVELS - 1).astype(int)
        return pool[level, rng.integers(POOL, size=len(labels[0]))[None, None, :]]

    return metric, labels, draw


def cter(rng: np.random.Generator, count: int, shape: str, correlation: float, runs: int) -> Cell:
    """CTER of compounds in five contexts each: errors vary by compound and by context."""
    compounds = np.repeat(np.arange(2 * count), 5)
    contexts = np.resize(
        np.repeat(np.arange(count), sizes(count, shape, len(compounds))), len(compounds)
    )
    labels = [compounds, rng.permutation(contexts)]
    metric = Groups(compounds, 5)

    def draw() -> np.ndarray:
        wrong = (latent(rng, labels, correlation, runs, 0.05) > 0.6).astype(float)
        return np.stack([wrong, np.ones_like(wrong)], axis=-1)

    return metric, labels, draw


def documents(trials: int) -> None:
    """40 documents of five sentences: ``deviation`` of a document and system, as a share of that of
    a sentence.
    """
    labels = np.repeat(np.arange(40), 5)
    metric = Mean([["-"]] * len(labels))
    print("| deviation | by document, % | by sentence, % |\n|---|---|---|")
    for deviation in (0.0, 0.3, 0.6):
        rng = np.random.default_rng(round(10 * deviation))

        def draw() -> np.ndarray:
            shared = deviation * rng.standard_normal((2, 1, 40))[:, :, labels]  # noqa: B023 - used at once
            found = shared + rng.standard_normal((2, 1, len(labels)))  # noqa: B023
            return np.stack([found, np.ones_like(found)], axis=-1)

        found = cell(trials, metric, [labels], draw, 0.0)
        print(
            f"| {deviation:g} | {100 * found['level']:.1f} |"
            f" {100 * found['level without clusters']:.1f} |",
            flush=True,
        )


def show(
    name: str,
    ways: int,
    runs: int,
    shape: str,
    count: int,
    correlation: float,
    found: dict[str, float],
) -> None:
    print(
        f"| {name} | {ways} | {runs} | {shape} | {count} | {correlation:g} | "
        + " | ".join(f"{100 * value:.1f}" for value in found.values())
        + " |",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=["means", "few", "texts", "documents"])
    parser.add_argument("--trials", type=int)
    given = parser.parse_args()
    print(f"{datetime.date.today()}, {description()}\n")
    if given.part == "documents":
        return documents(given.trials or 10_000)
    print(
        "| score | ways | seeds | sizes | clusters | correlation | level, % | coverage, % | level"
        " without clusters, % |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    if given.part in ("means", "few"):
        {"means": means, "few": few}[given.part](given.trials or 2000)
    else:
        texts(given.trials or 1000)


if __name__ == "__main__":
    main()

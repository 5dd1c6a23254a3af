"""How often the second real run decides its question (docs/lab/second-run-design.md), by
simulation.

    python lab/second_run_design.py [--trials 20000] [--shared]

A build has N pairs of high degree, each matched with one of low degree, whose parts a system
knows. The extra loss of the former is measured for five systems with three seeds, and averaged. Its
true value in a build is drawn around the value of all builds.

The interval over builds comes from their spread: t with one degree of freedom less than builds
(Hartung and Knapp, 2001, with equal weights).

``--shared`` simulates the design as it was changed: four pools in two directions, where the builds
of one direction have the same runs, and those of one pool the same sentences. The unit is the pool,
and the variance between seeds, which is not in the spread of pools, is added to it. It also prints
how often the interval contains the truth, and the same for the plain interval over eight builds.

``yes``: the 95% interval is above zero; ``no``: it
is below half of the loss that is to be explained. With 20,000 trials, 50% has a standard error of
0.4 points.
"""

import argparse
from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy import stats

SYSTEMS, SEEDS = 5, 3
POOLS, DIRECTIONS = 4, 2
PAIR_SPREAD = 8.0
"""Standard deviation of a pair's chrF, averaged over systems: from the interval of 2.2 [0.8, 3.6]
for 260 and 260 pairs (docs/lab/controls.md)."""
SEED_SPREAD = 1.5
"""Standard deviation of a run's effect between seeds."""
RAW_LOSS = 2.2
"""Extra loss at high degree whatever is known, in chrF (docs/lab/controls.md)."""
BUILDS, SIZES, BETWEEN = (3, 4, 6, 9), (100, 200, 400), (0.0, 0.5, 1.0)
EFFECTS = (0.0, 1.1, 2.2)


class Answers(NamedTuple):
    """The share of trials that answer yes and no, and the median of half of the interval."""

    yes: float
    no: float
    half_width: float


def simulate(
    rng: np.random.Generator, trials: int, builds: int, pairs: int, between: float, effect: float
) -> Answers:
    """The answers of many runs of the study."""
    of_build = effect + between * rng.standard_normal((trials, builds))
    by_pairs = np.sqrt(2 / pairs) * PAIR_SPREAD * rng.standard_normal((trials, builds))
    runs = SYSTEMS * SEEDS
    by_runs = SEED_SPREAD / np.sqrt(runs) * rng.standard_normal((trials, builds))
    estimates = of_build + by_pairs + by_runs
    # The interval of the mean over builds.
    mean = estimates.mean(-1)
    error = estimates.std(-1, ddof=1) / np.sqrt(builds)
    half_width = stats.t.ppf(0.975, builds - 1) * error
    yes = mean - half_width > 0
    no = mean + half_width < RAW_LOSS / 2
    return Answers(float(yes.mean()), float(no.mean()), float(np.median(half_width)))


def rows(trials: int) -> Iterator[str]:
    """The table in Markdown: the answers by the loss that remains."""
    rng = np.random.default_rng(1)
    effects = " | ".join(f"{effect:.1f}: yes / no" for effect in EFFECTS)
    yield f"| builds | pairs | between builds | interval, ± | {effects} |"
    yield "|---:" * (4 + len(EFFECTS)) + "|"
    for builds, pairs, between in product(BUILDS, SIZES, BETWEEN):
        answers = [simulate(rng, trials, builds, pairs, between, effect) for effect in EFFECTS]
        cells = [f"{100 * answer.yes:.1f} / {100 * answer.no:.1f}" for answer in answers]
        width = answers[0].half_width
        yield f"| {builds} | {pairs} | {between:.1f} | {width:.1f} | {' | '.join(cells)} |"


def degrees_of_freedom(
    first: np.ndarray, first_freedom: int, second: np.ndarray, second_freedom: int
) -> np.ndarray:
    """Of a sum of two estimated variances (Satterthwaite 1946)."""
    sizes = first**2 / first_freedom + second**2 / second_freedom
    return np.asarray((first + second) ** 2 / np.maximum(sizes, 1e-300))


class SharedAnswers(NamedTuple):
    """As :class:`Answers`, with the share of intervals that contain the truth, of pools and of
    builds.
    """

    yes: float
    no: float
    half_width: float
    covered: float
    covered_by_builds: float


def simulate_shared(
    rng: np.random.Generator, trials: int, pairs: int, between: float, effect: float
) -> SharedAnswers:
    """The answers where builds share runs by direction and sentences by pool."""
    shape = trials, POOLS, DIRECTIONS
    # Half of the variance between builds, and of that of pairs, is that of the pool.
    share = np.sqrt(0.5)

    def of_builds(spread: float) -> np.ndarray:
        of_pool, of_build = rng.standard_normal((*shape[:2], 1)), rng.standard_normal(shape)
        return np.asarray(spread * share * (of_pool + of_build))

    runs = SEED_SPREAD * rng.standard_normal((trials, 1, DIRECTIONS, SYSTEMS, SEEDS))
    by_pairs = of_builds(np.sqrt(2 / pairs) * PAIR_SPREAD)
    effects = effect + of_builds(between) + by_pairs
    estimates = effects + runs.mean((-1, -2))
    # The interval over pools: their spread, and the variance of the mean by seeds.
    mean, of_pools = estimates.mean((1, 2)), estimates.mean(2)
    by_seeds = runs.var(-1, ddof=1).mean(-1).mean((1, 2)) / (SYSTEMS * SEEDS * DIRECTIONS)
    by_pools = of_pools.var(1, ddof=1) / POOLS
    freedom = degrees_of_freedom(by_pools, POOLS - 1, by_seeds, SYSTEMS * (SEEDS - 1) * DIRECTIONS)
    half_width = stats.t.ppf(0.975, freedom) * np.sqrt(by_pools + by_seeds)
    builds = estimates.reshape(trials, -1)
    count = builds.shape[1]
    by_builds = stats.t.ppf(0.975, count - 1) * builds.std(-1, ddof=1) / np.sqrt(count)
    return SharedAnswers(
        float((mean - half_width > 0).mean()),
        float((mean + half_width < RAW_LOSS / 2).mean()),
        float(np.median(half_width)),
        float((abs(mean - effect) <= half_width).mean()),
        float((abs(mean - effect) <= by_builds).mean()),
    )


def shared_rows(trials: int) -> Iterator[str]:
    """The table of the changed design."""
    rng = np.random.default_rng(1)
    effects = " | ".join(f"{effect:.1f}: yes / no" for effect in EFFECTS)
    yield f"| pairs | between builds | interval, ± | contains the truth | over builds | {effects} |"
    yield "|---:" * (5 + len(EFFECTS)) + "|"
    for pairs, between in product(SIZES, BETWEEN):
        answers = [simulate_shared(rng, trials, pairs, between, effect) for effect in EFFECTS]
        cells = [f"{100 * answer.yes:.1f} / {100 * answer.no:.1f}" for answer in answers]
        first = answers[0]
        yield (
            f"| {pairs} | {between:.1f} | {first.half_width:.1f} | {100 * first.covered:.1f} |"
            f" {100 * first.covered_by_builds:.1f} | {' | '.join(cells)} |"
        )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=20_000)
    parser.add_argument("--shared", action="store_true", help="the changed design")
    options = parser.parse_args()
    for row in (shared_rows if options.shared else rows)(options.trials):
        print(row)


if __name__ == "__main__":
    main()

"""How often the second real run decides its question (docs/lab/second-run-design.md), by
simulation.

    python lab/second_run_design.py [--trials 20000]

A build has N pairs of high degree, each matched with one of low degree, whose parts a system
knows. The extra loss of the former is measured for five systems with three seeds, and averaged. Its
true value in a build is drawn around the value of all builds.

The interval over builds comes from their spread: t with one degree of freedom less than builds
(Hartung and Knapp, 2001, with equal weights). ``yes``: the 95% interval is above zero; ``no``: it
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


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=20_000)
    for row in rows(parser.parse_args().trials):
        print(row)


if __name__ == "__main__":
    main()

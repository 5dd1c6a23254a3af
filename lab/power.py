"""Whether the power that ``cgbench power`` states for single runs is that of the test that is run,
by simulation.

    python lab/power.py [--trials 1000]

Two systems answer N examples, right or wrong. On half of the examples, drawn anew in each trial,
both go by the same luck, on the others each by its own. The true difference is the one at which
:mod:`cgbench.benchmark.score.comparison.power` states a power of 80% from the true variance, or of
20% where the second system would need an accuracy above 1 for that.

The table has the stated power, what 80% of 200 pilots state for the same difference (a pilot
without variance is refused and left out), and how often approximate randomisation with 1,000
samples has p < 0.05. With 1,000 trials 80% and 20% have a standard error of 1.3 points.
"""

import argparse
import contextlib

import numpy as np

from cgbench.benchmark.measure.metrics.segment_scores import SegmentScores
from cgbench.benchmark.score.comparison.power import PowerTest, Variance, variance_of
from cgbench.benchmark.score.comparison.results import SubsetScores, SystemScores
from cgbench.benchmark.score.comparison.significance import LEVEL, randomization_of_pairs
from cgbench.errors import InputError

GOALS = (0.8, 0.2)
SIZES, ACCURACIES = (20, 50, 200, 1000), (0.5, 0.9)
TOGETHER = 0.5
"""The share of examples on which both systems have the same luck."""
PILOTS, SAMPLES = 200, 1000


def outcomes(
    rng: np.random.Generator, size: int, accuracy: float, better: float
) -> list[np.ndarray]:
    """Statistics ``[1, examples, 2]`` of two systems, the second of which is as much ``better``."""
    luck, other = rng.random((2, size))
    other = np.where(rng.random(size) < TOGETHER, luck, other)
    right = (luck < accuracy, other < accuracy + better)
    return [np.stack([one.astype(np.float64), np.ones(size)], axis=1)[None] for one in right]


def true_variance(size: int, accuracy: float, better: float) -> Variance:
    """The variance of the difference on an example, in points squared."""
    gained = TOGETHER * better + (1 - TOGETHER) * (accuracy + better) * (1 - accuracy)
    lost = (1 - TOGETHER) * accuracy * (1 - accuracy - better)
    return Variance(1e4 * (gained + lost - better**2), units=size, step=100.0)


def share(sums: np.ndarray) -> np.ndarray:
    return 100 * sums[:, :1] / sums[:, 1:]


def compare(
    size: int, accuracy: float, trials: int, goal: float
) -> tuple[float, float, np.ndarray, float] | None:
    """The difference, its stated power, that of each pilot, and the share of trials in which the
    test rejects; None where no difference has that power.
    """
    test = PowerTest(LEVEL, goal)
    candidates = np.linspace(0, 1 - accuracy, 401)[1:]
    powers = (
        test.power_of(100 * one, true_variance(size, accuracy, one), size, 1) for one in candidates
    )
    found = next(
        (
            (float(one), power)
            for one, power in zip(candidates, powers, strict=True)
            if power >= goal
        ),
        None,
    )
    if found is None:
        return None
    better, stated = found
    rng = np.random.default_rng([size, int(100 * accuracy)])
    rejected, pilots = 0, []
    metric = SegmentScores(size, scale=(0.0, 1.0), binary=True)
    for trial in range(trials):
        pair = outcomes(rng, size, accuracy, better)
        p = randomization_of_pairs(pair[::-1], [(0, 1)], share, SAMPLES, trial)[0][0]
        rejected += p is not None and p < LEVEL
        if trial < PILOTS:
            results = [
                SystemScores(name, 1, SubsetScores(0, 0, {}), (), one)
                for name, one in zip("ab", pair, strict=True)
            ]
            with contextlib.suppress(InputError):
                pilots.append(
                    test.power_of(
                        100 * better, variance_of(metric, results, samples=SAMPLES), size, 1
                    )
                )
    return 100 * better, stated, np.array(pilots), rejected / trials


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trials", type=int, default=1000)
    trials = parser.parse_args().trials
    print("| examples | accuracy | true difference | stated power | of one pilot | rejects |")
    print("|---|---|---|---|---|---|")
    for size in SIZES:
        for accuracy in ACCURACIES:
            found = next(
                filter(None, (compare(size, accuracy, trials, goal) for goal in GOALS)), None
            )
            if found is None:
                print(f"| {size} | {accuracy:g} | none | | | |", flush=True)
                continue
            difference, stated, pilots, rejects = found
            low, high = np.quantile(pilots, (0.1, 0.9))
            cells = [f"{stated:.1%}", f"{low:.0%} to {high:.0%}", f"{rejects:.1%}"]
            print(f"| {size} | {accuracy:g} | {difference:.2f} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()

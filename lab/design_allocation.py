"""Do intervals of a stratified sample hold where the ensemble makes no mistake? docs/lab/design.md
has the table.

    python lab/design_allocation.py [DRAWS]    # 800 draws per cell: 15 minutes

Ten strata: in the five largest the ensemble's scores do not vary, and a system is wrong on a share
of the examples.
"""

import sys

import numpy as np

from cgbench.benchmark.candidates import strata
from cgbench.benchmark.score.comparison.design import Design
from cgbench.benchmark.score.comparison.intervals import score_interval
from cgbench.benchmark.score.comparison.variance import covariance_of_design

SIZES = np.array([60, 90, 120, 180, 250, 300, 400, 500, 500, 600])
DEVIATIONS = np.array([30, 28, 26, 24, 20, 0, 0, 0, 0, 0.0])
WRONG = [0.4, 0.35, 0.3, 0.25, 0.2]
WAYS = (("proportional", 0.0), ("neyman", strata.FLOOR))


class Mean:
    """A mean in percent, of sums of weighted scores and weights."""

    def collect_clusters(self, statistics, rows, units):
        return statistics[rows]

    def compute(self, sums):
        return 100 * sums[..., :1] / sums[..., 1:]


def coverage(
    rate: float, total: int, allocation: strata.Allocation, floor: float, trials: int
) -> float:
    """The share of intervals that hold the score on all candidates, in percent."""
    strata.FLOOR = floor
    rng, metric = np.random.default_rng(1), Mean()
    rows = np.split(np.arange(SIZES.sum()), np.cumsum(SIZES)[:-1])
    scores = np.ones(SIZES.sum())
    for members, wrong in zip(rows, [*WRONG, *[rate] * 5], strict=True):
        scores[members[: round(len(members) * wrong)]] = 0
    draws = strata.allocate(SIZES, DEVIATIONS, total, allocation)
    stratum = np.repeat(np.arange(len(SIZES)), draws)
    design = Design(
        "candidates", len(scores), (draws / SIZES)[stratum], stratum, np.arange(total), SIZES
    )
    truth, hits = 100 * scores.mean(), 0
    for _ in range(trials):
        sample = np.concatenate(
            [rng.choice(*pair, replace=False) for pair in zip(rows, draws, strict=True)]
        )
        statistics = np.stack([scores[sample], np.ones(total)], 1)[None] / design.inclusion[:, None]
        covariance = covariance_of_design(metric, [statistics], np.arange(total), design)
        assert covariance is not None
        ends = score_interval(
            covariance.of_runs(0, slice(0, 1)), metric.compute(statistics.sum(axis=1))[:, 0]
        )
        hits += ends is not None and ends[0] - 1e-9 <= truth <= ends[1] + 1e-9
    return 100 * hits / trials


if __name__ == "__main__":
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 800
    for rate in (0, 0.001, 0.003, 0.01, 0.03):
        for total in (150, 400, 1000):
            cells = [f"{coverage(rate, total, *way, trials):.1f}" for way in WAYS]
            print(f"| {100 * rate:g}% | {total:,} | {' | '.join(cells)} |", flush=True)

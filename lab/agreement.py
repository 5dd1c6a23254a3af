"""Level and coverage of ``cgbench score agreement``, by simulation: docs/lab/agreement.md.

    python lab/agreement.py [TRIALS [SYSTEMS NOISE EXAMPLES]]

An output has a quality: that of its system, of its example, and of itself. Raters see it with
noise, in steps of one as scales have; metrics see it with noise of their own. Two metrics are
equally good: their noise has the same variance. Prints, for each measure, the share of trials in
which p is below 0.05, and the share of 95% intervals that hold the mean value over all trials.
"""

import itertools
import sys
from collections.abc import Sequence

import numpy as np

from cgbench.studies.agreement.agreement import MeasuredMetrics
from cgbench.studies.agreement.judged_outputs import JudgedOutputs
from cgbench.studies.agreement.measures import MEASURES

SAMPLES = 300


def outputs(
    systems: int, items: int, noise: float, draw: np.random.Generator, apart: float
) -> JudgedOutputs:
    """Judgements and two equally good metrics."""
    system_quality = np.linspace(0, apart, systems)[:, None]
    quality = system_quality + draw.normal(size=(1, items)) + draw.normal(size=(systems, items))
    ratings = np.round(quality + draw.normal(0, 0.7, (1, systems, items)))
    metrics = {name: quality + draw.normal(0, noise, quality.shape) for name in ("a", "b")}
    names = [tuple(map(str, range(count))) for count in (systems, items)]
    return JudgedOutputs(names[0], names[1], ("",), ratings, metrics)


CELLS = tuple(itertools.product((4, 12), (0.5, 2.0), (100, 400)))


def main(trials: int, cells: Sequence[tuple[int, float, int]]) -> None:
    """Print the cells of the grid: systems, noise of the metrics, examples."""
    head = ["systems", "examples", "noise", *(measure.name for measure in MEASURES)]
    print("| " + " | ".join(head) + " |\n" + "|---" * len(head) + "|")
    for systems, noise, items in cells:
        called = np.zeros((trials, len(MEASURES)))
        values, lows, highs = (np.zeros((trials, len(MEASURES))) for _ in range(3))
        for trial in range(trials):
            draw = np.random.default_rng([trial, systems, items, round(10 * noise)])
            judged = outputs(systems, items, noise, draw, 0.6)
            for index, measure in enumerate(MEASURES):
                compared = MeasuredMetrics(measure, judged, SAMPLES, trial)
                (pair,) = compared.pairs()
                called[trial, index] = pair.p_value < 0.05
                values[trial, index] = compared.values["a"]
                lows[trial, index], highs[trial, index] = compared.interval([compared.sums["a"]])
        mean = values.mean(axis=0)
        held = (lows <= mean) & (mean <= highs)
        cells = [
            f"{100 * wrong:.1f} / {100 * inside:.1f}"
            for wrong, inside in zip(called.mean(axis=0), held.mean(axis=0), strict=True)
        ]
        row = [str(systems), str(items), f"{noise:g}", *cells]
        print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    trial_count = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    if len(sys.argv) > 2:
        main(trial_count, [(int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4]))])
    else:
        main(trial_count, CELLS)

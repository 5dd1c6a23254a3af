"""How often the bootstrap's 95 % interval holds the true figure, and how often tests reject a true null, by simulation.

    python perf/coverage.py [--trials 400]

Two systems of equal skill answer 300 examples, right or wrong; an example is hard for both alike. With several runs
each run has a skill of its own, so that true figures of runs have a standard deviation of about 6 points. 500 samples a
test. Prints a Markdown table.
"""

from __future__ import annotations

import argparse

import numpy as np

from cgbench.benchmark.metrics.significance import bootstrap, bootstrap_p, interval, randomization_p

EXAMPLES, SAMPLES, LEVEL = 300, 500, 0.05


def share(sums: np.ndarray) -> np.ndarray:
    return 100 * sums[:, :1] / sums[:, 1:]


def system(rng: np.random.Generator, hard: np.ndarray, runs: int, deviation: float) -> np.ndarray:
    """Statistics ``[runs, examples, 2]`` of a system whose true figure is 50."""
    skill = np.clip(0.5 + deviation * rng.standard_normal(runs), 0.05, 0.95)
    right = 0.5 * hard + 0.5 * rng.random((runs, len(hard))) < skill[:, None]
    return np.stack([right.astype(float), np.ones_like(right, float)], axis=2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=400)
    trials = parser.parse_args().trials
    print("| runs | interval holds the truth | bootstrap rejects | sacrebleu's rule rejects | randomisation rejects |")
    print("|---|---|---|---|---|")
    for runs, deviation in ((1, 0.0), (2, 0.03), (3, 0.03), (5, 0.03)):
        rng = np.random.default_rng(1)
        counts = np.zeros(4)
        for trial in range(trials):
            hard = rng.random(EXAMPLES)
            one, other = system(rng, hard, runs, deviation), system(rng, hard, runs, deviation)
            first, second = (values[:, 0] for values in bootstrap([one, other], share, SAMPLES, trial))
            difference = 100 * float(one[:, :, 0].mean() - other[:, :, 0].mean())
            low, high = interval(first) or (0.0, 0.0)
            p_values = [bootstrap_p(first, second, difference, as_sacrebleu=rule) for rule in (False, True)]
            p_values += randomization_p(one, other, share, SAMPLES, trial)
            counts += [low <= 50 <= high, *(p is not None and p <= LEVEL for p in p_values)]
        print(f"| {runs} | " + " | ".join(f"{share:.1%}" for share in counts / trials) + " |", flush=True)


if __name__ == "__main__":
    main()

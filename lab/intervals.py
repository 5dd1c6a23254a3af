"""How often 95% intervals hold the true figure, and whether stated power is that of the test, by
simulation.

    python lab/intervals.py [--trials 400] [--only intervals|drops|power]

**Intervals**: a system answers examples, each of its own difficulty, in some runs (seeds), each of
its own skill; the true figure is the mean over all examples and all runs that there could be. Exact
match: right or wrong. BLEU-like: n-gram matches of sentences of 10 to 30 words, and BLEU of their
sums. Beside what ``cgbench score`` gives stands the percentile interval of the same samples.

**Drops**: the same systems on a control set of as many examples that are easier; a run has the same
skill on both. The truth is the difference of the two true figures.

**Power**: two systems that differ, right or wrong, with several runs; an example is hard for both
alike, and each run has a skill of its own, so that true figures of runs have a standard deviation
of about 6 points. What :mod:`cgbench.benchmark.score.comparison.power` states from a pilot of as
many examples and runs stands beside how often the test rejects: stated from the mean variance of
200 pilots, and from one of them, as 80% of pilots state it.

500 samples each. Prints Markdown tables.
"""

import argparse
from collections.abc import Callable

import numpy as np

from cgbench.benchmark.measure.metrics.segment_scores import SegmentScores
from cgbench.benchmark.score.comparison.intervals import (
    difference_interval,
    percentile_interval,
    score_interval,
)
from cgbench.benchmark.score.comparison.power import PowerTest, Variance, variance_of
from cgbench.benchmark.score.comparison.results import SubsetScores, SystemScores
from cgbench.benchmark.score.comparison.significance import draw_runs, resampled_runs
from cgbench.benchmark.score.comparison.variance import ExampleCovariance, covariance_of_samples
from cgbench.benchmark.score.comparison.variance_components import Contrasts

SAMPLES, LEVEL = 500, 0.05
HARD = 2.0
"""The standard deviation of the difficulty of examples, in logits."""
RUNS, SIZES = (1, 3, 5, 10), (50, 300, 2000)
CASES = (
    ("exact match", 0.5, 0.0),
    ("exact match", 0.5, 0.3),
    ("exact match", 0.9, 0.3),
    ("exact match", 0.98, 0.0),
    ("exact match", 0.98, 0.3),
    ("BLEU-like", 0.35, 0.3),
    ("BLEU-like", 0.02, 0.3),
    ("BLEU-like", 0.95, 0.3),
)
"""A score, its true figure, and the standard deviation of the skills of runs, in logits."""
ORDERS = np.arange(1, 5)

DROPS = (
    ("exact match", 0.9, 0.7, 0.3),
    ("exact match", 0.5, 0.3, 0.0),
    ("exact match", 0.5, 0.3, 0.3),
    ("exact match", 0.98, 0.02, 0.3),
    ("exact match", 1.0, 0.98, 0.0),
    ("BLEU-like", 0.35, 0.25, 0.3),
    ("BLEU-like", 0.35, 0.35, 0.3),
)
"""A score, its true figures on the control set and on the test set, and the deviation of the skills
of runs.
"""

Statistics = Callable[[np.random.Generator, np.ndarray], np.ndarray]


def share(sums: np.ndarray) -> np.ndarray:
    return 100 * sums[:, :1] / sums[:, 1:]


def bleu(sums: np.ndarray) -> np.ndarray:
    """BLEU without its brevity penalty; no match of an order counts as half a one."""
    return 100 * np.exp(
        np.log(np.maximum(sums[:, :4], 0.5) / sums[:, 4:]).mean(axis=1, keepdims=True)
    )


def outcomes(rng: np.random.Generator, chance: np.ndarray) -> np.ndarray:
    """Right or wrong, with the ``chance`` ``[...]`` of each."""
    right = (rng.random(chance.shape) < chance).astype(np.float64)
    return np.stack([right, np.ones_like(right)], axis=-1)


def matches(rng: np.random.Generator, chance: np.ndarray) -> np.ndarray:
    """Matches of n-grams of 1 to 4 words and their totals, where a word is right with the
    ``chance`` ``[...]``.
    """
    words = np.broadcast_to(rng.integers(10, 31, chance.shape[-1]), chance.shape)[..., None]
    totals = words - ORDERS + 1
    return np.concatenate(
        [rng.binomial(totals, chance[..., None] ** ORDERS), totals], axis=-1
    ).astype(np.float64)


def chances(middle: float, examples: np.ndarray, runs: np.ndarray) -> np.ndarray:
    """``[..., runs, examples]`` from the difficulty of examples and the skill of runs, in
    logits.
    """
    return 1 / (1 + np.exp(-(middle + HARD * examples[..., None, :] + runs[..., :, None])))


def truth(name: str, middle: float, deviation: float) -> float:
    """The mean figure of all runs over all examples."""
    points = np.linspace(-4, 4, 161)
    weights = np.exp(-(points**2) / 2) / np.exp(-(points**2) / 2).sum()
    found = chances(middle, points, deviation * points)  # [runs, examples]
    if name == "exact match":
        return float(100 * weights @ found @ weights)
    lengths = np.arange(10, 31)[:, None] - ORDERS + 1
    precisions = np.einsum(
        "e,reo->ro", weights, found[:, :, None] ** ORDERS
    )  # lengths are the same for all chances
    sums = np.concatenate(
        [precisions * lengths.sum(axis=0), np.broadcast_to(lengths.sum(axis=0), precisions.shape)],
        1,
    )
    return float(weights @ bleu(1e9 * sums)[:, 0])


def middle_of(name: str, figure: float, deviation: float) -> float:
    """The logit whose true figure is ``figure``."""
    low, high = -20.0, 20.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (
            (middle, high) if truth(name, middle, deviation) < 100 * figure else (low, middle)
        )
    return low


def intervals(trials: int) -> None:
    print(
        "| score | true figure | runs vary by | examples |"
        f" {' | '.join(f'{runs} run(s)' for runs in RUNS)} |"
    )
    print("|---|---|---|---|" + "---|" * len(RUNS))
    for name, figure, deviation in CASES:
        middle = middle_of(name, figure, deviation)
        compute, make = (share, outcomes) if name == "exact match" else (bleu, matches)
        for size in SIZES:
            cells = [
                covered(trials, make, compute, 100 * figure, middle, deviation, size, runs)
                for runs in RUNS
            ]
            print(
                f"| {name} | {100 * figure:g} | {deviation:g} | {size} | {' | '.join(cells)} |",
                flush=True,
            )


def one_figure(samples: np.ndarray, size: int) -> ExampleCovariance:
    return covariance_of_samples([samples[:, :, :1]], size).of_runs(0, slice(None))


def covered(
    trials: int,
    make: Statistics,
    compute: Callable[[np.ndarray], np.ndarray],
    figure: float,
    middle: float,
    deviation: float,
    size: int,
    runs: int,
) -> str:
    """How often the interval holds the figure, how often the percentile interval does, and the
    median width of both.

    A single run is taken as it is: what its own skill gives is the truth, so that it has none.
    """
    rng = np.random.default_rng([size, runs])
    deviation = deviation if runs > 1 else 0.0
    middle = (
        middle
        if runs > 1
        else middle_of("exact match" if make is outcomes else "BLEU-like", figure / 100, 0.0)
    )
    held: list[tuple[bool, bool]] = []
    widths: list[tuple[float, float]] = []
    for start in range(0, trials, 50):  # the samples are those of all trials of a part
        count = min(50, trials - start)
        skills = deviation * rng.standard_normal((count, runs))
        systems = list(make(rng, chances(middle, rng.standard_normal((count, size)), skills)))
        resampled = resampled_runs(systems, compute, SAMPLES, start)
        for system, values, drawn in zip(
            systems, resampled, draw_runs(resampled, start), strict=True
        ):
            figures = compute(system.sum(axis=1))[:, 0]
            found = (
                score_interval(one_figure(values, size), figures),
                percentile_interval(drawn[:, 0]),
            )
            ours, theirs = (bounds or (0.0, 0.0) for bounds in found)
            held.append((ours[0] <= figure <= ours[1], theirs[0] <= figure <= theirs[1]))
            widths.append((ours[1] - ours[0], theirs[1] - theirs[0]))
    ours_held, theirs_held = np.mean(held, axis=0)
    ours_wide, theirs_wide = np.median(widths, axis=0)
    return f"**{ours_held:.1%}** ({theirs_held:.1%}), {ours_wide:.1f} ({theirs_wide:.1f}) wide"


def drops(trials: int) -> None:
    runs_of = (1, 3, 5)
    print(
        "| score | control, test | runs vary by | examples |"
        f" {' | '.join(f'{runs} run(s)' for runs in runs_of)} |"
    )
    print("|---|---|---|---|" + "---|" * len(runs_of))
    for name, easy, hard, deviation in DROPS:
        for size in SIZES:
            cells = [dropped(trials, name, (easy, hard), deviation, size, runs) for runs in runs_of]
            figures = f"{100 * easy:g}, {100 * hard:g}"
            print(
                f"| {name} | {figures} | {deviation:g} | {size} | {' | '.join(cells)} |", flush=True
            )


def dropped(
    trials: int, name: str, figures: tuple[float, float], deviation: float, size: int, runs: int
) -> str:
    """How often the interval of a drop holds it, and its median width."""
    rng = np.random.default_rng([size, runs, 1])
    compute, make = (share, outcomes) if name == "exact match" else (bleu, matches)
    deviation = deviation if runs > 1 else 0.0
    middles = [40.0 if figure == 1 else middle_of(name, figure, deviation) for figure in figures]
    held, widths = [], []
    for start in range(0, trials, 50):
        count = min(50, trials - start)
        skills = deviation * rng.standard_normal((count, runs))  # of a run, on both sets
        sets = [
            list(make(rng, chances(middle, rng.standard_normal((count, size)), skills)))
            for middle in middles
        ]
        # Of all trials of a part the resamples of a set are the same; those of the two sets are
        # not.
        drawn = [
            resampled_runs(one, compute, SAMPLES, [start, number])
            for number, one in enumerate(sets)
        ]
        for easy, hard, first, second in zip(*sets, *drawn, strict=True):
            values = [compute(one.sum(axis=1))[:, 0] for one in (easy, hard)]
            bounds = difference_interval(
                (one_figure(first, size), values[0]), (one_figure(second, size), values[1])
            )
            low, high = bounds or (0.0, 0.0)
            held.append(low <= 100 * (figures[0] - figures[1]) <= high)
            widths.append(high - low)
    return f"**{np.mean(held):.1%}**, {np.median(widths):.1f} wide"


def system(
    rng: np.random.Generator, hard: np.ndarray, runs: int, deviation: float, better: float = 0.0
) -> np.ndarray:
    """Statistics ``[runs, examples, 2]`` of a system whose true figure is 50, or as much above as
    it is ``better``.
    """
    skill = np.clip(0.5 + better + deviation * rng.standard_normal(runs), 0.05, 0.95)
    right = 0.5 * hard + 0.5 * rng.random((runs, len(hard))) < skill[:, None]
    return np.stack([right.astype(float), np.ones_like(right, float)], axis=2)


POWERS = (
    (2, 300, 0.03, 0.1),
    (2, 3000, 0.03, 0.1),
    (3, 300, 0.0, 0.03),
    (3, 300, 0.03, 0.06),
    (3, 300, 0.03, 0.08),
    (3, 3000, 0.03, 0.06),
    (5, 300, 0.03, 0.05),
    (5, 3000, 0.03, 0.05),
    (10, 300, 0.03, 0.035),
)
"""Runs, examples, the standard deviation of the skills of runs, and how much better the second
system is.
"""
PILOTS = 200


def power(trials: int) -> None:
    print("| runs | examples | true difference | stated power | of one pilot | rejects |")
    print("|---|---|---|---|---|---|")
    for runs, size, deviation, better in POWERS:
        rng = np.random.default_rng([runs, size, 2])
        pilots, rejected, differences = [], 0, []
        for trial in range(trials):
            hard = rng.random(size)
            pair = [system(rng, hard, runs, deviation), system(rng, hard, runs, deviation, better)]
            differences.append(100 * float(pair[1][:, :, 0].mean() - pair[0][:, :, 0].mean()))
            drawn = resampled_runs(pair, share, SAMPLES, trial)
            contrasts = Contrasts(
                [share(one.sum(axis=1)) for one in pair], covariance_of_samples(drawn, size)
            )
            rejected += bool(contrasts.of(1, 0).p_value()[0] < LEVEL)
            if trial < PILOTS:
                metric = SegmentScores(size, scale=(0.0, 1.0), binary=True)
                results = [
                    SystemScores(name, runs, SubsetScores(0, 0, {}), (), one)
                    for name, one in zip("ab", pair, strict=True)
                ]
                pilots.append(variance_of(metric, results, samples=SAMPLES))
        true = float(np.mean(differences))
        parts = [
            float(np.mean([getattr(one, part) for one in pilots]))
            for part in ("shared", "own", "between")
        ]
        stated = PowerTest(LEVEL).power_of(
            true, Variance(*parts, size, runs, pilots[0].step), size, runs
        )
        each = np.quantile(
            [PowerTest(LEVEL).power_of(true, one, size, runs) for one in pilots], (0.1, 0.9)
        )
        of_one = f"{each[0]:.0%} to {each[1]:.0%}"
        print(
            f"| {runs} | {size} | {true:.2f} | {stated:.1%} | {of_one} | {rejected / trials:.1%} |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trials", type=int, default=400)
    parser.add_argument("--only", choices=("intervals", "drops", "power"))
    given = parser.parse_args()
    for name, run in (("intervals", intervals), ("drops", drops), ("power", power)):
        if given.only in (None, name):
            run(given.trials)


if __name__ == "__main__":
    main()

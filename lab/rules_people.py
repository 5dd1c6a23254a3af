"""Means of right or wrong if only some examples need a verdict, by people's verdicts on a few.

    python lab/rules_people.py

Half of the examples, or a quarter, need a verdict; the rules decide the others. For each judge and
number of verdicts by people: the mean estimate, the share of 95% intervals that contain the true
mean, with the judge and without, and the share of pairs of equally good systems with p < 0.05.
*not judged*: examples without a verdict rule count as examples that nobody judged. *known*: they
are a stratum whose results are known, as in ``cgbench score rules``.
"""

import numpy as np

from cgbench.benchmark.score.comparison.prediction_powered import human_means

N, TRIALS = 600, 1_000
WRONG_PASSES, RIGHT_FAILS = 0.1, 0.05
JUDGES = ("good", "useless")
NONE_WRONG = 0.97
"""A rate of examples that pass at which a few judged ones are often all right."""


def judge_of(kind: str, human: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The judge's verdicts, 0 or 100."""
    if kind == "useless":
        return 100.0 * (rng.random(len(human)) < 0.5)
    chance = rng.random(len(human))
    flips = np.where(human > 0, chance < RIGHT_FAILS, chance < WRONG_PASSES)
    return np.where(flips, 100.0 - human, human)


def cell(kind: str, needing: float, rates: tuple[float, float], judged: int, known: bool) -> str:
    """One row of the table; ``rates``: of examples that pass with and without a verdict rule."""
    rng = np.random.default_rng([JUDGES.index(kind), judged, int(100 * needing)])
    true = 100 * (needing * rates[0] + (1 - needing) * rates[1])
    rows = []
    for _ in range(TRIALS):
        exact = rng.random(N) >= needing
        chosen = rng.permutation(np.flatnonzero(~exact))[:judged]
        by_people = exact.copy() if known else np.zeros(N, bool)
        by_people[chosen] = True
        human, proxy = {}, {}
        for system in "ab":
            right = 100.0 * (rng.random(N) < np.where(exact, rates[1], rates[0]))
            proxy[system] = np.where(exact, right, judge_of(kind, right, rng))
            human[system] = np.where(by_people, right, np.nan)
        mean, _, difference = human_means(
            human, proxy, exact=exact if known else None, baseline="a", scale=(0.0, 100.0)
        )
        ends = [(mean.powered_low, mean.powered_high), (mean.alone_low, mean.alone_high)]
        covers = [low is not None and low <= true <= high for low, high in ends]
        rejects = difference.p_value is not None and difference.p_value < 0.05
        rows.append((mean.powered, mean.alone, *covers, rejects))
    powered, alone, covers, alone_covers, rejects = np.mean(np.array(rows, float), axis=0)
    return (
        f"true {true:.1f}: with the judge {powered:.1f}, {100 * covers:.1f}%; alone {alone:.1f},"
        f" {100 * alone_covers:.1f}%; p < 0.05 {100 * rejects:.1f}%"
    )


def main() -> None:
    for rates in ((0.3, 0.9), (NONE_WRONG, 0.6)):
        for needing in (0.5, 0.25):
            for kind in JUDGES:
                for judged in (20, 50, 100):
                    for known in (False, True):
                        label = "known" if known else "not judged"
                        print(
                            f"{rates} {needing} {kind:7} {judged:3} {label:10}",
                            cell(kind, needing, rates, judged, known),
                            flush=True,
                        )


if __name__ == "__main__":
    main()

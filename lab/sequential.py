"""Level, power and number of examples of tests with a look after every value:

    python lab/sequential.py level|power|documents [TRIALS]

``level``: two equally good systems; the share of sequences that ever call one of them better, in
percent. "Population": the claim about the models, with examples drawn from a population. "Test
set": the claim about a test set on which the systems are equal. "Test set, drawn": that claim about
a test set drawn from a population on which they are equal, which says nothing about the models.
"Fixed" is the t-test at the same looks, every 50 values.

``power``: models that differ by 0 to 10 points, on 1,000 examples: the number asked on average, the
share of sequences that call the better and the worse model better, the mean difference of those
that stopped before the end, the same shares by the claim about the test set, those of the fixed
test of all examples, and the number that Wald's sequential test asks, which knows the true
difference (an oracle).

``documents``: level for documents of unequal length, whose largest is not known before (``score
--anytime --cluster``).
"""

import math
import sys
from dataclasses import dataclass

import numpy as np

from cgbench.benchmark.score.comparison.sequential import log_capitals, sequential_clusters

LEVEL = 0.05
BAR = math.log(2 / LEVEL)
BLOCK = 100
KINDS = ("binary", "balanced", "ties", "skewed", "continuous", "documents", "documents in order")
DIFFERENCES = (0.0, 0.02, 0.04, 0.07, 0.10)


def population(kind: str, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Differences of ``n`` examples whose mean is exactly 0, between -1 and 1, and the document of
    each.
    """
    documents = np.arange(n) // 10
    half = n // 2
    if kind == "binary":  # right or wrong, 30% of the examples by one system only
        values = rng.permutation(
            np.repeat([1.0, -1.0, 0.0], [round(0.15 * n), round(0.15 * n), n - 2 * round(0.15 * n)])
        )
    elif kind == "balanced":
        values = rng.permutation(np.repeat([1.0, -1.0], [half, n - half]))
    elif kind == "ties":
        values = rng.permutation(
            np.repeat([1.0, -1.0, 0.0], [round(0.03 * n), round(0.03 * n), n - 2 * round(0.03 * n)])
        )
    elif kind == "skewed":  # large gains on one example in fifty, small losses on all others
        values = rng.permutation(np.where(np.arange(n) < n // 50, 0.98, -0.02))
    elif kind == "continuous":  # as of chrF
        values = np.concatenate([side := 0.15 * np.clip(rng.normal(size=half), -3, 3), -side])
    else:  # a document has one luck
        luck = rng.permutation(np.repeat([1.0, -1.0], n // 20))
        values = np.where(rng.random((n // 20, 10)) < 0.3, 1.0, 0.0)
        values = (
            np.concatenate([values, -values])[rng.permutation(n // 10)].ravel()
            if luck.size
            else values
        )
    return values - values.mean() if kind in ("skewed", "continuous") else values, documents


def reached(units: np.ndarray, size: int | None) -> np.ndarray:
    """Whether either side ever reaches the bar, ``[trials]``, given values between 0 and 1."""
    return (
        np.maximum(
            log_capitals(units, 0.5, size).max(axis=1),
            log_capitals(1 - units, 0.5, size).max(axis=1),
        )
        >= BAR
    )


def peeked(units: np.ndarray) -> np.ndarray:
    """Whether a t-test every 50 values ever rejects."""
    n = np.arange(1, units.shape[1] + 1)
    centred = units - 0.5
    sums, squares = np.cumsum(centred, axis=1), np.cumsum(centred**2, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.abs(sums) / np.sqrt(np.maximum(squares - sums**2 / n, 1e-12) / (1 - 1 / n))
    return (t[:, 49::50] > 1.96).any(axis=1)


def level(trials: int) -> None:
    print("| values | n | population | test set | test set, drawn | fixed, every 50 |")
    print("|---|---|---|---|---|---|")
    for kind in KINDS:
        for n in (200, 1_000, 5_000, 20_000):
            rng = np.random.default_rng([n, KINDS.index(kind)])
            counts = np.zeros(4)
            for _ in range(trials // BLOCK):
                rows = [population(kind, n, rng) for _ in range(BLOCK)]
                units = np.stack([(values + 1) / 2 for values, _ in rows])
                if kind == "documents":  # whole documents in random order, each by its mean
                    units = units.reshape(BLOCK, -1, 10).mean(axis=2)
                orders = rng.permuted(np.tile(np.arange(units.shape[1]), (BLOCK, 1)), axis=1)
                whole = (
                    units
                    if kind == "documents in order"
                    else np.take_along_axis(units, orders, axis=1)
                )
                drawn = (
                    units
                    if kind == "documents in order"
                    else np.take_along_axis(
                        units, rng.integers(0, units.shape[1], units.shape), axis=1
                    )
                )
                counts += [
                    reached(drawn, None).sum(),
                    reached(whole, whole.shape[1]).sum(),
                    reached(drawn, drawn.shape[1]).sum(),
                    peeked(drawn).sum(),
                ]
            print(
                f"| {kind} | {n:,} | "
                + " | ".join(f"{100 * count / trials:.1f}" for count in counts)
                + " |",
                flush=True,
            )


@dataclass(frozen=True)
class Stops:
    """Where sequences stop, ``[trials]``: the number of values until either side reaches the bar
    (all values if neither does), which system is called better, and the mean difference so far.
    """

    after: np.ndarray
    better: np.ndarray
    worse: np.ndarray
    difference: np.ndarray

    @classmethod
    def of(cls, units: np.ndarray, size: int | None) -> "Stops":
        """The stops of sequences of values between 0 and 1, ``[trials, n]``."""
        above = log_capitals(units, 0.5, size) >= BAR
        below = log_capitals(1 - units, 0.5, size) >= BAR
        decided = (above | below).any(axis=1)
        last = np.where(decided, (above | below).argmax(axis=1), units.shape[1] - 1)
        rows = np.arange(len(units))
        means = np.cumsum(2 * units - 1, axis=1)[rows, last] / (last + 1)
        return cls(last + 1, decided & above[rows, last], decided & below[rows, last], means)


def power(trials: int, n: int = 1_000) -> None:
    print(
        "| one alone right | difference | asked | better | worse | difference at the stop"
        " | test set: better | worse | fixed: better | fixed needs | oracle asks |"
    )
    print("|---" * 11 + "|")
    for unequal in (0.2, 0.4):
        for difference in DIFFERENCES:
            rng = np.random.default_rng([round(100 * difference), round(100 * unequal)])
            shares = np.array([(unequal + difference) / 2, (unequal - difference) / 2, 1 - unequal])
            units = np.array([1.0, 0.0, 0.5])[rng.choice(3, p=shares, size=(trials, n))]
            # About the models, and about the test set.
            models, test_set = Stops.of(units, None), Stops.of(units, n)
            decided = models.better & (models.after < n)
            at_the_stop = 100 * models.difference[decided].mean() if decided.any() else math.nan
            # The t-test of all examples, and the number that it needs for 80% power.
            t = (units.mean(axis=1) - 0.5) / (units.std(axis=1, ddof=1) / math.sqrt(n))
            variance = unequal - difference**2
            needs = (1.95996 + 0.84162) ** 2 * variance / difference**2 if difference else math.inf
            cells = [
                f"{unequal:.0%}",
                f"{100 * difference:.0f}",
                f"{models.after.mean():.0f}",
                f"{models.better.mean():.1%}",
                f"{models.worse.mean():.1%}",
                f"{at_the_stop:.1f}",
                f"{test_set.better.mean():.1%}",
                f"{test_set.worse.mean():.1%}",
                f"{(t > 1.96).mean():.1%}",
                f"{needs:,.0f}",
                f"{oracle_asks(shares, trials, rng):.0f}" if difference else "",
            ]
            print("| " + " | ".join(cells) + " |", flush=True)


def oracle_asks(shares: np.ndarray, trials: int, rng: np.random.Generator) -> float:
    """The mean number of examples of Wald's test, which knows the true difference."""
    ratio = shares[0] / shares[1]
    gains = np.log([ratio, 1 / ratio, 1.0])[rng.choice(3, p=shares, size=(trials, 4_000))]
    reached = np.cumsum(gains, axis=1) >= math.log(1 / LEVEL)
    return float(reached.argmax(axis=1).mean() + 1)


def documents(trials: int) -> None:
    """Level of a claim about a mean over examples, with a look after every document: sums scaled by
    the largest document so far, for documents of equal and of very unequal length.
    """
    print("| spread of lengths | documents | called different |\n|---|---|---|")
    for spread in (0.0, 0.5, 1.0, 1.5):
        for n in (30, 100, 300):
            rng = np.random.default_rng([n, round(10 * spread)])
            wrong = 0
            for _ in range(trials):
                sizes = np.ceil(5 * np.exp(spread * rng.normal(size=n))).astype(int)
                # Half of the documents favour each system, and long documents as often as short.
                values = np.repeat(rng.choice([-1.0, 1.0], size=n), sizes)
                values *= rng.random(sizes.sum()) < 0.3
                labels = np.repeat(np.arange(n), sizes)
                wrong += any(
                    sequential_clusters(
                        values[labels < look], labels[labels < look], -1, 1, sizes=sizes[:look]
                    ).p[-1]
                    <= LEVEL
                    for look in range(10, n + 1, 10)
                )
            print(f"| {spread:g} | {n} | {100 * wrong / trials:.1f} |", flush=True)


if __name__ == "__main__":
    {"level": level, "power": power, "documents": documents}[sys.argv[1]](
        int(sys.argv[2]) if len(sys.argv) > 2 else 2_000
    )

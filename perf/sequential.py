"""Level, power and number of examples of tests with a look after every value:   python perf/sequential.py level|power

``level``: two equally good systems; the share of sequences that ever call one of them better, in
percent, with examples from a population and from a whole test set. "Fixed" is the t-test at the
same looks, every 50 values.

``power``: differences of 2 to 10 points; the share of a test set of 1,000 that is asked on average,
the share of sequences that find the better system, and those of the fixed test of all examples and
of Wald's sequential test that knows the true difference (an oracle).
"""

import math
import sys

import numpy as np

from cgbench.benchmark.score.comparison.sequential import log_capitals

LEVEL = 0.05
BAR = math.log(2 / LEVEL)
BLOCK = 100
KINDS = ("binary", "balanced", "ties", "skewed", "continuous", "documents", "documents in order")
DIFFERENCES = (0.02, 0.04, 0.07, 0.10)


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
    print("| values | n | population | test set | fixed, every 50 |\n|---|---|---|---|---|")
    for kind in KINDS:
        for n in (200, 1_000, 5_000, 20_000):
            rng = np.random.default_rng([n, KINDS.index(kind)])
            counts = np.zeros(3)
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
                    peeked(drawn).sum(),
                ]
            print(
                f"| {kind} | {n:,} | "
                + " | ".join(f"{100 * count / trials:.1f}" for count in counts)
                + " |",
                flush=True,
            )


def stops(units: np.ndarray, size: int | None) -> tuple[np.ndarray, np.ndarray]:
    """The number of values until either side reaches the bar, and whether the first system was
    called better.
    """
    above, below = log_capitals(units, 0.5, size) >= BAR, log_capitals(1 - units, 0.5, size) >= BAR
    either = above | below
    first = np.where(either.any(axis=1), either.argmax(axis=1), units.shape[1] - 1)
    return first + 1, np.where(either.any(axis=1), above[np.arange(len(units)), first], False)


def power(trials: int, n: int = 1_000) -> None:
    print(
        "| unequal | difference | asked | finds | asked, population | finds | fixed finds | fixed"
        " needs | oracle asks |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for unequal in (0.2, 0.4):
        for difference in DIFFERENCES:
            rng = np.random.default_rng([round(100 * difference), round(100 * unequal)])
            shares = np.array([(unequal + difference) / 2, (unequal - difference) / 2, 1 - unequal])
            gain = np.log([shares[0] / shares[1], shares[1] / shares[0], 1.0])
            rows = []
            for _ in range(trials // BLOCK):
                counts = np.round(n * shares[:2]).astype(int)
                whole = rng.permuted(
                    np.tile(np.repeat([0, 1, 2], [*counts, n - counts.sum()]), (BLOCK, 1)), axis=1
                )
                drawn = rng.choice(3, p=shares, size=(BLOCK, n))
                units = np.array([1.0, 0.0, 0.5])
                fixed = units[drawn] - 0.5
                t = fixed.mean(axis=1) / (fixed.std(axis=1, ddof=1) / math.sqrt(n))
                wald = np.cumsum(
                    gain[rng.choice(3, p=shares, size=(BLOCK, 4_000))], axis=1
                ) >= math.log(1 / LEVEL)
                rows.append(
                    np.array(
                        [
                            *stops(units[whole], n),
                            *stops(units[drawn], None),
                            t > 1.96,
                            wald.argmax(axis=1) + 1,
                        ]
                    )
                )
            asked, finds, population_asked, population_finds, fixed_finds, oracle = np.concatenate(
                rows, axis=1
            ).mean(axis=1)
            variance = unequal - difference**2
            needs = (1.95996 + 0.84162) ** 2 * variance / difference**2
            print(
                f"| {unequal:.0%} | {100 * difference:.0f} | {asked:.0f} | {finds:.0%} |"
                f" {population_asked:.0f} | {population_finds:.0%} | {fixed_finds:.0%} |"
                f" {needs:,.0f} | {oracle:.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    {"level": level, "power": power}[sys.argv[1]](int(sys.argv[2]) if len(sys.argv) > 2 else 2_000)

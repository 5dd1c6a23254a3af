"""Bias and coverage of the residual composition error, on simulated systems for which composition
has a known cost.

    python lab/parts_residual.py [--repeat 200]
    python lab/parts_residual.py --together     # probes of a piece that stand or fall together

Prints a row per setting: the true residual, the mean estimate, the share of 95% intervals that
contain the truth, and the mean of three simpler estimates: without holding probes back, without
weights for pieces (of equal length and frequency alone), and with neither length nor frequency.
"""

import argparse
import itertools

import numpy as np

from cgbench.benchmark.score.comparison.comparison import Comparison
from cgbench.studies.parts.gate import Gate, Incidence, Parts, gate_of
from cgbench.studies.parts.residual import Outcomes, Residual, compare_composition

LEAST, PROBES = 4, 5


def simulate(
    random: np.random.Generator,
    whole: bool,
    spread: float,
    growth: float,
    rows: int,
    cost: float,
    near_copies: float = 0.0,
) -> tuple[Parts, Outcomes, float]:
    """A test set, one run of a system, and the true residual error of the rows that its held-out
    gates give.

    Frequent pieces stand in more rows and fail less often. A piece has a difficulty of its own
    (log-normal with ``spread``), and fails more often in longer sentences (with the power
    ``growth`` of the length). ``cost``: the probability that composition makes a unit fail that
    would have come out.
    ``near_copies``: the share of probes that come out as the first probe of their piece does.
    """
    pieces = rows // 2
    frequency = np.maximum(3, (3000 / (1 + np.arange(pieces)) ** 0.8).astype(np.int64))
    hazard = 0.25 * frequency**-0.35 * np.exp(random.normal(0, spread, pieces) - spread**2 / 2)
    popular = frequency**0.5 / (frequency**0.5).sum()
    of_rows = [
        random.choice(pieces, random.integers(2, 6), replace=False, p=popular) for _ in range(rows)
    ]
    # a probe has its piece and others that are frequent
    of_probes = [
        (piece, pick) for piece in range(pieces) for pick in range(random.integers(2, PROBES + 1))
    ]
    common = np.argsort(-popular)[: max(10, pieces // 10)]
    fill = [
        np.setdiff1d(random.choice(common, random.integers(1, 4), replace=False), [piece])
        for piece, _ in of_probes
    ]
    length = np.array([2 * len(one) + random.integers(0, 6) for one in of_rows])
    probe_length = np.array([2 + 2 * len(one) + random.integers(0, 4) for one in fill])

    def fails(piece: np.ndarray | int, words: int) -> np.ndarray:
        p = -np.expm1(-hazard[piece] * (words / 6) ** growth)
        return random.random(np.shape(p)) < p

    in_rows = Incidence.of([(piece, row) for row, one in enumerate(of_rows) for piece in one])
    in_probes = Incidence.of([(piece, probe) for probe, (piece, _) in enumerate(of_probes)])
    parts = Parts(in_rows, in_probes, frequency, length, probe_length, whole)
    if whole:
        fine = [
            not fails(np.r_[piece, fill[probe]], probe_length[probe]).any()
            for probe, (piece, _) in enumerate(of_probes)
        ]
        bare = np.array(
            [not fails(one, words).any() for one, words in zip(of_rows, length, strict=True)]
        )
        out = bare & (random.random(rows) >= cost)
        probes, plain, came = (
            np.array(fine)[in_probes.sentence],
            bare[in_rows.sentence],
            out[in_rows.sentence],
        )
    else:
        probes = np.array(
            [
                not fails(int(piece), probe_length[probe])
                for piece, probe in zip(in_probes.piece, in_probes.sentence, strict=True)
            ]
        )
        plain = np.array(
            [
                not fails(int(piece), length[row])
                for piece, row in zip(in_rows.piece, in_rows.sentence, strict=True)
            ]
        )
        came = plain & (random.random(len(plain)) >= cost)
    if near_copies:
        _, first = np.unique(in_probes.piece, return_index=True)
        copies = random.random(len(probes)) < near_copies
        probes = np.where(copies, probes[first][in_probes.piece], probes)
    # in expectation: what does not fail by itself fails with probability ``cost``
    return parts, Outcomes(probes, came), cost * (100 - _error(parts, probes, plain))


def _error(parts: Parts, probes: np.ndarray, plain: np.ndarray) -> float:
    model = Residual(parts, LEAST)
    return float(
        model.compute(model.statistics(Outcomes(probes, plain)).sum(axis=0, keepdims=True))[0, 2]
    )


def naive(parts: Parts, run: Outcomes) -> tuple[float, float]:
    """The error of given pairs minus that of the very probes that made pieces known; and minus that
    of all probes.
    """
    gate: Gate = gate_of(parts, run.probes, LEAST)
    used = gate.given[parts.rows.sentence]
    error = (
        1 - run.rows[used].mean()
        if not parts.whole
        else 1 - _per_row(parts, run.rows)[gate.given].mean()
    )
    passed = gate.known[parts.probes.piece]
    return 100 * (error - (1 - run.probes[passed].mean())), 100 * (error - (1 - run.probes.mean()))


def _per_row(parts: Parts, rows: np.ndarray) -> np.ndarray:
    found = np.zeros(len(parts.length), bool)
    found[parts.rows.sentence] = rows
    return found


def together(repeat: int) -> None:
    """Composition costs nothing; more and more probes are near-copies."""
    print("units, share of near-copies, bias ± 2 s.e., coverage")
    for whole, share in itertools.product((False, True), (0.0, 0.1, 0.3, 1.0)):
        differences, inside = [], 0
        for seed in range(repeat):
            random = np.random.default_rng([whole, round(10 * share), seed])
            parts, run, true = simulate(random, whole, 0.8, 0.0, 800, 0.0, share)
            (result,) = compare_composition(parts, [("a", [run])], LEAST, Comparison()).results
            score = result.whole.figures["residual"]
            differences.append(score.value - true)
            inside += score.ci_low <= true <= score.ci_high
        error = 2 * np.std(differences) / len(differences) ** 0.5
        print(
            "sentences" if whole else "pieces",
            f"{share} {np.mean(differences):+.2f} ± {error:.2f} {100 * inside / repeat:.1f}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeat", type=int, default=200)
    parser.add_argument("--together", action="store_true")
    options = parser.parse_args()
    repeat = options.repeat
    if options.together:
        return together(repeat)
    print(
        "units     spread  growth  rows  cost   true  estimate  bias ± 2 s.e.  coverage  own probes"
        "  all probes"
    )
    grid = itertools.product((False, True), (0.0, 0.8), (0.0, 1.0), (200, 800), (0.0, 0.2))
    for setting, (whole, spread, growth, rows, cost) in enumerate(grid):
        found = []
        for seed in range(repeat):
            random = np.random.default_rng([setting, seed])
            parts, run, true = simulate(random, whole, spread, growth, rows, cost)
            (one,) = compare_composition(parts, [("a", [run])], LEAST, Comparison()).results
            score = one.whole.figures["residual"]
            low, high = score.ci_low, score.ci_high
            inside = low is not None and high is not None and low <= true <= high
            found.append((true, score.value, inside, *naive(parts, run)))
        true, estimate, inside, own, every = np.array(found, float).mean(axis=0)
        apart = np.array(found, float)[:, 1] - np.array(found, float)[:, 0]
        print(
            f"{'sentences' if whole else 'pieces':9} {spread:6.1f} {growth:7.1f} {rows:5}"
            f" {cost:5.1f} {true:6.1f} {estimate:9.1f} {apart.mean():+7.2f} ±"
            f" {2 * apart.std() / len(apart) ** 0.5:.2f} {100 * inside:10.1f} {own:11.1f}"
            f" {every:11.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()

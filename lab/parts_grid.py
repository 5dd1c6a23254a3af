"""Bias and coverage of the residual composition error, and of its difference from the control set,
by kind of system.

``python lab/parts_grid.py [--repeat 40] [--rows 200 800]`` prints a Markdown table with a row per
kind and size. Every system errs on single pieces; only two kinds of system err because of the
composition. ``lab/parts_residual.py`` varies length, difficulty and whole sentences.
"""

import argparse
from collections.abc import Callable

import numpy as np

from cgbench.benchmark.score.comparison.comparison import Comparison
from cgbench.studies.parts.gate import Incidence, Parts
from cgbench.studies.parts.residual import Outcomes, compare_composition

LEAST, PROBES = 4, 5
Errors = Callable[[np.random.Generator, np.ndarray, np.ndarray, np.ndarray, str], np.ndarray]
"""The probability that pieces are missing: of the pieces, their frequencies and the lengths of
their sentences, in ``probe``, ``control`` or ``test``."""


def by_piece(
    random: np.random.Generator, piece: np.ndarray, frequency: np.ndarray, *_: object
) -> np.ndarray:
    """A difficulty of each piece's own, log-normal, 5% on average."""
    own = np.random.default_rng(7).normal(0, 0.8, 10_000)
    return np.minimum(0.05 * np.exp(own[piece] - 0.32), 0.9)


KINDS: dict[str, tuple[float, Errors]] = {
    "composes": (0.0, by_piece),
    "fails at rate 0.1": (0.1, by_piece),
    "fails at rate 0.3": (0.3, by_piece),
    "does not know 30% of the pieces": (
        0.0,
        lambda random, piece, frequency, length, role: np.where(piece % 10 < 3, 0.9, 0.03),
    ),
    "length only": (0.0, lambda random, piece, frequency, length, role: 1 - np.exp(-0.01 * length)),
    "length only: stops at word 12": (
        0.0,
        lambda random, piece, frequency, length, role: np.where(length > 12, 1 - 12 / length, 0.02),
    ),
    "frequency only": (
        0.0,
        lambda random, piece, frequency, length, role: 1 - np.exp(-0.6 / (1 + frequency) ** 0.5),
    ),
    "senses: 10% of probes, 30% of test rows": (
        0.0,
        lambda random, piece, frequency, length, role: np.where(
            random.random(len(piece)) < {"probe": 0.1, "control": 0.1, "test": 0.3}[role], 0.4, 0.02
        ),
    ),
    "synonyms, 5% everywhere": (0.0, lambda random, piece, *_: np.full(len(piece), 0.05)),
    "synonyms, 10% in test and control rows only": (
        0.0,
        lambda random, piece, frequency, length, role: np.full(
            len(piece), 0.01 if role == "probe" else 0.1
        ),
    ),
    "remembers its probes: errors 1%, new rows 6%": (
        0.0,
        lambda random, piece, frequency, length, role: np.full(
            len(piece), 0.01 if role == "probe" else 0.06
        ),
    ),
}


def simulate(
    random: np.random.Generator, rows: int, cost: float, errors: Errors
) -> tuple[Parts, Outcomes, Parts, Outcomes, float]:
    """A test set, a control set with the same probes, what came out in both, and the true cost in
    points.
    """
    pieces = rows // 2
    frequency = np.maximum(3, (3000 / (1 + np.arange(pieces)) ** 0.8).astype(np.int64))[
        random.permutation(pieces)
    ]
    popular = frequency**0.5 / (frequency**0.5).sum()
    probes = Incidence.of(
        [(piece, PROBES * piece + n) for piece in range(pieces) for n in range(PROBES)]
    )
    probe_length = random.integers(3, 15, PROBES * pieces)
    came = random.random(len(probes.piece)) >= errors(
        random, probes.piece, frequency[probes.piece], probe_length[probes.sentence], "probe"
    )
    parts, outcomes, missing = [], [], 0.0
    for role in ("test", "control"):
        in_rows = Incidence.of(
            [
                (int(piece), row)
                for row in range(rows)
                for piece in random.choice(pieces, random.integers(2, 6), replace=False, p=popular)
            ]
        )
        length = random.integers(4, 21, rows)
        probability = errors(
            random, in_rows.piece, frequency[in_rows.piece], length[in_rows.sentence], role
        )
        out = random.random(len(in_rows.piece)) >= probability
        if role == "test":
            missing = float(1 - out.mean())
            out &= random.random(len(out)) >= cost
        parts.append(Parts(in_rows, probes, frequency, length, probe_length, False))
        outcomes.append(Outcomes(came, out))
    return parts[0], outcomes[0], parts[1], outcomes[1], 100 * cost * (1 - missing)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeat", type=int, default=40)
    parser.add_argument("--rows", type=int, nargs="+", default=[200, 800])
    options = parser.parse_args()
    print(
        "| system | rows | true, last set | given | bias | covers | bias, minus control | covers |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for number, (kind, (cost, errors)) in enumerate(KINDS.items()):
        for rows in options.rows:
            apart, inside, given = [], [], []
            for seed in range(options.repeat):
                random = np.random.default_rng([number, rows, seed])
                parts, run, control, control_run, true = simulate(random, rows, cost, errors)
                systems = [("a", [run])]
                alone = compare_composition(parts, systems, LEAST, Comparison())
                both = compare_composition(
                    parts, systems, LEAST, Comparison(), (control, [[control_run]])
                )
                scores = [
                    alone.results[0].whole.figures["residual"],
                    both.results[0].whole.figures["beyond_control"],
                ]
                apart.append(
                    [np.nan if score.value is None else score.value - true for score in scores]
                )
                inside.append(
                    [
                        score.ci_low is not None and score.ci_low <= true <= score.ci_high
                        for score in scores
                    ]
                )
                given.append(alone.results[0].whole.figures["given"].value)
            bias, error = (
                np.nanmean(apart, axis=0),
                2 * np.nanstd(apart, axis=0) / options.repeat**0.5,
            )
            covered = 100 * np.mean(inside, axis=0)
            cells = [f"{bias[at]:+.1f} ± {error[at]:.1f} | {covered[at]:.0f}%" for at in (0, 1)]
            print(
                f"| {kind} | {rows} | {true:.1f} | {np.mean(given):.0f}% | {' | '.join(cells)} |",
                flush=True,
            )


if __name__ == "__main__":
    main()

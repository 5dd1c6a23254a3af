"""How often some type or name of rules is called significant between equally good systems.

    python lab/rules_levels.py [TRIALS]

300 examples have two rules each, of two types and of 5, 10 or 20 names. Rules differ in difficulty
and systems have a common part in what they fail, as on real test sets; seeds of a system differ by
0.3 logits. Prints the share of trials in which some type or name of some system has p below 0.05:
after Holm's correction over all of them, as ``cgbench score rules`` prints, and without it.
"""

import itertools
import sys

import numpy as np

from cgbench.benchmark.score.comparison.comparison import Comparison, compare
from cgbench.benchmark.score.outputs.hypotheses import System
from cgbench.studies.rules.rule import convert_rules
from cgbench.studies.rules.rule_passes import RulePasses

EXAMPLES, RULES_PER_EXAMPLE, SEED_SPREAD = 300, 2, 0.3
TYPES = (
    {"type": "contains", "any": ["x"]},
    {"type": "excludes", "any": ["x"]},
)


def trial(names: int, systems: int, seeds: int, rng: np.random.Generator) -> tuple[bool, bool]:
    """Whether some p is below 0.05, adjusted and not."""
    rules = [
        convert_rules(
            [
                TYPES[rng.integers(2)] | {"name": f"name {rng.integers(names)}"}
                for _ in range(RULES_PER_EXAMPLE)
            ]
        )
        for _ in range(EXAMPLES)
    ]
    metric = RulePasses(rules, "0" * 8, np.zeros(EXAMPLES, bool), by_kind=True)
    shape = (EXAMPLES, RULES_PER_EXAMPLE)
    difficulty = 1 + rng.normal(size=(EXAMPLES, 1)) + rng.normal(size=shape)
    compared = []
    for system in range(systems):
        runs = []
        for _ in range(seeds):
            spread = SEED_SPREAD * rng.normal() if seeds > 1 else 0.0
            passes = rng.random(shape) < 1 / (1 + np.exp(-difficulty - spread))
            runs.append(["".join(map(str, row)) for row in passes.astype(int).tolist()])
        compared.append(System(f"system {system}", tuple(runs)))
    scores = compare(metric, compared, Comparison(paired="calibrated"))
    tested = [score for system in scores[1:] for score in system.whole.figures.values()]
    adjusted = [score.p_holm for score in tested if score.p_holm is not None]
    plain = [score.p_value for score in tested if score.p_value is not None]
    return min(adjusted) < 0.05, min(plain) < 0.05


def main(trials: int) -> None:
    """Print the grid."""
    print("| names | systems | seeds | adjusted | not adjusted |")
    print("|---|---|---|---|---|", flush=True)
    for names, systems, seeds in itertools.product((5, 10, 20), (2, 4), (1, 3)):
        rng = np.random.default_rng([names, systems, seeds])
        called = [trial(names, systems, seeds, rng) for _ in range(trials)]
        adjusted, plain = 100 * np.mean(called, axis=0)
        print(f"| {names} | {systems} | {seeds} | {adjusted:.1f} | {plain:.1f} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)

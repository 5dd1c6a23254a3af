"""Bias and coverage of the effects of degree and uncertainty in four matched cells, on simulated
systems.

``python lab/validity.py [--repeat 200] [--candidates 1500 6000] [--seeds 1 2 3]`` prints a
Markdown table. Candidates have lengths, word frequencies, a degree that falls with length and an
uncertainty that rises with it. A system is right with a probability that falls with length, differs
between sentences and seeds, and loses the costs of its kind at high degree and at high uncertainty,
so the true effects are known. A single seed speaks for itself, so its costs are exact; those of
several seeds vary by 2 points.
"""

import argparse

import numpy as np

from cgbench.benchmark.measure.metrics.metric import ExampleTexts
from cgbench.benchmark.measure.metrics.registry import make_metric
from cgbench.benchmark.score.outputs.hypotheses import System
from cgbench.studies.validity.cell_effects import cell_effects
from cgbench.studies.validity.cells import Cells, draw_cells

KINDS = {  # costs in points: of high degree, of high uncertainty, of both together
    "nothing": (0, 0, 0),
    "degree only": (15, 0, 0),
    "uncertainty only": (0, 15, 0),
    "both": (10, 10, 0),
    "interaction": (5, 5, 10),
}
MOST = 250
SETS = 10  # different sets of candidates
SAMPLES = 400


def candidates(random: np.random.Generator, size: int) -> dict[str, np.ndarray]:
    """Columns of a table of candidates whose uncertainty and degree depend on length."""
    length = 6 + random.poisson(8, size)
    pieces = np.minimum(
        length, np.round(length * (0.55 + random.gamma(1.5, 0.06, size) + 0.5 / length))
    )
    uncertainty = 0.4 * (length - length.mean()) / length.std() + random.normal(size=size)
    rank = np.empty(size, np.int64)
    rank[np.argsort(-uncertainty)] = np.arange(1, size + 1)
    stage = np.where(
        rank <= size // 20,
        "dropped",
        np.where(rank <= size // 20 + 3 * size // 10, "window", "rest"),
    )
    rarest = 3 + random.geometric(0.05, (2, size))
    return {
        "degree": pieces / length,
        "stage": stage,
        "rank": rank,
        "pool": np.ones(size, np.int64),
        "content": random.integers(0, 2**63, size).astype(np.uint64),
        "target_length": length,
        "source_length": np.maximum(1, length + random.integers(-2, 3, size)),
        "source_rarest": rarest[0],
        "target_rarest": rarest[1],
        "source_log_count": random.normal(6, 1, size),
        "target_log_count": random.normal(6, 1, size),
    }


def outputs(
    random: np.random.Generator,
    columns: dict[str, np.ndarray],
    cells: Cells,
    costs: tuple[int, int, int],
    seeds: int,
) -> System:
    """A system that is right (the output ``a``) or wrong in each pair of the cells."""
    degree, uncertainty = (
        np.repeat([1, 1, 0, 0], cells.rows.shape[1]),
        np.repeat([1, 0, 1, 0], cells.rows.shape[1]),
    )
    design, runs = np.stack([degree, uncertainty, degree * uncertainty]), []
    sentence = random.uniform(-0.15, 0.15, cells.rows.size)
    easy = 0.75 + sentence - 0.01 * (columns["target_length"][cells.rows.ravel()] - 14)
    for _ in range(seeds):
        changes = random.normal(0, 0.02, 4) * (seeds > 1)
        right = easy + changes[3] - (np.array(costs) / 100 + changes[:3]) @ design
        runs.append(["a" if draw else "b" for draw in random.random(len(right)) < right])
    return System("system", tuple(runs))


def main() -> None:
    """Print a row per kind, number of candidates and number of seeds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=200)
    parser.add_argument("--candidates", type=int, nargs="+", default=[1500, 6000])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    options = parser.parse_args()
    print(
        "| candidates | pairs | seeds | costs | degree: true, bias, coverage | uncertainty |"
        " interaction | hardest |"
    )
    print("|---:|---:|---:|---|---|---|---|---|")
    for size in options.candidates:
        random = np.random.default_rng(size)
        tables = [candidates(random, size) for _ in range(SETS)]
        drawn = [(table, draw_cells(table, MOST, at)) for at, table in enumerate(tables)]
        pairs = [cells.rows.shape[1] for _, cells in drawn]
        for seeds in options.seeds:
            for kind, costs in KINDS.items():
                first, second, both = costs
                true = {
                    "degree": first + both / 2,
                    "uncertainty": second + both / 2,
                    "interaction": both,
                }
                errors, inside, verdicts = {name: [] for name in true}, dict.fromkeys(true, 0), {}
                for repeat in range(options.repeat):
                    table, cells = drawn[repeat % SETS]
                    metric = make_metric("exact", ExampleTexts([["a"]] * cells.rows.size), {})
                    system = outputs(random, table, cells, costs, seeds)
                    row = cell_effects(
                        metric, cells, [system], None, samples=SAMPLES, seed=repeat
                    ).systems[0]
                    verdicts[row.hardest] = verdicts.get(row.hardest, 0) + 1
                    for name, value in true.items():
                        low, high = row.intervals[name]
                        errors[name].append(row.values[name] - value)
                        inside[name] += low <= value <= high
                shown = []
                for name, value in true.items():
                    coverage = 100 * inside[name] / options.repeat
                    shown.append(f"{value:g}, {np.mean(errors[name]):+.1f}, {coverage:.1f}%")
                shown.append(
                    ", ".join(f"{name} {count}" for name, count in sorted(verdicts.items()))
                )
                span = f"{min(pairs)} to {max(pairs)}"
                print(f"| {size:,} | {span} | {seeds} | {kind} | {' | '.join(shown)} |", flush=True)


if __name__ == "__main__":
    main()

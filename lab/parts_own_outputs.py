"""Bias and coverage of the residual composition error that is judged by outputs alone, by kind of
system.

    python lab/parts_own_outputs.py [--repeat 40] [--rows 200 800] [--jobs 2]

Prints a Markdown table. The kinds are those of ``parts_grid.py``, but here every system writes
text: a piece of one to three words becomes as many words of letters as frequent as in English, in
the order of the source or, in one sentence of three, turned around. A piece that fails is another
piece's translation or, with synonyms and senses, always the same other words. The true cost is the
share of the pieces of test rows that is expected to fail because of the composition only.
"""

import argparse
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

import numpy as np
from parts_grid import KINDS, LEAST, PROBES

from cgbench.benchmark.score.comparison.comparison import Comparison
from cgbench.studies.parts.gate import Incidence, Parts
from cgbench.studies.parts.own_translations import judge_outputs
from cgbench.studies.parts.residual import compare_composition

LETTERS = "etaoinshrdlcumwfgypbvkjxqz"
_WEIGHTS = 1 / (np.arange(26) + 3.0)


class Result(NamedTuple):
    """Of one simulated set: residual and its interval, the share of given rows, the true cost in
    points, and the share of pieces that come out by chance."""

    residual: float
    low: float
    high: float
    given: float
    true: float
    chance: float


def words_of_letters(random: np.random.Generator, count: int) -> list[str]:
    """Words of two to nine letters."""
    chances = _WEIGHTS / _WEIGHTS.sum()
    return [
        "".join(random.choice(list(LETTERS), random.integers(2, 10), p=chances))
        for _ in range(count)
    ]


def simulate(kind: str, rows: int, seed: int) -> Result:
    """Score one simulated system."""
    number, (cost, errors) = list(KINDS).index(kind), KINDS[kind]
    random = np.random.default_rng([number, rows, seed])
    pieces = rows // 2
    frequency = np.maximum(3, (3000 / (1 + np.arange(pieces)) ** 0.8).astype(np.int64))[
        random.permutation(pieces)
    ]
    popular = frequency**0.5 / (frequency**0.5).sum()
    sizes = random.integers(1, 4, pieces)
    source = [[f"s{piece}.{word}" for word in range(size)] for piece, size in enumerate(sizes)]
    translation, other = ([words_of_letters(random, size) for size in sizes] for _ in range(2))
    consistent = kind.startswith(("synonyms", "senses"))

    def sentences(
        contents: list[list[int]], role: str, cost: float
    ) -> tuple[list[list[str]], list[str], float]:
        """The sources, the outputs, and the expected share of pieces that fail because of the
        composition only.
        """
        texts, outputs, failed = [], [], []
        for content in contents:
            length = int(sizes[content].sum())
            probability = errors(
                random, np.array(content), frequency[content], np.full(len(content), length), role
            )
            fails, breaks = (
                random.random(len(content)) < probability,
                random.random(len(content)) < cost,
            )
            turned = random.random() < 1 / 3
            words = [
                (
                    (other[piece] if consistent else translation[random.integers(pieces)])
                    if wrong
                    else translation[piece]
                )
                for piece, wrong in zip(content, fails | breaks, strict=True)
            ]
            outputs.append(
                " ".join(word for part in (words[::-1] if turned else words) for word in part)
            )
            failed += fails.tolist()
            texts.append([word for piece in content for word in source[piece]])
        return texts, outputs, cost * (1 - float(np.mean(failed)))

    probe_contents = [
        [piece, *random.choice(pieces, random.integers(1, 4), p=popular).tolist()]
        for piece in range(pieces)
        for _ in range(PROBES)
    ]
    row_contents = [
        random.choice(pieces, random.integers(2, 6), replace=False, p=popular).tolist()
        for _ in range(rows)
    ]
    probe_texts, probe_outputs, _ = sentences(probe_contents, "probe", 0.0)
    row_texts, row_outputs, true = sentences(row_contents, "test", cost)
    probes = Incidence.of(
        [(piece, PROBES * piece + n) for piece in range(pieces) for n in range(PROBES)]
    )
    in_rows = Incidence.of(
        [(piece, row) for row, content in enumerate(row_contents) for piece in content]
    )
    lengths = [np.array(list(map(len, texts)), np.int64) for texts in (row_texts, probe_texts)]
    parts = Parts(in_rows, probes, frequency, *lengths, False)
    run = judge_outputs(
        source, (probe_texts, row_texts), (probe_outputs, row_outputs), probes, in_rows
    )
    figures = (
        compare_composition(parts, [("a", [run])], LEAST, Comparison()).results[0].whole.figures
    )
    residual, given = figures["residual"], figures["given"].value
    values = [
        float("nan") if value is None else value
        for value in (residual.value, residual.ci_low, residual.ci_high)
    ]
    return Result(*values, given or 0.0, 100 * true, 100 * float(run.chance.mean()))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeat", type=int, default=40)
    parser.add_argument("--rows", type=int, nargs="+", default=[200, 800])
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    print("| system | pairs | true | given | by chance | bias | 95% interval covers |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    with ProcessPoolExecutor(options.jobs) as pool:
        for kind in KINDS:
            for rows in options.rows:
                cells = [[kind] * options.repeat, [rows] * options.repeat, range(options.repeat)]
                results = np.array(list(pool.map(simulate, *cells)))
                residual, low, high, given, true, chance = results.T
                off = residual - true
                bias, spread = np.nanmean(off), 2 * np.nanstd(off) / options.repeat**0.5
                covered = 100 * np.mean((low <= true) & (true <= high))
                print(
                    f"| {kind} | {rows} | {true.mean():.1f} | {np.mean(given):.0f}% |"
                    f" {chance.mean():.0f}% | {bias:+.1f} ± {spread:.1f} | {covered:.0f}% |",
                    flush=True,
                )


if __name__ == "__main__":
    main()

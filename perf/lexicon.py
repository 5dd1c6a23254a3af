"""Speed and memory of ``cgbench lexicon learn``, as ratios against a peer measured in the same run.

    python perf/lexicon.py SOURCE TARGET [--pairs 100000] [--sample 2000] [--repeat 1]

Prints a Markdown table. Every figure is of a fresh process, from its start to the finished lexicon,
on the first pairs of a text that is in the page cache; memory is the peak resident set. The peer is
Model 1 in plain Python, one direction of it and dictionaries, on a sample of these pairs; it is
extrapolated by the number of places where two words meet.
"""

import argparse
import datetime
import json
import tempfile
import time
from collections import Counter
from pathlib import Path

from scan import CGBENCH, best, head, run

from cgbench.machine import description

METHODS = ("simple", "pmi", "ibm1", "ibm2")
GOAL = "30 s"


def plain_model_1(pairs: list[tuple[list[str], list[str]]], iterations: int = 5) -> int:
    """Model 1, target words explained by source words; returns the number of links."""
    t: dict[tuple[str | None, str], float] = {}
    links = 0
    for iteration in range(iterations):
        counts: Counter[tuple[str | None, str]] = Counter()
        totals: Counter[str | None] = Counter()
        for source, target in pairs:
            given = [None, *source]
            for word in target:
                weights = [t.get((other, word), 1e-9) for other in given]
                if iteration == iterations - 1:
                    links += max(weights) > weights[0]
                    continue
                total = sum(weights)
                for other, weight in zip(given, weights, strict=True):
                    counts[other, word] += weight / total
                    totals[other] += weight / total
        t = {pair: count / totals[pair[0]] for pair, count in counts.items()}
    return links


def places(source: Path, target: Path) -> int:
    """Where two words meet, over all pairs."""
    with source.open() as first, target.open() as second:
        return sum(len(x.split()) * len(y.split()) for x, y in zip(first, second, strict=True))


def measure(source: Path, target: Path, sample: int, repeat: int, work: Path) -> list[str]:
    """The rows of the table."""
    few = [head(path, sample, work / f"few.{side}") for side, path in enumerate((source, target))]
    learn = [*CGBENCH, "lexicon", "learn", "--format", "json", "--out", work / "x.json"]
    run([*learn, "--method", "ibm1", *few])  # compiles on the first run
    rows, walls = [], {}
    for method in METHODS:
        usage = best([*learn, "--method", method, source, target], repeat)
        walls[method] = usage.wall
        size = (work / "x.json").stat().st_size / 1e6
        rows.append(
            f"| `{method}`: {json.loads(usage.output)['entries']:,} entries, {size:,.0f} MB "
            f"| {usage.wall:.1f} s ({usage.cpu:.1f} s CPU), {usage.memory:,.0f} MB | {GOAL} |"
        )
    with few[0].open() as first, few[1].open() as second:
        pairs = [(x.split(), y.split()) for x, y in zip(first, second, strict=True)]
    began = time.perf_counter()
    plain_model_1(pairs)
    seconds = time.perf_counter() - began
    ratio = seconds * 2 * places(source, target) / places(*few) / walls["ibm1"]
    rows.append(
        f"| Model 1 in plain Python, one direction, {len(pairs):,} pairs | {seconds:.1f} s: both"
        f" directions of all pairs {ratio:.0f} x as long as `ibm1` | |"
    )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--pairs", type=int, default=100_000)
    parser.add_argument("--sample", type=int, default=2_000)
    parser.add_argument("--repeat", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        sides = [
            head(path, given.pairs, work / f"all.{side}")
            for side, path in enumerate((given.source, given.target))
        ]
        rows = measure(*sides, given.sample, given.repeat, work)
        where = f"{given.pairs:,} pairs, {places(*sides):,} places where two words meet"
    print(
        f"{datetime.date.today()}, {description()}; {where}\n\n| what | measured | goal"
        " |\n|---|---|---|"
    )
    print("\n".join(rows))


if __name__ == "__main__":
    main()

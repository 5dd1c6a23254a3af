"""Speed of ``cgbench stats`` against its twin in plain Python, whole processes in the same run.

    python perf/stats.py COGS [--texts TRAIN TEST] [--repeat 3]

COGS is a folder with train.tsv.gz and gen.tsv.gz. Prints a Markdown table; with ``--texts`` the
same for two larger plain texts. Times are the best of the repeats, taken in turns, after one run
that is not counted (it compiles the kernels if necessary). If the numbers of both differ, nothing
is printed.
"""

import argparse
import datetime
import json
import math
import sys
from pathlib import Path

from scan import CGBENCH, run

from cgbench.machine import description

PLAIN = Path(__file__).with_name("stats_plain.py")
KEYS = ("examples", "degree", "novel_words")  # what the twin gives, too


def compare(what: str, train: Path, test: Path, repeat: int, goals: tuple[str, str]) -> list[str]:
    """The rows of the table for one pair of texts."""
    ours = [*CGBENCH, "stats", "--train", train, "--test", test, "--format", "json"]
    plain = [sys.executable, PLAIN, train, test]
    found = json.loads(run(ours).output)
    pairs = [(run(ours), run(plain)) for _ in range(repeat)]
    fast, slow = (min(column, key=lambda one: one.wall) for column in zip(*pairs, strict=True))
    expected = json.loads(slow.output)
    same = math.isclose(found["degree"], expected["degree"], rel_tol=1e-12)
    if not same or any(found[key] != expected[key] for key in KEYS if key != "degree"):
        raise SystemExit(f"the figures differ: {found} and {expected}")
    ratios = sorted(two.wall / one.wall for one, two in pairs)
    span = f"{slow.wall / fast.wall:.1f} x ({ratios[0]:.1f} to {ratios[-1]:.1f} in single pairs)"
    return [
        (
            f"| `cgbench stats`, {what}, whole process | {fast.wall:.2f} s ({fast.cpu:.2f} s CPU) |"
            f" {goals[0]} |"
        ),
        f"| the same in plain Python | {slow.wall:.2f} s = {span} | {goals[1]} |",
        f"| memory | {fast.memory:.0f} MB, plain Python {slow.memory:.0f} MB | |",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cogs", type=Path, help="folder with train.tsv.gz and gen.tsv.gz")
    parser.add_argument(
        "--texts", type=Path, nargs=2, metavar=("TRAIN", "TEST"), help="plain texts of one language"
    )
    parser.add_argument("--repeat", type=int, default=3, help="runs of each")
    options = parser.parse_args()
    cogs = options.cogs / "train.tsv.gz", options.cogs / "gen.tsv.gz"
    rows = compare("COGS", *cogs, options.repeat, ("3 s", "20 x"))
    if options.texts:
        rows += compare(
            f"{options.texts[0].name}, {options.texts[1].name}",
            *options.texts,
            options.repeat,
            ("", ""),
        )
    print(f"{datetime.date.today()}, {description()}\n")
    print("| what | measured | goal |\n|---|---|---|")
    print("\n".join(rows))


if __name__ == "__main__":
    main()

"""Speed of ``score import``: many systems, all pairs; and of the paired bootstrap of BLEU against
sacrebleu's.

    python perf/imported.py [--systems 100] [--segments 10000] [--repeat 3]

Times are the best of the repeats. The second part runs both programs in turn on the same files, on
one core and on all; its ratio is that of processor times, which other work hardly changes.
"""

import argparse
import datetime
import os
import sys
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
from scan import CGBENCH, best, in_turn, run
from score import SYSTEMS, write_systems

from cgbench.machine import description


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--systems", type=int, default=100)
    parser.add_argument("--segments", type=int, default=10_000)
    parser.add_argument("--repeat", type=int, default=3)
    given = parser.parse_args()
    print(f"{datetime.date.today()}, {description()}\n")
    print("| what | measured | goal |\n|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rng = np.random.default_rng(1)
        hard = rng.normal(size=given.segments)
        words = []
        for system in range(given.systems):
            scores = 0.8 + 0.1 * hard + 0.002 * system + 0.05 * rng.normal(size=given.segments)
            np.savetxt(folder / f"s{system}", scores, fmt="%.6f")
            words += ["--scores", folder / f"s{system}"]
        for paired in ("bootstrap", "randomization"):
            asked = ["--all-pairs", "--paired", paired, "--set", "samples=1000", "--format", "json"]
            found = best([*CGBENCH, "score", "import", *words, *asked], given.repeat)
            print(
                f"| import of {given.systems} systems x {given.segments:,} segments, all pairs by"
                f" {paired}, 1,000 samples | {found.wall:.1f} s ({found.cpu:.1f} s CPU),"
                f" {found.memory:.0f} MB | 20 s, 1,000 MB |",
                flush=True,
            )
        write_systems(folder)
        cores = sorted(os.sched_getaffinity(0))[:2]
        hypotheses = [folder / f"s{system}" for system in range(SYSTEMS)]
        systems = [
            word
            for number, path in enumerate(hypotheses)
            for word in ("--hyp", f"s{number}={path}")
        ]
        for count, goal in ((1, 0.6), (len(cores), 0.4)):
            os.sched_setaffinity(0, cores[:count])  # the programs inherit it
            score = [
                *CGBENCH,
                "score",
                "bleu",
                "--ref",
                folder / "ref",
                *systems,
                "--paired",
                "bootstrap",
            ]
            peer = [
                sys.executable,
                "-m",
                "sacrebleu",
                folder / "ref",
                "-i",
                *hypotheses,
                "-m",
                "bleu",
                "--paired-bs",
            ]
            peer += ["--paired-bs-n", "1000"]
            ours, theirs = in_turn(given.repeat, partial(run, score), partial(run, peer))
            print(
                f"| paired bootstrap of BLEU, {SYSTEMS} systems, {count} core{'s' * (count > 1)},"
                f" calibrated test, too | {ours.cpu:.2f} s CPU = {ours.cpu / theirs.cpu:.2f} x"
                f" sacrebleu ({theirs.cpu:.2f} s CPU); {ours.wall:.2f} and {theirs.wall:.2f} s |"
                f" {goal} x |",
                flush=True,
            )


if __name__ == "__main__":
    main()

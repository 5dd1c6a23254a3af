"""Speed and memory of known n-grams and the pool scan, as ratios against peers measured in the same
run.

    python perf/scan.py CORPORA [--sample 50000] [--repeat 3]
    python perf/scan.py --small                                   # makes a small corpus of its own

CORPORA contains train.{de,en} and pool.{de,en}.
Prints a Markdown table. Every figure is of a fresh process, with the files in the page cache; times
are the best of the repeats, memory is the peak resident set. The scan is ``cgbench build-react
--until candidates``: text of both sides, known n-grams, rare-word filter, degree, Parquet, the
candidates.
"""

import argparse
import datetime
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from cgbench.machine import description

PLAIN = Path(__file__).with_name("plain.py")
CGBENCH = [sys.executable, "-m", "cgbench"]
LEARN = """
import sys
from pathlib import Path
from cgbench.benchmark.measure.known_ngrams.known import KnownNgrams
ngrams = KnownNgrams.learn(Path(sys.argv[1]))
print(len(ngrams), ngrams.longest, int(ngrams.words.counts.sum()))
"""


@dataclass(frozen=True)
class Usage:
    """Seconds of wall clock and processor, peak memory in MB, and what the process printed."""

    wall: float
    cpu: float
    memory: float
    output: str = ""


def environment_with(**settings: str) -> dict[str, str]:
    """The environment of a measured process: the first run keeps its bytecode for the others."""
    return {**os.environ, **settings, "PYTHONDONTWRITEBYTECODE": ""}


def run(command: Sequence[str | Path]) -> Usage:
    """Run a command to its end and see what it took, without what an earlier run has kept."""
    with tempfile.TemporaryFile() as output:
        began = time.perf_counter()
        child = os.posix_spawnp(
            str(command[0]),
            [str(part) for part in command],
            environment_with(CGBENCH_CACHE="0"),
            file_actions=[(os.POSIX_SPAWN_DUP2, output.fileno(), 1)],
        )
        _, status, usage = os.wait4(child, 0)
        wall = time.perf_counter() - began
        output.seek(0)
        text = output.read().decode()
    if status:
        raise SystemExit(f"failed: {' '.join(map(str, command))}")
    return Usage(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, text)


def best(command: Sequence[str | Path], repeat: int) -> Usage:
    """The shortest time and the largest memory of some runs."""
    runs = [run(command) for _ in range(repeat)]
    fastest = min(runs, key=lambda one: one.wall)
    return Usage(fastest.wall, fastest.cpu, max(one.memory for one in runs), fastest.output)


def in_turn(repeat: int, *commands: Callable[[], Usage]) -> list[Usage]:
    """Run commands in turn, so that all see the same machine: of each the run that took the least
    processor time, with the largest memory of all.
    """
    rounds = [[command() for command in commands] for _ in range(repeat)]
    return [
        replace(min(runs, key=lambda one: one.cpu), memory=max(one.memory for one in runs))
        for runs in zip(*rounds, strict=True)
    ]


def scan(corpora: Path, pool: Sequence[Path], work: Path, candidates: int) -> list[str | Path]:
    """The command that scans a pool; its output folder must not exist."""
    return [
        *CGBENCH,
        "build-react",
        "--train",
        corpora / "train.de",
        corpora / "train.en",
        "--pool",
        *pool,
        "--out",
        work,
        "--until",
        "candidates",
        "--accept-text",  # made-up texts may have both sides in one language
        "--set",
        f"candidates={candidates}",
    ]


def best_scan(
    corpora: Path, pool: Sequence[Path], work: Path, candidates: int, repeat: int
) -> Usage:
    """The same as :func:`best`, each run into an empty folder."""
    runs = []
    for _ in range(repeat):
        shutil.rmtree(work, ignore_errors=True)
        runs.append(run(scan(corpora, pool, work, candidates)))
    fastest = min(runs, key=lambda one: one.wall)
    return Usage(fastest.wall, fastest.cpu, max(one.memory for one in runs))


def head(path: Path, lines: int, out: Path) -> Path:
    """Write the first lines of a file."""
    with path.open("rb") as source, out.open("wb") as target:
        for _, line in zip(range(lines), source, strict=False):
            target.write(line)
    return out


def repeated(path: Path, out: Path, lines: int = 10_000, times: int = 4) -> Path:
    """A training text with lines added that each occur several times: its own words, shuffled."""
    rng = np.random.default_rng(0)
    words = path.read_bytes().split()
    picked = rng.integers(0, len(words), (lines, 40))
    added = b"".join((b" ".join(words[i] for i in row) + b"\n") * times for row in picked)
    out.write_bytes(path.read_bytes() + added)
    return out


def make_corpora(folder: Path, train: int, pool: int) -> None:
    """Texts like real ones: sentences made of pieces of sentences, words by Zipf's law, two
    unrelated sides; half of the pairs of the pool have a rare word.

    :param train, pool: numbers of pairs.
    """
    rng = np.random.default_rng(1)
    for language, letter in (("de", "ü"), ("en", "i")):
        weights = 1 / np.arange(3, 8003)
        words = np.array([f"{language}{number:x}{letter * (number % 2)}" for number in range(8000)])
        phrases = [
            " ".join(words[rng.choice(8000, n, p=weights / weights.sum())])
            for n in rng.integers(1, 7, 5000)
        ]
        for name, lines, share_of_rare in (("train", train, 0), ("pool", pool, 0.3)):
            with (folder / f"{name}.{language}").open("w") as file:
                for first in range(0, lines, 100_000):
                    count = min(100_000, lines - first)
                    picks = np.minimum(rng.zipf(1.3, (count, 6)) - 1, 4999).tolist()
                    sentences = [" ".join([phrases[i] for i in row]) for row in picks]
                    for line in np.flatnonzero(rng.random(count) < share_of_rare).tolist():
                        sentences[line] += f" {language}q{first + line}"
                    file.write("\n".join(sentences) + "\n")


def measure(corpora: Path, work: Path, sample: int, repeat: int) -> list[tuple[str, str, str]]:
    """All rows of the table: (what, measured, goal)."""
    train, pool = (
        [corpora / f"{name}.{language}" for language in ("de", "en")] for name in ("train", "pool")
    )
    run(["md5sum", *train, *pool])  # brings the files into the page cache
    pairs = int(run(["wc", "-l", pool[0]]).output.split()[0])
    candidates = min(60_000, pairs // 20)
    out = work / "out"
    run(
        scan(corpora, [head(path, 2000, work / path.name) for path in pool], out, 10)
    )  # compiles on the first run

    rows = []
    count, whole = in_turn(
        repeat,
        lambda: run(["wc", "-w", *pool]),
        lambda: best_scan(corpora, pool, out, candidates, 1),
    )
    ratio = f"{whole.wall / count.wall:.2f} x `wc -w` ({count.wall:.2f} s)"
    ratio += f", {whole.cpu / count.cpu:.2f} x its processor time"
    rows.append(
        (
            (
                f"whole scan, {pairs:,} pairs,"
                f" {sum(path.stat().st_size for path in pool) / 1e6:,.0f} MB"
            ),
            f"{whole.wall:.2f} s ({whole.cpu:.2f} s CPU) = {ratio}",
            "0.70 x `wc -w`",
        )
    )
    few = [head(path, sample, work / f"sample.{path.name}") for path in pool]
    plain = json.loads(run([sys.executable, PLAIN, *train, *few, str(candidates)]).output)
    seconds = plain["learn"] + plain["scan"] * pairs / plain["pairs"]
    rows.append(
        (
            f"the same in plain Python (scan extrapolated from {plain['pairs']:,} pairs)",
            f"{seconds:,.0f} s CPU = {seconds / whole.cpu:,.0f} x the scan's processor time",
            "100 x",
        )
    )
    part = [head(path, pairs * 10 // 45, work / f"part.{path.name}") for path in pool]
    less = best_scan(corpora, part, out, candidates, 1)
    rows.append(
        (
            f"peak memory, {pairs * 10 // 45:,} and {pairs:,} pairs",
            f"{less.memory:.0f} and {whole.memory:.0f} MB, {whole.memory / less.memory:.3f} x",
            "400 MB, within 10%",
        )
    )
    learn = best([sys.executable, "-c", LEARN, pool[1]], 1)
    ngrams, longest, tokens = map(int, learn.output.split())
    rows.append(
        (
            f"known n-grams of {tokens:,} words: {ngrams:,}, up to {longest} words",
            f"{learn.wall:.1f} s, {learn.memory / 1000:.2f} GB",
            "40 s, 4 GB",
        )
    )
    once = best([sys.executable, "-c", LEARN, train[1]], repeat)
    more = best([sys.executable, "-c", LEARN, repeated(train[1], work / "repeated")], repeat)
    rows.append(
        (
            (
                f"10,000 lines, four times each, added to {int(once.output.split()[2]):,} words of"
                " training"
            ),
            (
                f"{more.wall:.2f} s for {once.wall:.2f} s = {more.wall / once.wall:.2f} x time,"
                f" {more.memory:.0f} MB for {once.memory:.0f} MB = {more.memory / once.memory:.2f}"
                " x memory"
            ),
            "3 x",
        )
    )
    usage = best([*CGBENCH, "--help"], repeat)
    rows.append(("`cgbench --help`", f"{usage.wall:.2f} s", "0.5 s"))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "corpora", type=Path, nargs="?", help="folder with train.{de,en} and pool.{de,en}"
    )
    parser.add_argument("--small", action="store_true", help="make a small corpus instead")
    parser.add_argument("--sample", type=int, default=50_000, help="pairs that plain Python scans")
    parser.add_argument("--repeat", type=int, default=3, help="runs of what takes little time")
    options = parser.parse_args()
    if (options.corpora is None) != options.small:
        parser.error("give a folder of corpora, or --small")
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        corpora = options.corpora
        if options.small:
            corpora = work / "corpora"
            corpora.mkdir()
            make_corpora(corpora, train=20_000, pool=200_000)
        rows = measure(corpora, work, options.sample, options.repeat)
    print(f"{datetime.date.today()}, {description()}\n")
    if options.small:
        print(
            "A small corpus: starting takes most of the time. The goals are for 4.5M pairs and 100M"
            " words.\n"
        )
    print("| what | measured | goal |\n|---|---|---|")
    for row in rows:
        print("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()

"""Large input: the time and the memory of what reads it, as sizes grow.

    python perf/load.py FOLDER [--pairs 50000000] [--words 400000000] [--distinct 20000000] [--line
                        1000000] [--only pool,ngrams,lm,distinct,lines] [--order 5]

Texts are made in FOLDER and removed after use: segments of 2 to 12 words from a fixed stretch of
words by Zipf's law, so that n-grams come again as in real text; ``distinct`` has words that occur
three times each. Each stage runs as a fresh process at a quarter of its size and at all of it: what
is flat has the same memory at both. A line a run goes to FOLDER/load.jsonl; a Markdown table is
printed.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

CGBENCH = [sys.executable, "-m", "cgbench"]
VOCABULARY = 60_000
STRETCH = 4_000_000  # words that segments are taken from
PART = 4_000_000  # words made at a time
LENGTH = 22  # words of a sentence
TRAIN_PAIRS = 160_000
LEARN = (
    "import sys, zlib; from pathlib import Path;"
    " from cgbench.benchmark.measure.known_ngrams.known import KnownNgrams;"
    " known = KnownNgrams.learn(Path(sys.argv[1]));"
    " checksum = zlib.crc32(known.slots.data, zlib.crc32(known.tails[3].data));"
    " print(len(known), 'n-grams,', len(known.words), 'words,', 'checksum', checksum)"
)


def spelled(numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The letters [n, 8] and lengths [n] of made-up words, one a number; a blank follows each."""
    letters = np.full((len(numbers), 8), 32, np.uint8)
    rest, lengths = numbers.astype(np.int64), np.zeros(len(numbers), np.int64)
    for place in range(7):
        more = (rest > 0) | (place < 2)
        letters[more, place] = 97 + rest[more] % 26
        lengths += more
        rest //= 26
    return letters, lengths + 1


def write_words(path: Path, parts: Any, length: int = LENGTH) -> None:
    """Write numbers of words as lines of ``length`` words."""
    with path.open("wb") as file:
        for numbers in parts:
            letters, lengths = spelled(numbers)
            flat = letters[np.arange(8) < lengths[:, None]]
            ends = np.cumsum(lengths)[length - 1 :: length] - 1
            flat[ends] = 10
            file.write(flat.data)
        if len(numbers) % length:
            file.write(b"\n")


def segments(words: int, seed: int, unit: int = LENGTH) -> Any:
    """Numbers of words, about :data:`PART` at a time, whole lines of ``unit`` words each."""
    stretch_of = np.random.default_rng(1)
    weights = 1.0 / np.arange(10, VOCABULARY + 10)
    stretch = stretch_of.choice(VOCABULARY, STRETCH, p=weights / weights.sum())
    draw = np.random.default_rng(seed)
    left = words
    while left > 0:
        size = max(unit, min(PART, left) // unit * unit)
        lengths = draw.integers(2, 13, size // 2 + 1)
        lengths = lengths[: int(np.searchsorted(np.cumsum(lengths), size)) + 1]
        begins = draw.integers(0, STRETCH - 13, len(lengths))
        places = np.repeat(begins - np.cumsum(lengths) + lengths, lengths) + np.arange(
            lengths.sum()
        )
        yield stretch[places[:size]]
        left -= size


def distinct(words: int) -> Any:
    """Every number three times, in another order each time."""
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(words)
        for low in range(0, words, PART // LENGTH * LENGTH):
            yield order[low : low + PART // LENGTH * LENGTH]


@dataclass(frozen=True)
class Run:
    """One measured process."""

    stage: str
    size: int
    unit: str
    seconds: float
    processor: float
    megabytes: float
    bytes: int
    said: str


# A child that is started from a large process counts that one's memory as its own peak; so a small
# one starts it.
MEASURE = """
import json, resource, subprocess, sys, time
began = time.perf_counter()
done = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
peak = usage.ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)
said = done.stdout.strip().split("\\n")[-1][:200]
seconds = time.perf_counter() - began
print(json.dumps([done.returncode, seconds, usage.ru_utime + usage.ru_stime, peak, said]))
"""


def measure(stage: str, size: int, unit: str, bytes_: int, command: Sequence[object]) -> Run:
    """Run a command to its end."""
    words = [sys.executable, "-c", MEASURE, *map(str, command)]
    status, *figures = json.loads(subprocess.run(words, stdout=subprocess.PIPE, check=True).stdout)
    if status:
        raise SystemExit(f"{stage}: {figures[-1]}")
    seconds, processor, peak, said = figures
    return Run(stage, size, unit, seconds, processor, peak, bytes_, said)


def pool(folder: Path, pairs: int, given: argparse.Namespace) -> Run:
    """The scan and the cut: ``build-react --until candidates``."""
    names = {}
    for kind, number, seed in (("train", TRAIN_PAIRS, 1), ("pool", pairs, 3)):
        names[kind] = [folder / f"{kind}.de", folder / f"{kind}.en"]
        for side, path in enumerate(names[kind]):
            write_words(path, segments(number * LENGTH, seed + side))
    size = sum(path.stat().st_size for path in names["pool"])
    words = [
        "build-react",
        "--train",
        *names["train"],
        "--pool",
        *names["pool"],
        "--until",
        "candidates",
    ]
    return measure(
        "build-react --until candidates",
        pairs,
        "pairs",
        size,
        [*CGBENCH, *words, "--out", folder / "out"],
    )


def text_stage(
    name: str, unit: str, make: Callable[[int], Any], command: Callable[[Path], list[object]]
) -> Any:
    """A stage that reads one text."""

    def work(folder: Path, size: int, given: argparse.Namespace) -> Run:
        path = folder / "text"
        write_words(path, make(size))
        return measure(name, size, unit, path.stat().st_size, command(path))

    return work


def long_lines(folder: Path, words: int, given: argparse.Namespace) -> Run:
    """``degree`` of ten lines of so many words, known n-grams from as many."""
    for name, seed in (("train", 1), ("text", 2)):
        write_words(folder / name, segments(10 * words, seed, words), words)
    return measure(
        "degree, ten lines, learned from ten",
        words,
        "words a line",
        (folder / "text").stat().st_size,
        [*CGBENCH, "degree", "--train", folder / "train", folder / "text"],
    )


def stages(given: argparse.Namespace) -> dict[str, tuple[int, Any]]:
    """Every stage with its full size."""

    def learn(path: Path) -> list[object]:
        return [sys.executable, "-c", LEARN, path]

    def language_model(path: Path) -> list[object]:
        return [
            *CGBENCH,
            "lm",
            "train",
            "--order",
            given.order,
            "--out",
            path.with_name("m.arpa"),
            path,
        ]

    return {
        "pool": (given.pairs, pool),
        "ngrams": (
            given.words,
            text_stage("known n-grams", "words", lambda size: segments(size, 1), learn),
        ),
        "lm": (
            given.words,
            text_stage("lm train", "words", lambda size: segments(size, 1), language_model),
        ),
        "distinct": (
            given.distinct,
            text_stage("known n-grams", "distinct words", distinct, learn),
        ),
        "lines": (given.line, long_lines),
    }


def keep(run: Run, folder: Path) -> None:
    """Log a run, and print it."""
    with (folder / "load.jsonl").open("a") as log:
        log.write(json.dumps(vars(run)) + "\n")
    print(
        f"| {run.stage} | {run.size:,} {run.unit} | {run.bytes / 1e6:,.0f} MB | {run.seconds:.1f} "
        f"({run.processor:.1f}) | {run.megabytes:,.0f} MB |",
        flush=True,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """See the top of this file."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pairs", type=int, default=50_000_000)
    parser.add_argument("--words", type=int, default=400_000_000)
    parser.add_argument("--distinct", type=int, default=20_000_000)
    parser.add_argument("--line", type=int, default=1_000_000)
    parser.add_argument("--order", type=int, default=5)
    parser.add_argument("--only", default="pool,ngrams,distinct,lines,lm")
    given = parser.parse_args(arguments)
    given.folder.mkdir(parents=True, exist_ok=True)
    known = stages(given)
    print("| stage | size | text | seconds (processor) | peak memory |")
    print("|---|---:|---:|---:|---:|")
    for name in given.only.split(","):
        size, work = known[name]
        for part in (size,) if given.text else (size // 4, size):
            with tempfile.TemporaryDirectory(dir=given.folder) as place:
                run = work(Path(place), part, given)
                shutil.rmtree(place)
                Path(place).mkdir()
            keep(run, given.folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())

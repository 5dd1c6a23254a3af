"""Speed and memory of ``cgbench overlap``: a corpus read through the n-grams of a test set, beside
the scan of a pool.

    python perf/overlap.py [--words 100000000] [--pairs 3000] [--folder FOLDER] [--repeat 1]
    python perf/overlap.py --loops [--words 10000000]       # the loops alone, in this process

Texts are those of ``perf/load.py``: segments of 2 to 12 words that come again, as in real text; the
test set is of other draws from the same. The corpus is two files of half the words each, which are
also the two sides of the pool that ``cgbench build-react --until candidates`` scans. Fresh
processes with the files in the page cache, after a run on a tiny text that compiles the loops;
processor time is that of all workers. Memory is that of the largest process, for the corpus and for
a quarter of it: flat is the same.
"""

import argparse
import datetime
import json
import shutil
import tempfile
import time
from pathlib import Path

from load import LENGTH, segments, write_words
from scan import (
    CGBENCH,
    Usage,
    best,
    best_scan,
    in_turn,
    run,
)  # isort: skip - load takes this folder off the path

from cgbench.machine import description


def overlap(test: tuple[Path, Path], corpus: list[Path]) -> list[str | Path]:
    """The command that is measured."""
    return [*CGBENCH, "overlap", *test, "--corpus", *corpus, "--format", "json"]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--words", type=int, default=100_000_000, help="of the corpus, both files")
    parser.add_argument("--pairs", type=int, default=3000, help="of the test set")
    parser.add_argument(
        "--folder", type=Path, help="where the texts are made (default: the system's)"
    )
    parser.add_argument("--repeat", type=int, default=1, help="runs of each")
    parser.add_argument("--loops", action="store_true", help="the loops alone, in this process")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="overlap-", dir=options.folder))
    try:
        if options.loops:
            loops(folder, options.words, options.pairs)
        else:
            measure(folder, options.words, options.pairs, options.repeat)
    finally:
        shutil.rmtree(folder)


def measure(folder: Path, words: int, pairs: int, repeat: int) -> None:
    """Make the texts, run both commands, print a table."""
    test = folder / "test.a", folder / "test.b"
    for seed, path in enumerate(test):
        write_words(path, segments(pairs * LENGTH, 100 + seed))
    corpus = [folder / "pool.de", folder / "pool.en"]
    quarter = [folder / "quarter.a", folder / "quarter.b"]
    for seed, (whole, part) in enumerate(zip(corpus, quarter, strict=True)):
        write_words(whole, segments(words // 2, 200 + seed))
        write_words(part, segments(words // 8, 200 + seed))
        write_words(folder / f"train.{whole.suffix[1:]}", segments(2_000_000, 300 + seed))
    run(overlap(test, [test[0]]))
    small = best(overlap(test, quarter), 1)
    found, pool = in_turn(
        repeat,
        lambda: run(overlap(test, corpus)),
        lambda: best_scan(folder, corpus, folder / "work", 3000, 1),
    )
    read = json.loads(found.output)["corpus"]["words"]
    print(f"{datetime.date.today()}, {description()}\n")
    print("| what | measured |\n|---|---|")
    print(
        f"| `cgbench overlap`, {pairs:,} pairs, {read:,} words | {shown(found, read)};"
        f" {found.memory:.0f} MB |"
    )
    print(f"| the same, a quarter of the words | {small.wall:.1f} s; {small.memory:.0f} MB |")
    print(f"| scan of the same files as a pool | {shown(pool, read)} |")
    print(f"| overlap's words a processor second, of the scan's | {pool.cpu / found.cpu:.2f} x |")


def loops(folder: Path, words: int, pairs: int) -> None:
    """Processor time of the loops over one file, beside those of the scan over the same."""
    from cgbench.benchmark.measure.known_ngrams.known import KnownNgrams
    from cgbench.benchmark.measure.known_ngrams.vocabulary import Vocabulary
    from cgbench.benchmark.measure.overlap.automaton import Automaton
    from cgbench.text.shards import Shard, read_shard

    corpus, train = folder / "corpus", folder / "train"
    write_words(corpus, segments(words, 200))
    write_words(train, segments(2_000_000, 300))
    lines = []
    for seed in (100, 101):
        write_words(folder / "test", segments(pairs * LENGTH, seed))
        lines += (folder / "test").read_text().splitlines()
    vocabulary = Vocabulary.learn(lines, min_count=1)
    ids, lengths = vocabulary.read_lines(lines)
    automaton = Automaton.build(ids, lengths, len(vocabulary))
    known = KnownNgrams.learn(train, min_count=3)
    matches = automaton.no_matches(3)
    spent = dict.fromkeys(
        ("reading and UTF-8", "words to ids", "the automaton", "scan: ids and least covers"), 0.0
    )
    read = held = 0
    shard = Shard(corpus, None, 0, corpus.stat().st_size)
    last = time.process_time()

    def note(what: str) -> None:
        nonlocal last
        now = time.process_time()
        spent[what] += now - last if read else 0.0  # the first block compiles
        last = now

    for block in read_shard(shard):
        note("reading and UTF-8")
        found, sizes = vocabulary.read(block)
        note("words to ids")
        held += automaton.read(found, sizes, matches)
        note("the automaton")
        known.measure_block(block)
        note("scan: ids and least covers")
        read += len(found)
    print(f"{datetime.date.today()}, {description()}\n")
    print(
        f"{read:,} words, {held / read:.0%} of them in the test text of {len(ids):,} words,"
        f" {len(automaton):,} states\n"
    )
    print("| loop | words a CPU second |\n|---|---|")
    for what, seconds in spent.items():
        print(f"| {what} | {read / seconds / 1e6:.1f}M |")
    ours = sum(list(spent.values())[:3])
    print(f"| overlap, all three | {read / ours / 1e6:.1f}M |")


def shown(usage: Usage, words: int) -> str:
    """Times, and words a second of processor time."""
    return (
        f"{usage.wall:.1f} s ({usage.cpu:.1f} s CPU, {words / usage.cpu / 1e6:.2f}M words a CPU"
        " second)"
    )


if __name__ == "__main__":
    main()

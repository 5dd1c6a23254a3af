"""Speed of the search for probes (``cgbench parts``), beside its definition in plain Python on the
same text.

    python perf/parts.py TRAIN POOL TEST [--lines 20000]

Each is one side of a text, as plain files. Prints a Markdown table: pairs read per second of
processor time. In the best pair with each piece, both must find the same number of neighbours that
are known with it, or nothing is printed.
"""

import argparse
import itertools
import tempfile
import time
from pathlib import Path

import numpy as np

from cgbench.benchmark.measure.known_ngrams.known import KnownNgrams
from cgbench.studies.parts.ngrams import Search
from cgbench.text.corpus import index_pair


def plain(known: KnownNgrams, pieces: dict[tuple[str, ...], int], lines: list[str]) -> np.ndarray:
    """The most neighbours that are known with each piece; -1 where no line has it."""
    found, longest = np.full(len(pieces), -1), max(map(len, pieces))
    is_known: dict[tuple[str, ...], bool] = {}

    def check(ngram: tuple[str, ...]) -> bool:
        if ngram not in is_known:
            is_known[ngram] = ngram in known
        return is_known[ngram]

    for line in lines:
        words = tuple(line.split())
        for start in range(len(words)):
            for end in range(start + 1, min(len(words), start + longest) + 1):
                piece = pieces.get(words[start:end])
                if piece is not None:
                    near = check(words[max(0, start - 1) : end]) + check(words[start : end + 1])
                    found[piece] = max(found[piece], near)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name in ("train", "pool", "test"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--lines", type=int, default=20_000, help="of the pool, for both")
    options = parser.parse_args()
    known = KnownNgrams.learn(options.train)
    covers = known.cover(options.test.read_text(encoding="utf-8").splitlines())
    pieces = {piece: 0 for cover in covers for piece in cover if piece in known}
    pieces = {piece: number for number, piece in enumerate(pieces)}
    with options.pool.open(encoding="utf-8") as file, tempfile.TemporaryDirectory() as folder:
        lines = [line.rstrip("\n") for line in itertools.islice(file, options.lines)]
        text = Path(folder) / "pool"
        text.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        none = np.zeros(0, np.uint64)
        for _ in range(2):  # the first compiles
            search = Search(known, list(pieces), "target", [(none, none)], max_length=9999, k=5)
            began = time.process_time()
            search.read([index_pair(text, text)])
            ours = time.process_time() - began
    began = time.process_time()
    found = plain(known, pieces, [line for line in lines if line])
    theirs = time.process_time() - began
    same = np.full(len(pieces), -1)
    np.maximum.at(same, search.kept["piece"], 2 - search.kept["new"])
    if not np.array_equal(found, same):
        raise SystemExit("the two differ")
    print(
        "| pairs | pieces | cgbench, pairs per second | plain Python | ratio"
        " |\n|---:|---:|---:|---:|---:|"
    )
    rates = f"{len(lines) / ours:,.0f} | {len(lines) / theirs:,.0f} | {theirs / ours:.1f}"
    print(f"| {len(lines):,} | {len(pieces):,} | {rates} |")


if __name__ == "__main__":
    main()

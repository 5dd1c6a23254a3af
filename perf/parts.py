"""Speed of the search for probes (``cgbench parts``), beside its definition in plain Python on the same text.

    python perf/parts.py TRAIN POOL TEST [--lines 20000]

Each is one side of a text, as plain files. Prints a Markdown table: pairs read per second of processor time. Both must
find the same pairs with each piece, and the same pieces with known neighbours, or nothing is printed.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
import time
from pathlib import Path

import numpy as np

from cgbench.benchmark.known_ngrams.known import KnownNgrams
from cgbench.benchmark.parts.ngrams import Limits, NgramPieces, Search
from cgbench.text.corpus import index_pair


def plain(known: KnownNgrams, pieces: dict[tuple[str, ...], int], lines: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """The lines with each piece, and those in which both neighbours are known with it."""
    found, good = np.zeros(len(pieces), np.int64), np.zeros(len(pieces), np.int64)
    longest = max(map(len, pieces))
    is_known: dict[tuple[str, ...], bool] = {}

    def check(ngram: tuple[str, ...]) -> bool:
        if ngram not in is_known:
            is_known[ngram] = ngram in known
        return is_known[ngram]

    for line in lines:
        words = tuple(line.split())
        best: dict[int, bool] = {}
        for start in range(len(words)):
            for end in range(start + 1, min(len(words), start + longest) + 1):
                piece = pieces.get(words[start:end])
                if piece is not None:
                    near = check(words[max(0, start - 1) : end]) and check(words[start : end + 1])
                    best[piece] = best.get(piece, False) or near
        found[list(best)] += 1
        good[[piece for piece, near in best.items() if near]] += 1
    return found, good


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
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
            search = Search(NgramPieces(known, list(pieces)), known.words, "target", Limits(9999, 2, 5), (none, none))
            began = time.process_time()
            search.read([index_pair(text, text)])
            ours = time.process_time() - began
    began = time.process_time()
    found, good = plain(known, pieces, [line for line in lines if line])
    theirs = time.process_time() - began
    if not np.array_equal(found, search.found) or not np.array_equal(good > 0, search.stage == 4):
        raise SystemExit("the two differ")
    print("| pairs | pieces | cgbench, pairs per second | plain Python | ratio |\n|---:|---:|---:|---:|---:|")
    rates = f"{len(lines) / ours:,.0f} | {len(lines) / theirs:,.0f} | {theirs / ours:.1f}"
    print(f"| {len(lines):,} | {len(pieces):,} | {rates} |")


if __name__ == "__main__":
    main()

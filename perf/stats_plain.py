"""The statistics of a test text in plain Python: what anybody would write first. The measure of
``perf/stats.py``.

    python stats_plain.py TRAIN TEST      # tab-separated, the first column; .gz too

Novel n-grams by sets of tuples, known n-grams level by level in dictionaries, the degree by dynamic
programming.
"""

import gzip
import json
import sys

from plain import known_ngrams, least_pieces


def read(path: str) -> list[list[str]]:
    opened = gzip.open if path.endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8") as file:
        return [line.split("\t")[0].split() for line in file]


def ngrams(sentences: list[list[str]], n: int) -> set[tuple[str, ...]]:
    return {tuple(words[i : i + n]) for words in sentences for i in range(len(words) - n + 1)}


def main(train: str, test: str) -> None:
    ours, theirs = read(train), read(test)
    known = known_ngrams(ours)
    degrees = [least_pieces(words, known) / len(words) for words in theirs]
    figures = {
        "examples": len(theirs),
        "degree": sum(degrees) / len(degrees),
        "novel_words": {str(n): len(ngrams(theirs, n) - ngrams(ours, n)) for n in (2, 3)},
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main(*sys.argv[1:])

"""The pool scan in plain Python: what anybody would write first. The measure of ``perf/scan.py``.

    python plain.py TRAIN_SOURCE TRAIN_TARGET POOL_SOURCE POOL_TARGET SIZE

Known n-grams level by level (an n-gram can only be known if both its (n - 1)-grams are), a
rare-word filter on both sides, the degree by dynamic programming, the SIZE highest degrees without
repeats. Prints the seconds of processor time that learning and scanning took, and a checksum of the
degrees, as JSON.
"""

import json
import sys
import time
from collections import Counter
from pathlib import Path

MIN_COUNT = 3
MIN_LENGTH = 6


def read(path: str) -> list[list[str]]:
    with Path(path).open(encoding="utf-8", newline="\n") as file:
        return [line.split() for line in file]


def usable_words(sentences: list[list[str]]) -> set[str]:
    counts = Counter(word for sentence in sentences for word in sentence)
    return {word for word, count in counts.items() if count >= MIN_COUNT}


def known_ngrams(sentences: list[list[str]]) -> set[tuple[str, ...]]:
    known: set[tuple[str, ...]] = set()
    level: set[tuple[str, ...]] = {(word,) for word in usable_words(sentences)}
    n = 1
    while level:
        known |= level
        n += 1
        counts: Counter[tuple[str, ...]] = Counter()
        for sentence in sentences:
            for start in range(len(sentence) - n + 1):
                ngram = tuple(sentence[start : start + n])
                if ngram[:-1] in level and ngram[1:] in level:
                    counts[ngram] += 1
        level = {ngram for ngram, count in counts.items() if count >= MIN_COUNT}
    return known


def least_pieces(words: list[str], known: set[tuple[str, ...]]) -> int:
    best = [0]
    for end in range(1, len(words) + 1):
        pieces = (
            start for start in range(end) if start == end - 1 or tuple(words[start:end]) in known
        )
        best.append(1 + min(best[start] for start in pieces))
    return best[-1]


def main(
    train_source: str, train_target: str, pool_source: str, pool_target: str, size: str
) -> None:
    began = time.process_time()
    target = read(train_target)
    usable = usable_words(read(train_source)), usable_words(target)
    known = known_ngrams(target)
    learned = time.process_time()
    rows = []
    pairs = zip(read(pool_source), read(pool_target), strict=True)
    for line, (one, two) in enumerate(pairs):
        if (
            one
            and two
            and all(word in usable[0] for word in one)
            and all(word in usable[1] for word in two)
        ):
            rows.append((least_pieces(two, known) / len(two), line, " ".join(one), " ".join(two)))
    rows.sort(reverse=True)
    sources: set[str] = set()
    targets: set[str] = set()
    chosen = 0
    for _, _, first, second in rows:
        if (
            chosen < int(size)
            and second.count(" ") + 1 >= MIN_LENGTH
            and first not in sources
            and second not in targets
        ):
            sources.add(first)
            targets.add(second)
            chosen += 1
    figures = {
        "learn": learned - began,
        "scan": time.process_time() - learned,
        "pairs": line + 1,
        "kept": len(rows),
        "degrees": sum(row[0] for row in rows),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main(*sys.argv[1:])

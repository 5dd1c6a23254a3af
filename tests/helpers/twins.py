"""Slow, obvious definitions of what the compiled loops must give."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence


def words_of(line: str) -> list[str]:
    return [word.decode() for word in line.encode().split()]


def count_words(lines: Iterable[str]) -> Counter[str]:
    return Counter(word for line in lines for word in words_of(line))


def known_ngrams(lines: Iterable[str], min_count: int) -> set[tuple[str, ...]]:
    """Every n-gram, of any length and within a line, that occurs at least ``min_count`` times."""
    counts: Counter[tuple[str, ...]] = Counter()
    for line in lines:
        words = words_of(line)
        for start in range(len(words)):
            for end in range(start + 1, len(words) + 1):
                counts[tuple(words[start:end])] += 1
    return {ngram for ngram, count in counts.items() if count >= min_count}


def least_pieces(words: Sequence[str], known: Collection[tuple[str, ...]]) -> int:
    """The definition, by dynamic programming: the fewest pieces; a single word is always one."""
    best = [0]
    for end in range(1, len(words) + 1):
        best.append(
            min(best[start] + 1 for start in range(end) if end - start == 1 or tuple(words[start:end]) in known)
        )
    return best[-1]


def degree(words: Sequence[str], known: Collection[tuple[str, ...]]) -> float:
    return least_pieces(words, known) / len(words) if words else 0.0


def survives(line: str, usable: Collection[str]) -> bool:
    """The OOV filter on one side: every word is usable."""
    return all(word in usable for word in words_of(line))


def is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True

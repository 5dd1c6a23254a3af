"""Slow, obvious definitions of what the compiled loops must give."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from fractions import Fraction


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


def places(entry: str, text: str) -> list[int]:
    """Where the alternatives of an entry begin, by trying every place; matches of one do not overlap."""
    found = []
    for part in entry.split("/"):
        at = 0
        while at <= len(text):
            if text.startswith(part, at):
                found.append(at)
                at += max(1, len(part))
            else:
                at += 1
    return found


def word_places(entry: str, text: str) -> list[int]:
    """The same of words: the numbers of the words at which alternatives begin."""
    words = words_of(text)
    found = []
    for part in map(words_of, entry.split("/")):
        at = 0
        while at <= len(words):
            if words[at : at + len(part)] == part:
                found.append(at)
                at += max(1, len(part))
            else:
                at += 1
    return found


def cter_flag(atoms: Mapping[str, str], lexicon: Mapping[str, str], hypothesis: str) -> str:
    """CoGnition's flag of a row: ``atoms`` of the compound by type, ``lexicon`` entries by atom."""
    text = "".join(hypothesis.rstrip().replace("@@ ", "").split(" "))
    at = {}
    for kind in ("P", "V", "DET", "ADJ", "N", "MOD"):
        if kind in atoms:
            entry = lexicon[atoms[kind]]
            at[kind] = "free" if entry == "/" else places(entry, text)
    flag = "-".join("P1" if found else "P0" for found in at.values())
    if not all(at.values()):
        return flag + "/P0"
    rules = ["DET", "ADJ"]
    if at.get("V", "free") == "free":
        rules.append("MOD")

    def behind(kind: str) -> bool:
        left, noun = at.get(kind, "free"), at.get("N", "free")
        return left != "free" and noun != "free" and min(left) >= max(noun)

    return flag + "/" + "-".join("P0" if behind(kind) else "P1" for kind in rules)


def control(rows, wanted, test, hashes, distance):
    """Places of a control set in ``rows``, (bin, source, target) each, taken one by one by rising hash of content.

    ``wanted`` pairs of a bin; ``test``: the texts that must not occur; ``distance``: of two bins, None for those of
    different corpora. Bins that turn out to have too few pass the rest on to their nearest ones.
    """
    usable = {}
    for key, *_ in rows:
        usable[key] = usable.get(key, 0) + 1
    while True:
        quota = {key: min(count, usable.get(key, 0)) for key, count in wanted.items()}
        for key in sorted(wanted):
            lacking = wanted[key] - min(wanted[key], usable.get(key, 0))
            others = [other for other in usable if other != key and distance(key, other) is not None]
            for other in sorted(others, key=lambda other: (distance(key, other), other)):
                taken = min(lacking, usable[other] - quota.get(other, 0))
                quota[other] = quota.get(other, 0) + taken
                lacking -= taken
        sources, targets = (set(side) for side in test)
        drawn = dict.fromkeys(quota, 0)
        chosen = []
        for place in sorted(range(len(rows)), key=lambda place: hashes[place]):
            key, source, target = rows[place]
            if drawn.get(key, 0) < quota.get(key, 0) and source not in sources and target not in targets:
                drawn[key] += 1
                sources.add(source)
                targets.add(target)
                chosen.append(place)
        too_few = [key for key in quota if drawn[key] < quota[key]]
        if not too_few:
            return sorted(chosen)
        usable |= {key: drawn[key] for key in too_few}


def ranks(values: Sequence[float]) -> list[Fraction]:
    """The rank of each value from 1; equal values share the mean of their ranks."""
    below = [sum(other < value for other in values) for value in values]
    same = [sum(other == value for other in values) for value in values]
    return [Fraction(2 * less + equal + 1, 2) for less, equal in zip(below, same, strict=True)]


def spearman(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Pearson's correlation of the ranks."""
    one, other = ranks(first), ranks(second)
    mean = Fraction(len(one) + 1, 2)
    products = [
        sum((a - mean) * (b - mean) for a, b in zip(*pair, strict=True))
        for pair in ((one, other), (one, one), (other, other))
    ]
    return float(products[0]) / math.sqrt(products[1] * products[2]) if products[1] * products[2] else None

"""Slow, obvious definitions of what the compiled loops must give."""

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
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
            min(
                best[start] + 1
                for start in range(end)
                if end - start == 1 or tuple(words[start:end]) in known
            )
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


def places(
    entry: str, text: Sequence[str], split: Callable[[str], Sequence[str]] = str
) -> list[int]:
    """Where the alternatives of an entry begin in a text of characters, or of words if they are
    ``split`` into these.

    Every place is tried; matches of one alternative do not overlap.
    """
    found = []
    for part in map(split, entry.split("/")):
        at = 0
        while at <= len(text):
            if text[at : at + len(part)] == part:
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


def log_steps(count: int) -> int:
    """The logarithm of a count to the base of 2, in 64ths, rounded down; of 0 as of 1."""
    step = 0
    while 2 ** (step + 1) <= max(1, count) ** 64:
        step += 1
    return step


def covariates(source: str, target: str, counts: Sequence[Mapping[str, int]]) -> list[float]:
    """What a control set is matched on: both lengths, both mean logarithms of counts, those of both
    rarest words.
    """
    sides = [source.split(), target.split()]
    known = [[of.get(word, 0) for word in words] for words, of in zip(sides, counts, strict=True)]
    step = math.log(2) / 64
    return [
        *(float(len(words)) for words in sides),
        *(sum(map(log_steps, side)) / len(side) * step for side in known),
        *(log_steps(min(side)) * step for side in known),
    ]


def control(
    rows: Sequence[tuple[int, str, str]],
    test: Sequence[tuple[int, str, str]],
    held: Sequence[Iterable[str]],
    hashes: Sequence[int],
    near: int,
    counts: Sequence[Mapping[str, int]],
) -> list[int]:
    """Places of a control set in ``rows``, (corpus, source, target) each, matched one by one.

    ``test``: rows of the test set; ``held``: texts of either side that must not occur; ``near``:
    how many pairs are looked at for each of the test set, the nearest in length, of equally near
    ones those of the least ``hashes``.
    """

    def key_of(row: tuple[int, str, str]) -> tuple[int, int, int]:
        return row[0], len(row[1].split()), len(row[2].split())

    there: dict[tuple[int, int, int], list[int]] = {}
    for place in sorted(range(len(rows)), key=lambda place: hashes[place]):
        there.setdefault(key_of(rows[place]), []).append(place)
    corpora = sorted({row[0] for row in test})
    while True:
        ask = dict.fromkeys(there, 0)
        for key, count in Counter(map(key_of, test)).items():
            left, same = near * count, [other for other in there if other[0] == key[0]]
            for other in sorted(
                same, key=lambda other: (abs(other[1] - key[1]) + abs(other[2] - key[2]), other)
            ):
                taken = min(left, len(there[other]))
                ask[other] += taken
                left -= taken
        looked = [place for key in there for place in there[key][: ask[key]]]
        without, usable = [set(side) for side in held], []
        for place in sorted(looked, key=lambda place: hashes[place]):
            if rows[place][1] not in without[0] and rows[place][2] not in without[1]:
                usable.append(place)
                without[0].add(rows[place][1])
                without[1].add(rows[place][2])
        enough = all(
            sum(rows[place][0] == corpus for place in usable)
            >= sum(row[0] == corpus for row in test)
            for corpus in corpora
        )
        if enough or len(looked) == sum(row[0] in corpora for row in rows):
            break
        near *= 4

    def spread(values: list[float]) -> float:
        mean = math.fsum(values) / len(values)
        return (
            math.sqrt(
                math.fsum((one - mean) * (one - mean) for one in values) / max(1, len(values) - 1)
            )
            or 1.0
        )

    ours = [covariates(*row[1:], counts) for row in test]
    units = [1.0, 1.0] + [spread([row[k] for row in ours]) for k in range(2, 6)]
    ours = [[value / unit for value, unit in zip(row, units, strict=True)] for row in ours]
    points = {
        place: [
            value / unit
            for value, unit in zip(covariates(*rows[place][1:], counts), units, strict=True)
        ]
        for place in usable
    }
    chosen = []
    for corpus in corpora:
        free = [place for place in usable if rows[place][0] == corpus]
        middle = [
            math.fsum(points[place][k] for place in free) / max(1, len(free)) for k in range(6)
        ]
        mine = [row for row, pair in zip(ours, test, strict=True) if pair[0] == corpus]
        total = [0.0] * 6
        for row in sorted(mine, key=lambda row: -sum((row[k] - middle[k]) ** 2 for k in range(6))):
            costs = {
                place: sum(
                    (points[place][k] - row[k]) * (points[place][k] - row[k] + total[k])
                    for k in range(6)
                )
                for place in free
            }
            if costs:
                best = min(costs, key=lambda place: costs[place])
                total = [total[k] + (points[best][k] - row[k]) for k in range(6)]
                free.remove(best)
                chosen.append(best)
    return sorted(chosen)


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
    return (
        float(products[0]) / math.sqrt(products[1] * products[2])
        if products[1] * products[2]
        else None
    )

"""Whether hypotheses are in the order of their references.

The law: the lines fit other references clearly better than their own. It is judged by whole lines
that are equal and by the words that lines share: templates share their words with many others, and
sentences are rarely equal.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from cgbench.text.damage import sampled
from cgbench.text.plain_text import words_of

LINES, LINES_OF_ORDERS = 384, 128  # at most about twice as many are compared
FEWEST_LINES = 3  # that tell an order
FEWEST_WORDS = 3  # in a line that tells an order, without those in many lines
COMMON = 0.05
LEAST_LOST = 0.1  # of the lines: unlike their own reference
LEAST_FITTING = 0.25  # of the lines: like their own reference, where only some are in another order
MOST_SEARCHED = 200
ALIKE, APART = (
    0.4,
    0.3,
)  # likeness to the reference of another line, and how much less to that of its own
FARTHEST = 3  # lines that texts may be shifted by
SHIFTS = [shift for distance in range(1, FARTHEST + 1) for shift in (distance, -distance)]
LONGEST_RUN, NEITHER = 20, 0.5
"""Lines that equal a neighbour's reference, minus those that equal their own and half of the
rest.
"""
MOST_JUDGED, RARE_UNITS = 64, 6  # lines, and units of a line, to find the best reference by
CLEARLY = 0.1  # by how much a line fits the best reference better than the next
LONGEST_WORD = 12  # characters per word, on average, in a line of words
FEWEST_RIGHT = 0.5  # of the lines equal some reference of their own
LEAST_BETTER, DEVIATIONS = 0.05, 6.0
"""By how much lines are more alike in another order: on average, and in standard errors."""
FEWEST_OF_SOME, LEAST_OF_SOME, DEVIATIONS_OF_SOME = 12, 0.1, 5.0
"""The same for the first or the last lines alone, and how many there must be."""


def displacement(hypotheses: Sequence[str], references: Sequence[str]) -> str | None:
    """How hypotheses are out of step with the references: shifted or in another order; None if they
    are not.
    """
    if len(hypotheses) < FEWEST_LINES:
        return None
    for check in (_by_equal_lines, _by_rare_words, _by_known_orders, _by_best_reference):
        if order := check(hypotheses, references):
            return order
    return None


OTHER_ORDER = "in another order than the references"


def _units(line: str) -> list[str]:
    """The words of a line; pairs of characters where words are not separated."""
    words = words_of(line.lower())
    if LONGEST_WORD * len(words) > len(line):
        return words
    letters = "".join(words)
    return [letters[start : start + 2] for start in range(len(letters) - 1)]


def _shifted(by: int, first: int) -> str:
    return f"shifted by {abs(by)} line{'s' * (abs(by) > 1)}, from line {first + 1} on"


def _by_equal_lines(hypotheses: Sequence[str], references: Sequence[str]) -> str | None:
    """Judge by lines that equal another reference and not their own."""
    lines = [" ".join(words_of(line)) for line in hypotheses]
    others = [" ".join(words_of(line)) for line in references]
    n = len(lines)
    wrong = [line != other for line, other in zip(lines, others, strict=True)]
    if sum(wrong) < max(FEWEST_LINES, LEAST_LOST * n):
        return None
    # A run of lines that equal a neighbour's reference rather than their own.
    least = min(LONGEST_RUN, max(FEWEST_LINES + 1, n // 2))
    for distance in range(1, FARTHEST + 1):
        for shift in (distance, -distance):
            run, first, different = 0.0, 0, set[str]()
            for row in range(max(0, -shift), min(n, n - shift)):
                if wrong[row] and lines[row] == others[row + shift]:
                    run += bool(lines[row])
                    different.add(lines[row])
                elif wrong[row] or lines[row] != others[row + shift]:
                    run -= NEITHER if wrong[row] else 1
                if run <= 0:
                    run, first, different = 0.0, row + 1, set()
                # A system that repeats a few outputs equals its neighbours by chance.
                if run >= least and 2 * len(different) >= least:
                    return _shifted(shift, first)
    # Most lines are references, each of another line.
    right = n - sum(wrong)
    matched = (Counter(lines) & Counter(others)).total()
    various = 2 * len({*others}) >= n and n > 2 * FEWEST_LINES
    if various and matched >= FEWEST_RIGHT * n and right < matched / 4:
        return OTHER_ORDER
    return None


def _orders(n: int) -> Iterator[list[int]]:
    """Orders that programs write lines in: backwards, and by the number of the line as text."""
    yield list(range(n))[::-1]
    for first in (0, 1):
        yield sorted(range(n), key=lambda row: str(row + first))


def _by_known_orders(hypotheses: Sequence[str], references: Sequence[str]) -> str | None:
    """Judge by the words that lines share in a few orders, with each line as its own comparison."""
    n = len(hypotheses)
    sample = {row: hypotheses[row] for row in sampled(n, LINES_OF_ORDERS)}
    likeness = _Likeness(sample, references)
    if shift := _shift_of(likeness):
        return shift
    if any(_are_better(likeness.gains(order.__getitem__)) for order in _orders(n)):
        return OTHER_ORDER
    # A missing or a further line shifts all that follow it, or is made up for by another.
    for shift_by in SHIFTS:
        rows = likeness.rows(shift_by)
        gains = likeness.gains(lambda row, by=shift_by: row + by)  # type: ignore[misc]
        for of_last in (True, False):
            count = _clearest(gains[::-1] if of_last else gains)
            if count:
                return _shifted(shift_by, rows[len(rows) - count] if of_last else rows[0])
    return None


def shift_of(hypotheses: Mapping[int, str], references: Sequence[str]) -> str | None:
    """How hypotheses of a few rows are shifted from the references of all; None if they are not."""
    return _shift_of(_Likeness(hypotheses, references))


def _shift_of(likeness: "_Likeness") -> str | None:
    for by in SHIFTS:
        if _are_better(likeness.gains(lambda row, by=by: row + by)):  # type: ignore[misc]
            return _shifted(by, max(0, -by))
    return None


class _Likeness:
    """The share of words that hypotheses have in common with their own references and others."""

    def __init__(self, hypotheses: Mapping[int, str], references: Sequence[str]) -> None:
        self.references = references
        self.words = {row: Counter(_units(text.lower())) for row, text in hypotheses.items()}
        self._of_references: dict[int, Counter[str]] = {}
        self.in_place = {row: self._of(row, row) for row in self.words}

    def _of(self, row: int, other: int) -> float:
        if other not in self._of_references:
            self._of_references[other] = Counter(_units(self.references[other].lower()))
        words, others = self.words[row], self._of_references[other]
        return 2 * (words & others).total() / ((words.total() + others.total()) or 1)

    def rows(self, by: int) -> list[int]:
        """The rows that have a reference ``by`` lines further."""
        return [row for row in self.words if 0 <= row + by < len(self.references)]

    def gains(self, order: Callable[[int], int]) -> list[float]:
        """By how much each hypothesis is more like the reference of another row."""
        pairs = ((row, order(row)) for row in self.words)
        n = len(self.references)
        return [self._of(row, other) - self.in_place[row] for row, other in pairs if 0 <= other < n]


def _are_better(gains: Sequence[float]) -> bool:
    """Whether lines are more alike in another order, by the mean of their gains."""
    if len(gains) <= 2 * FEWEST_LINES:
        return False
    mean = sum(gains) / len(gains)
    variance = sum((gain - mean) ** 2 for gain in gains) / (len(gains) - 1)
    return mean >= LEAST_BETTER and mean >= DEVIATIONS * (variance / len(gains)) ** 0.5


def _clearest(gains: Sequence[float]) -> int:
    """How many of the first lines are most clearly more alike in another order; 0 for none."""
    total = squares = 0.0
    best, length = 0.0, 0
    for count, gain in enumerate(gains, 1):
        total, squares = total + gain, squares + gain * gain
        if count < FEWEST_OF_SOME or total < LEAST_OF_SOME * count:
            continue
        variance = max(squares - total * total / count, 1e-9) / (count - 1)
        deviations = total / (variance * count) ** 0.5
        if deviations > max(best, DEVIATIONS_OF_SOME):
            best, length = deviations, count
    return length


def _by_rare_words(hypotheses: Sequence[str], references: Sequence[str]) -> str | None:
    """Judge by the words of a line that tell it from most others."""
    n = len(hypotheses)
    sample = sampled(n, LINES)
    spread_of = Counter(unit for row in sample for unit in set(_units(references[row].lower())))
    common = {unit for unit, count in spread_of.items() if count > max(2, COMMON * len(sample))}

    def content(line: str) -> Counter[str]:
        """The words of a line that tell it from most others."""
        return Counter(word for word in _units(line.lower()) if word not in common)

    texts = {row: words for row in sample if len(words := content(hypotheses[row])) >= FEWEST_WORDS}
    of_row: dict[int, Counter[str]] = {}

    def likeness(row: int, candidate: int) -> float:
        if not 0 <= candidate < n:
            return 0.0
        if candidate not in of_row:
            of_row[candidate] = content(references[candidate])
        shared = 2 * (texts[row] & of_row[candidate]).total()
        return shared / (texts[row].total() + of_row[candidate].total() or 1)

    # Lines that are unlike the reference in their place.
    in_place = {row: likeness(row, row) for row in texts}
    least = max(FEWEST_LINES - 1, LEAST_LOST * len(texts))
    weak = [row for row in texts if in_place[row] < ALIKE]
    if len(weak) < least:
        return None
    # Neighbours first, then any line that shares a rare word.
    nearby = {
        shift: [
            row for row in weak if likeness(row, row + shift) > max(ALIKE, in_place[row] + APART)
        ]
        for shift in (1, -1, 2, -2)
    }
    for shift, near in sorted(
        nearby.items(), key=lambda pair: -len(pair[1])
    ):  # texts may repeat a line
        if len(near) >= least:
            return _shifted(shift, near[0])
    lost = [row for row in weak if in_place[row] < ALIKE - APART]
    # A part of the lines tells an order only if others are right.
    fitting = sum(value >= ALIKE for value in in_place.values())
    least_share = LEAST_LOST if fitting >= LEAST_FITTING * len(texts) else 0.5
    if len(lost) < max(FEWEST_LINES - 1, least_share * len(texts)):
        return None
    rows_with: dict[str, list[int]] = defaultdict(list)
    for row, reference in enumerate(references):
        for word in set(_units(reference.lower())):
            rows_with[word].append(row)
    elsewhere = 0
    for row in lost[:MOST_SEARCHED]:
        rare = sorted(
            (word for word in texts[row] if word in rows_with),
            key=lambda word: len(rows_with[word]),
        )[:3]
        candidates = {candidate for word in rare for candidate in rows_with[word][:MOST_SEARCHED]}
        elsewhere += any(likeness(row, candidate) > ALIKE for candidate in candidates)
    is_mixed = elsewhere >= max(FEWEST_LINES - 1, len(lost[:MOST_SEARCHED]) / 2)
    return OTHER_ORDER if is_mixed else None


def _by_best_reference(hypotheses: Sequence[str], references: Sequence[str]) -> str | None:
    """Judge by the reference that fits a line best, with rare words counting more; only lines that
    fit their own reference no better than any other are judged so.
    """
    # Lines in order fit their own reference better than one chosen blindly.
    n = len(hypotheses)
    sample = sampled(n, LINES_OF_ORDERS)[:MOST_JUDGED]
    own = sum(_shared(hypotheses[row], references[row]) for row in sample)
    blind = sum(_shared(hypotheses[row], references[other]) for row, other in _blind_pairs(sample))
    if own > blind + LEAST_BETTER * len(sample):
        return None
    texts = [Counter(_with_pairs(reference)) for reference in references]
    frequency = Counter(unit for text in texts for unit in text)
    weight = {unit: math.log(n / count) for unit, count in frequency.items()}
    sizes = [sum(weight[unit] * count for unit, count in text.items()) for text in texts]
    rows_with: dict[str, list[int]] = defaultdict(list)

    def fits(row: int, candidates: Iterable[int]) -> dict[int, float]:
        units = Counter(_with_pairs(hypotheses[row]))
        size = sum(weight.get(unit, math.log(n)) * count for unit, count in units.items())
        return {
            other: 2
            * sum(weight[unit] * count for unit, count in (units & texts[other]).items())
            / ((size + sizes[other]) or 1)
            for other in candidates
        }

    for row, text in enumerate(texts):
        for unit in text:
            rows_with[unit].append(row)
    # Lines out of order fit one other reference clearly better than the next.
    best_rows = []
    for row in sample:
        rare = sorted(
            (unit for unit in {*_with_pairs(hypotheses[row])} if unit in rows_with),
            key=lambda unit: len(rows_with[unit]),
        )[:RARE_UNITS]
        candidates = {other for unit in rare for other in rows_with[unit][:MOST_SEARCHED]}
        ranked = sorted(fits(row, candidates).items(), key=lambda fit: -fit[1])
        others = [fit for other, fit in ranked if references[other] != references[ranked[0][0]]]
        if ranked and ranked[0][1] >= CLEARLY + max(others, default=0.0):
            best_rows.append((row, ranked[0][0]))
    elsewhere = [(row, other) for row, other in best_rows if row != other]
    if len(elsewhere) < max(FEWEST_LINES + 2, len(sample) / 3) or 2 * len(
        {other for _, other in elsewhere}
    ) < len(elsewhere):
        return None
    (shift, count), *_ = Counter(other - row for row, other in elsewhere).most_common(1)
    if 2 * count >= len(elsewhere):
        return _shifted(shift, min(row for row, other in elsewhere if other - row == shift))
    return OTHER_ORDER


def _with_pairs(line: str) -> list[str]:
    """The words of a line, and pairs of neighbours, which tell templates apart."""
    units = _units(line)
    return units + [f"{first} {second}" for first, second in pairwise(units)]


def _shared(text: str, other: str) -> float:
    """The share of the words of two texts that they have in common."""
    units, others = Counter(_units(text)), Counter(_units(other))
    return 2 * (units & others).total() / ((units.total() + others.total()) or 1)


def _blind_pairs(sample: Sequence[int]) -> list[tuple[int, int]]:
    """Each row with another one of the sample."""
    half = len(sample) // 2
    return [(row, sample[index - half]) for index, row in enumerate(sample)]

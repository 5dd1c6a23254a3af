"""Whether hypotheses are in the order of their references.

The law: the lines fit other references clearly better than their own. It is judged by whole lines
that are equal and by the words that lines share: templates share their words with many others, and
sentences are rarely equal.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from operator import ne

from cgbench.text.damage import has_unspaced, sampled
from cgbench.text.plain_text import words_of

LINES = 128  # at most about twice as many are compared
FEWEST_LINES = 3  # that tell an order
LEAST_LOST = 0.1  # of the lines: unlike their own reference
APART = 0.3  # how much less a line that equals another reference is like its own
FARTHEST = 3  # lines that texts may be shifted by
SHIFTS = [shift for distance in range(1, FARTHEST + 1) for shift in (distance, -distance)]
LONGEST_RUN, NEITHER = 20, 0.5
"""Lines that equal a neighbour's reference, minus those that equal their own and half of the
rest.
"""
BLIND = 3  # other references that a line is compared with
MOST_JUDGED, RARE_UNITS, MOST_SEARCHED = 64, 6, 200
"""Lines, their rarest units, and references with such a unit, to find the best reference among."""
LEAST_FITTING = 0.45  # of the lines that do not fit their own reference fit another one
CLEARLY = 0.1  # by how much a line fits the best reference better than the next
LONGEST_WORD = 12  # characters per word, on average, in a line of words
FEWEST_RIGHT = 0.5  # of the lines equal some reference of their own
LEAST_BETTER, DEVIATIONS = 0.05, 6.0
"""By how much lines are more alike in another order: on average, and in standard errors."""
FEWEST_OF_SOME, LEAST_OF_SOME, DEVIATIONS_OF_SOME = 12, 0.1, 5.0
"""The same for the first or the last lines alone, and how many there must be."""
OTHER_ORDER = "in another order than the references"


def displacement(hypotheses: Sequence[str], references: Sequence[str]) -> str | None:
    """How hypotheses are out of step with the references: shifted or in another order; None if they
    are not.
    """
    n = len(hypotheses)
    if n < FEWEST_LINES:
        return None
    equal = _EqualLines(hypotheses, references)
    if order := equal.order():
        return order
    likeness = _Likeness({row: hypotheses[row] for row in sampled(n, LINES)}, references)
    if len(likeness.lost) < LEAST_LOST / 2 * len(likeness.hypotheses):
        return None  # fast: most texts end here
    return _by_known_orders(likeness) or equal.single() or _by_best_reference(likeness)


def _units(line: str) -> list[str]:
    """The words of a line; pairs of characters where words are not separated."""
    words = words_of(line.lower())
    if LONGEST_WORD * len(words) > len(line) and not has_unspaced(line):
        return words
    letters = "".join(words)
    return [letters[start : start + 2] for start in range(len(letters) - 1)]


Bag = frozenset[str | tuple[str, int]]
"""The units of a line that are compared."""


def _bag(line: str) -> Bag:
    """The units of a line, the second *the* as ``("the", 1)``: sets are compared faster than
    counts.
    """
    units = _units(line)
    if len({*units}) == len(units):
        return frozenset(units)
    earlier: Counter[str] = Counter()
    bag = list[str | tuple[str, int]]()
    for unit in units:
        bag.append((unit, earlier[unit]) if earlier[unit] else unit)
        earlier[unit] += 1
    return frozenset(bag)


def _alike(first: Bag, second: Bag) -> float:
    """The share of the units of two lines that they have in common."""
    return 2 * len(first & second) / ((len(first) + len(second)) or 1)


def _shifted(by: int, first: int) -> str:
    return f"shifted by {abs(by)} line{'s' * (abs(by) > 1)}, from line {first + 1} on"


class _EqualLines:
    """Lines that equal another reference and not their own; blanks do not matter."""

    def __init__(self, hypotheses: Sequence[str], references: Sequence[str]) -> None:
        self._texts = hypotheses, references
        self.lines, self.others = (
            [line.replace(" ", "") for line in text] for text in (hypotheses, references)
        )
        known = {*self.others}
        self.wrong = list(map(ne, self.lines, self.others))
        self.various = 2 * len(known) >= len(self.others) > 2 * FEWEST_LINES
        self.elsewhere = [
            row for row, line in enumerate(self.lines) if self.wrong[row] and line in known and line
        ]

    def order(self) -> str | None:
        """Judge by a run of lines, and by most lines."""
        n, right = len(self.lines), len(self.lines) - sum(self.wrong)
        least = min(LONGEST_RUN, max(FEWEST_LINES + 1, n // 2))
        if n - right < max(FEWEST_LINES, LEAST_LOST * n):
            return None
        # A run of lines that equal a neighbour's reference rather than their own.
        if len(self.elsewhere) >= least:
            for shift in SHIFTS:
                first = self._first_of_run(shift, least)
                if first is not None:
                    return _shifted(shift, first)
        # Most lines are references, each of another line.
        matched = len(self.elsewhere) + right
        if self.various and matched >= FEWEST_RIGHT * n and right < matched / 4:
            matched = (Counter(self.lines) & Counter(self.others)).total()
            if matched >= FEWEST_RIGHT * n and right < matched / 4:
                return OTHER_ORDER
        return None

    def _first_of_run(self, shift: int, least: int) -> int | None:
        """The first line of a run that equals the references of lines further on."""
        lines, others, wrong, n = self.lines, self.others, self.wrong, len(self.lines)
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
                return first
        return None

    def single(self) -> str | None:
        """Judge by lines that are the reference of another line alone and unlike their own; those
        of a system that confuses two lines are like their own.
        """
        fewest = max(FEWEST_LINES, LEAST_LOST * len(self.lines))
        if len(self.elsewhere) < fewest:
            return None
        rows_of, others_of = map(_rows_of_single, (self.lines, self.others))
        hypotheses, references = self._texts
        apart = [
            (row, others_of[line])
            for line, row in rows_of.items()
            if others_of.get(line, row) != row
            and _alike(_bag(hypotheses[row]), _bag(references[row])) <= 1 - APART
        ]
        if len(apart) < fewest:
            return None
        return _common_shift(apart) or (OTHER_ORDER if len(apart) >= 2 * FEWEST_LINES else None)


def _rows_of_single(lines: Sequence[str]) -> dict[str, int]:
    """The rows of the lines that occur once."""
    counts = Counter(lines)
    return {line: row for row, line in enumerate(lines) if counts[line] == 1 and line}


def _common_shift(pairs: Sequence[tuple[int, int]]) -> str | None:
    """By how much most of the rows are shifted from their references."""
    (shift, count), *_ = Counter(other - row for row, other in pairs).most_common(1)
    if 2 * count < len(pairs):
        return None
    return _shifted(shift, min(row for row, other in pairs if other - row == shift))


def _orders(n: int) -> Iterator[list[int]]:
    """Orders that programs write lines in: backwards, and by the number of the line as text."""
    yield list(range(n))[::-1]
    for first in (0, 1):
        yield sorted(range(n), key=lambda row: str(row + first))


def _by_known_orders(likeness: "_Likeness") -> str | None:
    """Judge by the words that lines share in a few orders, with each line as its own comparison."""
    if shift := _shift_of(likeness):
        return shift
    orders = _orders(len(likeness.references))
    if any(_are_better(likeness.gains(order.__getitem__)) for order in orders):
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
        self.hypotheses = hypotheses
        self.references = references
        self._bags = {row: _bag(text) for row, text in hypotheses.items()}
        self._of_references: dict[int, Bag] = {}
        self.in_place = {row: self.of(row, row) for row in hypotheses}

    def of(self, row: int, other: int) -> float:
        """Of the hypothesis of a row with the reference of another."""
        bag = self._of_references.get(other)
        if bag is None:
            bag = self._of_references[other] = _bag(self.references[other])
        return _alike(self._bags[row], bag)

    def rows(self, by: int) -> list[int]:
        """The rows that have a reference ``by`` lines further."""
        return [row for row in self.hypotheses if 0 <= row + by < len(self.references)]

    def gains(self, order: Callable[[int], int]) -> list[float]:
        """By how much each hypothesis is more like the reference of another row."""
        pairs = ((row, order(row)) for row in self.hypotheses)
        n = len(self.references)
        return [self.of(row, other) - self.in_place[row] for row, other in pairs if 0 <= other < n]

    @cached_property
    def lost(self) -> list[int]:
        """The rows whose hypothesis is hardly more like its own reference than like others."""
        rows = list(self.hypotheses)
        steps = [1 + len(rows) * k // (BLIND + 1) for k in range(1, BLIND + 1)]

        def blind(index: int) -> float:
            """The largest likeness to another text among some references."""
            row, candidates = rows[index], [rows[(index + step) % len(rows)] for step in steps]
            others = [
                other for other in candidates if self.references[other] != self.references[row]
            ]
            return max((self.of(row, other) for other in others), default=-1.0)

        return [
            row
            for index, row in enumerate(rows)
            if self.in_place[row] <= LEAST_BETTER + blind(index)
        ]


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


def _by_best_reference(likeness: _Likeness) -> str | None:
    """Judge by the reference that fits a line best, with rare words counting more; only lines that
    fit their own reference no better than any other are judged so.
    """
    rows, lost = likeness.hypotheses, likeness.lost
    fewest = max(FEWEST_LINES + 2, LEAST_LOST * len(rows))
    if len(lost) < fewest:
        return None
    judged = lost[:: -(-len(lost) // MOST_JUDGED)]
    index = _Index(likeness.references)
    best_of = {row: index.best(rows[row]) for row in judged}
    elsewhere = [
        (row, best)
        for row, best in best_of.items()
        if best is not None and likeness.references[best] != likeness.references[row]
    ]
    if len(elsewhere) * len(lost) < fewest * len(judged):
        return None
    # A system that has learned nothing writes some lines that fit another reference by chance, but
    # they are not all as far away. How many, the lines tell that fit their own.
    different = {best for _, best in elsewhere}
    least = LEAST_FITTING + _fit_by_chance(likeness, index)
    is_other_order = len(different) >= least * len(judged)
    return _common_shift(elsewhere) or (OTHER_ORDER if is_other_order else None)


def _fit_by_chance(likeness: _Likeness, index: "_Index") -> float:
    """The share of the lines that fit their own reference best which also fit another one clearly;
    0 if hardly any line fits its own.
    """
    texts = likeness.references
    candidates = sorted(likeness.hypotheses.keys() - {*likeness.lost})
    rows = [
        row
        for row in candidates[:: -(-len(candidates) // MOST_JUDGED) or 1]
        if (best := index.best(likeness.hypotheses[row])) is not None and texts[best] == texts[row]
    ]
    if len(rows) < FEWEST_LINES:
        return 0.0
    others = [index.best(likeness.hypotheses[row], but=texts[row]) for row in rows]
    return sum(other is not None for other in others) / len(rows)


class _Index:
    """References by their words and pairs of neighbours, of which rare ones weigh more."""

    def __init__(self, references: Sequence[str]) -> None:
        self.references = references
        self._texts = [Counter(_with_pairs(reference)) for reference in references]
        self._rows_with: dict[str, list[int]] = defaultdict(list)
        for row, text in enumerate(self._texts):
            for unit in text:
                self._rows_with[unit].append(row)
        n = len(references)
        self._weight = {unit: math.log(n / len(rows)) for unit, rows in self._rows_with.items()}
        self._sizes = [self._size(text) for text in self._texts]

    def _size(self, text: Mapping[str, int]) -> float:
        unknown = math.log(len(self.references))
        return sum(self._weight.get(unit, unknown) * count for unit, count in text.items())

    def best(self, hypothesis: str, but: str | None = None) -> int | None:
        """The row of the reference that fits a hypothesis clearly better than any other text, of
        all but one.
        """
        text = Counter(_with_pairs(hypothesis))
        size = self._size(text)
        known = sorted(text.keys() & self._weight.keys())
        rare = sorted(known, key=lambda unit: len(self._rows_with[unit]))[:RARE_UNITS]
        candidates = {row for unit in rare for row in self._rows_with[unit][:MOST_SEARCHED]}
        fits = {
            row: 2 * self._size(text & self._texts[row]) / ((size + self._sizes[row]) or 1)
            for row in candidates
            if self.references[row] != but
        }
        best = max(fits, key=lambda row: (fits[row], -row), default=None)
        if best is None:
            return None
        others = [fit for row, fit in fits.items() if self.references[row] != self.references[best]]
        return best if fits[best] >= CLEARLY + max(others, default=0.0) else None


def _with_pairs(line: str) -> list[str]:
    """The words of a line, and pairs of neighbours, which tell templates apart."""
    units = _units(line)
    return units + [f"{first} {second}" for first, second in pairwise(units)]

"""N-grams that one system gets right more often than another (compare-mt's n-gram report, Neubig et al. 2019).

An n-gram of a hypothesis is right as often as it stands in a reference of that example too (BLEU's clipped counts, of
the reference that has it most often). Of two systems, those n-grams come first whose counts a and b differ most for
their size: by (a - b) / sqrt(a + b), the statistic of McNemar's test, so that 20 to 5 is more than 3 to 0 and less
than 40 to 10. Many n-grams are compared, so the statistic orders them and is no test.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

ORDERS = 4


@dataclass(frozen=True)
class Lead:
    """An n-gram that the first system gets right more often: how often each does (the mean of its runs), and how often
    it stands in the references."""

    ngram: str
    ours: float
    theirs: float
    reference: int


def ngrams_of(words: Sequence[str]) -> Counter[tuple[str, ...]]:
    """The n-grams of up to :data:`ORDERS` words, counted."""
    return Counter(
        tuple(words[begin : begin + order]) for order in range(1, ORDERS + 1) for begin in range(len(words) - order + 1)
    )


def reference_counts(references: Iterable[Sequence[Sequence[str]]]) -> list[Counter[tuple[str, ...]]]:
    """The n-grams of each example: of several references, the greatest count of each.

    :param references: the words of each reference of each example.
    """
    found = []
    for example in references:
        most: Counter[tuple[str, ...]] = Counter()
        for words in example:
            most |= ngrams_of(words)
        found.append(most)
    return found


def right_counts(
    references: Sequence[Counter[tuple[str, ...]]], runs: Sequence[Sequence[Sequence[str]]]
) -> dict[tuple[str, ...], float]:
    """How often a system gets each n-gram right, the mean of its runs.

    :param references: of :func:`reference_counts`; ``runs``: the words of each hypothesis of each run.
    """
    total: Counter[tuple[str, ...]] = Counter()
    for run in runs:
        for expected, words in zip(references, run, strict=True):
            for ngram, count in ngrams_of(words).items():
                if right := min(count, expected.get(ngram, 0)):
                    total[ngram] += right
    return {ngram: count / len(runs) for ngram, count in total.items()}


def leads(
    ours: dict[tuple[str, ...], float],
    theirs: dict[tuple[str, ...], float],
    reference: Counter[tuple[str, ...]],
    count: int,
    blank: str = " ",
) -> list[Lead]:
    """The ``count`` n-grams that the first system is furthest ahead with; ties by the alphabet.

    :param reference: how often each n-gram stands in the references.
    """
    ahead = [(ngram, right, theirs.get(ngram, 0.0)) for ngram, right in ours.items() if right > theirs.get(ngram, 0.0)]
    ahead.sort(key=lambda one: (-(one[1] - one[2]) / math.sqrt(one[1] + one[2]), one[0]))
    return [Lead(blank.join(ngram), right, other, reference[ngram]) for ngram, right, other in ahead[:count]]

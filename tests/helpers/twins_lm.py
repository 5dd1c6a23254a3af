"""Slow, obvious definitions for the n-gram language models: modified Kneser-Ney smoothing with
dictionaries.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

Ngram = tuple[str, ...]


def backwards(text: Sequence[int], position: int, order: int) -> list[int]:
    """The words at a position and before it: up to ``order`` of them, or as far as the 2 (END)
    before the sentence.
    """
    words = [text[position]]
    while len(words) < order:
        words.append(text[position - len(words)])
        if words[-1] == 2:
            break
    return words


def sorted_positions(text: Sequence[int], order: int) -> tuple[list[int], list[int], list[int]]:
    """Positions, shared and depths as ``count_kernels`` describes them."""

    def key(position: int) -> tuple[list[int], bool, int]:
        words = backwards(text, position, order)
        return words, len(words) > 1 and position - len(words) + 1 == 0, position

    positions = sorted(range(1, len(text)), key=key)
    shared: list[int] = []
    before: list[int] = []
    for position in positions:
        words = backwards(text, position, order)
        shared.append(0)
        while words[: shared[-1] + 1] == before[: shared[-1] + 1] and shared[-1] < len(words):
            shared[-1] += 1
        before = words
    return positions, shared, [len(backwards(text, position, order)) for position in positions]


class Model:
    """A model by definition. ``figures[ngram]`` is (probability, weight of the back-off)."""

    def __init__(
        self,
        sentences: Iterable[Sequence[str]],
        order: int,
        fallback: tuple[float, float, float] = (0.5, 1.0, 1.5),
    ) -> None:
        sentences = list(sentences)
        self.order = order
        words = {word for sentence in sentences for word in sentence}
        self.vocabulary = {"<unk>", "</s>", *words}
        raw: Counter[Ngram] = Counter()
        for sentence in sentences:
            padded = ["<s>", *sentence, "</s>"]
            for end in range(1, len(padded)):
                for begin in range(max(0, end - order + 1), end + 1):
                    raw[tuple(padded[begin : end + 1])] += 1
        left = defaultdict(set)
        for ngram in raw:
            left[ngram[1:]].add(ngram[0])
        self.counts = {
            ngram: count if len(ngram) == order or ngram[0] == "<s>" else len(left[ngram])
            for ngram, count in raw.items()
        }
        self.discounts, self.problems = [], []
        for n in range(1, order + 1):
            found = self._discounts(
                [count for ngram, count in self.counts.items() if len(ngram) == n]
            )
            self.problems.append(found is None)
            self.discounts.append((0.0, *(found or fallback)))
        self._begun = defaultdict(list)
        for ngram in self.counts:
            self._begun[ngram[:-1]].append(ngram)

    @staticmethod
    def _discounts(counts: Sequence[int]) -> tuple[float, ...] | None:
        """Chen and Goodman (1998), equation 26."""
        n = [sum(count == value for count in counts) for value in range(5)]
        if not n[1] or not n[2] or not n[3]:
            return None
        y = n[1] / (n[1] + 2 * n[2])
        found = tuple(k - (k + 1) * y * n[k + 1] / n[k] for k in (1, 2, 3))
        return found if all(0 <= discount <= k for k, discount in enumerate(found, 1)) else None

    def _discount(self, ngram: Ngram) -> float:
        return self.discounts[len(ngram) - 1][min(self.counts[ngram], 3)]

    def weight(self, context: Ngram) -> float:
        """The weight of the back-off of a context: what the discounts took away."""
        begun = self._begun[context]
        if not begun:
            return 1.0
        taken = sum(map(self._discount, begun))
        return taken / sum(self.counts[ngram] for ngram in begun)

    def probability(self, word: str, context: Ngram) -> float:
        """p(word | context), interpolated all the way down to the uniform distribution."""
        context = context[max(0, len(context) - self.order + 1) :]
        if not self._begun[context]:
            return self.probability(word, context[1:])
        ngram = (*context, word)
        share = 0.0
        if ngram in self.counts:
            share = (self.counts[ngram] - self._discount(ngram)) / sum(
                self.counts[one] for one in self._begun[context]
            )
        rest = self.probability(word, context[1:]) if context else 1 / len(self.vocabulary)
        return share + self.weight(context) * rest

    def lines(self, order: int) -> dict[str, tuple[float, float]]:
        """What an ARPA file says of an order: log10 of probability and back-off by n-gram."""
        ngrams = {ngram for ngram in self.counts if len(ngram) == order}
        if order == 1:
            ngrams |= {("<unk>",), ("<s>",)}
        return {
            " ".join(ngram): (
                0.0 if ngram == ("<s>",) else log10(self.probability(ngram[-1], ngram[:-1])),
                log10(self.weight(ngram)),
            )
            for ngram in ngrams
        }


def log10(value: float) -> float:
    """The logarithm, and -99 for that of 0: discounts can be such that a context leaves nothing for
    other words.
    """
    return math.log10(value) if value else -99.0


def figure(value: float) -> str:
    """log10 of a value with six decimals, as the file has it."""
    millionths = -99_000_000 if value <= 0 else min(0, -int(0.5 - math.log10(value) * 1e6))
    return f"-{-millionths // 1_000_000}.{-millionths % 1_000_000:06}" if millionths else "0"


def read_arpa(text: str) -> dict[int, dict[str, tuple[float, float]]]:
    """The sections of an ARPA file; a back-off that is not there is 0."""
    sections: dict[int, dict[str, tuple[float, float]]] = {}
    order = 0
    for line in text.split("\n"):
        if line.endswith("-grams:"):
            order = int(line[1:-7])
            sections[order] = {}
        elif order and "\t" in line:
            log, ngram, *backoff = line.split("\t")
            sections[order][ngram] = float(log), float(backoff[0]) if backoff else 0.0
    return sections

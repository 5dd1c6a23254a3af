"""Byte pair encoding as subword-nmt learns and applies it (Sennrich, Haddow and Birch, 2016).

Merges are learned from counted words; of pairs that are equally frequent the one that is last in the order of its text
comes first. That, and ``</w>`` as a part of a word's last character, make the result the reference's.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from heapq import heapify, heappop, heappush
from itertools import pairwise
from typing import NamedTuple

Pair = tuple[str, str]

END = "</w>"
JOIN = "@@"
LEAST = 2  # a pair that occurs less often is not merged
HEADER = "#version: 0.2"


def count_words(lines: Iterable[str]) -> Counter[str]:
    """How often each word occurs; words are what single blanks separate."""
    counts: Counter[str] = Counter()
    for line in lines:
        counts.update(line.strip("\r\n ").split(" "))
    counts.pop("", None)
    return counts


def learn(counts: Counter[str], merges: int) -> list[Pair]:
    """The first ``merges`` merges, or fewer if no pair occurs twice."""
    words = [_symbols(word) for word in counts]
    frequencies = list(counts.values())
    pairs: Counter[Pair] = Counter()
    places: dict[Pair, set[int]] = defaultdict(set)
    for number, word in enumerate(words):
        for pair in pairwise(word):
            pairs[pair] += frequencies[number]
            places[pair].add(number)
    queue = [_Candidate(count, pair) for pair, count in pairs.items()]
    heapify(queue)
    learned: list[Pair] = []
    while queue and len(learned) < merges:
        candidate = heappop(queue)
        best, count = candidate.pair, pairs[candidate.pair]
        if count != candidate.frequency:  # it has become rarer since
            heappush(queue, _Candidate(count, best))
            continue
        if count < LEAST:
            break
        learned.append(best)
        joined = best[0] + best[1]
        grown: set[Pair] = set()
        for number in places.pop(best):
            word, frequency = words[number], frequencies[number]
            merged = words[number] = _merge(word, best)
            for pair in pairwise(word):
                pairs[pair] -= frequency
            for pair in pairwise(merged):
                pairs[pair] += frequency
                if joined in pair:
                    grown.add(pair)
                    places[pair].add(number)
        for pair in grown:
            heappush(queue, _Candidate(pairs[pair], pair))
    return learned


class Bpe:
    """Merges as a function from a line to its subwords, parts of a word marked by :data:`JOIN`."""

    def __init__(self, merges: Iterable[Pair]) -> None:
        self._ranks = {pair: rank for rank, pair in enumerate(merges)}
        self._known: dict[str, str] = {}

    def apply(self, line: str) -> str:
        """Segment a line of words."""
        return " ".join(self._segment(word) for word in line.strip("\r\n ").split(" ") if word)

    def _segment(self, word: str) -> str:
        if word not in self._known:
            parts = _symbols(word)
            while len(parts) > 1:
                best = min(pairwise(parts), key=self._rank)
                if best not in self._ranks:
                    break
                parts = _merge(parts, best)
            self._known[word] = f"{JOIN} ".join(parts).removesuffix(END)
        return self._known[word]

    def _rank(self, pair: Pair) -> int:
        return self._ranks.get(pair, len(self._ranks))


def to_text(merges: Iterable[Pair]) -> str:
    """The merges as subword-nmt writes them."""
    return "".join(f"{line}\n" for line in (HEADER, *(" ".join(pair) for pair in merges)))


class _Candidate(NamedTuple):
    """A pair that may be merged next; the first of a heap is the best."""

    frequency: int
    pair: Pair

    def __lt__(self, other: tuple) -> bool:
        return self > other


def _symbols(word: str) -> tuple[str, ...]:
    return (*word[:-1], word[-1] + END)


def _merge(word: tuple[str, ...], pair: Pair) -> tuple[str, ...]:
    """Join every occurrence of ``pair``, from the left."""
    result: list[str] = []
    number = 0
    while number < len(word):
        if word[number : number + 2] == pair:
            result.append(word[number] + word[number + 1])
            number += 2
        else:
            result.append(word[number])
            number += 1
    return tuple(result)

"""Spans: which words of a source the words of a target come from, by word alignment.

A span pairs a range of target words with a range of source words. For programs, the ranges are
those of Yin et al. (2021, section 3): subtrees, and the source words that are linked to them. Their
links are those of GIZA++ (Model 4), ours of IBM Model 1, also from source to target.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from cgbench.errors import InputError
from cgbench.models.lexicons.alignment import IBM1Settings, links
from cgbench.models.lexicons.bitext import Bitext, find_cooccurrences
from cgbench.text.plain_text import words_of
from cgbench.text.program_trees import Node, content_words, matched_nodes
from cgbench.text.streams import read_lines

ITERATIONS = 10  # of Model 1
WIDEST_GAP = 3  # source words between two boxes that belong to one subtree: fewer than this


class Span(NamedTuple):
    """Target words ``target_start`` to ``target_end`` (exclusive) come from these source words."""

    target_start: int
    target_end: int
    source_start: int
    source_end: int

    @classmethod
    def parse(cls, text: str) -> Span:
        """Read ``2-7:0-3``: target words 2 to 6 from source words 0 to 2."""
        target, _, source = text.partition(":")
        numbers = [int(number) for side in (target, source) for number in side.split("-")]
        span = cls(*numbers)
        if not (0 <= span[0] < span[1] and 0 <= span[2] < span[3]):
            raise ValueError(text)
        return span

    def __str__(self) -> str:
        target, source = f"{self[0]}-{self[1]}", f"{self[2]}-{self[3]}"
        return f"{target}:{source}"


def read_spans(path: Path) -> list[list[Span]]:
    """Read one line per pair: its spans, separated by blanks.

    :raises InputError: a line has something else.
    """
    spans = []
    for row, line in enumerate(read_lines(path), 1):
        try:
            spans.append([Span.parse(text) for text in words_of(line)])
        except (ValueError, TypeError):
            raise InputError(
                f"{path}, line {row}: write spans of words such as 2-7:0-3, target before source"
            ) from None
    return spans


def word_spans(pairs: Sequence[tuple[str, str]]) -> list[list[Span]]:
    """A span for each link of two words."""
    return [[Span(j, j + 1, i, i + 1) for i, j in sorted(pair)] for pair in _links(pairs)]


def program_spans(pairs: Sequence[tuple[str, str]], highest: bool = False) -> list[list[Span]]:
    """A span for each subtree of a program that is linked to source words.

    :param highest: do not search below a subtree without source words, as for sketches.
    """
    programs = [words_of(program) for _, program in pairs]
    contents = [content_words(words) for words in programs]
    canonical = [
        (utterance, " ".join(words[position] for position in content))
        for (utterance, _), words, content in zip(pairs, programs, contents, strict=True)
    ]
    return [
        subtree_spans(words, content, linked, highest)
        for words, content, linked in zip(programs, contents, _links(canonical), strict=True)
    ]


def subtree_spans(
    words: Sequence[str],
    content: Sequence[int],
    linked: set[tuple[int, int]],
    highest: bool = False,
) -> list[Span]:
    """The spans of one program.

    :param words: of the program; ``content``: positions of those that are aligned.
    :param linked: pairs of a source word and an index into ``content``.
    :param highest: see :func:`program_spans`.
    """
    matcher = SubtreeMatcher(words, content, boxes_of(linked), highest)
    nodes = matched_nodes(words, matcher)
    return [
        Span(node.first, node.end, *matcher.source_of[node])
        for node in nodes
        if node in matcher.source_of
    ]


@dataclass(frozen=True)
class Box:
    """Connected links: source words and content words, each a range."""

    source: tuple[int, int]
    target: tuple[int, int]


def boxes_of(linked: set[tuple[int, int]]) -> list[Box]:
    """The bounding boxes of links that are connected horizontally or vertically."""
    boxes, waiting = [], set(linked)
    while waiting:
        component = []
        stack = [waiting.pop()]
        while stack:
            i, j = stack.pop()
            component.append((i, j))
            for neighbour in ((i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1)):
                if neighbour in waiting:
                    waiting.remove(neighbour)
                    stack.append(neighbour)
        rows, columns = zip(*component, strict=True)
        boxes.append(Box((min(rows), max(rows) + 1), (min(columns), max(columns) + 1)))
    return sorted(boxes, key=lambda box: (box.source[0], box.target[0]))


class SubtreeMatcher:
    """Decides from above which subtrees have source words, as in the authors' code.

    A subtree gets all boxes that touch it, if their source words belong to no earlier subtree and
    have no gap of :data:`WIDEST_GAP` words.
    """

    def __init__(
        self,
        words: Sequence[str],
        content: Sequence[int],
        boxes: Sequence[Box],
        highest: bool = False,
    ) -> None:
        self._words, self._boxes, self._highest = words, boxes, highest
        self._content = np.asarray(content, np.int64)
        self.source_of: dict[Node, tuple[int, int]] = {}

    def __call__(self, node: Node, with_argument: bool) -> bool:
        """Whether a node is aligned; perhaps first with the name of its argument."""
        source = self._source(node.first, node.end) if with_argument else None
        source = source or self._source(node.start, node.end)
        if source:
            self.source_of[node] = source
        return source is not None or self._highest

    def _source(self, start: int, end: int) -> tuple[int, int] | None:
        first, last = np.searchsorted(self._content, (start, end)).tolist()
        touching = [
            box
            for box in self._boxes
            if _overlap(box.target, (first, last))
            and self._says_something(box)
            and not any(_overlap(box.source, taken) for taken in self.source_of.values())
        ]
        if first == last or not touching:
            return None
        source = min(box.source[0] for box in touching), max(box.source[1] for box in touching)
        if any(_overlap(source, taken) for taken in self.source_of.values()):
            return None
        return None if _widest_gap(touching) >= WIDEST_GAP else source

    def _says_something(self, box: Box) -> bool:
        """Not only the name of an argument, except ``:date``, which is often linked to "on"."""
        start, end = box.target
        word = self._words[int(self._content[start])]
        return end - start > 1 or word[0].isalpha() or word == ":date"


def _overlap(first: tuple[int, int], second: tuple[int, int]) -> bool:
    return first[0] < second[1] and second[0] < first[1]


def _widest_gap(boxes: Sequence[Box]) -> int:
    """The largest distance of a box to its nearest neighbour, in source words."""
    gaps = []
    for box in boxes:
        distances = [
            max(0, other.source[0] - box.source[1], box.source[0] - other.source[1])
            for other in boxes
            if other != box
        ]
        gaps.append(min(distances, default=0))
    return max(gaps)


def _links(pairs: Sequence[tuple[str, str]]) -> list[set[tuple[int, int]]]:
    """Links of each pair: a source word for each target word, except for those without any."""
    text = Bitext.read(pairs)
    settings = IBM1Settings(iterations=ITERATIONS, links="forward")
    _, source, target = links(text, find_cooccurrences(text, cells=True), settings)
    found: dict[int, set[tuple[int, int]]] = defaultdict(set)
    sentence = np.searchsorted(text.target.starts, target, side="right") - 1
    # Sentences without words begin where the next one does.
    for pair, i, j in zip(sentence.tolist(), source.tolist(), target.tolist(), strict=True):
        found[pair].add((i - int(text.source.starts[pair]), j - int(text.target.starts[pair])))
    return [found[pair] for pair in range(len(text))]

"""GECA: new training pairs from fragments that occur in the same contexts (Andreas, 2020).

If two fragments fit the same template, each may replace the other anywhere. A template is a pair of
sentences with holes. A fragment is a few consecutive words that fill all places of a hole, in
source and target: ``jump`` and ``I_JUMP`` together are one tuple of fragments for a template with
two holes.

A pair is stored as one string with one character per word, so that ``str.replace`` replaces a
fragment everywhere.
"""

import math
import random
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cgbench.errors import InputError, argument
from cgbench.progress import track
from cgbench.request import KW_ONLY, Request, option
from cgbench.text.formats import Pair
from cgbench.text.plain_text import word_bytes, words_of

Tuples = tuple[int, ...]


HOLES = 2
"""The largest number of holes in a template, as for SCAN in the paper."""
VARIANTS = 2
"""Fragment tuples tried per template, unless all new pairs are wanted."""


class Settings(Request):
    """Settings of :func:`augment`; the defaults are those of the authors' code."""

    _: KW_ONLY
    size: int = option(
        "--size",
        default=4,
        help="Length of the longest fragment",
        least=1,
        unit="words",
        group="Augmentation",
    )
    max_length: int = option(
        "--set max_length",
        default=0,
        help="Use only templates from shorter pairs, both sides and a separator counted; 0: all",
        least=0,
        unit="words",
    )
    samples: int = option(
        "--samples",
        default=1000,
        help="Number of new pairs; 0: all, from every tuple that fits a template",
        least=0,
        group="Augmentation",
    )
    seed: int = option(
        "--seed",
        default=1,
        help="Random seed",
        least=0,
        group="Augmentation",
    )


@dataclass(frozen=True)
class Augmented:
    """New pairs in the order in which they were found, with statistics.

    :param templates: number of distinct templates; ``shared``: of those with more than one tuple of
        fragments.
    :param tuples: number of distinct tuples of fragments.
    """

    pairs: list[Pair]
    training_pairs: int
    templates: int
    shared: int
    tuples: int


def augment(pairs: Iterable[Pair], settings: Settings | None = None) -> Augmented:
    """Make new pairs.

    Neither side of a new pair is in the training text. Templates are tried in random order.

    :raises InputError: the text is empty.
    """
    settings = settings or Settings()
    alphabet = Alphabet()
    text = [(alphabet.encode(source), alphabet.encode(target)) for source, target in pairs]
    if not text:
        raise InputError("there are no training pairs")
    table = TemplateTable(text, alphabet, settings)
    seen = [{pair[side] for pair in text} for side in (0, 1)]
    new: dict[tuple[str, str], None] = {}
    for template, fragments in table.proposals(random.Random(settings.seed)):
        source, target = _fill(template, fragments, alphabet)
        # A side without a hole is in the training text.
        if source not in seen[0] and target not in seen[1]:
            new[source, target] = None
            if len(new) == settings.samples:
                break
    decoded = [(alphabet.decode(source), alphabet.decode(target)) for source, target in new]
    shared = int((np.diff(table.begin) > 1).sum())
    return Augmented(decoded, len(text), len(table.templates), shared, len(table.tuples))


def mixed(pairs: Sequence[Pair], new: Sequence[Pair], ratio: float) -> list[Pair]:
    """Mix new pairs into a training text so that about ``ratio`` of its pairs are new (Andreas,
    2020, section 4).

    The authors draw each example from the new pairs with that probability. Here the smaller part is
    repeated: the text has all training pairs and, if the ratio allows, all new ones.

    :raises InputError: the ratio is not between 0 and 1.
    """
    if not 0 < ratio < 1:
        raise InputError(f"{argument('mix', ratio)}: it must be a number above 0 and below 1")
    new_per_pair = ratio / (1 - ratio)
    times = max(1, math.ceil(len(new) / (new_per_pair * len(pairs))))
    count = round(new_per_pair * times * len(pairs))
    return [*list(pairs) * times, *(new[index % len(new)] for index in range(count))]


class Alphabet:
    """Words as characters; the first ones are holes, followed by a separator of the sides."""

    def __init__(self) -> None:
        self.holes = [chr(code) for code in range(HOLES)]
        self.border = chr(HOLES)
        self._words: dict[str, str] = {}
        self._offset = HOLES + 1

    def encode(self, sentence: str) -> str:
        """The words of a sentence as characters."""
        known = self._words
        return "".join(
            [known.setdefault(word, chr(self._offset + len(known))) for word in words_of(sentence)]
        )

    def decode(self, text: str) -> str:
        """The sentence, with one blank between words."""
        known = list(self._words)
        return " ".join(known[ord(character) - self._offset] for character in text)


class TemplateTable:
    """The tuples of fragments that fit each template.

    ``fits[begin[t]:begin[t + 1]]`` are the numbers of the tuples of template t, in rising order.
    """

    def __init__(
        self, text: Sequence[tuple[str, str]], alphabet: Alphabet, settings: Settings
    ) -> None:
        self.alphabet, self.settings = alphabet, settings
        self._candidates: dict[Tuples, tuple[list[int], list[int]]] = {}
        templates: dict[str, int] = {}
        tuples: dict[tuple[str, ...], int] = {}
        fits = array("q")  # template, tuple
        distinct = dict.fromkeys(text)
        for source, target in track(distinct, len(distinct), "templates", "pair"):
            joint = source + self.alphabet.border + target
            if self.settings.max_length and len(joint) >= self.settings.max_length:
                continue
            for template, fragments in self._holed(joint, 0, ()):
                index = templates.setdefault(template, len(templates))
                fits.extend((index, tuples.setdefault(fragments, len(tuples))))
        self.templates, self.tuples = list(templates), list(tuples)
        first, second = np.frombuffer(fits, np.int64).reshape(-1, 2).T
        rows = np.unique(first * len(tuples) + second)
        self.fits = (rows % max(len(tuples), 1)).tolist()
        self.begin = np.searchsorted(rows, np.arange(len(templates) + 1) * len(tuples)).tolist()

    def _holed(
        self, joint: str, begin: int, before: tuple[str, ...]
    ) -> Iterator[tuple[str, tuple[str, ...]]]:
        """All ways to put holes into a pair, each after the start of the one before."""
        hole = self.alphabet.holes[len(before)]
        used = {word for fragment in before for word in fragment}
        done = set()  # only the first position of a fragment is needed
        for length in range(1, self.settings.size + 1):
            for start in range(begin, len(joint) + 1 - length):
                fragment = joint[start : start + length]
                if (
                    fragment in done
                    or min(fragment) <= self.alphabet.border
                    or not used.isdisjoint(fragment)
                ):
                    continue
                done.add(fragment)
                template, fragments = joint.replace(fragment, hole), (*before, fragment)
                yield template, fragments
                if len(fragments) < HOLES:
                    yield from self._holed(template, start + 1, fragments)

    def proposals(self, draw: random.Random) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Templates with tuples of fragments that do not occur in them."""
        order = list(range(len(self.templates)))
        draw.shuffle(order)
        for template in order:
            candidates, ends = self.candidates(template)
            if self.settings.samples and ends and ends[-1] > VARIANTS:
                drawn = draw.sample(range(ends[-1]), VARIANTS)
                candidates = [
                    candidates[index]
                    for index in np.searchsorted(ends, drawn, side="right").tolist()
                ]
            for candidate in candidates:
                yield self.templates[template], self.tuples[candidate]

    def candidates(self, template: int) -> tuple[list[int], list[int]]:
        """The tuples that may fill a template, in rising order, and the cumulative sums of their
        weights.

        The weight of a tuple is the number of its templates that share another tuple with the
        template.
        """
        fitting = self.of(template)
        if fitting not in self._candidates:
            self._candidates[fitting] = self._find(fitting)
        return self._candidates[fitting]

    def _find(self, fitting: Tuples) -> tuple[list[int], list[int]]:
        """The candidates for templates that exactly the tuples ``fitting`` fit."""
        times: Counter[int] = Counter()
        groups, groups_of = self._groups
        for group in {group for tuple_ in fitting for group in groups_of.get(tuple_, ())}:
            for tuple_ in group:
                times[tuple_] += groups[group]
        fragments = [set(self.tuples[tuple_]) for tuple_ in fitting]
        chosen = sorted(
            tuple_
            for tuple_ in times
            if tuple_ not in fitting
            and any(seen.isdisjoint(self.tuples[tuple_]) for seen in fragments)
        )
        return chosen, np.cumsum([times[tuple_] for tuple_ in chosen], dtype=np.int64).tolist()

    @cached_property
    def _groups(self) -> tuple[Counter[Tuples], dict[int, list[Tuples]]]:
        """The number of templates with the same (several) tuples, and the groups that each tuple is
        in.
        """
        groups = Counter(
            self.of(template) for template in np.flatnonzero(np.diff(self.begin) > 1).tolist()
        )
        groups_of: dict[int, list[Tuples]] = {}
        for group in groups:
            for tuple_ in group:
                groups_of.setdefault(tuple_, []).append(group)
        return groups, groups_of

    def of(self, template: int) -> Tuples:
        """The tuples of a template."""
        return tuple(self.fits[self.begin[template] : self.begin[template + 1]])


def _fill(template: str, fragments: tuple[str, ...], alphabet: Alphabet) -> list[str]:
    for hole, fragment in zip(alphabet.holes, fragments, strict=False):
        template = template.replace(hole, fragment)
    return template.split(alphabet.border)


@dataclass(frozen=True)
class SharedRows:
    """Rows of a test text: their number, and how many of the pairs and of the sources are among the
    new pairs.
    """

    rows: int
    pairs: int
    sources: int


def count_shared(new: Iterable[Pair], test: Iterable[Pair]) -> SharedRows:
    """Count the rows of a test text that are among the new pairs; white space between words is
    ignored.
    """
    new_pairs = {_words(pair) for pair in new}
    sources = {source for source, _ in new_pairs}
    rows = [_words(pair) for pair in test]
    return SharedRows(
        len(rows), sum(row in new_pairs for row in rows), sum(row[0] in sources for row in rows)
    )


def _words(pair: Pair) -> tuple[tuple[bytes, ...], tuple[bytes, ...]]:
    return tuple(word_bytes(pair[0])), tuple(word_bytes(pair[1]))

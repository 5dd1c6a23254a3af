"""Noise of known kinds, planted into good pairs: from targets of other pairs down to a single
word.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cgbench.benchmark.measure.known_ngrams.vocabulary import Vocabulary

Pair = tuple[str, str]
NUMBERS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
AUXILIARIES = frozenset(
    (
        "is",
        "are",
        "was",
        "were",
        "am",
        "can",
        "will",
        "would",
        "should",
        "could",
        "must",
        "may",
        "might",
        "has",
        "have",
        "had",
        "do",
        "does",
        "did",
        "&apos;m",
        "&apos;re",
    )
)
FUNCTION_WORDS = 150  # the most frequent words of the target are not taken for content
CLOSE = 20  # ranks by frequency between a content word and the one in its place


@dataclass(frozen=True)
class Text:
    """What noise is made from: the pairs, the targets near each pair in its corpus that pass the
    filters, the words of the training targets."""

    pairs: Sequence[Pair]
    near: Sequence[Sequence[str]]
    vocabulary: Vocabulary

    def others(self, row: int) -> list[int]:
        """The pairs with another target."""
        return [
            place for place in range(len(self.pairs)) if self.pairs[place][1] != self.pairs[row][1]
        ]


Plant = Callable[[int, Text, random.Random], Pair | None]


def misaligned(row: int, text: Text, chance: random.Random) -> Pair:
    """The target of any other pair."""
    return text.pairs[row][0], text.pairs[chance.choice(text.others(row))][1]


def neighbour(row: int, text: Text, chance: random.Random) -> Pair | None:
    """The target of a pair near it in its corpus, as an aligner that has slipped gives it."""
    near = [target for target in text.near[row] if target != text.pairs[row][1]]
    return (text.pairs[row][0], chance.choice(near)) if near else None


def same_length(row: int, text: Text, chance: random.Random) -> Pair | None:
    """The target of another pair, of as many words."""
    words = len(text.pairs[row][1].split())
    near = [place for place in text.others(row) if len(text.pairs[place][1].split()) == words]
    return (text.pairs[row][0], text.pairs[chance.choice(near)][1]) if near else None


def cut(share: float) -> Plant:
    """Without the last words of the target."""

    def plant(row: int, text: Text, chance: random.Random) -> Pair:
        source, target = text.pairs[row]
        words = target.split()
        return source, " ".join(words[: max(1, round((1 - share) * len(words)))])

    return plant


def misordered(side: int) -> Plant:
    """The words of a side in any other order."""

    def plant(row: int, text: Text, chance: random.Random) -> Pair | None:
        words = text.pairs[row][side].split()
        if len(set(words)) < 2:
            return None
        mixed = words
        while mixed == words:
            mixed = chance.sample(words, len(words))
        pair = list(text.pairs[row])
        pair[side] = " ".join(mixed)
        return pair[0], pair[1]

    return plant


def wrong_number(row: int, text: Text, chance: random.Random) -> Pair | None:
    """One number of the target is another one."""
    words = text.pairs[row][1].split()
    places = [place for place, word in enumerate(words) if word in NUMBERS]
    if not places:
        return None
    place = chance.choice(places)
    words[place] = chance.choice([number for number in NUMBERS if number != words[place]])
    return text.pairs[row][0], " ".join(words)


def gloss(row: int, text: Text, chance: random.Random) -> Pair:
    """Two to four words of another target, between commas, that the source does not have."""
    words, others = (
        text.pairs[row][1].split(),
        text.pairs[chance.choice(text.others(row))][1].split(),
    )
    number = chance.randint(2, 4)
    begin = chance.randrange(max(1, len(others) - number))
    place = chance.randint(1, max(1, len(words) - 1))
    return text.pairs[row][0], " ".join(
        [*words[:place], ",", *others[begin : begin + number], ",", *words[place:]]
    )


def wrong_word(row: int, text: Text, chance: random.Random) -> Pair | None:
    """One content word of the target is another one, about as frequent in the training text."""
    words = text.pairs[row][1].split()
    ids, usable = text.vocabulary.ids(words).tolist(), text.vocabulary.usable
    places = [
        place
        for place, one in enumerate(ids)
        if FUNCTION_WORDS <= one < usable and words[place].isalpha()
    ]
    if not places:
        return None
    place = chance.choice(places)
    near = range(max(FUNCTION_WORDS, ids[place] - CLOSE), min(usable, ids[place] + CLOSE + 1))
    fitting = [
        word for word in map(text.vocabulary.word, near) if word.isalpha() and word != words[place]
    ]
    if not fitting:
        return None
    words[place] = chance.choice(fitting)
    return text.pairs[row][0], " ".join(words)


def negation(row: int, text: Text, chance: random.Random) -> Pair | None:
    """A negation of the target is taken out, or one put in."""
    words = text.pairs[row][1].split()
    for place, word in enumerate(words):
        before = words[place - 1] if place else ""
        if word == "not":
            return text.pairs[row][0], " ".join(words[:place] + words[place + 1 :])
        if word == "&apos;t" and before.endswith("n"):
            verb = {"can": "can", "won": "will"}.get(before, before.removesuffix("n"))
            return text.pairs[row][0], " ".join([*words[: place - 1], verb, *words[place + 1 :]])
    for place, word in enumerate(words[:-1]):
        if word in AUXILIARIES:
            return text.pairs[row][0], " ".join([*words[: place + 1], "not", *words[place + 1 :]])
    return None


KINDS: dict[str, Plant] = {
    "misaligned": misaligned,
    "misaligned neighbour": neighbour,
    "misaligned, same length": same_length,
    "target cut by half": cut(0.5),
    "target cut by 30%": cut(0.3),
    "target misordered": misordered(1),
    "source misordered": misordered(0),
    "gloss added": gloss,
    "wrong number": wrong_number,
    "wrong content word": wrong_word,
    "negation flipped": negation,
}

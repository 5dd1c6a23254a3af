"""The demo corpus: a small German-English corpus and a pool whose pairs are known to be of four kinds.

Written by :mod:`~cgbench.data_recipes.demo.grammar`, so that every pair is correct by construction and nothing has to
be downloaded. German shows gender, case and number agreement, verb-second and verb-final clauses, separable verbs,
modal verbs, the perfect, relative clauses and infinitives with *zu*; word order differs from English in most sentences.

Training imitates what real corpora do to the compositional degree. 30 % of it are variants of stock sentences: a frame,
drawn by Zipf's law, with one noun phrase exchanged. So long n-grams occur often, and some sentences repeat. The rest is
free, with every third word combination held out (:mod:`~cgbench.data_recipes.demo.sampler`). A few words occur just
once or twice.

The pool holds, in random order:

near-copy (35 %)
    a training frame with a noun phrase that it never had in training: two to four long known n-grams, a low degree.
new-combination (40 %)
    known words only, their combinations held out of training: verbs with their arguments and adverbs, adjectives with
    nouns, prepositions with places, relative clauses within subordinate clauses. The degree is high. The largest share,
    because the candidates, a tenth of what survives the filter, are to come from here.
unknown-word (15 %)
    a word on one side or both occurs in training fewer than 3 times (never, once or twice): for the OOV filter. The
    share is lower than in a real pool (two thirds in ReaCT's), since pairs that the first step drops show little.
noise (10 %)
    a quarter misaligned (the target of another source), the rest garbled: the source shuffled, drawn word by word from
    the vocabulary, cut, spliced, stuttering, or half in the other language. Garbled sources dominate because
    the uncertainty of a model that reads the source alone cannot show a misalignment. Mostly known words, since the OOV
    filter would else remove it all; the target is mostly an ordinary sentence, so that few reach the candidates, as
    in a real pool, where the most uncertain thirtieth is mostly noise but most candidates are not.
"""

from __future__ import annotations

from bisect import bisect
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import accumulate
from pathlib import Path

from cgbench.data_recipes.demo.grammar import Clause, Meaning, NounPhrase, translate
from cgbench.data_recipes.demo.lexicon import Adjective, Noun, lexicon
from cgbench.data_recipes.demo.sampler import RandomDraw, Sampler, combinations
from cgbench.errors import InputError
from cgbench.files import write_atomic

Pair = tuple[str, str]

KINDS = ("near-copy", "new-combination", "unknown-word", "noise")
SHARES = {"near-copy": 0.35, "unknown-word": 0.15, "noise": 0.10}
KNOWN_COUNT = 3
LONGEST = 20
STOCK_SHARE = 0.3
SMALLEST_TRAINING = 1000


def write_demo(
    folder: Path, *, train_pairs: int = 20_000, pool_pairs: int = 30_000, valid_pairs: int = 500, seed: int = 1
) -> None:
    """Write ``train``, ``valid`` and ``pool`` (``.de``, ``.en``), and ``pool.kinds``: line by line, the kind.

    The same arguments give the same bytes everywhere. Each file appears whole or not at all; ``folder`` is made if it
    is missing.

    :raises InputError: ``train_pairs`` is too small for words and frames to become known, or a count is negative.
    """
    if train_pairs < SMALLEST_TRAINING:
        raise InputError(
            f"train_pairs={train_pairs}: the demo corpus needs at least {SMALLEST_TRAINING} training pairs"
        )
    if pool_pairs < 0 or valid_pairs < 0:
        raise InputError(f"pool_pairs={pool_pairs}, valid_pairs={valid_pairs}: a number of pairs cannot be negative")
    draw = RandomDraw(seed)
    ordinary = Ordinary(draw, frames=max(20, train_pairs // 80))
    train = _training(ordinary, train_pairs)
    seen = {side for pair in train for side in pair}
    valid = [_fresh(ordinary.pair, seen) for _ in range(valid_pairs)]
    pool = Pool(ordinary, train, seen).pairs(pool_pairs)

    folder.mkdir(parents=True, exist_ok=True)
    for name, pairs in (("train", train), ("valid", valid), ("pool", [pair for pair, _ in pool])):
        write_atomic(folder / f"{name}.de", _lines(source for source, _ in pairs))
        write_atomic(folder / f"{name}.en", _lines(target for _, target in pairs))
    write_atomic(folder / "pool.kinds", _lines(kind for _, kind in pool))


def _lines(sentences: Iterable[str]) -> str:
    return "".join(f"{sentence}\n" for sentence in sentences)


def _fresh(sample: Callable[[], Pair], seen: set[str]) -> Pair:
    """Draw until neither side of the pair is a training sentence."""
    while True:
        pair = sample()
        if pair[0] not in seen and pair[1] not in seen:
            return pair


class Frame:
    """A stock sentence with one noun phrase open, and what may fill it in training and in near-copies."""

    def __init__(self, sentence: Meaning, slot: str, fillers: list[NounPhrase], number: int) -> None:
        self.sentence = sentence
        self.slot = slot
        self.trained = [filler for filler in fillers if (filler.noun.rank + number) % 3]
        self.held_out = [filler for filler in fillers if not (filler.noun.rank + number) % 3]
        self.uses = 0

    def pair(self, filler: NounPhrase) -> Pair:
        """Return the sentence with ``filler`` in the open place."""
        return translate(self.sentence._replace(main=_with_phrase(self.sentence.main, self.slot, filler)))


def _phrase(clause: Clause, slot: str) -> NounPhrase | None:
    if slot == "place":
        return clause.place.phrase if clause.place is not None else None
    return clause.object if slot == "object" else clause.subject


def _with_phrase(clause: Clause, slot: str, phrase: NounPhrase) -> Clause:
    if slot == "place":
        assert clause.place is not None
        return clause._replace(place=clause.place._replace(phrase=phrase))
    return clause._replace(object=phrase) if slot == "object" else clause._replace(subject=phrase)


class Ordinary:
    """What training is made of: variants of stock sentences and free sentences."""

    def __init__(self, draw: RandomDraw, frames: int) -> None:
        self.draw = draw
        self.sampler = Sampler(draw, novel=False)
        self.frames = [self._frame(number) for number in range(frames)]
        self.zipf = list(accumulate(1 / (rank + 10) for rank in range(frames)))

    def pair(self) -> Pair:
        """Draw a training pair."""
        if self.draw.random() < STOCK_SHARE:
            frame = self.frames[bisect(self.zipf, self.draw.random() * self.zipf[-1])]
            frame.uses += 1
            return frame.pair(self.draw.common(frame.trained))
        return _short(self.sampler)

    def _frame(self, number: int) -> Frame:
        """Draw a sentence of 9 to 14 English words and open one of its noun phrases."""
        draw, tables = self.draw, combinations(novel=False)
        while True:
            sentence = self.sampler.sentence()
            clause = sentence.main
            slot = draw.any(("object", "subject", "place"))
            phrase = _phrase(clause, slot)
            if phrase is None or phrase.relative is not None or not 9 <= translate(sentence)[1].count(" ") + 1 <= 14:
                continue
            if slot == "place":
                assert clause.place is not None
                nouns = [n for p, n in tables.goals + tables.places if p is clause.place.preposition]
            else:
                nouns = (tables.objects if slot == "object" else tables.subjects)[clause.verb.rank]
            determiners = ["the", "my", "his", "this"] if clause.negated else ["the", "a", "my", "his", "this"]
            fillers = [NounPhrase(noun, word) for noun in nouns if noun.countable for word in determiners]
            frame = Frame(sentence, slot, fillers, number)
            if len(frame.trained) >= 20 and len(frame.held_out) >= 20:
                draw.shuffle(frame.trained)
                return frame


def _short(sampler: Sampler, shortest: int = 3) -> Pair:
    while True:
        source, target = translate(sampler.sentence())
        if source.count(" ") < LONGEST and shortest - 1 <= target.count(" ") < LONGEST:
            return source, target


class Rare:
    """Puts rare words into ordinary sentences: lemma number n occurs n mod 3 times in training."""

    def __init__(self, ordinary: Ordinary) -> None:
        self.ordinary = ordinary
        words = lexicon()
        self.words: list[Noun | Adjective] = [*words.rare_nouns, *words.rare_adjectives]

    def pair(self, words: list[Noun | Adjective]) -> Pair:
        """Draw a sentence in which one of ``words`` can stand, and put it there."""
        draw = self.ordinary.draw
        while True:
            sentence = self.ordinary.sampler.sentence()
            slot = draw.any(("object", "subject", "place"))
            phrase = _phrase(sentence.main, slot)
            if phrase is None or not phrase.determiner or not phrase.noun.countable:
                continue
            fitting = [word for word in words if any(letter in word.classes for letter in phrase.noun.classes)]
            if not fitting:
                continue
            word = draw.any(fitting)
            phrase = phrase._replace(adjective=word) if isinstance(word, Adjective) else phrase._replace(noun=word)
            source, target = translate(sentence._replace(main=_with_phrase(sentence.main, slot, phrase)))
            if source.count(" ") < LONGEST and target.count(" ") < LONGEST:
                return source, target


def _training(ordinary: Ordinary, count: int) -> list[Pair]:
    rare = Rare(ordinary)
    planted = [rare.pair([word]) for number, word in enumerate(rare.words) for _ in range(number % 3)]
    pairs = [ordinary.pair() for _ in range(count - len(planted))] + planted
    ordinary.draw.shuffle(pairs)
    return pairs


class Pool:
    """Draws pool pairs of each kind; what they are is checked against the word counts of training."""

    def __init__(self, ordinary: Ordinary, train: list[Pair], seen: set[str]) -> None:
        self.ordinary, self.draw, self.seen = ordinary, ordinary.draw, seen
        self.novel = Sampler(self.draw, novel=True)
        self.rare = Rare(ordinary)
        self.known_source, self.known_target = (
            {word for word, count in Counter(" ".join(side).split(" ")).items() if count >= KNOWN_COUNT}
            for side in zip(*train, strict=True)
        )
        self.source_words = sorted(self.known_source)
        self.target_words = sorted(self.known_target)
        self.shared_words = sorted(self.known_source & self.known_target)
        self.frames = [frame for frame in ordinary.frames if frame.uses >= 2 * KNOWN_COUNT]

    def pairs(self, count: int) -> list[tuple[Pair, str]]:
        """Return ``count`` pairs with their kinds, in random order."""
        counts = {kind: round(count * share) for kind, share in SHARES.items()}
        counts["new-combination"] = count - sum(counts.values())
        makers = self.near_copy, self.new_combination, self.unknown_word, self.noise
        pool = [(make(), kind) for kind, make in zip(KINDS, makers, strict=True) for _ in range(counts[kind])]
        self.draw.shuffle(pool)
        return pool

    def known(self, pair: Pair) -> bool:
        """Say whether every word of both sides occurs often enough in training."""
        return self.known_source.issuperset(pair[0].split(" ")) and self.known_target.issuperset(pair[1].split(" "))

    def near_copy(self) -> Pair:
        """Draw a training frame with a filler that it never had."""
        while True:
            frame = self.draw.any(self.frames)
            pair = frame.pair(self.draw.any(frame.held_out))
            if self.known(pair) and pair[0] not in self.seen and pair[1] not in self.seen:
                return pair

    def new_combination(self) -> Pair:
        """Draw a sentence of known words in combinations held out of training."""
        while True:
            pair = _fresh(lambda: _short(self.novel, shortest=5), self.seen)
            if self.known(pair):
                return pair

    def unknown_word(self) -> Pair:
        """Draw a pair with a rare word on one side or both."""
        while True:
            pair = self.rare.pair(self.rare.words)
            if not self.known(pair):
                return pair

    def noise(self) -> Pair:
        """Draw a misaligned pair or one with a garbled source."""
        draw = self.draw
        source, target = self.near_or_new()
        if draw.random() < 0.25:
            other = target
            while other == target:
                other = self.near_or_new()[1]
            return source, other
        words = source.split(" ")
        garbled = words
        while garbled == words:
            garbled = self.garble(words, target.split(" "))
        if draw.random() < 0.02:
            salad = target.split(" ")
            draw.shuffle(salad)
            target = " ".join(salad)
        return " ".join(garbled), target

    def near_or_new(self) -> Pair:
        """Draw a correct pair of known words, mostly an ordinary one."""
        return self.new_combination() if self.draw.random() < 0.15 else self.near_copy()

    def garble(self, words: list[str], target: list[str]) -> list[str]:
        """Return ``words`` damaged in one of the ways in which crawled text is."""
        draw, way = self.draw, self.draw.random()
        length = len(words)
        if way < 0.30:
            shuffled = list(words)
            draw.shuffle(shuffled)
            return shuffled
        if way < 0.60:
            return [draw.any(self.source_words) for _ in words]
        if way < 0.70:
            return [word for word in words for _ in range(1 + draw.below(3))][: LONGEST + 5]
        if way < 0.80:
            other = self.near_or_new()[0].split(" ")
            return other[len(other) // 2 :] + words[: length // 2]
        if way < 0.88:
            return [draw.any(self.shared_words) if draw.random() < 0.5 else word for word in words]
        if way < 0.93:
            return [draw.any(target) if draw.random() < 0.5 else word for word in words]
        return words[: max(2, length // 3)]

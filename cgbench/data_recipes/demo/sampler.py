"""Random meanings for the demo corpus, from one of two disjoint sets of word combinations.

Every third combination of a verb with a subject, an object or an adverb, of an adjective with a noun, and of a
preposition with a place is held out of training, by a rule on the ranks of the two words (:func:`held_out`). A
:class:`Sampler` draws only allowed or only held-out combinations of the same words. Nestings are also held out: only
held-out meanings have a relative clause in a subordinate clause.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from random import Random
from typing import NamedTuple, TypeVar

from cgbench.data_recipes.demo.grammar import Clause, Meaning, NounPhrase, Place
from cgbench.data_recipes.demo.lexicon import Adjective, Adverb, Noun, Preposition, Verb, lexicon

T = TypeVar("T")

TENSE_LETTER = {"present": "p", "past": "a", "future": "f"}
FRAMES = 9 * ["transitive"] + 2 * ["located", "motion", "prepositional", "ditransitive"] + ["dative", "copula"]
DETERMINERS = (
    6 * [("the", False), ("", True)]
    + 3 * [("a", False), ("the", True)]
    + 2 * [("my", False), ("my", True), ("his", False), ("this", False)]
    + [("our", False), ("our", True), ("this", True), ("every", False), ("many", True), ("two", True), ("all", True)]
)
ADJECTIVE_SHARE = 0.4
ADVERB_SHARE = 0.3
DEFINITE = frozenset(["the", "my", "his", "our", "this"])
PLACE_CLASSES = {"in": "L", "auf": "U", "unter": "U", "vor": "L", "hinter": "L", "neben": "LU"}
GOAL_CLASSES = {"zu": "LU", "in": "L", "durch": "L", "um": "LU"}


class RandomDraw:
    """Random choices that are the same on every platform and Python version, since only ``random()`` is stable."""

    def __init__(self, seed: int) -> None:
        self.random: Callable[[], float] = Random(seed).random

    def below(self, count: int) -> int:
        """Draw an integer from 0 to ``count`` - 1."""
        return int(self.random() * count)

    def any(self, items: Sequence[T]) -> T:
        """Draw an item, each equally often."""
        return items[int(self.random() * len(items))]

    def common(self, items: Sequence[T]) -> T:
        """Draw an item, the first ones more often: the density of item i of n falls as the square root of n / i."""
        uniform = self.random()
        return items[int(uniform * uniform * len(items))]

    def shuffle(self, items: list[T]) -> None:
        """Put ``items`` into random order."""
        for last in range(len(items) - 1, 0, -1):
            other = int(self.random() * (last + 1))
            items[last], items[other] = items[other], items[last]


def held_out(first: NamedTuple, second: NamedTuple) -> bool:
    """Whether the combination of two words is held out of training."""
    return (first[0] + second[0]) % 3 == 0


class WordCombinations:
    """For each word, the words with which it may be combined: only held-out or only allowed combinations."""

    def __init__(self, novel: bool) -> None:
        words = lexicon()

        def fits(first: NamedTuple, second: NamedTuple) -> bool:
            return held_out(first, second) == novel

        def shares(noun: Noun, classes: str) -> bool:
            return not set(classes).isdisjoint(noun.classes)

        def adverbs(verb: Verb, table: list[Adverb], letter: str) -> list[Adverb]:
            return [adverb for adverb in table if fits(verb, adverb) and letter in adverb.tenses]

        verbs = [verb for table in words.verbs.values() for verb in table]
        persons = [noun for noun in words.nouns if "P" in noun.classes]
        self.subjects: dict[int, list[Noun]] = {}
        self.objects: dict[int, list[Noun]] = {}
        self.frequencies: dict[int, list[Adverb]] = {}
        self.manners: dict[int, list[Adverb]] = {}
        self.times: dict[tuple[int, str], list[Adverb]] = {}
        for verb in verbs:
            self.subjects[verb.rank] = [n for n in words.nouns if shares(n, verb.subjects) and fits(verb, n)]
            self.objects[verb.rank] = [n for n in words.nouns if shares(n, verb.objects) and fits(verb, n)]
            self.frequencies[verb.rank] = adverbs(verb, words.frequencies, "p")
            self.manners[verb.rank] = adverbs(verb, words.manners, "p")
            for letter in "paf":
                self.times[verb.rank, letter] = adverbs(verb, words.times, letter)
        self.adjectives: dict[int, list[Adjective]] = {
            noun.rank: [a for a in words.adjectives if shares(noun, a.classes) and fits(noun, a)]
            for noun in words.nouns
        }
        self.copula_adjectives = {
            noun.rank: [a for a in self.adjectives[noun.rank] if a.german not in ("lang", "kurz")]
            for noun in words.nouns
        }
        self.indirect: dict[int, list[Noun]] = {
            verb.rank: [n for n in persons if fits(verb, n)] for verb in words.verbs["ditransitive"]
        }

        def places(table: list[Preposition], classes: dict[str, str]) -> list[tuple[Preposition, Noun]]:
            pairs = [(p, n) for n in words.nouns for p in table if n.classes in classes[p.german]]
            return [(p, n) for p, n in pairs if fits(p, n)]

        self.places = places(words.places, PLACE_CLASSES)
        self.goals = places(words.goals, GOAL_CLASSES)
        relative = [verb for verb in verbs if verb.frame in ("transitive", "dative", "prepositional")]
        self.as_object: dict[int, list[Verb]] = {
            noun.rank: [verb for verb in relative if shares(noun, verb.objects) and fits(verb, noun)]
            for noun in words.nouns
        }
        relative += words.verbs["located"]
        self.as_subject: dict[int, list[Verb]] = {
            noun.rank: [verb for verb in relative if shares(noun, verb.subjects) and fits(verb, noun)]
            for noun in words.nouns
        }


@cache
def combinations(novel: bool) -> WordCombinations:
    """Return the combinations held out (``novel``) or allowed in training."""
    return WordCombinations(novel)


class Sampler:
    """Draws meanings; ``novel``: only with word combinations held out of training."""

    def __init__(self, draw: RandomDraw, novel: bool) -> None:
        self.draw = draw
        self.novel = novel
        self.words = lexicon()
        self.combinations = combinations(novel)

    def sentence(self) -> Meaning:
        """Draw a sentence of any form."""
        draw, form = self.draw, self.draw.random()
        if form < 0.50:
            return Meaning("statement", self.clause(relative=0.25, front=0.4))
        if form < 0.56:
            return Meaning("question", self.clause())
        if form < 0.60:
            return Meaning("why", self.clause())
        relative = 0.2 if self.novel else 0.0
        if form < 0.66:
            link = self.words.conjunctions[draw.below(2)]
            return Meaning("and", self.clause(short=True), self.clause(short=True), link)
        if form < 0.82:
            link = draw.common(self.words.connectives)
            tense = "past" if link.tenses == "a" else "present"
            if link.tenses == "paf" and draw.random() < 0.4:
                tense = "past"
            front = draw.random() < 0.4
            main = self.clause(tense=tense, short=True)
            return Meaning(
                "first" if front else "last", main, self.clause(tense=tense, short=True, relative=relative), link
            )
        if form < 0.93:
            tense = "past" if draw.random() < 0.35 else "present"
            main = self.matrix("matrix", tense)
            inner = "past" if tense == "past" else draw.any(("present", "past", "future"))
            return Meaning("that", main, self.clause(tense=inner, relative=relative))
        main = self.matrix("control", "past" if draw.random() < 0.4 else "present")
        other = self.clause(tense="present", frames=["transitive", "motion", "ditransitive"], persons=True, plain=True)
        return Meaning("infinitive", main, other)

    def matrix(self, frame: str, tense: str) -> Clause:
        """Draw the main clause of a complement clause."""
        verb = self.draw.common(self.words.verbs[frame])
        return Clause(verb, subject=self.subject(verb), tense=tense)

    def subject(self, verb: Verb) -> NounPhrase:
        """Draw a subject: a noun phrase, a pronoun or a name."""
        draw = self.draw
        if "P" in verb.subjects:
            kind = draw.random()
            if kind < 0.25:
                pronoun, plural = draw.any(self.words.pronouns)
                return NounPhrase(pronoun, "", plural=plural)
            if kind < 0.40:
                return NounPhrase(draw.any(self.words.names), "")
        return self.noun_phrase(draw.common(self.combinations.subjects[verb.rank]))

    def noun_phrase(self, noun: Noun, definite: bool = False) -> NounPhrase:
        """Draw determiner, number and adjective for ``noun``."""
        draw = self.draw
        if not noun.countable:
            determiner, plural = ("the" if definite or draw.random() < 0.5 else ""), False
        else:
            determiner, plural = draw.any(DETERMINERS)
            if definite and determiner not in DEFINITE:
                determiner, plural = "the", False
        adjective = None
        if draw.random() < ADJECTIVE_SHARE:
            adjectives = self.combinations.adjectives[noun.rank]
            adjective = draw.common(adjectives) if adjectives else None
        return NounPhrase(noun, determiner, adjective, plural)

    def clause(
        self,
        tense: str = "",
        frames: Sequence[str] = FRAMES,
        relative: float = 0.0,
        front: float = 0.0,
        short: bool = False,
        persons: bool = False,
        plain: bool = False,
    ) -> Clause:
        """Draw a clause.

        ``relative`` and ``front`` are the probabilities of a relative clause and of a fronted adverbial; ``short``:
        fewer adverbials; ``persons``: the verb must take a person as its subject; ``plain``: no negation, modal verb or
        frequency adverb, as needed for an infinitive with *zu*.
        """
        draw, tables = self.draw, self.combinations
        verb = draw.common(self.words.verbs[draw.any(frames)])
        while persons and "P" not in verb.subjects:
            verb = draw.common(self.words.verbs[draw.any(frames)])
        modal = None
        if not tense:
            tense = draw.any(("present", "present", "past", "past", "future"))
            if not plain and verb.frame != "copula" and tense != "future" and draw.random() < 0.3:
                modal = draw.common(self.words.present_modals if tense == "present" else self.words.past_modals)
        if verb.frame == "copula" and tense == "future":
            tense = "present"
        negated = not plain and draw.random() < 0.1 and (modal is None or modal.negatable)
        subject = self.subject(verb)
        target = indirect = place = predicate = frequency = manner = time = None
        if verb.frame == "copula":
            subject = self.noun_phrase(draw.common(tables.subjects[verb.rank]), definite=True)._replace(adjective=None)
            predicate = draw.common(tables.copula_adjectives[subject.noun.rank])
        elif verb.frame in ("motion", "located"):
            if verb.frame == "motion" or draw.random() < 0.7:
                preposition, noun = draw.common(tables.goals if verb.frame == "motion" else tables.places)
                place = Place(preposition, self.noun_phrase(noun))
        else:
            target = self.noun_phrase(draw.common(tables.objects[verb.rank]), definite=negated)
            if not negated and target.determiner == "a" and draw.random() < 0.2:
                target = target._replace(determiner="no")
            if verb.frame == "ditransitive":
                indirect = self.noun_phrase(draw.common(tables.indirect[verb.rank]))
        adverb = draw.random() / (ADVERB_SHARE * (0.6 if short else 1.0))
        if adverb < 0.4:
            if not negated and not plain:
                frequency = draw.common(tables.frequencies[verb.rank] or [None])
        elif adverb < 0.7 and verb.frame != "copula":
            manner = draw.common(tables.manners[verb.rank] or [None])
        fronted = draw.random() < front
        if fronted or (not short and draw.random() < 0.2):
            letter = TENSE_LETTER[tense]
            time = draw.common(tables.times[verb.rank, letter] or [None])
        if place is None and verb.frame == "transitive" and not short and draw.random() < 0.2:
            preposition, noun = draw.common(tables.places)
            place = Place(preposition, self.noun_phrase(noun))
        clause = Clause(
            verb, subject, target, indirect, place, predicate, time, frequency, manner, tense, modal, negated,
            fronted and time is not None,
        )  # fmt: skip
        return self.with_relative(clause) if draw.random() < relative else clause

    def with_relative(self, clause: Clause) -> Clause:
        """Add a relative clause to the object or the subject of ``clause``, if possible."""
        slot = "object" if clause.object is not None and self.draw.random() < 0.6 else "subject"
        phrase: NounPhrase | None = getattr(clause, slot)
        if phrase is None or phrase.determiner == "" or clause.verb.frame == "copula":
            return clause
        phrase = phrase._replace(relative=self.relative(phrase.noun))
        return clause._replace(object=phrase) if slot == "object" else clause._replace(subject=phrase)

    def relative(self, noun: Noun) -> Clause | None:
        """Draw a relative clause about ``noun``."""
        draw, tables = self.draw, self.combinations
        tense = draw.any(("present", "past"))
        as_object = tables.as_object[noun.rank]
        if as_object and draw.random() < 0.5:
            verb = draw.common(as_object)
            return Clause(verb, subject=self.subject(verb), tense=tense, gap="object")
        as_subject = tables.as_subject[noun.rank]
        if not as_subject:
            return None
        verb = draw.common(as_subject)
        target, place = None, None
        if verb.frame == "located":
            preposition, there = draw.common(tables.places)
            place = Place(preposition, self.noun_phrase(there))
        else:
            target = self.noun_phrase(draw.common(tables.objects[verb.rank]))
        return Clause(verb, object=target, place=place, tense=tense, gap="subject")

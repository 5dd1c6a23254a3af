"""The synchronous German-English grammar of the demo corpus; ``grammar.tsv`` holds its rules and
words.

A rule is a template for each language with the same parts, so that every pair is parallel and
correct: articles, adjectives and pronouns agree in gender, case and number, the finite verb is
second or last, verbs separate (*macht ... auf*, *aufgemacht*, *aufzumachen*), and the perfect takes
*haben* or *sein*. A clause is filled from the inside out: the forms of its verb by ``tense``
(singular/plural; forms are named by a pronoun or an auxiliary), then its ``middle`` by the
``frame`` of the verb, then the rules ``clause``. Articles and endings have 12 forms: (m, f, n,
plural) x (nominative, accusative, dative).

Words: *w* is a weak masculine noun. Classes say which words combine: P person, A animal, T thing, R
text, O thing that opens, W clothing, V vehicle, E food, D drink, L place to be in, U place to be
on; of adverbs and links the tenses (present, past, future). Verbs list the classes of subjects and
objects, ``+`` separates a particle and marks a perfect with *sein*; prepositions state their case.

Every third combination of a verb with a subject, object or adverb, of an adjective with a noun, and
of a preposition with a place is held out of training (:func:`is_held_out`); so are relative clauses
in sentences of two clauses.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files
from random import Random
from typing import Any, NamedTuple, TypeVar

Item = TypeVar("Item")
Pair = tuple[str, str]
Clause = dict[str, Any]
"""Words, noun phrases and clauses by slot, such as ``subject``; ``tense`` and, of a sentence,
``rule`` are rows.
"""
ACCUSATIVE, DATIVE = 1, 2
CODES = {
    "m": 0,
    "w": 0,
    "f": 1,
    "n": 2,
    "accusative": ACCUSATIVE,
    "dative": DATIVE,
}  # of genders and cases
VERB_FORMS = (
    "particle",
    "wir",
    "er",
    "participle",
    "hat",
    "haben",
    "infinitive",
    "zu",
    "we",
    "she",
    "past",
)
TENSE = ("finite", "end", "last", "auxiliary", "predicate", "question")


class Word(NamedTuple):
    """A word with its German and its English ``forms``; ``kind`` is its table, of verbs the
    frame.
    """

    kind: str
    rank: int
    classes: str
    forms: tuple[tuple[str, ...], tuple[str, ...]]
    gender: int = 0  # of a preposition its case
    objects: str = ""


class NounPhrase(NamedTuple):
    """``determiner`` is a key of that table, or empty."""

    noun: Word
    determiner: str = "the"
    adjective: Word | None = None
    plural: bool = False
    relative: Clause | None = None
    preposition: Word | None = None


@cache
def rows(table: str) -> tuple[tuple[str, ...], ...]:
    """The rows of a table, without its name."""
    lines = files(__package__).joinpath("grammar.tsv").read_text("utf-8").splitlines()
    return tuple(tuple(line.split("\t")[1:]) for line in lines if line.split("\t")[0] == table)


@cache
def row(table: str, key: str) -> tuple[str, ...]:
    """The row of a table that begins with ``key``, without it."""
    return next(row[1:] for row in rows(table) if row[0] == key)


def _suffixed(text: str) -> str:
    word, blank, rest = text.partition(" ")
    if word.endswith(("s", "sh", "ch", "x", "go")):
        word += "e"
    elif word.endswith("y") and word[-2] not in "aeiou":
        word = word[:-1] + "ie"
    return f"{word}s{blank}{rest}"


def _word(table: str, rank: int, key: str, entry: str) -> Word:
    german, english, feature, objects = [*(field.replace("_", " ") for field in entry.split()), ""][
        :4
    ]
    forms, names = tuple(german.split("/")), tuple(english.split("/"))
    if table == "verb":
        infinitive, third, participle = forms
        particle, _, base = infinitive.rpartition("+")
        have = ("ist", "sind") if participle.startswith("+") else ("hat", "haben")
        with_zu = f"{particle}zu{base}" if particle else f"zu {base}"
        forms = (particle, base, third, participle.lstrip("+"), *have, particle + base, with_zu)
        return Word(
            key, rank, feature, (forms, (names[0], _suffixed(names[0]), names[1])), 0, objects
        )
    if len(forms) == 2:
        singular, plural = forms
        oblique = plural if feature == "w" else singular
        forms = (
            singular,
            oblique,
            oblique,
            plural,
            plural,
            plural if plural.endswith(("n", "s")) else plural + "n",
        )
        names = names if len(names) == 2 else (english, _suffixed(english))
    else:
        forms *= 3  # the same in every case
    return Word(table, rank, key or feature, (forms, names), CODES.get(feature, 0))


@cache
def words(table: str) -> tuple[Word, ...]:
    """The words of a table, the most frequent first; their rank is the position."""
    entries = [(key, entry) for key, column in rows(table) for entry in column.split(", ")]
    return tuple(_word(table, rank, key, entry) for rank, (key, entry) in enumerate(entries))


def is_held_out(first: Word, second: Word) -> bool:
    """Whether the combination of two words is held out of training."""
    return (first.rank + second.rank) % 3 == 0


@cache
def partners(word: Word, table: str, classes: str, novel: bool) -> tuple[Word, ...]:
    """The words of a table with one of ``classes`` whose combination with ``word`` is held out (or
    is not).
    """
    return tuple(
        w for w in words(table) if set(classes) & set(w.classes) and is_held_out(word, w) == novel
    )


def phrase_text(phrase: NounPhrase, side: int, case: int) -> str:
    """The noun phrase in German (side 0) or English (1), after its preposition and before its
    relative clause.
    """
    noun, plural = phrase.noun, phrase.plural
    case = phrase.preposition.gender if phrase.preposition else case
    slot = (
        plural if side else case + (9 if plural else 3 * noun.gender)
    )  # of determiners and endings
    text = noun.forms[side][plural if side else case + 3 * plural]
    if phrase.determiner:
        _, _, ending, *articles = row("determiner", phrase.determiner)
        if phrase.adjective:
            suffix = "" if side else row("ending", ending)[0].split()[slot]
            text = f"{phrase.adjective.forms[side][0]}{suffix} {text}"
        article = articles[side].split()[slot]
        text = f"{article}{'n' if article == 'a' and text[0] in 'aeiou' else ''} {text}"
    if phrase.preposition:
        text = f"{phrase.preposition.forms[side][0]} {text}"
        for long, short in rows("contraction"):
            if text.startswith(f"{long} "):
                text = short + text.removeprefix(long)
    if phrase.relative:
        # the relative pronoun is a noun phrase without its noun
        nothing = noun._replace(forms=(("",) * 6, ("",) * 2))
        pronoun = NounPhrase(nothing, "who" if "P" in noun.classes else "that", plural=plural)
        missing = "object" if "subject" in phrase.relative else "subject"
        text = f"{text} {_texts(phrase.relative | {missing: pronoun}, side)['relative']}"
    return text


def _texts(clause: Clause, side: int) -> dict[str, Any]:
    """What fills the parts of a rule, by the name of the part."""
    verb = clause["verb"]
    is_plural = "subject" in clause and clause["subject"].plural
    texts = defaultdict[str, Any](str, zip(VERB_FORMS, verb.forms[0] + verb.forms[1], strict=True))
    cases = {
        "subject": 0,
        "person": DATIVE,
        "object": DATIVE if verb.kind == "dative" else ACCUSATIVE,
    }
    for slot, phrase in clause.items():
        if isinstance(phrase, Word):
            texts[slot] = phrase.forms[side][0]
        elif isinstance(phrase, NounPhrase):
            name = "pronoun" if phrase.determiner in ("who", "that") else slot
            texts[name] = phrase_text(phrase, side, cases.get(slot, 0))
        elif isinstance(phrase, dict):
            texts[slot] = _texts(phrase, side)
    # every rule may name the parts of the ones before
    form = -1 if is_plural else 0
    rules = [
        (name, forms.split("/")[form])
        for name, forms in zip(TENSE, clause["tense"][2:], strict=True)
    ]
    rules.append(("middle", row("frame", verb.kind)[1 + side]))
    for name, template in [
        *rules,
        *((name, templates[side]) for name, *templates in rows("clause")),
    ]:
        texts[name] = template.format_map(texts)
    return texts


def sentence_pair(sentence: Clause) -> Pair:
    """The German and the English sentence: lower-cased, tokens separated by one blank."""
    filled = (sentence["rule"][2 + side].format_map(_texts(sentence, side)) for side in (0, 1))
    # commas around a clause meet the commas and the stop of the sentence
    german, english = (re.sub(r" ,(?= [,.?])", "", " ".join(text.split())) for text in filled)
    return german, english


class RandomDraw:
    """Random choices that are the same on every platform and Python version, since only
    ``random()`` is stable.
    """

    def __init__(self, seed: int) -> None:
        self.random: Callable[[], float] = Random(seed).random

    def any(self, items: Sequence[Item]) -> Item:
        """Draw an item, each equally often."""
        return items[int(self.random() * len(items))]

    def common(self, items: Sequence[Item]) -> Item:
        """Draw an item, the first ones more often: the density of item i of n falls as the square
        root of n / i.
        """
        return items[int(self.random() ** 2 * len(items))]

    def row(self, table: str, *keys: str) -> tuple[str, ...]:
        """Draw a row of a table, or of those with these keys, by its weight, the second column."""
        return self.any(
            [row for row in rows(table) if not keys or row[0] in keys for _ in range(int(row[1]))]
        )

    def shuffle(self, items: list[Item]) -> None:
        """Put ``items`` into random order."""
        for last in range(len(items) - 1, 0, -1):
            drawn = int(self.random() * (last + 1))
            items[last], items[drawn] = items[drawn], items[last]


class Sampler:
    """Draws sentences; ``novel``: only with word combinations held out of training."""

    def __init__(self, draw: RandomDraw, novel: bool) -> None:
        self.draw, self.novel = draw, novel

    def sentence(self) -> Clause:
        """Draw a sentence of any rule."""
        draw, rule = self.draw, self.draw.row("sentence")
        first, _, linked = rule[0].partition(" ")
        if not linked:
            fronted = first == "fronted"
            clause = self.clause(draw.any("ppaaf"), relative=0.25, time=1.0 if fronted else 0.2)
            if fronted:
                clause["front"] = clause.pop("time", None)
            return clause | {"rule": rule}
        link, relative = draw.common(words(linked)), 0.2 if self.novel else 0.0
        letter = draw.any([letter for letter in "pa" if letter in link.classes])
        if first == "any":
            clause, second = self.clause(letter), self.clause(letter, relative)
        else:
            verb = draw.common([verb for verb in words("verb") if verb.kind == first])
            clause = {
                "verb": verb,
                "tense": draw.row("tense", letter),
                "subject": self.subject(verb),
            }
            infinitive = linked == "to"
            second = (
                self.clause("p", infinitive=True)
                if infinitive
                else self.clause(draw.any("paf"), relative)
            )
        return clause | {"rule": rule, "link": link, "second": second}

    def clause(
        self, letter: str, relative: float = 0, time: float = 0, infinitive: bool = False
    ) -> Clause:
        """Draw a clause; ``relative`` and ``time`` are the probabilities of a relative clause and
        of a time.
        """
        draw, frame = self.draw, self.draw.row("frame")[0]
        verb = draw.common(
            [v for v in words("verb") if v.kind == frame and (not infinitive or "P" in v.classes)]
        )
        clause: Clause = {"verb": verb, "tense": draw.row("tense", letter)}
        for name, probability in {
            "time": time,
            "frequency": 0 if infinitive else 0.12,
            "manner": 0.1,
        }.items():
            if draw.random() < probability and (
                adverbs := partners(verb, name, letter, self.novel)
            ):
                clause[name] = draw.common(adverbs)
        clause |= self.arguments(verb)
        if infinitive:
            return clause
        clause["subject"] = self.subject(verb)
        if draw.random() < relative:
            slot = "object" if "object" in clause and draw.random() < 0.6 else "subject"
            if clause[slot].noun.kind == "noun":
                clause[slot] = clause[slot]._replace(relative=self.relative(clause[slot].noun))
        return clause

    def arguments(self, verb: Word) -> Clause:
        """What the frame of the verb requires besides the subject."""
        draw, phrases = self.draw, {}
        if verb.kind in ("motion", "located") or (
            verb.kind == "transitive" and draw.random() < 0.15
        ):
            preposition = draw.common(words("goal" if verb.kind == "motion" else "place"))
            phrases["place"] = self.phrase(preposition, preposition.classes)._replace(
                preposition=preposition
            )
        if verb.kind == "ditransitive":
            phrases["person"] = self.phrase(verb, "P")
        if verb.objects:
            phrases["object"] = self.phrase(verb, verb.objects)
        return phrases

    def subject(self, verb: Word) -> NounPhrase:
        """Draw a subject: a noun phrase, a name, or a pronoun."""
        if "P" in verb.classes and self.draw.random() < 0.35:
            return NounPhrase(self.draw.any(words("name")), "")
        return self.phrase(verb, verb.classes)

    def phrase(self, head: Word, classes: str) -> NounPhrase:
        """Draw a noun of these classes for a verb or preposition, with determiner, number and
        adjective.
        """
        draw, noun = self.draw, self.draw.common(partners(head, "noun", classes, self.novel))
        countable = len(noun.forms[0]) > 3
        keys = [row[0] for row in rows("determiner") if countable or row[0] not in ("a", "every")]
        determiner, _, numbers, *_ = draw.row("determiner", *keys)
        if not countable:
            determiner, numbers = determiner if "s" in numbers else "the", "s"
        adjectives = (
            partners(noun, "adjective", noun.classes, self.novel) if draw.random() < 0.4 else ()
        )
        plural = numbers == "p" or (numbers == "sp" and draw.random() < 0.35)
        return NounPhrase(noun, determiner, draw.common(adjectives) if adjectives else None, plural)

    def relative(self, noun: Word) -> Clause | None:
        """Draw a relative clause about a noun, which is its object or its subject."""
        draw, tense = self.draw, self.draw.row("tense", *"pa")
        verbs = [v for v in words("verb") if v.kind in ("transitive", "dative", "located")]
        verbs = [v for v in verbs if is_held_out(v, noun) == self.novel]
        if draw.random() < 0.5 and (
            fitting := [v for v in verbs if set(v.objects) & set(noun.classes)]
        ):
            verb = draw.common(fitting)
            return {"verb": verb, "tense": tense, "subject": self.subject(verb)}
        if fitting := [v for v in verbs if set(v.classes) & set(noun.classes)]:
            verb = draw.common(fitting)
            return {"verb": verb, "tense": tense, **self.arguments(verb)}
        return None

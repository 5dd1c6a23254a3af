"""The words of the demo corpus with the forms needed for inflection, read from ``words.tsv``.

Each row of the file is a word: the name of its table, then its fields. Everything is lowercase. Earlier rows of a table
are drawn more often. A rare word occurs 0, 1 or 2 times in training; some are rare on one side only.

======================== ===========================================================================================
table                    fields
======================== ===========================================================================================
noun, rare noun          German singular, gender, German plural, English singular, English plural, classes; ``m*`` is
                         a weak masculine, whose other singular cases look like the plural; no plural: not countable
name, pronoun            German, gender, English; of a pronoun its number (sg, pl) and person (1, 3)
adjective, rare          German alone, German stem, English, classes
time, ..., conjunction   German, English, the first letters of the tenses (present, past, future) it goes with
place, goal              German preposition, English, the case it governs here
present modal, past      German ich, wir; English third person, others, what follows *do* (if any); ``+``: negatable
verb                     frame, infinitive (with ``particle+``), ich, er, wir, participle, auxiliary (h, s), English
                         base, third person, past, classes of subjects and of objects; its preposition, if any
======================== ===========================================================================================

A noun has classes, one letter each, and verbs and adjectives list the classes with which they combine: P person,
A animal, T thing, R text, O thing that opens, W clothing, V vehicle, E food, D drink, L place to be in, U place to be
on. A few real ambiguities are intended: *bank* (bank, bench), *morgen* (tomorrow, morning), *sie* (she, they),
*schnell* (fast, quickly), *geben* and *schenken* (give).
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import NamedTuple

NOMINATIVE, ACCUSATIVE, DATIVE = 0, 1, 2


class Noun(NamedTuple):
    """A noun, name or pronoun; ``german``: singular then plural, each in the three cases."""

    rank: int
    gender: int
    german: tuple[str, ...]
    english: tuple[str, str]
    classes: str
    countable: bool = True
    first_person: bool = False


class Adjective(NamedTuple):
    """``german`` is the predicative form, ``stem`` takes the endings."""

    rank: int
    german: str
    stem: str
    english: str
    classes: str


class Adverb(NamedTuple):
    """An adverb or fixed adverbial phrase; ``tenses``: first letters of the tenses with which it combines."""

    rank: int
    german: str
    english: str
    tenses: str


class Preposition(NamedTuple):
    """A preposition and the case it governs here."""

    rank: int
    german: str
    english: str
    case: int


class Verb(NamedTuple):
    """A verb; ``present`` is ich, er, wir; ``english`` is base, third person, past."""

    rank: int
    frame: str
    particle: str
    infinitive: str
    zu_infinitive: str
    present: tuple[str, str, str]
    participle: str
    auxiliary: str
    english: tuple[str, str, str]
    subjects: str
    objects: str
    preposition: Preposition | None = None


class Modal(NamedTuple):
    """A modal verb; ``german`` is ich, er, wir; ``english`` is third person, others, and what follows *do* (if any)."""

    german: tuple[str, str, str]
    english: tuple[str, str, str]
    tense: str
    negatable: bool


class DemoWords(NamedTuple):
    """All word tables."""

    nouns: list[Noun]
    rare_nouns: list[Noun]
    names: list[Noun]
    pronouns: list[tuple[Noun, bool]]  # and whether it is plural
    adjectives: list[Adjective]
    rare_adjectives: list[Adjective]
    times: list[Adverb]
    frequencies: list[Adverb]
    manners: list[Adverb]
    verbs: dict[str, list[Verb]]
    places: list[Preposition]
    goals: list[Preposition]
    present_modals: list[Modal]
    past_modals: list[Modal]
    connectives: list[Adverb]
    conjunctions: list[Adverb]


def _noun(rank: int, german: str, gender: str, plural: str, english: str, english_plural: str, classes: str) -> Noun:
    oblique = plural if gender.endswith("*") else german
    dative_plural = plural if plural.endswith(("n", "s")) else plural + "n"
    forms = (german, oblique, oblique, plural, plural, dative_plural)
    return Noun(rank, "mfn".index(gender[0]), forms, (english, english_plural), classes, bool(plural))


def _verb(rank: int, frame: str, german: str, *fields: str) -> Verb:
    particle, _, base = german.rpartition("+")
    zu = f"{particle}zu{base}" if particle else f"zu {base}"
    ich, er, wir, participle, auxiliary, english, third, past, subjects, objects, *preposition = fields
    governed = Preposition(0, preposition[0], preposition[1], int(preposition[2])) if preposition else None
    return Verb(
        rank, frame, particle, particle + base, zu, (ich, er, wir), participle, auxiliary, (english, third, past),
        subjects, objects, governed,
    )  # fmt: skip


def _modal(tense: str, ich: str, wir: str, third: str, others: str, base: str, negatable: str) -> Modal:
    return Modal((ich, ich, wir), (third, others, base), tense, negatable == "+")


@cache
def lexicon() -> DemoWords:
    """Return the word tables."""
    tables: dict[str, list[list[str]]] = {}
    for line in files(__package__).joinpath("words.tsv").read_text("utf-8").splitlines():
        table, *fields = line.split("\t")
        tables.setdefault(table, []).append(fields)

    def undeclined(rank: int, german: str, gender: str, english: str, person: str = "") -> Noun:
        return Noun(rank, "mfn".index(gender), (german,) * 6, (english,) * 2, "P", first_person=person == "1")

    def prepositions(table: str) -> list[Preposition]:
        rows = enumerate(tables[table])
        return [Preposition(rank, german, english, int(case)) for rank, (german, english, case) in rows]

    def adverbs(table: str) -> list[Adverb]:
        return [Adverb(rank, *fields) for rank, fields in enumerate(tables[table])]

    verbs: dict[str, list[Verb]] = {}
    for rank, fields in enumerate(tables["verb"]):
        verbs.setdefault(fields[0], []).append(_verb(rank, *fields))
    return DemoWords(
        nouns=[_noun(rank, *fields) for rank, fields in enumerate(tables["noun"])],
        rare_nouns=[_noun(rank, *fields) for rank, fields in enumerate(tables["rare noun"])],
        names=[undeclined(rank, *fields) for rank, fields in enumerate(tables["name"])],
        pronouns=[
            (undeclined(rank, german, gender, english, person), number == "pl")
            for rank, (german, gender, english, number, person) in enumerate(tables["pronoun"])
        ],
        adjectives=[Adjective(rank, *fields) for rank, fields in enumerate(tables["adjective"])],
        rare_adjectives=[Adjective(rank, *fields) for rank, fields in enumerate(tables["rare adjective"])],
        times=adverbs("time"),
        frequencies=adverbs("frequency"),
        manners=adverbs("manner"),
        verbs=verbs,
        places=prepositions("place"),
        goals=prepositions("goal"),
        present_modals=[_modal("present", *fields) for fields in tables["present modal"]],
        past_modals=[_modal("past", *fields) for fields in tables["past modal"]],
        connectives=adverbs("connective"),
        conjunctions=adverbs("conjunction"),
    )

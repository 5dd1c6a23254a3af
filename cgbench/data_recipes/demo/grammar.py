"""The synchronous German-English grammar of the demo corpus; ``grammar.tsv`` holds its rules and words.

A rule gives the same parts in the order of both languages, so that every pair is parallel and correct: articles,
adjectives and pronouns agree in gender, case and number, the finite verb is second or last, verbs separate (*macht ...
auf*, *aufgemacht*, *aufzumachen*), and the perfect takes *haben* or *sein*. The parts of a rule (of its second clause
with a 2): S subject, F finite verb, M middle, E participle, infinitive or particle, Z the verbs at the end of a clause,
U infinitive with *zu*, T time, L link, W relative pronoun; in English V verbs, Q auxiliary of a question, B and I
infinitive with and without adverb, R rest. Of a frame: O object (O3 dative, O4 accusative), D person in the dative,
P place, A frequency, H manner. Articles and endings have 12 forms: (m, f, n, plural) x (nominative, accusative,
dative).

Words: *w* is a weak masculine noun. Classes say which words combine: P person, A animal, T thing, R text, O thing that
opens, W clothing, V vehicle, E food, D drink, L place to be in, U place to be on; of adverbs and links the tenses
(present, past, future). Verbs list the classes of subjects and objects, and ``+`` marks a perfect with *sein*.

Every third combination of a verb with a subject, object or adverb, of an adjective with a noun, and of a preposition
with a place is held out of training (:func:`is_held_out`); so are relative clauses in sentences of two clauses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files
from random import Random
from typing import Any, NamedTuple, TypeVar

Item = TypeVar("Item")
Pair = tuple[str, str]
ACCUSATIVE, DATIVE = 1, 2


class Word(NamedTuple):
    """A word with its forms; ``kind`` is its table, of verbs the frame. See ``grammar.tsv``."""

    kind: str
    rank: int
    classes: str
    german: tuple[str, ...]
    english: tuple[str, ...]
    gender: int = 0
    objects: str = ""


class NounPhrase(NamedTuple):
    """``determiner`` is a key of that table, or empty."""

    noun: Word
    determiner: str = "the"
    adjective: Word | None = None
    plural: bool = False
    relative: Clause | None = None


class Clause(NamedTuple):
    """One clause; a relative clause lacks its subject or object, an infinitive its subject. ``tense`` is a row."""

    verb: Word
    tense: tuple[str, ...]
    subject: NounPhrase | None = None
    object: NounPhrase | None = None
    person: NounPhrase | None = None
    preposition: Word | None = None
    place: NounPhrase | None = None
    time: Word | None = None
    frequency: Word | None = None
    manner: Word | None = None


def with_phrase(clause: Clause, slot: str, phrase: NounPhrase) -> Clause:
    """The clause with another noun phrase in a slot: ``subject``, ``object``, ``place``."""
    changed: dict[str, Any] = {slot: phrase}
    return clause._replace(**changed)


class Sentence(NamedTuple):
    """A rule, which is a row of the table ``sentence``, and what fills it."""

    rule: tuple[str, ...]
    main: Clause
    second: Clause | None = None
    link: Word | None = None


@cache
def rows(table: str) -> tuple[tuple[str, ...], ...]:
    """The rows of a table, without its name."""
    lines = files(__package__).joinpath("grammar.tsv").read_text("utf-8").splitlines()
    return tuple(tuple(line.split("\t")[1:]) for line in lines if line.split("\t")[0] == table)


@cache
def row(table: str, key: str) -> tuple[str, ...]:
    """The row of a table that begins with ``key``, without it."""
    return next(row[1:] for row in rows(table) if row[0] == key)


def _suffixed(word: str) -> str:
    if word.endswith(("s", "sh", "ch", "x", "go")):
        return word + "es"
    return word[:-1] + "ies" if word.endswith("y") and word[-2] not in "aeiou" else word + "s"


def _word(table: str, rank: int, key: str, entry: str) -> Word:
    fields = entry.split()
    if table.endswith("noun") or table == "name":
        gender, german, english = fields
        singular, _, plural = german.partition("/")
        oblique = plural if gender == "w" else singular
        dative = plural if plural.endswith(("n", "s")) else plural + "n"
        names = (english.partition("/")[0], english.partition("/")[2] or _suffixed(english))
        forms = (singular, oblique, oblique, *((plural, plural, dative) if plural else ()))
        return Word(table, rank, key or "P", forms, names, {"m": 0, "w": 0, "f": 1, "n": 2}[gender])
    if table == "verb":
        german, english, subjects, *objects = fields
        infinitive, third, participle = german.split("/")
        particle, _, base = infinitive.rpartition("+")
        present, past = (form.replace("_", " ") for form in english.split("/"))
        verb, _, adverb = present.partition(" ")
        forms = (present, f"{_suffixed(verb)} {adverb}".strip(), past)
        return Word(key, rank, subjects, (particle, base, third, participle), forms, objects="".join(objects))
    german, english, classes = (field.replace("_", " ") for field in fields)
    if table in ("place", "goal"):
        return Word(table, rank, key, (german,), (english,), gender=int(classes))
    return Word(table, rank, classes, (german,), (english,))


@cache
def words(table: str) -> tuple[Word, ...]:
    """The words of a table, the most frequent first; their rank is the position."""
    entries = [("" if len(row) == 1 else row[0], entry) for row in rows(table) for entry in row[-1].split(", ")]
    return tuple(_word(table, rank, key, entry) for rank, (key, entry) in enumerate(entries))


def is_held_out(first: Word, second: Word) -> bool:
    """Whether the combination of two words is held out of training."""
    return (first.rank + second.rank) % 3 == 0


@cache
def partners(word: Word, table: str, classes: str, novel: bool) -> tuple[Word, ...]:
    """The words of a table with one of ``classes`` whose combination with ``word`` is held out (or is not)."""
    return tuple(w for w in words(table) if set(classes) & set(w.classes) and is_held_out(word, w) == novel)


def _fill(template: str, texts: dict[str, str]) -> str:
    return " ".join(filter(None, (texts.get(token, token) for token in template.split())))


def german_phrase(phrase: NounPhrase, case: int) -> str:
    """The noun phrase in a case (0, ACCUSATIVE, DATIVE), its relative clause between commas."""
    noun, slot = phrase.noun, case + (9 if phrase.plural else 3 * phrase.noun.gender)
    text = noun.german[case + 3 * phrase.plural]
    if phrase.determiner:
        _, ending, articles, _ = row("determiner", phrase.determiner)
        if phrase.adjective:
            text = f"{phrase.adjective.german[0]}{row('ending', ending)[0].split()[slot]} {text}"
        text = f"{articles.split()[slot]} {text}"
    if phrase.relative:
        clause, gap = phrase.relative, "object" if phrase.relative.subject else "subject"
        case = 0 if gap == "subject" else DATIVE if clause.verb.kind == "dative" else ACCUSATIVE
        slot = case + (9 if phrase.plural else 3 * noun.gender)
        texts = german_parts(clause, head=phrase) | {"W": rows("pronoun")[0][0].split()[slot]}
        text = f"{text} {_fill(row('relative', gap)[0], texts)}"
    return text


def english_phrase(phrase: NounPhrase) -> str:
    """The noun phrase, with *a* or *an*."""
    text = phrase.noun.english[phrase.plural]
    if phrase.adjective:
        text = f"{phrase.adjective.english[0]} {text}"
    if phrase.determiner:
        article = row("determiner", phrase.determiner)[3].split()[phrase.plural]
        text = f"{article + 'n' if article == 'a' and text[0] in 'aeiou' else article} {text}"
    if phrase.relative:
        gap = "object" if phrase.relative.subject else "subject"
        texts = english_parts(phrase.relative, head=phrase) | {"W": "who" if "P" in phrase.noun.classes else "that"}
        text = f"{text} {_fill(row('relative', gap)[1], texts)}"
    return text


def _adverbs(clause: Clause, side: str) -> dict[str, str]:
    adverbs = {"T": clause.time, "A": clause.frequency, "H": clause.manner}
    return {key: getattr(word, side)[0] if word else "" for key, word in adverbs.items()}


def german_parts(clause: Clause, fronted: bool = False, head: NounPhrase | None = None) -> dict[str, str]:
    """The parts of a clause; ``fronted``: the time is not in the middle; ``head``: of a relative clause."""
    particle, base, third, participle = clause.verb.german
    subject = clause.subject or head
    *finite, end = clause.tense[2].split()
    if finite[0] == "er":
        finite = [third, base]
    elif participle.startswith("+") and end == "participle":
        finite = ["ist", "sind"]
    verb = finite[bool(subject and subject.plural)]
    end = {"particle": particle, "participle": participle.lstrip("+"), "infinitive": particle + base}[end]
    texts = _adverbs(clause, "german")
    inner = texts | {"O4": "", "O3": "", "D": "", "P": "", **({"T": ""} if fronted else {})}
    if clause.object:
        inner |= {"O4": german_phrase(clause.object, ACCUSATIVE), "O3": german_phrase(clause.object, DATIVE)}
    if clause.person:
        inner["D"] = german_phrase(clause.person, DATIVE)
    if clause.place and clause.preposition:
        place_text = f"{clause.preposition.german[0]} {german_phrase(clause.place, clause.preposition.gender)}"
        for contraction in rows("contraction")[0][0].split(", ") if clause.place.determiner == "the" else ():
            long, short = contraction.split("=")
            if place_text.startswith(long + " "):
                place_text = f"{short} {place_text.removeprefix(long + ' ')}"
        inner["P"] = place_text
    return texts | {
        "S": german_phrase(clause.subject, 0) if clause.subject else "",
        "F": verb,
        "M": _fill(row("frame", clause.verb.kind)[1], inner),
        "E": end,
        "Z": particle + verb if clause.tense[2].endswith("particle") else f"{end} {verb}",
        "U": f"{particle}zu{base}" if particle else f"zu {base}",
    }


def english_parts(clause: Clause, fronted: bool = False, head: NounPhrase | None = None) -> dict[str, str]:
    """As :func:`german_parts`."""
    base, third, past = clause.verb.english
    subject = clause.subject or head
    plural = bool(subject and subject.plural)
    texts = _adverbs(clause, "english")
    verb, infinitive = clause.tense[3].split()[plural], f"{texts['A']} {base}".strip()
    form = {"third": third, "base": base, "past": past}.get(verb)
    inner = texts | {"T": "" if fronted else texts["T"], "P": ""}
    inner |= {"O": english_phrase(clause.object) if clause.object else ""}
    inner |= {"D": english_phrase(clause.person) if clause.person else ""}
    if clause.place and clause.preposition:
        inner["P"] = f"{clause.preposition.english[0]} {english_phrase(clause.place)}"
    return texts | {
        "S": english_phrase(clause.subject) if clause.subject else "",
        "V": f"{texts['A']} {form}".strip() if form else f"{verb} {infinitive}",
        "Q": clause.tense[4].split()[plural],
        "B": infinitive,
        "I": base,
        "R": _fill(row("frame", clause.verb.kind)[2], inner),
    }


def sentence_pair(sentence: Sentence) -> Pair:
    """The German and the English sentence: lower-cased, tokens separated by one blank."""
    _, _, german, english = sentence.rule
    sides = []
    for rule, parts_of, side in ((german, german_parts, "german"), (english, english_parts, "english")):
        texts = parts_of(sentence.main, "T" in rule.split())
        if sentence.second:
            texts |= {f"{key}2": text for key, text in parts_of(sentence.second).items()}
        if sentence.link:
            texts["L"] = getattr(sentence.link, side)[0]
        # commas around a clause meet the commas and the stop of the sentence
        text = _fill(rule, texts).replace(" , ,", " ,")
        sides.append(text.replace(" , .", " .").replace(" , ?", " ?"))
    return sides[0], sides[1]


class RandomDraw:
    """Random choices that are the same on every platform and Python version, since only ``random()`` is stable."""

    def __init__(self, seed: int) -> None:
        self.random: Callable[[], float] = Random(seed).random

    def any(self, items: Sequence[Item]) -> Item:
        """Draw an item, each equally often."""
        return items[int(self.random() * len(items))]

    def common(self, items: Sequence[Item]) -> Item:
        """Draw an item, the first ones more often: the density of item i of n falls as the square root of n / i."""
        return items[int(self.random() ** 2 * len(items))]

    def row(self, table: str, *keys: str) -> tuple[str, ...]:
        """Draw a row of a table, or of those with these keys, by its weight, the second column."""
        return self.any([row for row in rows(table) if not keys or row[0] in keys for _ in range(int(row[1]))])

    def shuffle(self, items: list[Item]) -> None:
        """Put ``items`` into random order."""
        for last in range(len(items) - 1, 0, -1):
            drawn = int(self.random() * (last + 1))
            items[last], items[drawn] = items[drawn], items[last]


class Sampler:
    """Draws sentences; ``novel``: only with word combinations held out of training."""

    def __init__(self, draw: RandomDraw, novel: bool) -> None:
        self.draw, self.novel = draw, novel

    def sentence(self) -> Sentence:
        """Draw a sentence of any rule."""
        draw, rule = self.draw, self.draw.row("sentence")
        first, _, linked = rule[0].partition(" ")
        if not linked:
            fronted = rule[2].startswith("T ")
            return Sentence(rule, self.clause(draw.any("ppaaf"), relative=0.25, time=1.0 if fronted else 0.2))
        link, relative = draw.common(words(linked)), 0.2 if self.novel else 0.0
        letter = draw.any([letter for letter in "pa" if letter in link.classes])
        if first == "any":
            return Sentence(rule, self.clause(letter), self.clause(letter, relative=relative), link)
        verb = draw.common([verb for verb in words("verb") if verb.kind == first])
        main = Clause(verb, draw.row("tense", letter), self.subject(verb))
        if linked == "to":
            return Sentence(rule, main, self.clause("p", infinitive=True), link)
        return Sentence(rule, main, self.clause(draw.any("paf"), relative=relative), link)

    def clause(self, letter: str, relative: float = 0, time: float = 0, infinitive: bool = False) -> Clause:
        """Draw a clause; ``relative`` and ``time`` are the probabilities of a relative clause and of a time."""
        draw, frame = self.draw, self.draw.row("frame")[0]
        verb = draw.common([v for v in words("verb") if v.kind == frame and (not infinitive or "P" in v.classes)])
        clause = Clause(verb, draw.row("tense", letter))
        adverbs = {"time": time, "frequency": 0 if infinitive else 0.12, "manner": 0.1}
        chosen: dict[str, Any] = {
            name: draw.common(partners(verb, name, letter, self.novel))
            for name, probability in adverbs.items()
            if draw.random() < probability and partners(verb, name, letter, self.novel)
        }
        clause = self.arguments(clause._replace(**chosen))
        if infinitive:
            return clause
        clause = clause._replace(subject=self.subject(verb))
        if draw.random() >= relative:
            return clause
        slot = "object" if clause.object and draw.random() < 0.6 else "subject"
        phrase: NounPhrase = getattr(clause, slot)
        if phrase.determiner and phrase.noun.kind == "noun":
            phrase = phrase._replace(relative=self.relative(phrase.noun))
        return with_phrase(clause, slot, phrase)

    def arguments(self, clause: Clause) -> Clause:
        """Add what the frame of the verb requires besides the subject."""
        draw, verb = self.draw, clause.verb
        if verb.kind in ("motion", "located") or (verb.kind == "transitive" and draw.random() < 0.15):
            preposition = draw.common(words("goal" if verb.kind == "motion" else "place"))
            nouns = partners(preposition, "noun", preposition.classes, self.novel)
            clause = clause._replace(preposition=preposition, place=self.phrase(draw.common(nouns)))
        if verb.kind == "ditransitive":
            clause = clause._replace(person=self.phrase(draw.common(partners(verb, "noun", "P", self.novel))))
        if verb.objects:
            nouns = partners(verb, "noun", verb.objects, self.novel)
            clause = clause._replace(object=self.phrase(draw.common(nouns)))
        return clause

    def subject(self, verb: Word) -> NounPhrase:
        """Draw a subject: a noun phrase, a name, or a pronoun."""
        if "P" in verb.classes and self.draw.random() < 0.35:
            return NounPhrase(self.draw.any(words("name")), "")
        return self.phrase(self.draw.common(partners(verb, "noun", verb.classes, self.novel)))

    def phrase(self, noun: Word) -> NounPhrase:
        """Draw determiner, number and adjective of a noun."""
        draw, countable = self.draw, len(noun.german) > 3
        keys = [row[0] for row in rows("determiner") if countable or row[0] not in ("a", "every")]
        determiner = draw.row("determiner", *keys)
        singular, plural = ("-" not in text for text in (determiner[3].split()[0], determiner[3].split()[-1]))
        if not countable:
            determiner, plural = (determiner, False) if singular else (rows("determiner")[0], False)
        adjectives = partners(noun, "adjective", noun.classes, self.novel) if draw.random() < 0.4 else ()
        is_plural = plural and (not singular or draw.random() < 0.35)
        return NounPhrase(noun, determiner[0], draw.common(adjectives) if adjectives else None, is_plural)

    def relative(self, noun: Word) -> Clause | None:
        """Draw a relative clause about a noun, which is its object or its subject."""
        draw, tense = self.draw, self.draw.row("tense", *"pa")
        verbs = [v for v in words("verb") if v.kind in ("transitive", "dative", "located")]
        verbs = [v for v in verbs if is_held_out(v, noun) == self.novel]
        if draw.random() < 0.5 and (fitting := [v for v in verbs if set(v.objects) & set(noun.classes)]):
            verb = draw.common(fitting)
            return Clause(verb, tense, self.subject(verb))
        fitting = [v for v in verbs if set(v.classes) & set(noun.classes)]
        return self.arguments(Clause(draw.common(fitting), tense)) if fitting else None

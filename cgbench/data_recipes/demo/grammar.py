"""The grammar of the demo corpus, which turns a meaning into a German and an English sentence.

A meaning is a small tree of the tuples below; :func:`translate` expresses it in both languages, so that a pair is
parallel and correct by construction. German: gender, case and number agreement of article, adjective and noun (weak,
mixed and strong endings), verb-second main clauses with inversion, verb-final subordinate and relative clauses,
relative pronouns that agree with their noun and take their case from their own clause, separable verbs (*macht ...
auf*, *aufmacht*, *aufgemacht*, *aufzumachen*), modal verbs, the perfect with *haben* or *sein*, contractions (*im*).
English: agreement, tense, do-support in negation and questions, *a* or *an*. Forms follow the Duden grammar.
"""

from __future__ import annotations

from typing import NamedTuple

from cgbench.data_recipes.demo.lexicon import (
    ACCUSATIVE,
    DATIVE,
    NOMINATIVE,
    Adjective,
    Adverb,
    Modal,
    Noun,
    Preposition,
    Verb,
)


class NounPhrase(NamedTuple):
    """``determiner`` is the English word (a key of ``DETERMINERS``), or empty."""

    noun: Noun
    determiner: str = "the"
    adjective: Adjective | None = None
    plural: bool = False
    relative: Clause | None = None


class Place(NamedTuple):
    """A prepositional phrase; ``phrase`` is None if a relative pronoun replaces it."""

    preposition: Preposition
    phrase: NounPhrase | None


class Clause(NamedTuple):
    """One clause. In a relative clause, ``gap`` names the part replaced by the relative pronoun (which is None)."""

    verb: Verb
    subject: NounPhrase | None = None
    object: NounPhrase | None = None
    indirect: NounPhrase | None = None
    place: Place | None = None
    predicate: Adjective | None = None
    time: Adverb | None = None
    frequency: Adverb | None = None
    manner: Adverb | None = None
    tense: str = "present"
    modal: Modal | None = None
    negated: bool = False
    fronted: bool = False
    gap: str = ""


class Meaning(NamedTuple):
    """``form`` is statement, question, why, or how the clause ``other`` is joined to the main clause.

    ``and``: coordinated by ``link``; ``last``, ``first``: subordinate under ``link``, after or before the main clause;
    ``that``: a complement clause; ``infinitive``: an infinitive with *zu*, whose subject is that of the main clause.
    """

    form: str
    main: Clause
    other: Clause | None = None
    link: Adverb | None = None


class Determiner(NamedTuple):
    """German forms and endings of a following adjective, in 12 slots (m, f, n, plural) x (nom, acc, dat)."""

    german: tuple[str, ...]
    endings: tuple[str, ...]
    english: str
    english_plural: str


def _slots(forms: str) -> tuple[str, ...]:
    return tuple(forms.split())


WEAK = _slots("e en en e e en e e en en en en")
MIXED = _slots("er en en e e en es es en en en en")
STRONG = _slots("er en em e e er es es em e e en")
DEFINITE = _slots("der den dem die die der das das dem die die den")
RELATIVE = (*DEFINITE[:11], "denen")
EIN_ENDINGS = ("", "en", "em", "e", "e", "er", "", "", "em", "e", "e", "en")


def _ein(stem: str, english: str) -> Determiner:
    return Determiner(tuple(stem + ending for ending in EIN_ENDINGS), MIXED, english, english)


def _dieser(stem: str, english: str, english_plural: str) -> Determiner:
    return Determiner(tuple(stem + ending for ending in STRONG), WEAK, english, english_plural)


def _plain(word: str, english: str) -> Determiner:
    return Determiner((word,) * 12, STRONG, english, english)


DETERMINERS = {
    "": _plain("", ""),
    "the": Determiner(DEFINITE, WEAK, "the", "the"),
    "a": _ein("ein", "a"),
    "no": _ein("kein", "no"),
    "my": _ein("mein", "my"),
    "his": _ein("sein", "his"),
    "our": _ein("unser", "our"),
    "this": _dieser("dies", "this", "these"),
    "every": _dieser("jed", "every", ""),
    "all": _dieser("all", "", "all"),
    "many": Determiner(("viele",) * 11 + ("vielen",), STRONG, "", "many"),
    "two": _plain("zwei", "two"),
    "three": _plain("drei", "three"),
}
CONTRACTIONS = {"in dem": "im", "in das": "ins", "an dem": "am", "zu dem": "zum", "zu der": "zur", "von dem": "vom"}

HABEN = ("habe", "hat", "haben")
SEIN = ("bin", "ist", "sind")
WERDEN = ("werde", "wird", "werden")
WAR = ("war", "war", "waren")


def german_noun_phrase(phrase: NounPhrase, case: int) -> str:
    """Return the phrase in ``case``, its relative clause between commas."""
    noun, determiner = phrase.noun, DETERMINERS[phrase.determiner]
    slot = case + (9 if phrase.plural else 3 * noun.gender)
    words = noun.german[case + 3 if phrase.plural else case]
    if phrase.adjective is not None:
        words = f"{phrase.adjective.stem}{determiner.endings[slot]} {words}"
    article = determiner.german[slot]
    if article:
        words = f"{article} {words}"
    if phrase.relative is not None:
        words = f"{words} , {_german_relative(phrase, phrase.relative)} ,"
    return words


def english_noun_phrase(phrase: NounPhrase) -> str:
    """Return the phrase, with *a* or *an* by the sound that follows."""
    noun, determiner = phrase.noun, DETERMINERS[phrase.determiner]
    words = noun.english[phrase.plural]
    if phrase.adjective is not None:
        words = f"{phrase.adjective.english} {words}"
    article = determiner.english_plural if phrase.plural else determiner.english
    if article == "a" and ((words[0] in "aeiou" and not words.startswith("use")) or words.startswith("honest")):
        article = "an"
    if article:
        words = f"{article} {words}"
    if phrase.relative is not None:
        words = f"{words} {_english_relative(phrase, phrase.relative)}"
    return words


def german_place(place: Place) -> str:
    """Return the prepositional phrase, contracted (*im*, *zur*) where the definite article allows."""
    assert place.phrase is not None
    words = f"{place.preposition.german} {german_noun_phrase(place.phrase, place.preposition.case)}"
    if place.phrase.determiner == "the" and not place.phrase.plural:
        preposition, article, rest = words.split(" ", 2)
        contraction = CONTRACTIONS.get(f"{preposition} {article}")
        if contraction:
            return f"{contraction} {rest}"
    return words


def _german_verbs(clause: Clause, person: int) -> tuple[str, str, str]:
    """Return (finite verb, separated particle, infinitive or participle)."""
    verb = clause.verb
    if clause.modal is not None:
        return clause.modal.german[person], "", verb.infinitive
    if clause.tense == "future":
        return WERDEN[person], "", verb.infinitive
    if clause.tense == "past":
        if verb.frame == "copula":
            return WAR[person], "", ""
        return (HABEN if verb.auxiliary == "h" else SEIN)[person], "", verb.participle
    return verb.present[person], verb.particle, ""


def _german_middle(clause: Clause, with_time: bool) -> list[str]:
    """Return what stands between the finite verb (and the subject) and the end of the clause."""
    verb = clause.verb
    words = []
    if clause.indirect is not None:
        words.append(german_noun_phrase(clause.indirect, DATIVE))
    if with_time and clause.time is not None:
        words.append(clause.time.german)
    if clause.frequency is not None:
        words.append(clause.frequency.german)
    if clause.object is not None and verb.preposition is None:
        words.append(german_noun_phrase(clause.object, DATIVE if verb.frame == "dative" else ACCUSATIVE))
    if clause.negated:
        words.append("nicht")
    if clause.manner is not None:
        words.append(clause.manner.german)
    if clause.object is not None and verb.preposition is not None:
        words.append(german_place(Place(verb.preposition, clause.object)))
    if clause.place is not None and clause.gap != "place":
        words.append(german_place(clause.place))
    if clause.predicate is not None:
        words.append(clause.predicate.german)
    return words


def _german_main(clause: Clause, fronted: str = "", question: bool = False) -> list[str]:
    """Return a verb-second clause (verb-first in a question); the subject follows the verb if something is fronted."""
    subject = clause.subject
    assert subject is not None
    finite, particle, rest = _german_verbs(clause, _person(subject))
    front = clause.time.german if clause.fronted and clause.time is not None else fronted
    nominative = german_noun_phrase(subject, NOMINATIVE)
    words = [front, finite, nominative] if front or question else [nominative, finite]
    words += _german_middle(clause, with_time=not clause.fronted)
    words += (particle, rest)
    return words


def _german_final(clause: Clause, head: NounPhrase | None = None) -> list[str]:
    """Return a verb-final clause; ``head`` is the noun phrase of a relative clause."""
    subject = clause.subject or head
    assert subject is not None
    finite, particle, rest = _german_verbs(clause, _person(subject))
    words = [] if clause.subject is None else [german_noun_phrase(clause.subject, NOMINATIVE)]
    words += _german_middle(clause, with_time=True)
    words += (rest, particle + finite)
    return words


def _german_relative(head: NounPhrase, clause: Clause) -> str:
    preposition = _gap_preposition(clause)
    if preposition is not None:
        case = preposition.case
    elif clause.gap == "subject":
        case = NOMINATIVE
    else:
        case = DATIVE if clause.gap == "indirect" or clause.verb.frame == "dative" else ACCUSATIVE
    pronoun = RELATIVE[case + (9 if head.plural else 3 * head.noun.gender)]
    words = [preposition.german if preposition else "", pronoun, *_german_final(clause, head)]
    return " ".join(filter(None, words))


def _english_relative(head: NounPhrase, clause: Clause) -> str:
    preposition = _gap_preposition(clause)
    person = "P" in head.noun.classes
    if preposition is not None:
        opening = f"{preposition.english} {'whom' if person else 'which'}"
    elif clause.gap == "indirect":
        opening = "to whom" if person else "to which"
    else:
        opening = "who" if person else "that"
    return f"{opening} {_english_clause(clause, head)}"


def _gap_preposition(clause: Clause) -> Preposition | None:
    if clause.gap == "place" and clause.place is not None:
        return clause.place.preposition
    return clause.verb.preposition if clause.gap == "object" else None


def _person(subject: NounPhrase) -> int:
    if subject.plural:
        return 2
    return 0 if subject.noun.first_person else 1


def _english_verbs(clause: Clause, person: int, support: bool) -> tuple[str, str]:
    """Return (auxiliary or nothing, verb); ``support``: an auxiliary is needed, *do* if there is no other."""
    verb = clause.verb
    base, third, past = verb.english
    if clause.modal is not None:
        modal, full = clause.modal.english[0 if person == 1 else 1], clause.modal.english[2]
        if not full:
            return modal, base
        return (_do(clause.modal.tense, person), f"{full} {base}") if support else ("", f"{modal} {base}")
    if clause.tense == "future":
        return "will", base
    if verb.frame == "copula":
        if clause.tense == "past":
            return ("were" if person == 2 else "was"), ""
        return ("am", "is", "are")[person], ""
    if support:
        return _do(clause.tense, person), base
    if clause.tense == "past":
        return "", past
    return "", (third if person == 1 else base)


def _do(tense: str, person: int) -> str:
    if tense == "past":
        return "did"
    return "does" if person == 1 else "do"


def _english_rest(clause: Clause) -> list[str]:
    words = []
    if clause.object is not None:
        if clause.verb.preposition is not None:
            words.append(clause.verb.preposition.english)
        words.append(english_noun_phrase(clause.object))
    if clause.indirect is not None:
        words += ("to", english_noun_phrase(clause.indirect))
    if clause.predicate is not None:
        words.append(clause.predicate.english)
    if clause.manner is not None:
        words.append(clause.manner.english)
    if clause.place is not None and clause.gap != "place":
        assert clause.place.phrase is not None
        words += (clause.place.preposition.english, english_noun_phrase(clause.place.phrase))
    if clause.time is not None and not clause.fronted:
        words.append(clause.time.english)
    return words


def _english_clause(clause: Clause, head: NounPhrase | None = None, question: bool = False) -> str:
    subject = clause.subject or head
    assert subject is not None
    auxiliary, verb = _english_verbs(clause, _person(subject), support=clause.negated or question)
    nominative = "" if clause.subject is None else english_noun_phrase(clause.subject)
    words = [clause.time.english if clause.fronted and clause.time is not None else ""]
    words += (auxiliary, nominative) if question else (nominative, auxiliary)
    words += ("not" if clause.negated else "", clause.frequency.english if clause.frequency else "", verb)
    words += _english_rest(clause)
    return " ".join(filter(None, words))


def translate(sentence: Meaning) -> tuple[str, str]:
    """Return the German and the English sentence, lower-cased, tokens separated by one blank."""
    form, main, other = sentence.form, sentence.main, sentence.other
    stop = "?" if form in ("question", "why") else "."
    if form == "statement":
        german, english = _german_main(main), _english_clause(main)
    elif form == "question":
        german, english = _german_main(main, question=True), _english_clause(main, question=True)
    elif form == "why":
        german, english = _german_main(main, "warum"), f"why {_english_clause(main, question=True)}"
    else:
        assert other is not None
        german, english = _complex(sentence, main, other)
    text = " ".join([word for word in german if word]) + f" {stop}"
    # A relative or fronted clause ends with a comma, which merges with another comma or the full stop.
    text = text.replace(" , ,", " ,").replace(f" , {stop}", f" {stop}")
    return text, f"{english} {stop}"


def _complex(sentence: Meaning, main: Clause, other: Clause) -> tuple[list[str], str]:
    form, link = sentence.form, sentence.link
    if form == "and":
        assert link is not None
        german = [*_german_main(main), ",", link.german, *_german_main(other)]
        return german, f"{_english_clause(main)} , {link.english} {_english_clause(other)}"
    if form == "infinitive":
        german = [*_german_main(main), ",", *_german_middle(other, with_time=True), other.verb.zu_infinitive]
        infinitive = " ".join(filter(None, ["to", other.verb.english[0], *_english_rest(other)]))
        return german, f"{_english_clause(main)} {infinitive}"
    if form == "that":
        german = [*_german_main(main), ",", "dass", *_german_final(other)]
        return german, f"{_english_clause(main)} that {_english_clause(other)}"
    assert link is not None
    final = [link.german, *_german_final(other)]
    subordinate = f"{link.english} {_english_clause(other)}"
    if form == "first":
        return _german_main(main, " ".join(filter(None, [*final, ","]))), f"{subordinate} , {_english_clause(main)}"
    return [*_german_main(main), ",", *final], f"{_english_clause(main)} {subordinate}"

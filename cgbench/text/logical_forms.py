"""Names in logical forms replaced, so that a new variable, person or id is not a new word.

A form says the same whatever its variables are called, and a name is copied from the sentence, not translated. What is
counted by words (which are rare, which n-grams are known) sees both as words of their own. :func:`names_of` finds the
names of a pair of sentence and form, each with what it is called instead, numbered in the order in which they are first
mentioned, so that pairs that differ in names alone become equal. The mapping is one to one in a pair, and
:meth:`Names.show` undoes it.

========== ===================================================================== ===================================
kind       what is replaced                                                      with
========== ===================================================================== ===================================
cogs       variables, ``x _ 17``, by their order in the form                     ``x _ 0`` to ``x _ 3``,
                                                                                 ``x _ 1 0``, ... in base 4
smcalflow  the text of ``( PersonName " Elli " )``, ``String`` and               ``person0``, ``string0``,
           ``LocationKeyphrase``, where the utterance holds it, on both sides    ``place0``, ... by their order in it
sparql     variables, ``?film``; entities, ``M3``, on both sides; ids,           ``?x0``, ...; ``M0``, ...;
           ``ns:m.0f8l9c``, ``wd:Q42``, ``dbr:Berlin``                           ``id0``, ...
========== ===================================================================== ===================================

In COGS the order alone would not do: forms have up to 9 variables in training and up to 27 in the generalisation set.
So numbers are written in base 4, digits apart: four variables are enough to know the digits, five to know two in a row.
Names in COGS (``Liam``) stay, because whether one was seen in a place is what that benchmark asks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from cgbench.errors import InputError, argument
from cgbench.settings import did_you_mean
from cgbench.text.plain_text import words_of

Pair = tuple[str, str]
KINDS = ("none", "cogs", "smcalflow", "sparql")

BASE = 4  # of COGS' variables

_QUOTED = re.compile(r'(?<!\S)(PersonName|String|LocationKeyphrase) " ([^"]+) "(?!\S)')
_CALLED = {"PersonName": "person", "String": "string", "LocationKeyphrase": "place"}
_VARIABLE = re.compile(r"[?$]\w+")
_ENTITY = re.compile(r"M[0-9]+")
# Of Freebase, as published and as cgbench data writes it in CFQ; of Wikidata; of DBpedia.
_ID = re.compile(r"(ns:)?[mg][._]0\w+|wd:Q[0-9]+|(dbr|res):\S+|<http://dbpedia\.org/resource/[^>\s]+>")


@dataclass(frozen=True)
class Names:
    """The names of a pair and what they are called instead: in the sentence, and in the form."""

    source: Mapping[str, str]
    target: Mapping[str, str]

    def hide(self, source: str, target: str) -> Pair:
        """The pair with its names replaced; a blank between words."""
        return _replace(source, self.source), _replace(target, self.target)

    def show(self, source: str, target: str) -> Pair:
        """The pair, or a sentence and what a model makes of it, with its names as they were."""
        return _replace(source, _turned(self.source)), _replace(target, _turned(self.target))


def check_kind(kind: str) -> None:
    """Check the name of a kind of form.

    :raises InputError: it is none of :data:`KINDS`.
    """
    if kind not in KINDS:
        raise InputError(
            f"{argument('anonymise', kind)}: there is no kind of logical form {kind!r}{did_you_mean(kind, KINDS)}"
        )


def names_of(kind: str, source: str, target: str) -> Names:
    """The names in a sentence and its logical form of ``kind``.

    :raises InputError: there is no such kind.
    """
    check_kind(kind)
    if kind == "cogs":
        return Names({}, _of_cogs(target))
    if kind == "smcalflow":
        return _of_smcalflow(source, target)
    return _of_sparql(source, target) if kind == "sparql" else Names({}, {})


def _of_cogs(form: str) -> dict[str, str]:
    words = words_of(form)
    variables = dict.fromkeys(
        words[place + 2]
        for place in range(len(words) - 2)
        if words[place : place + 2] == ["x", "_"] and words[place + 2].isdecimal()
    )
    return {f"x _ {old}": f"x _ {_digits(new)}" for new, old in enumerate(variables)}


def _digits(number: int) -> str:
    """In base :data:`BASE`, a blank between digits."""
    rest, last = divmod(number, BASE)
    return f"{_digits(rest)} {last}" if rest else str(last)


def _of_smcalflow(utterance: str, plan: str) -> Names:
    said = f" {' '.join(words_of(utterance))} "
    found = {text: _CALLED[kind] for kind, text in _QUOTED.findall(" ".join(words_of(plan))) if f" {text} " in said}
    numbers = dict.fromkeys(_CALLED.values(), 0)
    names = {}
    for text in sorted(found, key=lambda text: (said.index(f" {text} "), len(text))):
        names[text] = f"{found[text]}{numbers[found[text]]}"
        numbers[found[text]] += 1
    # In a plan the quotation marks tell a name from a function that is called the same.
    return Names(names, {f'" {old} "': f'" {new} "' for old, new in names.items()})


def _of_sparql(question: str, query: str) -> Names:
    asked, words = words_of(question), words_of(query)
    entities = _numbered((word for word in (*asked, *words) if _ENTITY.fullmatch(word)), "M")
    return Names(
        entities,
        {
            **entities,
            **_numbered((word for word in words if _VARIABLE.fullmatch(word)), "?x"),
            **_numbered((word for word in words if _ID.fullmatch(word)), "id"),
        },
    )


def _numbered(found: Iterable[str], prefix: str) -> dict[str, str]:
    return {word: f"{prefix}{number}" for number, word in enumerate(dict.fromkeys(found))}


def _turned(names: Mapping[str, str]) -> dict[str, str]:
    return {new: old for old, new in names.items()}


def _replace(line: str, names: Mapping[str, str]) -> str:
    """Replace what ``names`` has, one word or several, the longest that begins at a word."""
    words = words_of(line)
    longest = max((name.count(" ") + 1 for name in names), default=0)
    out, place = [], 0
    while place < len(words):
        for length in range(min(longest, len(words) - place), 0, -1):
            name = " ".join(words[place : place + length])
            if name in names:
                out.append(names[name])
                place += length
                break
        else:
            out.append(words[place])
            place += 1
    return " ".join(out)

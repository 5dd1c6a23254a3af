"""Replace names in logical forms, so that a new variable, person or id is not a new word.

The names of variables do not change the meaning of a form, and other names are copied from the
sentence, not translated. Word counts (rare words, known n-grams) would treat both as distinct
words. :func:`names_of` maps the names in a pair of sentence and form to new names, numbered by
first mention, so that pairs which differ only in names become equal. The mapping is one to one
within a pair.

========== ============================================== ==========================================
kind       what is replaced                               with
========== ============================================== ==========================================
cogs       variables, ``x _ 17``                          their number in the form, in base 4:
                                                          ``x _ 0`` to ``x _ 3``, ``x _ 1 0``, ...
smcalflow  the text of ``( PersonName " Elli " )``,       ``person0``, ``string0``, ``place0``, ...
           ``String`` and ``LocationKeyphrase``, where    by their order in the utterance
           the utterance contains it, on both sides
========== ============================================== ==========================================

In COGS, numbering alone is not enough: forms have up to 9 variables in training and up to 27 in the
generalisation set. So numbers are written in base 4, digits separated: four variables are enough to
learn the digits, five to learn two digits. Names in COGS (``Liam``) stay, because that benchmark
tests whether a name was seen in a position.
"""

import re
from collections.abc import Mapping
from typing import Literal, get_args

import numpy as np

from cgbench.records import Record
from cgbench.text.plain_text import words_of

Pair = tuple[str, str]
Kind = Literal["none", "cogs", "smcalflow"]
"""What names are replaced: none, or those of such logical forms."""
KINDS: tuple[Kind, ...] = get_args(Kind)

BASE = 4  # of the numbers of COGS variables

COPIED = {"PersonName": "person", "String": "string", "LocationKeyphrase": "place"}
"""Nodes of SMCalFlow whose literals are words of the utterance, and the new names of these."""
_QUOTED = re.compile(rf'(?<!\S)({"|".join(COPIED)}) " ([^"]+) "(?!\S)')


class Names(Record):
    """New names by old name, in the sentence and in the form of a pair."""

    source: Mapping[str, str]
    target: Mapping[str, str]

    def hide(self, source: str, target: str) -> Pair:
        """The pair with its names replaced, words separated by one blank."""
        return _replace(source, self.source), _replace(target, self.target)


def names_of(kind: str, source: str, target: str) -> Names:
    """The names in a sentence and its logical form of ``kind``, one of :data:`KINDS`."""
    if kind == "cogs":
        return Names({}, _of_cogs(target))
    return _of_smcalflow(source, target) if kind == "smcalflow" else Names({}, {})


def _of_cogs(form: str) -> dict[str, str]:
    words = words_of(form)
    variables = dict.fromkeys(
        words[position + 2]
        for position in range(len(words) - 2)
        if words[position : position + 2] == ["x", "_"] and words[position + 2].isdecimal()
    )
    return {
        f"x _ {old}": f"x _ {' '.join(np.base_repr(new, BASE))}"
        for new, old in enumerate(variables)
    }


def _of_smcalflow(utterance: str, plan: str) -> Names:
    cause = f" {' '.join(words_of(utterance))} "
    tokens = {
        text: COPIED[kind]
        for kind, text in _QUOTED.findall(" ".join(words_of(plan)))
        if f" {text} " in cause
    }
    numbers = dict.fromkeys(COPIED.values(), 0)
    names = {}
    for text in sorted(tokens, key=lambda text: (cause.index(f" {text} "), len(text))):
        names[text] = f"{tokens[text]}{numbers[tokens[text]]}"
        numbers[tokens[text]] += 1
    # In a plan, quotation marks distinguish a name from a function of the same name.
    return Names(names, {f'" {old} "': f'" {new} "' for old, new in names.items()})


def _replace(line: str, names: Mapping[str, str]) -> str:
    words = words_of(line)
    longest = max((name.count(" ") + 1 for name in names), default=0)
    out, position = [], 0
    while position < len(words):
        for length in range(min(longest, len(words) - position), 0, -1):
            name = " ".join(words[position : position + length])
            if name in names:
                out.append(names[name])
                position += length
                break
        else:
            out.append(words[position])
            position += 1
    return " ".join(out)

"""Rules of a quasi-synchronous grammar with one nonterminal, as strings of one character per word.

A rule ``NT_1 twice ### NT_1 NT_1`` rewrites the only nonterminal on both sides at once. Its slots
(``NT_1``, ``NT_2``, ...) are numbered in the order of the source, where each occurs once; in the
target each occurs at least once. In memory a word is one character, and slot i is ``chr(i)``, so
that parts of rules are found and replaced as parts of strings.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from cgbench.errors import InputError
from cgbench.text.plain_text import words_of

MOST_SLOTS = 9
SLOTS = [chr(index) for index in range(1, MOST_SLOTS + 1)]
SEPARATOR = "###"
_PREFIX = "NT_"
_FIRST_WORD = 0x100
_TO_ONE_SLOT = str.maketrans(dict.fromkeys(SLOTS, "\0"))
_ANY_SLOT = re.compile(f"[{SLOTS[0]}-{SLOTS[-1]}]")


class Rule(NamedTuple):
    """Both sides of a rule, one character per word or slot."""

    source: str
    target: str

    @property
    def arity(self) -> int:
        """Number of slots."""
        return len(_ANY_SLOT.findall(self.source))

    @property
    def wraps(self) -> bool:
        """Whether the source is one slot, so that only the target grows."""
        return is_slot(self.source)

    def fill(self, targets: list[str]) -> str:
        """Return the target with its slots replaced, in order."""
        return fill(self.target, targets)


class Words:
    """Words as characters."""

    def __init__(self) -> None:
        self._codes = {f"{_PREFIX}{index}": slot for index, slot in enumerate(SLOTS, 1)}
        self._words = dict(zip(SLOTS, self._codes, strict=True))

    def encode(self, line: str) -> str:
        """Return a line as one character per word."""
        codes = []
        for word in words_of(line):
            if word not in self._codes:
                code = chr(_FIRST_WORD + len(self._codes))
                self._codes[word], self._words[code] = code, word
            codes.append(self._codes[word])
        return "".join(codes)

    def decode(self, text: str) -> str:
        """Return the line, words separated by blanks."""
        return " ".join(map(self._words.__getitem__, text))

    def show(self, rule: Rule) -> str:
        """``source ### target``."""
        return f"{self.decode(rule.source)} {SEPARATOR} {self.decode(rule.target)}"

    def read(self, line: str) -> Rule:
        """Read a rule.

        :raises InputError: it is none.
        """
        source, _, target = line.partition(SEPARATOR)
        rule = make_rule(self.encode(source), self.encode(target))
        if rule is None or not rule.target or rule == (SLOTS[0], SLOTS[0]):
            raise InputError(
                f"not a rule of the form 'NT_1 twice {SEPARATOR} NT_1 NT_1', with the same slots on"
                f" both sides, each once in the source: {line[:200]}"
            )
        return rule


def fill(text: str, replacements: list[str]) -> str:
    """Replace slot i of a text by replacement i - 1."""
    return text.translate(dict(enumerate(replacements, 1)))


def slots_of(text: str) -> list[str]:
    """Return the slots of a text in order, with repetitions."""
    return _ANY_SLOT.findall(text)


def is_slot(text: str) -> bool:
    """Whether a text is a single slot."""
    return len(text) == 1 and text in SLOTS


def without_numbers(text: str) -> str:
    """Return a text in which all slots are equal."""
    return text.translate(_TO_ONE_SLOT)


def make_rule(source: str, target: str) -> Rule | None:
    """Return a rule with its slots in order; None if the sides do not have the same slots."""
    slots = slots_of(source)
    if len(set(slots)) != len(slots) or set(slots) != set(slots_of(target)) or not source:
        return None
    numbers = {ord(slot): SLOTS[place] for place, slot in enumerate(slots)}
    return Rule(source.translate(numbers), target.translate(numbers))


@lru_cache(maxsize=200_000)
def runs_of(side: str) -> tuple[tuple[int, str], ...]:
    """Return the runs of words of a side, each with the number of slots before it; a run may be
    empty at the end.
    """
    runs, slots, run = [], 0, ""
    for symbol in side:
        if symbol not in SLOTS:
            run += symbol
            continue
        if run:
            runs.append((slots, run))
            slots, run = 0, ""
        slots += 1
    return (*runs, (slots, run))


def may_derive(side: str, text: str) -> bool:
    """Whether a side of a rule may take part in a derivation of a text; false is certain.

    Its runs of words must occur in order, with at least one symbol for each slot between them.
    """
    if len(side) > len(text):
        return False
    position = 0
    for slots, run in runs_of(side):
        position = text.find(run, position + slots)
        if position < 0:
            return False
        position += len(run)
    return True


def rules_may_derive(rule: Rule, goal: Rule) -> bool:
    """The same for both sides."""
    return may_derive(rule.source, goal.source) and may_derive(rule.target, goal.target)


def read_rules(lines: Iterable[str], words: Words, where: str) -> list[Rule]:
    """Read rules, one per line.

    :param where: the file, for messages.
    :raises InputError: a line is not a rule.
    """
    rules = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            rules.append(words.read(line))
        except InputError as error:
            raise InputError(f"{where}, line {number}: {error.message}") from None
    return rules

"""Which parts of a target may be where: a context-free grammar of the targets.

One rule per line, ``EVENT => ( CreateEvent CONSTRAINT )``; words in capitals that have a rule are
its nonterminals, and the first line's is the whole target. A rule of an induced grammar may be used
where its target, each slot as any one nonterminal, can be derived. The authors' grammars of COGS,
GeoQuery and SMCalFlow are made from the forms of their targets.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product, takewhile

from cgbench.data_recipes.csl.rules import SLOTS, Rule, Words, slots_of
from cgbench.errors import InputError

ROOT = "<root>"
ARROW = "=>"


_Symbol = tuple[str, bool]  # a word or a name, and whether it is a name
_Assignments = set[frozenset]  # each: the slots of a part, with their names
_Parts = dict[str, dict[int, _Assignments]]  # those that begin at a position, by name and end


@dataclass(frozen=True)
class TypedRule:
    """A rule with the nonterminals that it may stand for: of the whole, then of each slot."""

    rule: Rule
    uses: frozenset[tuple[str, ...]]

    @classmethod
    def untyped(cls, rule: Rule) -> "TypedRule":
        """A rule that may stand anywhere."""
        return cls(rule, frozenset((((ROOT,) * (1 + rule.arity)),)))

    def has_type(self, types: frozenset[str]) -> bool:
        """Whether it may stand for one of the nonterminals."""
        return any(use[0] in types for use in self.uses)

    def slot_types(self, types: frozenset[str], slot: int) -> frozenset[str]:
        """The nonterminals of a slot, if the rule stands for one of ``types``."""
        return frozenset(use[1 + slot] for use in self.uses if use[0] in types)


class TargetGrammar:
    """A grammar of the targets."""

    def __init__(self, lines: Iterable[str], words: Words, where: str) -> None:
        """
        :raises InputError: a line is not a rule.
        """
        rows = [(number, line.split()) for number, line in enumerate(lines, 1) if line.strip()]
        for number, tokens in rows:
            if len(tokens) < 3 or tokens[1] != ARROW:
                raise InputError(f"{where}, line {number}: write NAME {ARROW} WORDS AND NAMES")
        if not rows:
            raise InputError(f"{where}: no rule")
        self.names = list(dict.fromkeys(tokens[0] for _, tokens in rows))
        self.root = self.names[0]
        known = set(self.names)
        # Rules by the words that they begin with, and those that begin with a name by that name:
        # the name of each, and its symbols after the words.
        self._by_words: dict[str, list[tuple[str, list[_Symbol]]]] = defaultdict(list)
        self._by_name: dict[str, list[tuple[str, list[_Symbol]]]] = defaultdict(list)
        for _, (name, _, *tokens) in rows:
            symbols = [
                (token, True) if token in known else (words.encode(token), False)
                for token in tokens
            ]
            beginning = "".join(
                symbol for symbol, _ in takewhile(lambda item: not item[1], symbols)
            )
            if beginning:
                self._by_words[beginning].append((name, symbols[len(beginning) :]))
            else:
                self._by_name[tokens[0]].append((name, symbols))
        self._lengths = sorted(set(map(len, self._by_words)))

    def type_rules(self, rules: Sequence[Rule]) -> list[TypedRule]:
        """The rules with their types; a rule that fits nowhere has none."""
        return [TypedRule(rule, self.uses(rule)) for rule in rules]

    def can_derive(self, target: str) -> bool:
        """Whether some nonterminal derives a target whose slots are nonterminals."""
        return bool(self.nonterminals(target))

    def uses(self, rule: Rule) -> frozenset[tuple[str, ...]]:
        """Every nonterminal of the whole with nonterminals of the slots, in their order."""
        slots = sorted(set(slots_of(rule.target)))
        uses = {
            (self._shown(name), *(self._shown(dict(assignment)[slot]) for slot in slots))
            for name, assignments in self.nonterminals(rule.target).items()
            for assignment in assignments
        }
        return frozenset(uses)

    def _shown(self, name: str) -> str:
        return ROOT if name == self.root else name

    def nonterminals(self, target: str) -> dict[str, _Assignments]:
        """The nonterminals of a target, with those of its slots."""
        # A part consists of parts that begin where it begins or later, so the last come first.
        table: list[_Parts] = [{} for _ in range(len(target) + 1)]
        for start in reversed(range(len(target))):
            self._find_parts(target, start, table)
        return {name: ends[len(target)] for name, ends in table[0].items() if len(target) in ends}

    def _find_parts(self, target: str, start: int, table: list[_Parts]) -> None:
        """Fill ``table[start]``."""
        parts = table[start]
        if target[start] in SLOTS:
            for name in self.names:
                parts[name] = {start + 1: {frozenset(((target[start], name),))}}
        for end in (start + length for length in self._lengths if start + length <= len(target)):
            for name, rest in self._by_words.get(target[start:end], ()):
                _add(parts, name, _ends(rest, target, end, table))
        # Rules that begin with a name may follow each other.
        names = list(parts)
        while names:
            for name, symbols in self._by_name.get(names.pop(), ()):
                if _add(parts, name, _ends(symbols, target, start, table)):
                    names.append(name)


def _add(parts: _Parts, name: str, ends: dict[int, _Assignments]) -> bool:
    """Add parts with a name; return whether one is new."""
    is_new = False
    for end, assignments in ends.items():
        known = parts.setdefault(name, {}).setdefault(end, set())
        is_new |= not assignments <= known
        known |= assignments
    return is_new


def _ends(
    symbols: Sequence[_Symbol], target: str, start: int, table: list[_Parts]
) -> dict[int, _Assignments]:
    """Where symbols that begin at ``start`` may end, with the nonterminals of the slots."""
    partial: dict[int, _Assignments] = {start: {frozenset()}}
    for symbol, is_name in symbols:
        following: dict[int, _Assignments] = defaultdict(set)
        for position, assignments in partial.items():
            if not is_name:
                if target[position : position + 1] == symbol:
                    following[position + 1] |= assignments
                continue
            for end, others in table[position].get(symbol, {}).items():
                for first, second in product(assignments, others):
                    if (joined := _joined(first, second)) is not None:
                        following[end].add(joined)
        partial = following
    return partial


def _joined(first: frozenset, second: frozenset) -> frozenset | None:
    """Both assignments together; None if a repeated slot would have two nonterminals."""
    for (slot, name), (other_slot, other_name) in product(first, second):
        if slot == other_slot and name != other_name:
            return None
    return first | second

"""Which parts of a target may be where: a context-free grammar of the targets.

One rule per line, ``EVENT => ( CreateEvent CONSTRAINT )``; words in capitals that have a rule are
its nonterminals, and the first line's is the whole target. A rule of an induced grammar may be used
where its target, each slot as any one nonterminal, can be derived. The authors' grammars of COGS,
GeoQuery and SMCalFlow are made from the forms of their targets.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product

from cgbench.data_recipes.csl.rules import SLOTS, Rule, Words, slots_of
from cgbench.errors import InputError

ROOT = "<root>"
ARROW = "=>"


_Rule = tuple[str, list[tuple[str, bool]]]  # a name; symbols, and whether each is a name
_Cell = dict[str, set[frozenset]]  # the names of a span, with the names of the slots inside
_Ends = dict[int, dict[str, list[int]]]  # where parts end, by their first word and name


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
        # Rules that begin with a word, by their first and last word; others; those of one name.
        self._by_words: dict[tuple[str, str], list[_Rule]] = {}
        self._by_names: list[_Rule] = []
        self._renaming: list[_Rule] = []
        for _, tokens in rows:
            symbols = [
                (symbol, True) if symbol in known else (words.encode(symbol), False)
                for symbol in tokens[2:]
            ]
            (first, is_name), (last, ends_in_name) = symbols[0], symbols[-1]
            if not is_name:
                key = first, "" if ends_in_name else last
                self._by_words.setdefault(key, []).append((tokens[0], symbols))
            else:
                others = self._renaming if len(symbols) == 1 else self._by_names
                others.append((tokens[0], symbols))

    def type_rules(self, rules: Sequence[Rule]) -> list[TypedRule]:
        """The rules with their types; a rule that fits nowhere has none."""
        return [TypedRule(rule, self.uses(rule)) for rule in rules]

    def can_derive(self, target: str) -> bool:
        """Whether some nonterminal derives a target whose slots are nonterminals."""
        return bool(self.chart(target).get((0, len(target))))

    def uses(self, rule: Rule) -> frozenset[tuple[str, ...]]:
        """Every nonterminal of the whole with nonterminals of the slots, in their order."""
        whole = self.chart(rule.target).get((0, len(rule.target)), {})
        slots = sorted(set(slots_of(rule.target)))
        uses = {
            (self._shown(name), *(self._shown(dict(assignment)[slot]) for slot in slots))
            for name, assignments in whole.items()
            for assignment in assignments
        }
        return frozenset(uses)

    def _shown(self, name: str) -> str:
        return ROOT if name == self.root else name

    def chart(self, target: str) -> dict[tuple[int, int], _Cell]:
        """For each span, its nonterminals with the nonterminals of the slots inside."""
        chart: dict[tuple[int, int], _Cell] = {}
        ends: _Ends = defaultdict(lambda: defaultdict(list))
        by_words = {
            key: fitting
            for key, rules in self._by_words.items()
            if (fitting := [rule for rule in rules if _has_words(target, rule)])
        }
        by_names = [rule for rule in self._by_names if _has_words(target, rule)]
        for width in range(1, len(target) + 1):
            for start in range(len(target) - width + 1):
                first, last = target[start], target[start + width - 1]
                rules = by_words.get((first, last), []) + by_words.get((first, ""), []) + by_names
                cell: _Cell = {}
                if width == 1 and first in SLOTS:
                    for name in self.names:
                        cell[name] = {frozenset(((first, name),))}
                for name, symbols in rules:
                    span = start, start + width
                    if matches := _matches(symbols, target, span, chart, ends):
                        cell.setdefault(name, set()).update(matches)
                if cell:
                    self._rename(cell)
                    chart[start, start + width] = cell
                    for name in cell:
                        ends[start][name].append(start + width)
        return chart

    def _rename(self, cell: _Cell) -> None:
        """Apply the rules of one nonterminal, which may follow each other, until nothing is new."""
        changed = True
        while changed:
            changed = False
            for name, [(other, _)] in self._renaming:
                fresh = cell.get(other, set()) - cell.get(name, set())
                if fresh:
                    cell.setdefault(name, set()).update(fresh)
                    changed = True


def _has_words(target: str, rule: _Rule) -> bool:
    return all(is_name or symbol in target for symbol, is_name in rule[1])


def _matches(
    symbols: Sequence[tuple[str, bool]],
    target: str,
    span: tuple[int, int],
    chart: dict[tuple[int, int], _Cell],
    ends: _Ends,
) -> set[frozenset]:
    """The nonterminals of the slots for each way in which symbols cover a span."""
    start, end = span
    partial: set[tuple[int, frozenset]] = {(start, frozenset())}
    for place, (symbol, is_name) in enumerate(symbols):
        rest = len(symbols) - place - 1  # each later symbol covers at least one word
        following = set()
        for position, assignment in partial:
            if not is_name:
                if position < end and target[position] == symbol:
                    following.add((position + 1, assignment))
                continue
            for stop in ends[position][symbol]:
                if stop > end - rest or (stop < end and not rest):
                    continue
                for more in chart[position, stop][symbol]:
                    if joined := _joined(assignment, more):
                        following.add((stop, joined[0]))
        partial = following
        if not partial:
            return set()
    return {assignment for position, assignment in partial if position == end}


def _joined(first: frozenset, second: frozenset) -> tuple[frozenset] | None:
    """Both assignments together; None if a repeated slot would have two nonterminals."""
    for (slot, name), (other_slot, other_name) in product(first, second):
        if slot == other_slot and name != other_name:
            return None
    return (first | second,)

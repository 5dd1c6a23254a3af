"""Whether a hypothesis translates a compound: every atom, in the order of the grammar.

The rules and flags are those of the evaluator published with CoGnition (Li et al. 2021), if its
grammar is used.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from cgbench.benchmark.measure.metrics.cter_grammar import OrderRule
from cgbench.benchmark.measure.metrics.cter_lexicon import Atoms, TranslationLexicon
from cgbench.errors import InputError, argument
from cgbench.settings import did_you_mean

Spans: TypeAlias = Mapping[str, Sequence[tuple[int, int]]]
"""Begin and end of the translations found in a hypothesis, by type of atom."""
_FEW_ATOMS = 12  # an unknown atom of a longer list is no misspelling of one


class TypedAtom(NamedTuple):
    """An atom of a compound."""

    kind: str
    name: str


@dataclass(frozen=True)
class Judgement:
    """The result for a row: its ``flag``, the atoms ``missing``, the pairs out of ``order``."""

    flag: str
    missing: tuple[str, ...]
    order: tuple[str, ...]

    @property
    def wrong(self) -> bool:
        """Whether an atom is missing or a pair is out of order."""
        return bool(self.missing or self.order)

    @property
    def reasons(self) -> list[str]:
        """Why the row is wrong, in words."""
        return [f"no translation of {name}" for name in self.missing] + [
            f"order {rule}" for rule in self.order
        ]


class CompoundJudge:
    """Judges hypotheses by a lexicon of translations and the grammar of its atoms.

    ``keep_blanks``: keep the blanks of hypotheses. Whole words are always matched with blanks.
    """

    def __init__(
        self, lexicon: TranslationLexicon, atoms: Atoms, *, keep_blanks: bool = False
    ) -> None:
        self.lexicon, self.atoms, self.grammar = lexicon, atoms, atoms.grammar
        self.keep_blanks = keep_blanks or lexicon.match == "word"

    def parse(self, compound: str, where: str) -> list[TypedAtom]:
        """The atoms of a compound, in the grammar's order of types.

        :param where: the row of the compound, for messages.
        :raises InputError: a word is not an atom, or has no translation that can be found.
        """
        atoms = [
            self._typed_atom(name, f"{name!r} of {compound!r}", where)
            for name in self.atoms.names(compound)
        ]
        if not self.grammar.repeated:
            # A later atom of a type replaces an earlier one.
            atoms = list({atom.kind: atom for atom in atoms}.values())
        return sorted(atoms, key=lambda atom: self.grammar.types.index(atom.kind))

    def _typed_atom(self, name: str, described: str, where: str) -> TypedAtom:
        """An atom with its type; ``described``: how messages call it."""
        types = self.atoms.types
        if name not in types:
            near = did_you_mean(name, types) if len(types) < _FEW_ATOMS else ""
            raise InputError(f"{where}: {described} is not an atom of {self.atoms.name}{near}")
        if name not in self.lexicon.entries:
            raise InputError(f"{where}: the atom {described} is not in {self.lexicon.path}")
        has_blank = any(" " in literal for literal in self.lexicon.entries[name].literals)
        if has_blank and not self.keep_blanks:
            raise InputError(
                f"{self.lexicon.path}: a translation of {name!r} contains a blank, but"
                f" hypotheses are searched without blanks; give {argument('keep_blanks')}, or"
                f" {argument('match', 'word')}"
            )
        return TypedAtom(types[name], name)

    def judge(self, atoms: Sequence[TypedAtom], hypothesis: str) -> Judgement:
        """Judge the translation of the atoms of a compound."""
        text = self.lexicon.text(hypothesis, self.keep_blanks)
        spans = defaultdict[str, list[tuple[int, int]]](list)
        missing, flags = list[str](), list[str]()
        for atom in atoms:
            translations = self.lexicon.entries[atom.name]
            span = translations.find(text)
            is_translated = bool(text) and (not translations.literals or span is not None)
            flags.append(f"P{int(is_translated)}")
            if not is_translated:
                missing.append(atom.name)
            if span:
                spans[atom.kind].append(span)
        flag = "-".join(flags)
        if missing:
            return Judgement(f"{flag}/P0", tuple(missing), ())
        # A modifier may belong to a verb, but only if the verb was found.
        rules = [rule for rule in self.grammar.rules if rule.unless not in spans]
        in_order = [_is_in_order(rule, spans) for rule in rules]
        violated = tuple(
            str(rule) for rule, is_kept in zip(rules, in_order, strict=True) if not is_kept
        )
        order_flag = "-".join(f"P{int(is_kept)}" for is_kept in in_order)
        return Judgement(f"{flag}/{order_flag}", (), violated)

    def rules(self, atoms: Sequence[TypedAtom]) -> list[dict[str, Any]]:
        """The same errors as rules for ``cgbench score rules``."""
        options = {"case": not self.lexicon.lowercase, "whole_words": self.lexicon.match == "word"}
        rules: list[dict[str, Any]] = []
        # A translation of each atom.
        texts = defaultdict[str | None, list[str]](list)
        for atom in atoms:
            literals = list(map(str.strip, self.lexicon.entries[atom.name].literals))
            texts[atom.kind] += literals
            if literals and all(literals):  # an empty translation is everywhere
                rules.append({"type": "contains", "any": literals, "name": atom.name, **options})
        # The order of types.
        for rule in self.grammar.rules:
            left, right, unless = texts[rule.left], texts[rule.right], texts[rule.unless]
            if left and right and all((*left, *right, *unless)):
                order = {"type": "order", "first": left, "then": right, "name": str(rule)}
                rules.append({**order, **options} | ({"unless": unless} if unless else {}))
        return rules or [{"type": "length", "least": 1}]


def _is_in_order(rule: OrderRule, spans: Spans) -> bool:
    """Whether no atom of the left type begins after the last of the right type; so it is if one of
    them was not found.
    """
    left, right = spans.get(rule.left), spans.get(rule.right)
    if not left or not right:
        return True
    return max(begin for begin, _ in left) < max(end for _, end in right)

"""Induce a grammar from pairs (Qiu et al., 2022, section 3; google-research/language,
``compgen/csl/induction``).

At first, every pair is a rule. In each round, every rule proposes the one change that most improves
the objective, and all changes are made together: a rule that others derive is removed, and c
replaces the rule if it is b(c) or c(b) for another rule b. The objective counts the symbols of the
grammar, and how badly the two sides of each rule predict each other in the training pairs.

Where the authors' code depends on the order of a set, this one takes the order of the text.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, islice

from cgbench.data_recipes.csl.parsing import derivable
from cgbench.data_recipes.csl.rules import SLOTS, Rule, may_derive, rules_may_derive, slots_of
from cgbench.data_recipes.csl.unification import unifiers
from cgbench.progress import track
from cgbench.request import KW_ONLY, Request, option

MOST_RELATED = 10  # rules that are checked for each candidate; the authors' limit


class InductionSettings(Request):
    """Settings of :func:`induce`; the defaults are those of the authors for SCAN."""

    _: KW_ONLY
    slots: int = option(
        "--set slots",
        default=2,
        help="Maximum number of slots of a rule",
        least=1,
        most=9,
        group="Grammar",
    )
    word_size: float = option(
        "--set word_size",
        default=4.0,
        help="Cost of a word in the grammar; a slot costs 1",
        least=0,
        group="Grammar",
    )
    source_weight: float = option(
        "--set source_weight",
        default=0.0,
        help="Weight of -log2 P(source of a rule | its target)",
        least=0,
        group="Grammar",
    )
    target_weight: float = option(
        "--set target_weight",
        default=100.0,
        help="Weight of -log2 P(target of a rule | its source)",
        least=0,
        group="Grammar",
    )
    rounds: int = option(
        "--set rounds",
        default=5,
        help="Maximum number of rounds per partition",
        least=1,
        group="Grammar",
    )
    partition: int = option(
        "--set partition",
        default=900,
        help="Add the pairs by length, this number at a time; 0: all at once",
        least=0,
        unit="pairs",
        group="Grammar",
    )
    words_in_targets: bool = option(
        "--set words_in_targets",
        default=False,
        help="Refuse rules whose target is a single slot",
        group="Grammar",
    )


@dataclass(frozen=True)
class Change:
    """What a rule proposes: a rule to add, if any, and rules to remove."""

    add: Rule | None
    remove: frozenset[Rule]


class Objective:
    """Sizes and penalties of rules, for a training text."""

    def __init__(
        self,
        examples: Sequence[Rule],
        settings: InductionSettings,
        allowed: Callable[[str], bool] | None = None,
    ) -> None:
        self.settings = settings
        self.allows = cache(allowed or (lambda target: True))
        self._examples = examples
        self._rows = [WordIndex([set(pair[side]) for pair in examples]) for side in (0, 1)]
        self._matching: dict[tuple[int, str], frozenset[int]] = {}
        self._penalties: dict[Rule, float] = {}

    def size(self, rule: Rule) -> float:
        """The cost of a rule's symbols."""
        slots = len(slots_of(rule.source)) + len(slots_of(rule.target))
        symbols = len(rule.source) + len(rule.target)
        return slots + (symbols - slots) * self.settings.word_size

    def penalty(self, rule: Rule) -> float:
        """The cost of a rule whose sides do not occur in the same examples; 0 if neither does."""
        if rule not in self._penalties:
            self._penalties[rule] = self._measure(rule)
        return self._penalties[rule]

    def size_gain(self, candidate: Rule, removed: Iterable[Rule]) -> float:
        """What a change gains in size."""
        return sum(map(self.size, removed)) - self.size(candidate)

    def gain(self, candidate: Rule, removed: Collection[Rule]) -> float:
        """What a change gains in size and in penalties."""
        penalties = sum(map(self.penalty, removed)) - self.penalty(candidate)
        return self.size_gain(candidate, removed) + penalties

    def _measure(self, rule: Rule) -> float:
        sources, targets = (self._matching_rows(side, rule[side]) for side in (0, 1))
        both = len(sources & targets)
        if not both:
            return 0.0
        return -(
            self.settings.source_weight * math.log2(both / len(targets))
            + self.settings.target_weight * math.log2(both / len(sources))
        )

    def _matching_rows(self, side: int, text: str) -> frozenset[int]:
        """The examples that a side may take part in."""
        key = side, text
        if key not in self._matching:
            rows = self._rows[side].with_all(set(text) - set(SLOTS))
            self._matching[key] = frozenset(
                row for row in rows if may_derive(text, self._examples[row][side])
            )
        return self._matching[key]


def induce(
    pairs: Collection[Rule],
    settings: InductionSettings | None = None,
    seeds: Collection[Rule] = (),
    allowed: Callable[[str], bool] | None = None,
) -> list[Rule]:
    """Induce a grammar that derives every pair.

    :param pairs: the training pairs, as rules without slots; repeated ones count once.
    :param seeds: rules that are always in the grammar.
    :param allowed: whether a target may be that of a rule (default: any).
    """
    settings = settings or InductionSettings()
    examples = sorted(set(pairs), key=lambda pair: (len(pair.source), pair))
    step = settings.partition or max(1, len(examples))
    rules = set(seeds)
    for first in range(0, len(examples), step):
        rules |= set(examples[first : first + step])
        objective = Objective(examples[: first + step], settings, allowed)
        for _ in range(settings.rounds):
            changed = _round(rules, frozenset(seeds), objective)
            if changed == rules:
                break
            rules = changed
    return sorted(rules, key=lambda rule: (rule.arity == 0, len(rule.source), rule))


def _round(rules: set[Rule], seeds: frozenset[Rule], objective: Objective) -> set[Rule]:
    """Make the changes that all rules propose."""
    index = RuleIndex(sorted(rules))
    added, removed = set[Rule](), set[Rule]()
    for rule in track(index.rules, len(index.rules), "induction", "rule"):
        if rule in seeds:
            continue
        change = propose(rule, index, seeds, objective)
        if change:
            removed |= change.remove
            if change.add:
                added.add(change.add)
    return (rules | added) - removed


def propose(
    rule: Rule, index: "RuleIndex", seeds: Collection[Rule], objective: Objective
) -> Change | None:
    """The change that most improves the objective; None if none does."""
    settings = objective.settings
    parts = index.parts_of(rule)
    if derivable(rule, parts):
        return Change(None, frozenset((rule,)))
    # Every rule c with rule = b(c) or rule = c(b), and the rules that it makes superfluous.
    candidates = {
        candidate
        for other in parts
        for candidate in unifiers(rule, other, settings.slots, settings.words_in_targets)
        if objective.allows(candidate.target)
    }
    removable = {
        candidate: frozenset((rule, *_superfluous(candidate, index, seeds, settings)))
        for candidate in candidates
    }
    by_size = sorted(
        (-objective.size_gain(candidate, removed), candidate)
        for candidate, removed in removable.items()
    )
    best, best_gain = None, 0.0
    for loss, candidate in by_size:
        if -loss <= best_gain:
            break  # as in the authors' code: they take no penalty for a gain
        removed = removable[candidate]
        gain = objective.gain(candidate, removed)
        if gain > best_gain:
            best, best_gain = Change(candidate, removed), gain
    return best


def _superfluous(
    candidate: Rule, index: "RuleIndex", seeds: Collection[Rule], settings: InductionSettings
) -> list[Rule]:
    """Rules that the candidate and another rule of the grammar derive."""
    return [
        rule
        for rule in index.shortest_wholes_of(candidate, MOST_RELATED)
        if rule not in seeds
        and not index.members.isdisjoint(
            unifiers(rule, candidate, settings.slots, settings.words_in_targets)
        )
    ]


class WordIndex:
    """Texts, found by a word: each is listed under its rarest word, and under all its words.

    :param texts: a word of a rule's target differs from that of a source, so a rule is indexed as
        both sides, one after the other (:func:`_words_of`).
    """

    def __init__(self, texts: Sequence[Collection[str]]) -> None:
        counts = Counter(word for words in texts for word in words)
        self.under: dict[str, list[int]] = defaultdict(list)
        self.under_rarest: dict[str, list[int]] = defaultdict(list)
        self.wordless, self.size = [], len(texts)
        for number, words in enumerate(texts):
            for word in words:
                self.under[word].append(number)
            if words:
                rarest = min(words, key=lambda word: (counts[word], word))
                self.under_rarest[rarest].append(number)
            else:
                self.wordless.append(number)

    def with_all(self, words: Collection[str]) -> Sequence[int]:
        """The texts under the rarest of these words: no other has all of them, in order."""
        lists = (self.under.get(word, []) for word in words)
        return min(lists, key=len) if words else range(self.size)

    def with_only(self, words: Collection[str]) -> list[int]:
        """Texts whose rarest word is among these, in order: no other has only such words."""
        lists = (self.under_rarest.get(word, []) for word in words)
        return sorted(chain(self.wordless, *lists))


class RuleIndex:
    """The rules of a grammar, found by what they may derive or may be derived from.

    ``rules`` are sorted; ``members`` is the same as a set.
    """

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.rules, self.members = rules, frozenset(rules)
        self._shortest = sorted(rules, key=lambda rule: (len(rule.source) + len(rule.target), rule))
        self._parts = WordIndex([_words_of(rule) for rule in rules])
        self._wholes = WordIndex([_words_of(rule) for rule in self._shortest])

    def parts_of(self, rule: Rule) -> list[Rule]:
        """The other rules that may take part in a derivation of a rule."""
        others = map(self.rules.__getitem__, self._parts.with_only(_words_of(rule)))
        return [other for other in others if other != rule and rules_may_derive(other, rule)]

    def shortest_wholes_of(self, rule: Rule, most: int) -> list[Rule]:
        """The shortest rules in whose derivation a rule may take part."""
        others = map(self._shortest.__getitem__, self._wholes.with_all(_words_of(rule)))
        return list(islice((other for other in others if rules_may_derive(rule, other)), most))


def _words_of(rule: Rule) -> frozenset[str]:
    """The words of both sides, with the number of the side."""
    return frozenset(
        f"{side}{word}" for side, text in enumerate(rule) for word in set(text) - set(SLOTS)
    )

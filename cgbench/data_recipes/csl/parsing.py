"""Parse a pair with a grammar: a chart over the source, whose items have parts of the target."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import product

from cgbench.data_recipes.csl.rules import SLOTS, Rule, rules_may_derive


@dataclass(eq=False)
class Item:
    """A rule over a span of the source with what it derives.

    :param rule: None for a slot of the source, which stands for itself.
    :param ways: for each derivation, the items in the rule's slots.
    """

    rule: Rule | None
    target: str
    ways: list[tuple["Item", ...]] = field(default_factory=list)


def parse(goal: Rule, rules: Iterable[Rule], wrapped: int = 1) -> list[Item]:
    """Return the items over the whole source that derive the whole target, one per last rule.

    Items keep only targets that are part of the goal's. Slots of the goal stand for themselves.

    :param wrapped: how many rules whose source is one slot may follow each other.
    """
    possible = [rule for rule in rules if rules_may_derive(rule, goal)]
    useful = [rule for rule in possible if not rule.wraps]
    wrapping = [rule for rule in possible if rule.wraps]
    length = len(goal.source)
    chart: dict[tuple[int, int], list[Item]] = {}
    for width in range(1, length + 1):
        for start in range(length - width + 1):
            items: dict[tuple[Rule, str], Item] = {}
            for rule in useful:
                if len(rule.source) > width:
                    continue
                for parts in _matches(rule.source, goal.source, start, start + width, chart):
                    target = rule.fill([part.target for part in parts])
                    if target in goal.target:
                        item = items.setdefault((rule, target), Item(rule, target))
                        item.ways.append(parts)
            symbol = goal.source[start]
            own = [Item(None, symbol)] if width == 1 and symbol in SLOTS else []
            # Targets grow, so no item is a part of itself.
            inner = [*items.values(), *own]
            for _ in range(wrapped if wrapping else 0):
                outer: dict[tuple[Rule, str], Item] = {}
                for rule, part in product(wrapping, inner):
                    target = rule.fill([part.target])
                    if target in goal.target:
                        fresh = (rule, target) not in items
                        item = items.setdefault((rule, target), Item(rule, target))
                        item.ways.append((part,))
                        outer |= {(rule, target): item} if fresh else {}
                inner = list(outer.values())
            if items or own:
                chart[start, start + width] = [*items.values(), *own]
    return [item for item in chart.get((0, length), ()) if item.target == goal.target and item.rule]


def derivable(goal: Rule, rules: Iterable[Rule]) -> bool:
    """Whether other rules derive a rule (in the authors' induction two rules may wrap)."""
    return bool(parse(goal, (rule for rule in rules if rule != goal), wrapped=2))


def _matches(
    side: str, source: str, start: int, end: int, chart: dict[tuple[int, int], list[Item]]
) -> list[tuple[Item, ...]]:
    """Every way to fill the slots of a side so that it covers a span, left to right."""
    partial: list[tuple[int, tuple[Item, ...]]] = [(start, ())]
    for place, symbol in enumerate(side):
        rest = len(side) - place - 1  # each later symbol covers at least one word
        following = []
        for position, parts in partial:
            if symbol not in SLOTS:
                if position < end and source[position] == symbol:
                    following.append((position + 1, parts))
                continue
            stops = range(position + 1, end - rest + 1) if rest else (end,)
            for stop in stops:
                following += [(stop, (*parts, item)) for item in chart.get((position, stop), ())]
        partial = following
        if not partial:
            return []
    return [parts for position, parts in partial if position == end]

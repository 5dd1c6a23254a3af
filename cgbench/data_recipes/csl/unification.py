"""Find the rule c that makes a = b(c) or a = c(b) (Qiu et al., 2022, appendix A).

Rules are functions of strings. If ``a`` is ``jump twice ### JUMP JUMP`` and ``b`` is
``NT_1 twice ### NT_1 NT_1``, then ``c`` is ``jump ### JUMP``; if ``b`` is ``jump ### JUMP``, then
``c`` is ``NT_1 twice ### NT_1 NT_1``.
"""

from collections.abc import Iterator

from cgbench.data_recipes.csl.rules import (
    SLOTS,
    Rule,
    is_slot,
    make_rule,
    slots_of,
    without_numbers,
)


def unifiers(a: Rule, b: Rule, most_slots: int, words_in_targets: bool) -> set[Rule]:
    """Return every rule c with a = b(c) or a = c(b).

    :param most_slots: maximum number of slots of c, if b is applied to an argument of c.
    :param words_in_targets: whether the target of a rule may not be a single slot.
    """
    return set(_arguments(a, b, words_in_targets)) | set(
        _contexts(a, b, most_slots, words_in_targets)
    )


def _arguments(a: Rule, b: Rule, words_in_targets: bool) -> Iterator[Rule]:
    """Every c in a slot of b for which a = b(c)."""
    for slot in slots_of(b.source):
        source = _matched(a.source, b.source, slot)
        target = _matched(a.target, b.target, slot)
        # The other slots of b are slots of a, the same ones on both sides.
        if source is None or target is None or source[1] != target[1]:
            continue
        if is_slot(source[0]) or (is_slot(target[0]) and words_in_targets):
            continue
        if rule := make_rule(source[0], target[0]):
            yield rule


def _matched(text: str, side: str, slot: str) -> tuple[str, dict[str, str]] | None:
    """What fills a slot of a side so that it becomes the text, and the text's slots for its other
    slots; None if nothing does.
    """
    times = side.count(slot)
    length, remainder = divmod(len(text) - len(side) + times, times)
    if length < 1 or remainder:
        return None
    filler, renamed, position = "", dict[str, str](), 0
    for symbol in side:
        if symbol == slot:
            part = text[position : position + length]
            if filler and part != filler:
                return None
            filler = part
            position += length
            continue
        other = text[position]
        position += 1
        if symbol in SLOTS:
            if other not in SLOTS or renamed.setdefault(symbol, other) != other:
                return None
        elif symbol != other:
            return None
    return filler, renamed


def _contexts(a: Rule, b: Rule, most_slots: int, words_in_targets: bool) -> Iterator[Rule]:
    """Every c for which a = c(b): a, with b replaced by a slot."""
    sources = list(_replaced(a.source, b.source, most_slots, repeat=False))
    targets = list(_replaced(a.target, b.target, most_slots, repeat=True))
    for source_part, source in sources:
        for target_part, target in targets:
            if words_in_targets and (is_slot(target_part) or is_slot(target)):
                continue
            if is_slot(source) or make_rule(source_part, target_part) != b:
                continue
            if rule := make_rule(source, target):
                yield rule


def _replaced(text: str, side: str, most_slots: int, repeat: bool) -> set[tuple[str, str]]:
    """Every part of a text that is the side but for the numbers of slots, and the text with a free
    slot in its place.

    :param repeat: whether a part that occurs several times is replaced everywhere; if not, it is
        ambiguous and left out.
    """
    flat, flat_side = without_numbers(text), without_numbers(side)
    results = set()
    start = flat.find(flat_side)
    while start >= 0:
        part = text[start : start + len(side)]
        count = _count_overlapping(text, part)
        if count == 1 or (repeat and text.count(part) == count):
            rest = set(slots_of(text.replace(part, "")))
            free = next(slot for slot in (*SLOTS, "") if slot not in rest)
            replaced = text.replace(part, free)
            if free and len(set(slots_of(replaced))) <= most_slots:
                results.add((part, replaced))
        start = flat.find(flat_side, start + 1)
    return results


def _count_overlapping(text: str, part: str) -> int:
    return sum(text.startswith(part, start) for start in range(len(text) - len(part) + 1))

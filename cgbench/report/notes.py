"""Notes of a page: a warning about several systems stands there once."""

import re
from collections.abc import Sequence

from cgbench.numbers_as_text import joined

MOST_NAMES = 3
_COUNT = re.compile(r"\d[\d,]*")


def without_repetition(lines: Sequence[str], systems: Sequence[str]) -> list[str]:
    """Lines that differ only in the system before the colon and in counts, as one line.

    ``a: 3 lines are empty`` and ``b: 12 lines are empty`` become ``a and b: 3 to 12 lines are
    empty``.
    """
    groups: dict[tuple[bool, str], list[tuple[str, str]]] = {}
    by_length = sorted(systems, key=len, reverse=True)
    for line in lines:
        system = next((name for name in by_length if line.startswith(f"{name}: ")), "")
        text = line.removeprefix(f"{system}: ") if system else line
        shape = _COUNT.sub("#", text) if system else text
        groups.setdefault((bool(system), shape), []).append((system, text))
    return [_as_one(group, len(systems)) for group in groups.values()]


def _as_one(group: Sequence[tuple[str, str]], systems: int) -> str:
    """The lines of a group, as one."""
    names, texts = list(dict.fromkeys(name for name, _ in group)), [text for _, text in group]
    if not names[0]:
        return texts[0]
    # The counts, each from the lowest to the highest.
    between = _COUNT.split(texts[0])
    columns = zip(*(_COUNT.findall(text) for text in texts), strict=True)
    counts = [
        sorted(set(column), key=lambda count: int(count.replace(",", ""))) for column in columns
    ]
    ranges = [ends[0] if len(ends) == 1 else f"{ends[0]} to {ends[-1]}" for ends in counts]
    text = between[0] + "".join(map("".join, zip(ranges, between[1:], strict=True)))
    if len(names) == systems > 2:
        return f"All {systems} systems: {text}"
    others = len(names) - MOST_NAMES
    listed = names if others < 2 else [*names[:MOST_NAMES], f"{others} others"]
    return f"{joined(listed)}: {text}"

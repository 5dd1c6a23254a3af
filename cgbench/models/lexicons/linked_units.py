"""What became of the words of a sentence in its translation, without references.

IBM Model 1 (Brown et al. 1993), learned from sources and outputs of a system, links each n-gram of
characters of an output to a word of its source.
"""

from collections.abc import Collection, Sequence

import numpy as np

from cgbench.models.lexicons.alignment import IBM1Settings, align
from cgbench.models.lexicons.bitext import Bitext, find_cooccurrences
from cgbench.text.plain_text import words_of

ORDERS = (1, 2)
"""The lengths of n-grams, in characters, chosen by human judgements (docs/lab/consistency.md)."""


def units_of(text: str, orders: Sequence[int] = ORDERS) -> list[str]:
    """The n-grams of characters of a text, without blanks; all of it if it is shorter."""
    text = "".join(words_of(text)).lower()
    return [text[at : at + n] for n in orders for at in range(len(text) + 1 - n)] or [text] * bool(
        text
    )


def linked_words(
    sources: Sequence[Sequence[str]], units: Sequence[Sequence[str]]
) -> list[np.ndarray]:
    """The source word that each unit of each output is linked to: its position, -1 for none."""
    if not any(units):
        return [np.zeros(0, np.int64) for _ in units]
    text = Bitext.read(zip(map(" ".join, sources), map(" ".join, units), strict=True))
    links = align(text, find_cooccurrences(text, cells=True), True, IBM1Settings())
    return np.split(links, text.target.starts[1:])


def linked_to(units: Sequence[str], links: np.ndarray, positions: Collection[int]) -> set[str]:
    """The units that are linked to source words at ``positions``."""
    return {unit for unit, link in zip(units, links.tolist(), strict=True) if link in positions}

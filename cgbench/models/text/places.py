"""Which tokens the words of a line are."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Places:
    """The tokens of each word of a line, without the end token.

    :param words: positions of the tokens of each word.
    :param guided: the first tokens, which :mod:`cgbench.models.training.span_supervision` guides
        even outside all spans.
    """

    words: Sequence[tuple[int, ...]]
    guided: int


def consecutive(lengths: Sequence[int]) -> Places:
    """Words with these numbers of tokens, one after another."""
    words, start = [], 0
    for length in lengths:
        words.append(tuple(range(start, start + length)))
        start += length
    return Places(words, start)

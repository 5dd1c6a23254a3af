"""Items of a consistency test: sentences that share a part, which a system should translate alike
in all of them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from cgbench.argument_types import AnyPath, as_path
from cgbench.errors import InputError
from cgbench.text.columns import read_column
from cgbench.text.rows import Table

HEAD = ("item", "piece", "changed", "source")
_TOKEN = re.compile(r"\w+|[^\w\s]")
Words = tuple[str, ...]


class Tokens(NamedTuple):
    """A sentence as lower-case words and marks, tokenised or not, and where each begins and ends,
    in characters.
    """

    words: Words
    spans: list[tuple[int, int]]

    @classmethod
    def of(cls, sentence: str) -> Tokens:
        """Split a sentence."""
        tokens = list(_TOKEN.finditer(sentence))
        return cls(
            tuple(token.group().lower() for token in tokens), [token.span() for token in tokens]
        )

    def find(self, words: Words) -> int:
        """The first place of consecutive words, or -1."""
        length = len(words)
        positions = range(len(self.words) + 1 - length) if length else ()
        return next(
            (
                position
                for position in positions
                if self.words[position : position + length] == words
            ),
            -1,
        )


class ItemRow(NamedTuple):
    """A sentence to translate, its item and piece, and the places of the words that the item's
    sentences share.
    """

    item: str
    piece: str
    source: str
    shared: frozenset[int]


def read_items(table: AnyPath) -> list[ItemRow]:
    """Read the items of a table, of ``cgbench consistency make`` or another.

    It needs the columns ``source`` and ``piece``. Without ``item``, rows with the same piece are an
    item. The sentences of an item share the piece, where it first occurs; if there are words in
    ``changed``, they share all but these.

    :raises InputError: a column is missing, or a sentence does not contain its piece.
    """
    path = as_path(table)
    known = Table(path, named=True).names
    sources, pieces = (read_column(f"{path}:{name}") for name in ("source", "piece"))
    items = read_column(f"{path}:item") if "item" in known else pieces
    changes: Sequence[str] = (
        read_column(f"{path}:changed").values if "changed" in known else [""] * len(sources)
    )
    rows = []
    for row, (item, piece, changed, source) in enumerate(
        zip(items, pieces, changes, sources, strict=True)
    ):
        sentence, words = Tokens.of(source), Tokens.of(changed or piece).words
        position = sentence.find(words)
        if position < 0:
            raise InputError(
                f"{sources.row(row)}: the piece {changed or piece!r} is not in it; correct the row"
                " or leave it out"
            )
        of_words = frozenset(range(position, position + len(words)))
        everything = frozenset(range(len(sentence.words)))
        rows.append(ItemRow(item, piece, source, everything - of_words if changed else of_words))
    return rows

"""Items of a consistency test: sentences that share a part, which a system should translate alike in all of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cgbench.errors import InputError
from cgbench.requests import AnyPath
from cgbench.tables import render
from cgbench.text.columns import Column, read_column
from cgbench.text.rows import Table
from cgbench.text.streams import split_name

TABLE, SENTENCES = "items.tsv", "sentences.txt"
HEAD = ("item", "piece", "change", "context", "shared", "source")
_TOKEN = re.compile(r"\w+|[^\w\s]")
Span = tuple[int, int]


@dataclass(frozen=True)
class Tokens:
    """A sentence as lower-case words and marks, tokenised or not, and where each begins and ends, in characters."""

    words: list[str]
    spans: list[Span]

    @classmethod
    def of(cls, sentence: str) -> Tokens:
        """Split a sentence."""
        found = list(_TOKEN.finditer(sentence))
        return cls([one.group().lower() for one in found], [one.span() for one in found])

    def find(self, words: Sequence[str], begin: int = 0) -> int:
        """The first place of consecutive words, or -1."""
        size = len(words)
        places = range(begin, len(self.words) + 1 - size)
        return next((place for place in places if self.words[place : place + size] == words), -1)

    def within(self, shared: Sequence[Span]) -> set[int]:
        """The places of the words in these parts of the sentence."""
        return {
            place
            for place, (begin, end) in enumerate(self.spans)
            if any(low <= begin and end <= high for low, high in shared)
        }


@dataclass(frozen=True)
class Row:
    """A sentence to translate: its item, what changes between the sentences of the item, the number of its line in the
    text (``context``), and the parts that all sentences of the item share, in characters."""

    item: str
    piece: str
    change: str
    context: str
    shared: tuple[Span, ...]
    source: str

    def cells(self) -> list[str]:
        """The columns of :data:`HEAD`."""
        shared = ",".join(f"{begin}-{end}" for begin, end in self.shared)
        return [self.item, self.piece, self.change, self.context, shared, self.source]


def as_table(rows: Sequence[Row]) -> str:
    """The table of the items."""
    return render(HEAD, [row.cells() for row in rows], "tsv") + "\n"


def read_items(given: AnyPath) -> list[Row]:
    """Read the items of a folder of ``cgbench consistency make``, or of a table.

    A table needs the columns ``source`` and ``piece``. Without ``item``, rows with the same piece are an item; without
    ``shared``, the sentences share the piece, where it first occurs.

    :raises InputError: a column is missing, or a sentence does not have its piece.
    """
    path = Path(given)
    path = path / TABLE if path.is_dir() else path
    if split_name(str(path))[1] is not None:
        raise InputError(f"{path}: give the table without a column; it needs the columns source and piece")
    known = Table(path, named=True).names
    columns = {name: read_column(f"{path}:{name}") for name in HEAD if name in known or name in ("source", "piece")}
    sources, pieces = columns["source"], columns["piece"]

    def value(name: str, row: int, default: str) -> str:
        return columns[name].values[row] if name in columns else default

    found = []
    for row, (source, piece) in enumerate(zip(sources.values, pieces.values, strict=True)):
        shared = _spans(columns["shared"], row, len(source)) if "shared" in columns else _place(sources, row, piece)
        item, change = value("item", row, piece), value("change", row, "context")
        found.append(Row(item, piece, change, value("context", row, str(row + 1)), shared, source))
    if not found:
        raise InputError(f"{path}: no items")
    return found


def _spans(column: Column, row: int, size: int) -> tuple[Span, ...]:
    parts = [re.fullmatch(r"([0-9]{1,9})-([0-9]{1,9})", part) for part in column.values[row].split(",")]
    spans = tuple((int(one[1]), int(one[2])) for one in parts if one)
    if len(spans) < len(parts) or not all(begin < end <= size for begin, end in spans):
        raise InputError(
            f"{column.row(row)}: {column.values[row]!r} are no parts of the sentence; write where each begins and "
            "ends in characters, such as 0-7,12-20"
        )
    return spans


def _place(sources: Column, row: int, piece: str) -> tuple[Span, ...]:
    sentence, words = Tokens.of(sources.values[row]), Tokens.of(piece).words
    place = sentence.find(words) if words else -1
    if place < 0:
        raise InputError(f"{sources.row(row)}: the piece {piece!r} is not in it; correct the row or leave it out")
    return ((sentence.spans[place][0], sentence.spans[place + len(words) - 1][1]),)

"""What a text, and the table that it is from, say of which example each row is: an id, or the text
of the example itself.

Columns are recognised by their names (``id``, ``seg_id``, ``line``, ``source`` ...), and counters
(``n``, ``no``) by their values.
"""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from cgbench.errors import InputError
from cgbench.patterns import pattern
from cgbench.records import Record
from cgbench.text.columns import Column, are_numbers
from cgbench.text.rows import Table, is_number
from cgbench.text.streams import form, split_name

INDEX = "index"
"""The name of ids that are not a column: the index of a pandas Series, the ids of a log."""
TEXTS = {
    "source": "source",
    "src": "source",
    "sources": "source",
    "reference": "reference",
    "ref": "reference",
    "references": "reference",
}
"""Columns with the text of an example."""
MOST_WORDS = 5  # of an id
NEARLY_ALL = 0.9  # of the values of a column of ids are that short
DENSE = 1.1  # the largest range of row numbers, as a multiple of how many there are
_IDS = pattern(
    "id|ids|idx|index|key|uid|uuid|guid|seg|segid|segment|docid|line|lineno|row|item|example|sample|sentence|question"
)
_COUNTERS = pattern("|n|no|nr|num|number|unnamed 0")
"""Names that may stand for anything: they identify examples only if the column has row numbers."""
_POSITIONS = pattern(f"{_COUNTERS.pattern}|idx|index|row")
"""Names of counters that programs add to a table in its present order."""
_OF_OTHERS = pattern(
    "system|sys|model|rater|annotator|user|worker|judge|author|run|request|response|completion|session|job|batch|"
    "campaign|project|prompt|group|cluster|topic|lang|language|task"
)
"""What else has an id: ``rater_id``."""
_WORDS = pattern("[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
_ZEROS = pattern(r"(?<![\d.])0+(?=\d)")
_WHOLE = pattern(r"0*(\d+)\.0+")


def index_of(text: Any) -> list[str] | None:
    """The index of a pandas Series as ids; None for anything else."""
    index = getattr(text, "index", None)  # of a list or a tuple: a method
    return None if index is None or callable(index) else [str(label) for label in index]


def rows_by_id(name: str, ids: Sequence[str]) -> dict[str, int]:
    """The row of each id.

    :raises InputError: an id occurs twice.
    """
    rows: dict[str, int] = {}
    for row, key in enumerate(ids):
        if key in rows:
            raise InputError(
                f"{name}, row {row + 1}: the id {key!r} is also in row {rows[key] + 1}; make ids"
                " unique"
            )
        rows[key] = row
    return rows


def normalised(value: str) -> str:
    """An id without what programs change: case, blanks, zero-padding, Unicode form, ``5.0`` for
    5.
    """
    value = " ".join(unicodedata.normalize("NFC", value).casefold().split())
    return _WHOLE.sub(r"\1", value) if _WHOLE.fullmatch(value) else _ZEROS.sub("", value)


MISSING = frozenset(("", "nan", "na", "n/a", "none", "null", "<na>"))
"""How programs write a missing label, in lower case."""


def spelled_alike(labels: Iterable[str]) -> tuple[str, str] | None:
    """Two labels that differ only in case, blanks, zero-padding or Unicode form."""
    first: dict[str, str] = {}
    for label in dict.fromkeys(labels):
        if (earlier := first.setdefault(normalised(label), label)) != label:
            return earlier, label
    return None


def bare(text: str) -> str:
    """The letters and digits of a text, which are the same whether or not it is tokenised, cased or
    escaped.
    """
    while (plain := html.unescape(text)) != text:  # Moses escapes what is escaped already
        text = plain
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text).casefold()))


class Identity(Record):
    """What one column says of each row: an id, or (``is_text``) the text of the example.

    ``of``: the name of the text or file, for messages. ``itself``: the column is the text that is
    joined, and not one beside it; two references of an example are different texts. ``as_is``: ids
    are compared as they are. ``certain``: ids that came with the text, and not a column that may be
    one.
    """

    name: str
    of: str
    values: Sequence[str]
    is_text: bool = False
    itself: bool = False
    as_is: bool = False
    certain: bool = False

    @cached_property
    def keys(self) -> Sequence[str]:
        """The normalised values."""
        if self.as_is:
            return self.values
        return list(map(bare if self.is_text else normalised, self.values))

    def at(self, rows: Sequence[int]) -> Identity:
        """The identity of these rows, in this order."""
        return replace(self, values=[self.values[row] for row in rows])

    @property
    def numbers(self) -> list[int] | None:
        """The keys as row numbers: whole numbers that lie densely; None if they are something
        else.
        """
        if not self.keys or self.is_text or not all(map(is_number, self.keys)):
            return None
        numbers = list(map(int, self.keys))
        return numbers if max(numbers) - min(numbers) <= DENSE * len(numbers) else None

    @property
    def counts(self) -> bool:
        """Whether the keys count the rows one by one."""
        numbers = self.numbers
        return numbers is not None and numbers == list(range(numbers[0], numbers[0] + len(numbers)))

    def like(self, identity: Identity) -> bool:
        """Whether most of the distinct keys of the smaller are in both."""
        sets = set(self.keys), set(identity.keys)
        return 2 * len(sets[0] & sets[1]) >= max(1, min(map(len, sets)))

    def cell(self, row: int) -> str:
        """What a row says, for messages."""
        value = self.values[row]
        value = value if len(value) <= 40 else f"{value[:40]}..."
        return f"{'id' if self.name == INDEX else self.name} {value!r}"


def _kind(name: str) -> str | None:
    """``id``, ``counter`` or ``text``, by the name of a column; None for other columns."""
    if name.lower() in TEXTS:
        return "text"
    words = [word.lower() for word in _WORDS.findall(name)]
    if _COUNTERS.fullmatch(" ".join(words)):
        return "counter"
    if not words or not _IDS.fullmatch(words[-1]) or any(map(_OF_OTHERS.fullmatch, words[:-1])):
        return None
    return "id"


def is_counter(identity: Identity) -> bool:
    """Whether a column counts the rows one by one, as programs add one to a table."""
    return identity.counts and _POSITIONS.fullmatch(identity.name.casefold()) is not None


def is_identity(name: str) -> bool:
    """Whether a column of this name tells the examples of a table apart."""
    return _kind(name) is not None


@lru_cache(maxsize=64)
def _of_table(path: Path, _stamp: tuple[int, int], length: int) -> tuple[Identity, ...]:
    """The identities in a table with ``length`` rows; none if it has another number (a log with
    several filters).
    """
    table = Table(path, named=True)
    names = [name for name in dict.fromkeys(table.names) if _kind(name)]
    rows = [row for _, row in table.read(names)] if names else []
    if len(rows) != length or not rows:
        return ()
    texts, ids = list[Identity](), list[Identity]()
    for name, cells in zip(names, zip(*rows, strict=True), strict=True):
        if any(isinstance(cell, (dict, list)) for cell in cells):
            continue
        values = ["" if cell is None else str(cell) for cell in cells]
        if _kind(name) == "text":
            texts.append(Identity(TEXTS[name.lower()], str(path), values, is_text=True))
        else:
            identity = Identity(name, str(path), values)
            ids += [identity] if _may_be_ids(identity) else []
    return (*texts, *_ids_of_rows(ids))


def _may_be_ids(identity: Identity) -> bool:
    """Whether nearly all values of a column are short; those of a counter must be row numbers."""
    short = sum(0 < len(value.split()) <= MOST_WORDS for value in identity.values)
    if short < NEARLY_ALL * len(identity.values):
        return False
    return _kind(identity.name) == "id" or identity.numbers is not None


def _ids_of_rows(columns: Sequence[Identity]) -> list[Identity]:
    """The columns in which most rows have an id of their own. Segments may be numbered in each
    document: then both columns together are an id.
    """
    distinct = [(identity, len(set(identity.keys)), len(identity.keys)) for identity in columns]
    unique = [identity for identity, keys, rows in distinct if 2 * keys > rows]
    if len(unique) == len(columns) or any(keys == rows for _, keys, rows in distinct):
        return unique
    columns = sorted(columns, key=lambda identity: identity.name.lower())
    cells_of_rows = zip(*(identity.values for identity in columns), strict=True)
    values = [", ".join(cells) for cells in cells_of_rows]
    if len(set(values)) < len(values):
        return unique
    name = "+".join(identity.name for identity in columns)
    return [Identity(name, columns[0].of, values)]


def identities_of(column: Column, role: str = "") -> list[Identity]:
    """What a text and the table that it is from say of each row.

    :param role: ``source`` or ``reference`` if the text itself identifies the examples.
    """
    identities, path = list[Identity](), column.path
    if column.ids is not None:
        identities.append(Identity(column.ids_name, column.name, column.ids, certain=True))
    elif path is not None and form(path) != "plain" and path.is_file():
        name = split_name(column.name)[1]
        if name is None or not are_numbers(path, (name,)):  # the columns of the table have names
            identities += _in_table(path, column)
    role = TEXTS.get(role, "")
    if role:
        identities = [identity for identity in identities if identity.name != role]
        identities.append(Identity(role, column.name, column.values, is_text=True, itself=True))
    return identities


def described_ids(column: Column) -> list[Identity]:
    """The ids in the table that describes a text."""
    if column.table is None or column.ids is not None or not column.table.is_file():
        return []
    return [identity for identity in _in_table(column.table, column) if not identity.is_text]


def _in_table(path: Path, column: Column) -> list[Identity]:
    """The identities of the rows of a table that a column has."""
    stat = path.stat()
    length = len(column) if column.rows is None else max(column.rows, default=-1) + 1
    identities = list(_of_table(path, (stat.st_mtime_ns, stat.st_size), length))
    if column.rows is None:
        return identities
    return [identity.at(column.rows) for identity in identities]

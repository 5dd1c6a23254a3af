"""Join texts whose rows describe the same examples, by what they say of them.

Two tables that both identify their examples are joined by that: by a column with one of the usual
names (``id``, ``seg_id``, ``line`` ...) or by the texts of the examples (``source``,
``reference``). They are joined by position only if at most one of them does, or if both agree row
by row. Anything else stops, with the first row that disagrees.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, TypeVar

from cgbench.errors import InputError, argument
from cgbench.text.columns import Column, are_numbers
from cgbench.text.rows import Table, is_number
from cgbench.text.streams import form, split_name

C = TypeVar("C", bound=Column)
NONE = "none"
"""The value of ``ids`` that joins by position, whatever the tables say."""
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
DENSE = 1.1  # the largest range of row numbers, as a multiple of how many there are
_IDS = re.compile(
    "id|ids|idx|index|key|uid|uuid|guid|seg|segid|segment|docid|line|lineno|row|item|example|sample|sentence|question"
)
_COUNTERS = re.compile("|n|no|nr|num|number|unnamed 0")
"""Names that may stand for anything: they identify examples only if the column has row numbers."""
_POSITIONS = re.compile(f"{_COUNTERS.pattern}|idx|index|row")
"""Names of counters that programs add to a table in its present order."""
_OF_OTHERS = re.compile(
    "system|sys|model|rater|annotator|user|worker|judge|author|run|request|response|completion|session|job|batch|"
    "campaign|project|prompt|group|cluster|topic|lang|language|task"
)
"""What else has an id: ``rater_id``."""
_WORDS = re.compile("[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
_ZEROS = re.compile(r"(?<![\d.])0+(?=\d)")
_WHOLE = re.compile(r"0*(\d+)\.0+")


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


@dataclass(frozen=True)
class Identity:
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
        return (
            self.values
            if self.as_is
            else list(map(bare if self.is_text else normalised, self.values))
        )

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
    texts, unique, repeated = list[Identity](), list[Identity](), list[Identity]()
    for name, cells in zip(names, zip(*rows, strict=True), strict=True):
        if any(isinstance(cell, (dict, list)) for cell in cells):
            continue
        values, kind = ["" if cell is None else str(cell) for cell in cells], _kind(name)
        if kind == "text":
            texts.append(Identity(TEXTS[name.lower()], str(path), values, is_text=True))
            continue
        identity = Identity(name, str(path), values)
        if sum(0 < len(value.split()) <= MOST_WORDS for value in values) < 0.9 * length:
            continue
        if kind == "id" or identity.numbers is not None:
            (unique if 2 * len(set(identity.keys)) > length else repeated).append(identity)
    if repeated and all(len(set(identity.keys)) < length for identity in unique):
        # Segments that are numbered in each document: both columns together are an id.
        columns = sorted([*repeated, *unique], key=lambda identity: identity.name.lower())
        values = [
            ", ".join(cells)
            for cells in zip(*(identity.values for identity in columns), strict=True)
        ]
        if len(set(values)) == length:
            unique = [Identity("+".join(identity.name for identity in columns), str(path), values)]
    return (*texts, *unique)


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


def _described(column: Column) -> list[Identity]:
    """The ids in the table that describes a text."""
    if column.table is None or column.ids is not None or not column.table.is_file():
        return []
    return [identity for identity in _in_table(column.table, column) if not identity.is_text]


def _in_table(path: Path, column: Column) -> list[Identity]:
    stat, length = (
        path.stat(),
        (len(column) if column.rows is None else max(column.rows, default=-1) + 1),
    )
    identities = _of_table(path, (stat.st_mtime_ns, stat.st_size), length)
    return [
        identity if column.rows is None else identity.at(column.rows) for identity in identities
    ]


@dataclass(frozen=True)
class _Match:
    """Two identities of the same kind: ``rows`` of the second in the order of the first, or the
    first that disagrees.

    ``strong``: an agreement tells more than the position of rows does.
    """

    first: Identity
    second: Identity
    rows: Sequence[int] | None
    wrong: int = 0
    strong: bool = True


def _match(first: Identity, second: Identity, *, more: bool, fewer: bool) -> _Match | None:
    """Compare two identities; None if they say nothing of each other.

    :param more: the second may have further rows; ``fewer``: it may lack rows (-1).
    """
    same_name = first.name.casefold() == second.name.casefold()
    if (
        first.is_text is not second.is_text
        or (first.is_text and not same_name)
        or (first.itself and second.itself)
    ):
        return None
    if any(
        not identity.is_text and len(set(identity.keys)) < len(set(identity.values))
        for identity in (first, second)
    ):
        first, second = (
            replace(identity, as_is=True) for identity in (first, second)
        )  # ids that differ in case alone
    keys, second_keys, alike = list(first.keys), list(second.keys), first.like(second)
    if keys == second_keys:
        return _Match(first, second, range(len(keys)), strong=not first.counts)
    must_match = first.name == second.name == INDEX
    if (
        not alike
        and not must_match
        and (first.is_text or not same_name or first.counts or second.counts)
    ):
        return None
    known, rows = set(keys), {key: row for row, key in enumerate(second_keys)}
    is_unique = len(rows) == len(second_keys) and len(known) == len(keys)
    if is_unique and (fewer or known <= rows.keys()) and (more or rows.keys() <= known):
        # A counter that was added to a table in its present order says nothing of another table's
        # ids.
        counter = any(
            identity.counts and _POSITIONS.fullmatch(identity.name.casefold())
            for identity in (first, second)
        )
        if same_name or not counter:
            return _Match(first, second, [rows.get(key, -1) for key in keys])
    wrong = [
        row
        for row, (key, second_key) in enumerate(zip(keys, second_keys, strict=False))
        if key != second_key
    ]
    if first.is_text:  # another text in a row is an edit, unless it belongs to another row
        wrong = [row for row in wrong if keys[row] in rows or second_keys[row] in known]
        if not wrong:
            return (
                _Match(first, second, range(len(keys))) if len(keys) == len(second_keys) else None
            )
    return _Match(first, second, None, wrong[0] if wrong else min(len(keys), len(second_keys)))


class Examples:
    """The examples of a test set in order, by what the texts that were joined say of them; the
    first text leads.

    :param ids: the column with the ids in all tables; ``none`` joins by position.
    """

    def __init__(self, ids: str | None = None) -> None:
        self.ids = ids
        self._waiting: list[
            tuple[int, Column]
        ] = []  # texts whose table is read only if another text has ids
        self._known: list[tuple[int, Identity]] = []  # with the group of its text
        self._groups: list[
            str
        ] = []  # of texts that are known to have the same order: the name of one
        self._merged: dict[int, int] = {}
        self._of_table: dict[Path, int] = {}  # the group of the texts that a table describes

    @classmethod
    def of(
        cls, name: str, texts: Mapping[str, Sequence[str]], table: Path | None = None
    ) -> Examples:
        """The examples of texts by role (``source``, ``reference``); ``name``: of the set, for
        messages.
        """
        examples = cls()
        for role, lines in texts.items():
            examples.join(Column(f"{name}, {role}", list(lines), table=table), role)
        return examples

    @property
    def names(self) -> Sequence[str] | None:
        """The ids of the examples, if the texts have ids that all must share."""
        return next((known.values for _, known in self._known if known.certain), None)

    def join(self, column: C, role: str = "", *, more: bool = False) -> C:
        """A text in the order of the examples; parameters and errors as of :meth:`rows_of`."""
        return column.at(self.rows_of(column, role, more=more))

    def rows_of(
        self,
        column: Column,
        role: str = "",
        *,
        more: bool = False,
        fewer: bool = False,
        sorts: bool = False,
    ) -> Sequence[int]:
        """For each example its row in a text: by position, unless what both say of the examples
        tells otherwise.

        :param role: ``source`` or ``reference`` if the text itself tells the examples apart.
        :param more: it may have further rows; ``fewer``: examples may have no row (-1).
        :param sorts: its rows have an order of their own, so position counts only if they are
            numbered.
        :raises InputError: identities of two texts disagree.
        """
        if self.ids == NONE:
            return range(len(column))
        # What the text says of its examples.
        identities = identities_of(column, "" if self.ids else role)
        if self.ids is not None:
            rows_by_id(column.name, column.ids or ())
        if any(
            not identity.is_text for identity in (*identities, *(known for _, known in self._known))
        ):
            for group, waiting in self._waiting:
                self._known += [(group, identity) for identity in _described(waiting)]
            self._waiting.clear()
            identities += _described(column)
        # Compare it with the texts before.
        matches = self._matches(identities, more=more, fewer=fewer)
        rows = self._choose([match for _, match in matches], len(column))
        if not matches:
            self._check_kinds(identities)
            if (
                sorts
                and self._known + self._waiting
                and not all(identity.counts for identity in identities)
            ):
                raise InputError(
                    f"{column.name}: its rows are in an order of their own and nothing else has"
                    f" their ids (such as {column.ids[0] if column.ids else ''!r}); {_remedy()}"
                )
        # Remember what it says for the texts that follow.
        linked = [group for group, _ in matches]
        linked += [self._of_table[column.table]] if column.table in self._of_table else []
        group = self._add(column.name, identities, linked, rows)
        if column.table is not None:
            self._of_table[column.table] = group
        if (
            column.table is not None
            and len(column)
            and not any(not identity.is_text for identity in identities)
        ):
            self._waiting.append((group, column.at(rows)))
        return rows

    def check(self) -> None:
        """Refuse row numbers out of order beside a text that has no ids.

        :raises InputError: there are some.
        """
        groups = {self._group(group) for group in range(len(self._groups))}
        for group, identity in self._known:
            if len(groups) < 2 or identity.counts or (numbers := identity.numbers) is None:
                continue
            row = next(row for row, value in enumerate(numbers) if value != numbers[0] + row)
            plain = next(self._groups[key] for key in sorted(groups) if key != self._group(group))
            raise InputError(
                f"{identity.of}: its column {identity.name!r} has row numbers out of order (row"
                f" {row + 1} has {numbers[row]}, not {numbers[0] + row}), but {plain} has no ids"
                " and is read in its own order: sort the table by it, or join by row order with"
                f" {argument('ids', NONE)}"
            )

    def _matches(
        self, identities: Sequence[Identity], *, more: bool, fewer: bool
    ) -> list[tuple[int, _Match]]:
        """How a text compares with the texts before, by columns of the same name, else by any
        two.
        """
        matches: list[tuple[int, _Match]] = []
        for is_same in (True, False):
            if any(not match.first.is_text for _, match in matches):
                break
            for group, known in self._known:
                for identity in identities:
                    if (known.name.casefold() == identity.name.casefold()) is is_same:
                        match = _match(known, identity, more=more, fewer=fewer)
                        matches += [(group, match)] if match else []
        return matches

    def _choose(self, matches: Sequence[_Match], length: int) -> Sequence[int]:
        """The rows that all matches agree on.

        :raises InputError: they do not.
        """
        position = list(range(length))
        turned = [
            list(match.rows)
            for match in matches
            if match.rows is not None and list(match.rows) != position
        ]
        if not turned:
            if differing := next((match for match in matches if match.rows is None), None):
                raise InputError(_disagreement(differing))
            return position
        rows = turned[0]
        for match in matches:
            if match.strong and (wrong := _misplaced(match, rows)) is not None:
                raise InputError(_disagreement(replace(match, wrong=wrong)))
        return rows

    def _check_kinds(self, identities: Sequence[Identity]) -> None:
        """Refuse ids that cannot be compared with those of the texts before.

        :raises InputError: they are.
        """
        informative = (
            [identity for identity in columns if not identity.is_text and not identity.counts]
            for columns in ([identity for _, identity in self._known], identities)
        )
        before, now = map(list, informative)
        if before and now:
            raise InputError(
                f"{now[0].of}, row 1, has {now[0].cell(0)} where {before[0].of} has"
                f" {before[0].cell(0)}: their ids have nothing in common, so they cannot be joined;"
                f" {_remedy()}"
            )

    def _group(self, group: int) -> int:
        while group in self._merged:
            group = self._merged[group]
        return group

    def _add(
        self, name: str, identities: Sequence[Identity], linked: Sequence[int], rows: Sequence[int]
    ) -> int:
        """Remember what a text says; ``linked``: groups of texts that have its order for certain.

        :returns: the group of the text
        """
        groups = sorted({self._group(group) for group in linked})
        if not groups:
            groups = [len(self._groups)]
            self._groups.append(name)
        self._merged |= dict.fromkeys(groups[1:], groups[0])
        if -1 not in rows:
            self._known += [(groups[0], identity.at(rows)) for identity in identities]
        return groups[0]


def _misplaced(match: _Match, rows: Sequence[int]) -> int | None:
    """The first example whose row in this order has another id, or a text of another example."""
    keys, second_keys = match.first.keys, match.second.keys
    numbered_pairs = enumerate(zip(keys, rows, strict=True))
    wrong = [index for index, (key, row) in numbered_pairs if row >= 0 and second_keys[row] != key]
    if match.first.is_text:
        known, seen = set(keys), set(second_keys)
        wrong = [
            index for index in wrong if keys[index] in seen or second_keys[rows[index]] in known
        ]
    return wrong[0] if wrong else None


def _remedy() -> str:
    column, none = argument("ids", "COLUMN"), argument("ids", NONE)
    return f"name a column with the same ids in both ({column}), or join by row order ({none})"


def _disagreement(match: _Match) -> str:
    """Which row disagrees, and why the rows cannot be joined."""
    first, second, row = match.first, match.second, match.wrong
    where, repeated, missing = [], [], []
    if row < min(len(first.keys), len(second.keys)):
        where.append(
            f"{second.of}, row {row + 1}, has {second.cell(row)} where {first.of} has"
            f" {first.cell(row)}"
        )
    for identity, partner in ((first, second), (second, first)):
        known, rows = set(partner.keys), dict[str, int]()
        for index, key in enumerate(identity.keys):
            if (earlier := rows.setdefault(key, index)) != index:
                again = f"the {identity.cell(index)} is also in row {earlier + 1}"
                repeated.append(f"{identity.of}, row {index + 1}: {again}")
                break
        if not first.is_text and (
            lost := [index for index, key in enumerate(identity.keys) if key not in known]
        ):
            count = f" ({len(lost):,} such rows)" if len(lost) > 1 else ""
            which = f"row {lost[0] + 1} ({identity.cell(lost[0])})"
            missing.append(f"{identity.of}, {which} has no row in {partner.of}{count}")
    return f"{'; '.join([*where, *repeated, *missing][:2])}; {_remedy()}"

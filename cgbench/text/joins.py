"""Join texts whose rows describe the same examples, by what they say of them.

Two tables that both identify their examples (:mod:`cgbench.text.identities`) are joined by that.
They are joined by position only if at most one of them does, or if both agree row by row. Anything
else stops, with the first row that disagrees.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, TypeVar

from cgbench.errors import InputError, argument
from cgbench.records import Record
from cgbench.text.columns import Column
from cgbench.text.identities import (
    INDEX,
    Identity,
    described_ids,
    identities_of,
    is_counter,
    rows_by_id,
)

C = TypeVar("C", bound=Column)
NONE = "none"
"""The value of ``ids`` that joins by position, whatever the tables say."""


class _Match(Record):
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
    is_both = first.itself and second.itself
    if first.is_text is not second.is_text or (first.is_text and not same_name) or is_both:
        return None
    if _differ_in_spelling(first) or _differ_in_spelling(second):
        first, second = replace(first, as_is=True), replace(second, as_is=True)
    keys, second_keys = list(first.keys), list(second.keys)
    if keys == second_keys:
        return _Match(first, second, range(len(keys)), strong=not first.counts)
    if not first.like(second) and not _must_agree(first, second):
        return None
    # Both name the same examples in another order.
    known, rows = set(keys), {key: row for row, key in enumerate(second_keys)}
    are_unique = len(rows) == len(second_keys) and len(known) == len(keys)
    are_complete = (fewer or known <= rows.keys()) and (more or rows.keys() <= known)
    # A counter that was added to a table in its present order says nothing of another table's ids.
    are_related = same_name or not (is_counter(first) or is_counter(second))
    if are_unique and are_complete and are_related:
        return _Match(first, second, [rows.get(key, -1) for key in keys])
    return _disagreeing(first, second)


def _differ_in_spelling(identity: Identity) -> bool:
    """Whether there are ids that differ in case alone, so that they are compared as they are."""
    return not identity.is_text and len(set(identity.keys)) < len(set(identity.values))


def _must_agree(first: Identity, second: Identity) -> bool:
    """Whether two identities that have little in common cannot both be right: ids of the same
    name, and of an index.
    """
    if first.name == second.name == INDEX:
        return True
    same_name = first.name.casefold() == second.name.casefold()
    return same_name and not (first.is_text or first.counts or second.counts)


def _disagreeing(first: Identity, second: Identity) -> _Match | None:
    """Two identities with the first row in which they differ."""
    keys, second_keys = first.keys, second.keys
    pairs = zip(keys, second_keys, strict=False)
    wrong = [row for row, (key, second_key) in enumerate(pairs) if key != second_key]
    if first.is_text:
        # Another text in a row is an edit, unless it belongs to another row.
        known, known_of_second = set(keys), set(second_keys)
        wrong = [row for row in wrong if keys[row] in known_of_second or second_keys[row] in known]
        if not wrong:
            same_length = len(keys) == len(second_keys)
            return _Match(first, second, range(len(keys))) if same_length else None
    shorter = min(len(keys), len(second_keys))
    return _Match(first, second, None, wrong[0] if wrong else shorter)


class _Known(NamedTuple):
    """What a text says of its examples; texts of a ``group`` are known to have the same order."""

    group: int
    identity: Identity


class _Waiting(NamedTuple):
    """A text whose table is read only if another text has ids."""

    group: int
    column: Column


class _Groups:
    """Groups of texts that are known to have the same order, by their numbers; they can merge."""

    def __init__(self) -> None:
        self._names: list[str] = []  # of the first text of each group
        self._merged: dict[int, int] = {}

    def current(self, group: int) -> int:
        """The group that a group is part of by now."""
        while group in self._merged:
            group = self._merged[group]
        return group

    def join(self, name: str, linked: Sequence[int]) -> int:
        """The group of a text that has the order of these groups; a new one without any."""
        groups = sorted({self.current(group) for group in linked})
        if not groups:
            groups = [len(self._names)]
            self._names.append(name)
        self._merged |= dict.fromkeys(groups[1:], groups[0])
        return groups[0]

    def names(self) -> dict[int, str]:
        """The groups that are left, with the name of a text of each."""
        current = sorted({self.current(group) for group in range(len(self._names))})
        return {group: self._names[group] for group in current}


class Examples:
    """The examples of a test set in order, by what the texts that were joined say of them; the
    first text leads.

    :param ids: the column with the ids in all tables; ``none`` joins by position.
    """

    def __init__(self, ids: str | None = None) -> None:
        self.ids = ids
        self._waiting: list[_Waiting] = []
        self._known: list[_Known] = []
        self._groups = _Groups()
        self._group_of_table: dict[Path, int] = {}  # of the texts that a table describes

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
        identities = (known.identity for known in self._known)
        return next((identity.values for identity in identities if identity.certain), None)

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
        identities = self._identities_of(column, role)
        matches = self._matches(identities, more=more, fewer=fewer)
        if not matches:
            self._check_kinds(identities)
        if not matches and sorts:
            self._check_numbered(column, identities)
        rows = self._choose([match for _, match in matches], len(column))
        self._remember(column, identities, [group for group, _ in matches], rows)
        return rows

    def _identities_of(self, column: Column, role: str) -> list[Identity]:
        """What a text says of its examples; tables that only describe texts are read once any text
        has ids.
        """
        identities = identities_of(column, "" if self.ids else role)
        if self.ids is not None:
            rows_by_id(column.name, column.ids or ())
        if has_ids([*identities, *(known.identity for known in self._known)]):
            for group, waiting in self._waiting:
                self._known += [_Known(group, identity) for identity in described_ids(waiting)]
            self._waiting.clear()
            identities += described_ids(column)
        return identities

    def _matches(
        self, identities: Sequence[Identity], *, more: bool, fewer: bool
    ) -> list[tuple[int, _Match]]:
        """How a text compares with the texts before, by columns of the same name, else by any two;
        with the groups of these texts.
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

    def _check_kinds(self, identities: Sequence[Identity]) -> None:
        """Refuse ids that cannot be compared with those of the texts before.

        :raises InputError: they are.
        """
        before = [known.identity for known in self._known if _is_informative(known.identity)]
        now = [identity for identity in identities if _is_informative(identity)]
        if before and now:
            raise InputError(
                f"{now[0].of}, row 1, has {now[0].cell(0)} where {before[0].of} has"
                f" {before[0].cell(0)}: their ids have nothing in common, so they cannot be joined;"
                f" {_remedy()}"
            )

    def _check_numbered(self, column: Column, identities: Sequence[Identity]) -> None:
        """Refuse a text with an order of its own beside texts without ids.

        :raises InputError: it is not numbered.
        """
        is_numbered = all(identity.counts for identity in identities)
        if (self._known or self._waiting) and not is_numbered:
            raise InputError(
                f"{column.name}: its rows are in an order of their own and nothing else has"
                f" their ids (such as {column.ids[0] if column.ids else ''!r}); {_remedy()}"
            )

    def _choose(self, matches: Sequence[_Match], length: int) -> Sequence[int]:
        """The rows that all matches agree on.

        :raises InputError: they do not.
        """
        position = list(range(length))
        orders = [list(match.rows) for match in matches if match.rows is not None]
        rows = next((order for order in orders if order != position), None)
        if rows is None:
            if differing := next((match for match in matches if match.rows is None), None):
                raise InputError(_disagreement(differing))
            return position
        for match in matches:
            if match.strong and (wrong := _misplaced(match, rows)) is not None:
                raise InputError(_disagreement(replace(match, wrong=wrong)))
        return rows

    def _remember(
        self,
        column: Column,
        identities: Sequence[Identity],
        linked: Sequence[int],
        rows: Sequence[int],
    ) -> None:
        """Keep what a text says for the texts that follow; ``linked``: groups of texts that have
        its order for certain.
        """
        table = column.table
        of_table = [self._group_of_table[table]] if table in self._group_of_table else []
        group = self._groups.join(column.name, [*linked, *of_table])
        if -1 not in rows:
            self._known += [_Known(group, identity.at(rows)) for identity in identities]
        if table is not None:
            self._group_of_table[table] = group
            if len(column) and not has_ids(identities):
                self._waiting.append(_Waiting(group, column.at(rows)))

    def check(self) -> None:
        """Refuse row numbers out of order beside a text that has no ids.

        :raises InputError: there are some.
        """
        groups = self._groups.names()
        for group, identity in self._known:
            numbers = identity.numbers
            if len(groups) < 2 or identity.counts or numbers is None:
                continue
            row = next(row for row, number in enumerate(numbers) if number != numbers[0] + row)
            own_group = self._groups.current(group)
            plain = next(name for other, name in groups.items() if other != own_group)
            raise InputError(
                f"{identity.of}: its column {identity.name!r} has row numbers out of order (row"
                f" {row + 1} has {numbers[row]}, not {numbers[0] + row}), but {plain} has no ids"
                " and is read in its own order: sort the table by it, or join by row order with"
                f" {argument('ids', NONE)}"
            )


def has_ids(identities: Sequence[Identity]) -> bool:
    """Whether any of these is more than the text of an example."""
    return any(not identity.is_text for identity in identities)


def _is_informative(identity: Identity) -> bool:
    """Whether these are ids that tell more than the position of rows."""
    return not identity.is_text and not identity.counts


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
    problems = list[str]()
    if row < min(len(first.keys), len(second.keys)):
        problems.append(
            f"{second.of}, row {row + 1}, has {second.cell(row)} where {first.of} has"
            f" {first.cell(row)}"
        )
    problems += filter(None, (_repeated_id(first), _repeated_id(second)))
    problems += filter(None, (_lost_row(first, second), _lost_row(second, first)))
    return f"{'; '.join(problems[:2])}; {_remedy()}"


def _repeated_id(identity: Identity) -> str:
    """The first id that is in two rows; empty without one."""
    rows: dict[str, int] = {}
    for row, key in enumerate(identity.keys):
        earlier = rows.setdefault(key, row)
        if earlier != row:
            again = f"the {identity.cell(row)} is also in row {earlier + 1}"
            return f"{identity.of}, row {row + 1}: {again}"
    return ""


def _lost_row(identity: Identity, partner: Identity) -> str:
    """The first row whose id the partner does not have; empty without one, and of texts."""
    known = set(partner.keys)
    lost = [row for row, key in enumerate(identity.keys) if key not in known]
    if identity.is_text or not lost:
        return ""
    count = f" ({len(lost):,} such rows)" if len(lost) > 1 else ""
    which = f"row {lost[0] + 1} ({identity.cell(lost[0])})"
    return f"{identity.of}, {which} has no row in {partner.of}{count}"

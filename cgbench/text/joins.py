"""Join texts by example ids, and refuse texts whose rows are in another order.

Ids are a table column named by the user (``--id``), or the index of a pandas Series. Without them, two tables with the
same ids in another order are refused: rows of different examples would be compared.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from cgbench.errors import InputError, InputWarning, argument
from cgbench.text.columns import Column, read_column
from cgbench.text.rows import Table, is_number
from cgbench.text.streams import NUMBERED, form, split_name

_OF_IDS = re.compile(
    r"(?:.*[_\-. ])?(?:[Ii]d|ID|ids|idx|index|key|uid|uuid|guid|seg|segment|segid|docid|source|src)|.*[a-z](?:Id|ID)"
)
"""Names of columns that identify examples: ``id``, ``seg_id``, ``docId``, ``source``."""


def index_of(given: Any) -> list[str] | None:
    """The index of a pandas Series as ids; None for anything else."""
    index = getattr(given, "index", None)  # of a list or a tuple: a method
    return None if index is None or callable(index) else [str(one) for one in index]


def places(name: str, ids: Sequence[str], first: Column, *, more: bool = False) -> list[int]:
    """For each row of ``first`` the row with the same id.

    :param name: name of the text with ``ids`` in messages.
    :param more: it may have rows that ``first`` lacks.
    :raises InputError: an id occurs twice, or one text has an id that the other lacks.
    """
    assert first.ids is not None
    if list(ids) == first.ids:
        return list(range(len(ids)))
    found, known = numbered(name, ids), numbered(first.name, first.ids)
    for one, own, other, others in ((first.name, known, name, found), (name, found, first.name, known)):
        missing = [key for key in own if key not in others]
        if missing and not (more and own is found):
            raise InputError(
                f"{one}, row {own[missing[0]] + 1} (id {missing[0]}) has no row in {other} ({len(missing):,} such "
                "rows); rows are joined by id or, for pandas Series, by index, so both need the same examples"
            )
    return [found[key] for key in first.ids]


def numbered(name: str, ids: Sequence[str]) -> dict[str, int]:
    """The row of each id.

    :raises InputError: an id occurs twice.
    """
    rows: dict[str, int] = {}
    for row, key in enumerate(ids):
        if key in rows:
            raise InputError(f"{name}, row {row + 1}: the id {key!r} is also in row {rows[key] + 1}; make ids unique")
        rows[key] = row
    return rows


def in_order(column: Column, first: Column, *, more: bool = False) -> Column:
    """A text reordered to the examples of ``first``.

    :raises InputError: as :func:`places`.
    """
    if column.ids is None or column.ids == first.ids:
        return column
    order = places(column.name, column.ids, first, more=more)
    return replace(column, values=[column.values[row] for row in order], ids=list(first.ids or ()))


def check_order(columns: Iterable[Column]) -> None:
    """Check that tables which are read row by row do not have the same ids in another order.

    Warns if the ids of a table are row numbers out of order and another text has no ids: outputs may have been written
    in the order in which they were finished.

    :raises InputError: two tables do.
    """
    columns = list(columns)
    plain = next((column.name for column in columns if not (column.path and _has_names(column))), None)
    seen: dict[str, tuple[Path, list[str]]] = {}
    for path in dict.fromkeys(column.path for column in columns if column.path and _has_names(column)):
        for name in filter(_OF_IDS.fullmatch, Table(path, named=True).names):
            if (ids := _unique(path, name)) is None:
                continue
            numbers = sorted(map(int, ids)) if all(map(is_number, ids)) else []
            if (
                plain
                and numbers in (list(range(len(ids))), list(range(1, len(ids) + 1)))
                and list(map(int, ids)) != numbers
            ):
                warnings.warn(
                    InputWarning(
                        f"{path}: its column {name!r} has row numbers out of order; {plain} has no ids and is read in "
                        "its own order: sort the table if the two orders differ"
                    ),
                    stacklevel=2,
                )
            first, known = seen.setdefault(name, (path, ids))
            if ids != known and _turned(known, ids):
                raise InputError(
                    f"{path}: its column {name!r} has the values of {first} in another order, so rows of different "
                    f"examples would be compared; join them with {argument('ids', name)}"
                )


def _has_names(column: Column) -> bool:
    path, wanted = split_name(column.name)
    kind = form(column.path or path)
    return kind != "plain" and not (kind in NUMBERED and wanted is not None and is_number(wanted))


def _unique(path: Path, name: str) -> list[str] | None:
    try:
        values = read_column(f"{path}:{name}").values
    except InputError:
        return None
    return values if len(set(values)) == len(values) else None


def _turned(known: Sequence[str], ids: Sequence[str]) -> bool:
    """Whether most values are in both, in another order."""
    ours, theirs = set(known), set(ids)
    common = ours & theirs
    if 2 * len(common) < len(ids):
        return False
    return [one for one in known if one in common] != [one for one in ids if one in common]

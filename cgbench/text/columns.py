"""One column of text: a plain file, one line per example, or ``TABLE:COLUMN``, of a TSV, CSV, JSON or Parquet file.

Scores and statistics need single columns (hypotheses, references, compounds, judgements) that people keep in files of
their own or beside each other in a table. Compressed files (.gz, .zst) are read as they are; ``-`` is standard input.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cgbench.errors import InputError, argument
from cgbench.settings import did_you_mean
from cgbench.text.limits import MOST_LINES
from cgbench.text.plain_text import words_of
from cgbench.text.rows import Table, as_text, is_number
from cgbench.text.streams import COMPRESSED, NUMBERED, TABLES, form, is_table, read_lines, shown, split_name


@dataclass(frozen=True)
class Column:
    """The values of a column, as text, and the way to name a row of it in a message (``file, row 3``).

    ``path``: the file they are from, if they are from one. ``ids``: which example each row is of, if that is known.
    """

    name: str
    values: list[str]
    path: Path | None = None
    ids: list[str] | None = None

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[str]:
        return iter(self.values)

    def row(self, index: int) -> str:
        """How a message names the row ``index`` (from 0)."""
        return f"{self.name}, row {index + 1}"


def short_name(given: str | Path) -> str:
    """What a file is called in a table: its name without what tells its form (``gen.tsv.gz``: ``gen``)."""
    path, column = split_name(given)
    path = path.with_suffix("") if path.suffix in COMPRESSED else path
    name = path.stem if path.suffix in (*TABLES, ".txt") else path.name
    return f"{name}:{column}" if column else name


def read_text(given: str | Path, *roles: str) -> Iterator[str]:
    """The lines of a text as a user names it, as they are read: what every command reads its text with.

    :param given: a plain file (.gz, .zst too), ``TABLE:COLUMN``, or ``-`` for standard input. A column is named by its
        header (TSV, CSV: or by its number, from 1, when no row is a header). Where none is named, the first of
        ``roles`` that the table has is taken (``hypothesis``), else the only column.
    :raises InputError: a file is missing, damaged or not UTF-8, or there is no such column.
    """
    if not is_table(given):
        return read_lines(Path(given))
    return _read_column(*split_name(given), roles)


def read_column(given: str | Path, *roles: str, ids: str | None = None) -> Column:
    """All of :func:`read_text`, without the CR of a DOS file at the ends of lines.

    :param ids: the column of the table that says which example a row is of.
    :raises InputError: as :func:`read_text` does; ``ids`` is given, and there is no such column or no table; a
        compressed file has far more lines than text has.
    """
    if ids is not None:
        return _read_with_ids(*split_name(given), roles, ids)
    values = [line.rstrip("\r") if line[-1:] == "\r" else line for line in _bounded(given, read_text(given, *roles))]
    return Column(shown(given), values, split_name(given)[0])


def _read_with_ids(path: Path, wanted: str | None, roles: tuple[str, ...], ids: str) -> Column:
    if form(path) == "plain":
        raise InputError(f"{argument('ids', ids)} names a column, and {shown(path)} is no table ({', '.join(TABLES)})")
    table, column = _open(path, wanted, roles, ids)
    if table.names and ids not in table.names:
        raise InputError(f"{path}: no column {ids!r} ({argument('ids')}){did_you_mean(ids, table.names)}")
    values, keys = [], []
    for number, (value, key) in table.read((column, ids)):
        values.append(as_text(value, column, path, number).rstrip("\r"))
        keys.append(as_text(key, ids, path, number))
    return Column(f"{path}:{wanted}" if wanted else str(path), values, path, keys)


def _bounded(given: str | Path, lines: Iterator[str]) -> Iterator[str]:
    """The lines, which are kept in memory: each costs some 60 bytes there, and next to nothing in a compressed file.

    Compressed text has a line in 10 to 100 bytes. One in each is allowed, and :data:`MOST_LINES` in any file.

    :raises InputError: there are more.
    """
    path = split_name(given)[0]
    if path.suffix not in COMPRESSED:
        yield from lines
        return
    size = path.stat().st_size
    most = max(MOST_LINES, size)
    for number, line in enumerate(lines):
        if number == most:
            raise InputError(
                f"{path}: {size:,} compressed bytes become more than {most:,} lines, which no text does; if it should, "
                "decompress it first"
            )
        yield line


def _read_column(path: Path, wanted: str | None, roles: tuple[str, ...]) -> Iterator[str]:
    table, column = _open(path, wanted, roles)
    for number, (value,) in table.read((column,)):
        yield as_text(value, column, path, number)


def _open(path: Path, wanted: str | None, roles: tuple[str, ...], *more: str) -> tuple[Table, str]:
    """A table, and the column that is read of it; ``more`` of its columns are read, too."""
    if form(path) not in NUMBERED or wanted is None or not all(map(is_number, (wanted, *more))):
        table = Table(path, named=True)
        return table, _choose(table, wanted, roles)
    if not all(map(int, (wanted, *more))):
        raise InputError(f"{path}:{wanted}: columns are counted from 1")
    return Table(path, named=False), wanted


def _choose(table: Table, wanted: str | None, roles: tuple[str, ...]) -> str:
    path, names = table.path, table.names
    if wanted is not None:
        if wanted not in names:
            raise InputError(f"{path}: no column {wanted!r}{did_you_mean(wanted, names)}")
        return wanted
    kind = form(path)
    # The one cell of a first row that is a sentence is no header: it would be lost.
    alone = len(names) == 1 and not (kind in NUMBERED and len(words_of(names[0])) > 1)
    for name in (*roles, *(names if alone else ())):
        if name in names:
            return name
    example = names[0] if names and "\t" not in names[0] and len(names[0]) < 20 else "1"
    where = "its first row has" if kind in NUMBERED else "it has" if kind == "parquet" else "its first object has"
    raise InputError(f"{path}: which column? Write {path}:COLUMN, such as {path}:{example}; {where} {', '.join(names)}")

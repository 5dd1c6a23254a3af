"""One column of text: a plain file, one line per example, or ``TABLE:COLUMN``, of a TSV, CSV, JSON
or Parquet file.

Scores and statistics need single columns (hypotheses, references, compounds, judgements), kept in
separate files or in one table. Compressed files are read directly; ``-`` is standard
input.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Self

from cgbench.errors import InputError, argument
from cgbench.records import Record
from cgbench.settings import did_you_mean
from cgbench.text.limits import MOST_LINES
from cgbench.text.plain_text import words_of
from cgbench.text.rows import SEGMENT_FORMS, Table, cell_text, is_number
from cgbench.text.streams import (
    COMPRESSED,
    NUMBERED,
    SEGMENT_ID,
    TABLES,
    form,
    is_table,
    read_lines,
    shown,
    split_name,
)


def chosen_rows(
    columns: Mapping[str, list[str]] | None, rows: Sequence[int]
) -> Mapping[str, list[str]] | None:
    """These rows of columns, in this order."""
    return columns and {name: [values[row] for row in rows] for name, values in columns.items()}


class Column(Record):
    """The values of a column as text, with its ``name`` for messages (``file, row 3``).

    ``path``: the file, if any. ``ids``: the example id of each row, if known, and ``ids_name``: the
    column that they are from. ``rows``: the row of
    the file (from 0) that each value is from, if they are in another order. ``table``: a table that
    describes the rows. ``metadata``: what a log says of each row, by name.
    """

    name: str
    values: list[str]
    path: Path | None = None
    ids: list[str] | None = None
    ids_name: str = field(default="index", kw_only=True)
    rows: Sequence[int] | None = field(default=None, kw_only=True)
    table: Path | None = field(default=None, kw_only=True)
    metadata: Mapping[str, list[str]] | None = field(default=None, kw_only=True)

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[str]:
        return iter(self.values)

    def row(self, index: int) -> str:
        """The name of row ``index`` (from 0) in messages."""
        return f"{self.name}, row {(self.rows[index] if self.rows else index) + 1}"

    def at(self, rows: Sequence[int]) -> Self:
        """The column with these rows, in this order."""
        if list(rows) == list(range(len(self))):
            return self
        values, ids = (
            [self.values[row] for row in rows],
            self.ids and [self.ids[row] for row in rows],
        )
        return replace(
            self,
            values=values,
            ids=ids,
            rows=[self.rows[row] for row in rows] if self.rows else rows,
            metadata=chosen_rows(self.metadata, rows),
        )


def short_name(text: str | Path) -> str:
    """A file name for a table of results, without format suffixes (``gen.tsv.gz``: ``gen``)."""
    path, column = split_name(text)
    path = path.with_suffix("") if path.suffix in COMPRESSED else path
    name = path.stem if path.suffix in (*TABLES, ".txt") else path.name
    return f"{name}:{column}" if column else name


def read_text(text: str | Path, *roles: str) -> Iterator[str]:
    """The lines of a text, one by one; all commands read text with this.

    :param text: a plain file (also compressed), ``TABLE:COLUMN``, or ``-`` for standard input. A
        column is named by its header, or in TSV and CSV without a header by its number, from 1.
        Without a name, the first of ``roles`` that the table has is read (``hypothesis``), else the
        only column.
    :raises InputError: a file is missing, damaged or not UTF-8, or there is no such column.
    """
    if not is_table(text):
        return read_lines(Path(text))
    return _read_column(*split_name(text), roles)


def read_column(text: str | Path, *roles: str, ids: str | None = None) -> Column:
    """:func:`read_text` as a column, without CRs at the ends of lines.

    :param ids: the table column with the example ids.
    :raises InputError: as :func:`read_text` does; there is no column ``ids``; a compressed file has
        far more lines than a text can have.
    """
    if ids is not None:
        path, name = split_name(text)
        _, values, keys = read_table_column(path, name, roles, ids)
        return Column(
            f"{path}:{name}" if name else str(path),
            [value.rstrip("\r") for value in values],
            path,
            keys,
        )
    values = [
        line.rstrip("\r") if line[-1:] == "\r" else line
        for line in _bounded(text, read_text(text, *roles))
    ]
    return Column(shown(text), values, split_name(text)[0])


def read_table_column(
    path: Path,
    name: str | None,
    roles: tuple[str, ...],
    ids: str | None,
    as_text: Callable[..., str] = cell_text,
) -> tuple[str, list[str], list[str] | None]:
    """The name of the column to read, its values, and the example ids, if ``ids`` names a column.

    :raises InputError: there is no such column, or a cell has no text.
    """
    if ids and form(path) == "plain":
        raise InputError(
            f"{argument('ids', ids)} names a column; {shown(path)} is not a table"
            f" ({', '.join(TABLES)})"
        )
    table, column = _open_column(path, name, roles, ids, of_texts=as_text is cell_text)
    values, keys = [], []
    for row_number, row in table.read((column, ids) if ids else (column,)):
        values.append(as_text(row[0], column, path, row_number))
        if ids:
            keys.append(cell_text(row[1], ids, path, row_number))
    return column, values, keys if ids else None


def _bounded(text: str | Path, lines: Iterator[str]) -> Iterator[str]:
    """The lines, checked because each takes about 60 bytes in memory and next to nothing in a
    compressed file.

    Compressed text has one line per 10 to 100 bytes. One per byte is allowed, and
    :data:`MOST_LINES` in any file.

    :raises InputError: there are more.
    """
    path = split_name(text)[0]
    if path.suffix not in COMPRESSED:
        yield from lines
        return
    compressed_bytes = path.stat().st_size
    most = max(MOST_LINES, compressed_bytes)
    for count, line in enumerate(lines):
        if count == most:
            raise InputError(
                f"{path}: {compressed_bytes:,} compressed bytes expand to more than {most:,} lines,"
                " unlike any text; if this is intended, decompress it first"
            )
        yield line


def _read_column(path: Path, name: str | None, roles: tuple[str, ...]) -> Iterator[str]:
    table, column = _open_column(path, name, roles)
    for row_number, (value,) in table.read((column,)):
        yield cell_text(value, column, path, row_number)


def are_numbers(path: Path, columns: Sequence[str]) -> bool:
    """Whether columns of a table are given by number, so that its first row is no header.

    :raises InputError: one of them is 0.
    """
    numbers = form(path) in (*NUMBERED, "plain") and all(map(is_number, columns))
    if numbers and not all(map(int, columns)):
        raise InputError(f"{path}: columns are counted from 1")
    return numbers


def _open_column(
    path: Path,
    name: str | None,
    roles: tuple[str, ...],
    ids: str | None = None,
    *,
    of_texts: bool = True,
) -> tuple[Table, str]:
    """A table and the column to read.

    :param ids: also read this column, which has the example ids.
    :param of_texts: the column has texts: a table whose first row is a sentence has no header.
    :raises InputError: there is no such column.
    """
    if name is not None and are_numbers(path, (name, ids or "1")):
        return Table(path, named=False), name
    table = Table(path, named=True)
    names, kind = table.names, form(path)
    if name is not None and name not in names:
        raise InputError(f"{path}: no column {name!r}{did_you_mean(name, names)}")
    # If the only cell of the first row is a sentence, it is not a header: it would be lost.
    is_sentence = of_texts and kind in NUMBERED and len(words_of(names[0])) > 1 if names else False
    only = [name for name in names if kind not in SEGMENT_FORMS or name != SEGMENT_ID]
    if kind in SEGMENT_FORMS and "hypothesis" in roles:
        roles = (*roles, "target")  # in translators' files, what a system wrote
    usual = (*roles, *(only if len(only) == 1 and not is_sentence else ()))
    column = name or next((role for role in usual if role in names), None)
    if column is None:
        texts = [
            name for name in names if not name.lower().endswith("id")
        ]  # ids are rarely what is to be read
        example = next(
            (name for name in (*texts, *names) if "\t" not in name and len(name) < 20), "1"
        )
        where = (
            "its first row has"
            if kind in NUMBERED
            else "it has"
            if kind == "parquet" or kind in SEGMENT_FORMS
            else "its first object has"
        )
        raise InputError(
            f"{path}: which column? Write {path}:COLUMN, such as {path}:{example}; {where}"
            f" {', '.join(names)}"
        )
    if ids is not None and names and ids not in names:
        raise InputError(f"{path}: no column {ids!r} ({argument('ids')}){did_you_mean(ids, names)}")
    return table, column

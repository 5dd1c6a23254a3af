"""The rows of a table: TSV, CSV, JSON, files of translators (also compressed) or Parquet.

In TSV a tab ends a field, a newline ends a row. In CSV (RFC 4180) a quoted field may contain
commas, quotes and newlines. ``.jsonl`` has one object per line, ``.json`` the same or an array of
objects. Rows are numbered as in the file, from 1.

How the fields of TSV and CSV are separated follows from the beginning of the file
(:func:`_dialect`): Excel and pandas quote cells of TSV that contain quotes, other programs separate
columns by semicolons or by blanks.
"""

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

from cgbench.errors import InputError
from cgbench.files import parse_json
from cgbench.patterns import pattern
from cgbench.records import Record
from cgbench.text.limits import limit
from cgbench.text.plain_text import MARK
from cgbench.text.streams import CHUNK, SEGMENTS, form, is_stdin, open_bytes, read_lines
from cgbench.text.table_formats import added_format, is_added

SEGMENT_FORMS = frozenset(suffix[1:] for suffix in SEGMENTS)
SAMPLE = 200  # lines that tell how columns are separated
LARGEST_ARRAY = 256 << 20  # bytes of a JSON array; Python objects take about ten times as many
_SURROGATE = pattern("[\ud800-\udfff]")

Row = tuple[int, tuple[Any, ...]]
"""The number of a row, and its values in the requested columns; None for a missing value."""


class Table:
    """An open table: the ``names`` of its columns (an empty file has none), and its rows, which can
    be read once.

    Hugging Face's ``{"translation": {"de": ..., "en": ...}}`` is a table with the columns ``de``
    and ``en``.

    :param named: the first row of a TSV or CSV file is a header; else columns are numbers.
    :raises InputError: the file is missing, damaged or not UTF-8.
    """

    def __init__(self, path: Path, named: bool) -> None:
        self.path = path
        self.nested: list[str] = []  # names that are fields of ``translation``
        self._read: Callable[[Sequence[str]], Iterator[Row]]
        kind = form(path)
        # Each form: the names of its columns, and how its rows are read.
        if kind == "parquet":
            from cgbench.text.parquet import ParquetTable

            table = ParquetTable(path)
            self.nested, names = table.nested, table.names
            self._read = table.read
        elif kind in ("jsonl", "json"):
            objects = read_objects(path)
            first = list(islice(objects, 1))
            names = [name for _, row in first for name in row]
            self.nested = [name for _, row in first for name in _translation(row)]
            self._read = partial(_read_objects, chain(first, objects))
        elif kind in SEGMENT_FORMS:
            from cgbench.text.translation_formats import read_segments, rows_of

            names, segments = read_segments(path)
            self._read = partial(rows_of, segments)
        elif is_added(kind):
            objects = enumerate(map(dict, added_format(kind).rows(path)), 1)
            first = list(islice(objects, 1))
            names = [name for _, row in first for name in row]
            self._read = partial(_read_objects, chain(first, objects))
        else:
            lines = (
                (line.rstrip("\r").split("\t") for line in read_lines(path))
                if kind == "plain"
                else _read_separated(path, kind)
            )
            names = next(lines, []) if named else []
            self._read = partial(self._read_fields, enumerate(lines, 2 if named else 1))
            if named and not names:
                self._read = lambda columns: iter(())  # the file is empty
        self.names = [
            *self.nested,
            *(name for name in names if not self.nested or name != "translation"),
        ]

    def read(self, columns: Sequence[str]) -> Iterator[Row]:
        """The rows; ``columns`` are names, or numbers from 1 in a table without names.

        :raises InputError: a row is damaged or too short.
        """
        return self._read(columns)

    def _read_fields(
        self, rows: Iterator[tuple[int, list[str]]], columns: Sequence[str]
    ) -> Iterator[Row]:
        if repeated := next((name for name in columns if self.names.count(name) > 1), None):
            raise InputError(
                f"{self.path}: {self.names.count(repeated)} columns are named {repeated!r}; rename"
                " those that are not meant"
            )
        indices = [self.names.index(name) if self.names else int(name) - 1 for name in columns]
        least, width = max(indices), len(self.names)
        for row_number, row in rows:
            width = width or len(row)
            if len(row) > width and any(row[width:]):
                raise InputError(
                    f"{self.path}, row {row_number} has {len(row)} columns but the first row has"
                    f" {width}; a tab within a cell moves the others, so replace it by a blank"
                )
            if len(row) <= least:
                many = f"{len(row)} column{'s' * (len(row) != 1)}"
                raise InputError(
                    f"{self.path}, row {row_number} has {many}; column {least + 1} is needed"
                )
            yield row_number, tuple(row[index] for index in indices)


class _Dialect(Record):
    """How the fields of a file are separated; ``delimiter``: None for any blanks. ``quotes``: cells
    may be in quotes. ``skips``: lines before the table.
    """

    delimiter: str | None
    quotes: bool
    skips: int = 0


def _dialect(path: Path, kind: str) -> _Dialect:
    """The dialect of a TSV or CSV file, from its beginning.

    A file of one column has none of the delimiters and not the same number of words in each line.
    """
    if is_stdin(path):
        return _Dialect("," if kind == "csv" else "\t", quotes=kind == "csv")
    with open_bytes(path) as file:
        data = file.read(CHUNK)
    lines = data.decode("utf-8", "replace").removeprefix("\ufeff").splitlines()
    lines = lines[: -1 if len(data) == CHUNK and len(lines) > 1 else None]
    skips, first = 0, lines[0] if lines else ""
    if named := re.fullmatch(r"sep=(.)", first):  # written by and for Excel
        return _Dialect(named[1], quotes=True, skips=1)
    usual = ("\t",) if kind == "tsv" else (",", ";", "\t")
    delimiter = next((mark for mark in usual if mark in first), usual[0])
    sample = [line for line in lines[:SAMPLE] if line.strip()]
    if len({line.count(delimiter) for line in sample}) > 1 or delimiter not in first:
        widths = {len(line.split()) for line in sample}
        if len(sample) > 1 and len(widths) == 1 and widths.pop() > 1 and '"' not in first:
            return _Dialect(None, quotes=False)
    quotes = kind == "csv" or _are_quoted(line.split("\t") for line in lines)
    return _Dialect(delimiter, quotes, skips)


def _are_quoted(rows: Iterable[Sequence[str]]) -> bool:
    """Whether cells of TSV that contain quotes are quoted, as Excel and pandas write them: all of
    them, with doubled quotes inside, and some because of these.
    """
    doubled = False
    for row in rows:
        for cell in row:
            if '"' in cell:
                inside = cell[1:-1].replace('""', "")
                if len(cell) < 2 or not cell[0] == cell[-1] == '"' or '"' in inside:
                    return False
                doubled = doubled or '""' in cell[1:-1]
    return doubled


def _read_separated(path: Path, kind: str) -> Iterator[list[str]]:
    """The records of a TSV or CSV file."""
    dialect = _dialect(path, kind)
    if dialect.delimiter is None:
        return (line.split() for line in read_lines(path) if line.strip())
    if dialect.quotes:
        return _read_csv(
            path,
            dialect,
            "quote fields that contain a comma"
            if kind == "csv"
            else "its cells are quoted as Excel writes them; quote all that contain quotes",
        )
    return (line.rstrip("\r").split("\t") for line in read_lines(path))


def _read_csv(path: Path, dialect: _Dialect, remedy: str) -> Iterator[list[str]]:
    """The records of a file with quoted fields (RFC 4180), which must have the same number of
    fields; empty ones at the end are ignored.

    A blank line is an empty field in a file with one field per record; else it is skipped.
    """
    csv.field_size_limit(max(csv.field_size_limit(), limit("CGBENCH_MAX_LINE")))
    lines = islice(read_lines(path), dialect.skips, None)
    reader = csv.reader(
        (f"{line}\n" for line in lines), strict=True, delimiter=str(dialect.delimiter)
    )
    width = 0
    try:
        for row_number, row in enumerate(reader, 1 + dialect.skips):
            width = width or len(row) or 1
            if not row and width > 1:
                continue
            row = row or [""]
            if len(row) > width and not any(row[width:]):
                row = row[:width]
            if len(row) != width:
                raise InputError(
                    f"{path}, row {row_number} has {len(row)} fields but the first row has {width};"
                    f" {remedy}"
                )
            yield [field.replace("\r\n", "\n") for field in row]
    except csv.Error as error:
        raise InputError(
            f"{path}, line {reader.line_num + dialect.skips}: not CSV ({error}); quote fields that"
            ' contain a comma, a quote or a newline, and double a quote inside a field ("")'
        ) from None


def is_number(column: str) -> bool:
    """Whether a column of a TSV or CSV file is given by number (including the invalid 0)."""
    return re.fullmatch("[0-9]{1,9}", column) is not None


def cell_text(value: Any, column: str, path: object, row_number: int) -> str:
    """A value in row ``row_number`` of a column, as text on one line; numbers as in JSON.

    :raises InputError: it is missing, or neither text nor a number.
    """
    if isinstance(value, str):
        if not value.isascii() and _SURROGATE.search(value):
            raise InputError(
                f"{path}, row {row_number}: the text of {column!r} is not Unicode (it contains a"
                " lone surrogate)"
            )
        return value.replace("\n", " ")
    if not isinstance(value, (bool, int, float)):
        of = (
            ""
            if value is None or isinstance(value, (dict, list))
            else f" that is text, but {type(value).__name__}"
        )
        raise InputError(f"{path}, row {row_number}: no value in the field {column!r}{of}")
    return json.dumps(value)


def read_objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a JSON file with their row numbers, from 1: one per line, or the elements of
    an array.
    """
    if form(path) == "json" and is_array(path):
        rows: Iterable[tuple[int, Any]] = enumerate(_read_array(path), 1)
    else:
        lines = (
            (row_number, line)
            for row_number, line in enumerate(read_lines(path), 1)
            if line.strip()
        )
        rows = (
            (row_number, parse_json(line, f"{path}, row {row_number}"))
            for row_number, line in lines
        )
    for row_number, row in rows:
        if not isinstance(row, dict):
            raise InputError(f"{path}, row {row_number}: not an object with one field per column")
        yield row_number, row


def is_array(path: Path) -> bool:
    """Whether a JSON file is an array; else it contains one object per line.

    :raises InputError: the file is missing or damaged.
    """
    with open_bytes(path) as file:
        return file.read(CHUNK).removeprefix(MARK).lstrip()[:1] == b"["


def _read_array(path: Path) -> Any:
    """The values of an array, which is read whole."""
    with open_bytes(path) as file:
        data = file.read(LARGEST_ARRAY + 1)
    if len(data) > LARGEST_ARRAY:
        raise InputError(
            f"{path}: an array of more than {LARGEST_ARRAY >> 20} MiB; write one object per line,"
            " as .jsonl"
        )
    return parse_json(data, path, infinite=True)


def _translation(row: dict[str, Any]) -> dict[str, Any]:
    pair = row.get("translation")
    return pair if isinstance(pair, dict) else {}


def _read_objects(
    objects: Iterable[tuple[int, dict[str, Any]]], columns: Sequence[str]
) -> Iterator[Row]:
    for row_number, row in objects:
        inner = _translation(row)
        yield (
            row_number,
            tuple(inner.get(name, row.get(name)) if inner else row.get(name) for name in columns),
        )

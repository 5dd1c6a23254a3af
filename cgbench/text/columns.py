"""One column of text: a plain file, a line an example, or ``TABLE:COLUMN``, a column of a TSV, JSONL or Parquet file.

Scores and statistics need single columns (hypotheses, references, compounds, judgements) that people keep in files of
their own or beside each other in a table. Compressed files (.gz, .zst) are read as they are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cgbench.errors import InputError
from cgbench.settings import did_you_mean
from cgbench.text.formats import COMPRESSED, SINGLE_FILE, form, read_lines, read_parquet_rows


@dataclass(frozen=True)
class Column:
    """The values of a column, as text, and the way to name a row of it in a message (``file, row 3``)."""

    name: str
    values: list[str]

    def __len__(self) -> int:
        return len(self.values)

    def row(self, index: int) -> str:
        """How a message names the row ``index`` (from 0)."""
        return f"{self.name}, row {index + 1}"


def split_name(given: str) -> tuple[Path, str | None]:
    """``TABLE:COLUMN`` as its parts; the column is None where none is named.

    A colon in a path is no separator unless the file before it is a table (.tsv, .jsonl, .parquet; .gz, .zst).
    """
    path, sign, column = given.rpartition(":")
    if sign and column and form(Path(path)) != "plain" and not is_there(Path(given)):
        return Path(path), column
    return Path(given), None


def is_there(path: Path) -> bool:
    """Whether a path exists; false for what no path can be (too long)."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def short_name(given: str | Path) -> str:
    """What a file is called in a table: its name without what tells its form (``gen.tsv.gz``: ``gen``)."""
    path, column = split_name(str(given))
    path = path.with_suffix("") if path.suffix in COMPRESSED else path
    name = path.stem if path.suffix in (*SINGLE_FILE, ".txt") else path.name
    return f"{name}:{column}" if column else name


def read_column(given: str | Path, *roles: str) -> Column:
    """Read a plain text file, or the column of a table.

    A column is named by its header (TSV: or by its number, from 1, when no row is a header). Where none is named, the
    first of ``roles`` that the table has is taken (``hypothesis``), else the only column.

    :raises InputError: a file is missing, damaged or not UTF-8, or there is no such column.
    """
    path, wanted = split_name(str(given))
    if form(path) == "plain":
        return Column(str(given), [line.rstrip("\r") for line in text_lines(path)])
    return Column(str(given), list(_READERS[form(path)](path, wanted, roles)))


def text_lines(path: Path) -> Iterator[str]:
    """The lines of a file without a byte order mark, which is no part of an example."""
    for number, line in enumerate(read_lines(path)):
        yield line if number else line.removeprefix("\ufeff")


def _read_tsv(path: Path, wanted: str | None, roles: tuple[str, ...]) -> Iterator[str]:
    rows = (line.rstrip("\r").split("\t") for line in text_lines(path))
    number = 0
    if wanted is not None and re.fullmatch("[0-9]{1,9}", wanted):
        index = int(wanted) - 1
        if index < 0:
            raise InputError(f"{path}:{wanted}: columns are counted from 1")
    else:
        header = next(rows, [])
        number = 1
        index = header.index(_choose(path, header, wanted, roles, "its first row has"))
    for row in rows:
        number += 1
        if len(row) <= index:
            raise InputError(f"{path}, row {number} has {len(row)} columns; column {index + 1} is needed")
        yield row[index]


def _read_jsonl(path: Path, wanted: str | None, roles: tuple[str, ...]) -> Iterator[str]:
    column: str | None = None
    for number, line in enumerate(text_lines(path), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path}, row {number} is not JSON ({error})") from None
        if not isinstance(row, dict):
            raise InputError(f"{path}, row {number}: an object is needed")
        column = column or _choose(path, list(row), wanted, roles, "its first object has")
        yield _text(row.get(column), column, f"{path}, row {number}")


def _read_parquet(path: Path, wanted: str | None, roles: tuple[str, ...]) -> Iterator[str]:
    column: str | None = None
    for number, row in enumerate(read_parquet_rows(path), 1):
        column = column or _choose(path, list(row), wanted, roles, "it has")
        yield _text(row.get(column), column, f"{path}, row {number}")


_READERS = {"tsv": _read_tsv, "jsonl": _read_jsonl, "parquet": _read_parquet}


def _choose(path: Path, names: list[str], wanted: str | None, roles: tuple[str, ...], where: str) -> str:
    if wanted is not None:
        if wanted not in names:
            raise InputError(f"{path}: no column {wanted!r}{did_you_mean(wanted, names)}")
        return wanted
    for name in (*roles, *(names if len(names) == 1 else ())):
        if name in names:
            return name
    example = names[0] if names and "\t" not in names[0] and len(names[0]) < 20 else "1"
    raise InputError(f"{path}: which column? Write {path}:COLUMN, such as {path}:{example}; {where} {', '.join(names)}")


def _text(value: Any, column: str, where: str) -> str:
    if value is None or isinstance(value, (dict, list)):
        raise InputError(f"{where}: no value in the field {column!r}")
    text = value if isinstance(value, str) else json.dumps(value)
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise InputError(f"{where}: the text of {column!r} is not Unicode (it holds half of a surrogate pair)")
    return text.replace("\n", " ")

"""What the footer of a Parquet file says of its row groups and columns.

PyArrow ends the process where it is asked for a column's description that contradicts itself (its statistics, say), so
it is not asked: the footer is Thrift's compact protocol (parquet.thrift, ``FileMetaData``), and is read here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, BinaryIO

from cgbench.errors import InputError
from cgbench.text.thrift import ThriftReader, number

MAGIC = b"PAR1"
FOOTER = 64 << 20  # bytes that the description of a file may take


@dataclass(frozen=True)
class Chunk:
    """A column in a row group: its dotted path, where its pages ``begin``, their bytes ``packed`` and unpacked
    (``size``), and its number of values."""

    path: str
    begin: int
    packed: int
    size: int
    values: int


@dataclass(frozen=True)
class RowGroup:
    """So many rows, column by column."""

    rows: int
    chunks: list[Chunk]


def row_groups(file: BinaryIO, name: object) -> list[RowGroup]:
    """Read the footer of a file.

    :raises InputError: it is damaged, encrypted, or too long.
    """
    wrong = f"{name}: not a Parquet file that can be read "
    end = file.seek(0, 2)
    file.seek(max(0, end - 8))
    tail = file.read(8)
    size = int.from_bytes(tail[:4], "little")
    if tail[4:] != MAGIC or size > end - 8:
        raise InputError(f"{wrong}(it does not end as one)")
    if size > FOOTER:
        raise InputError(
            f"{name}: its description alone is {size >> 20:,} MB; write it with larger row groups, or as several files"
        )
    file.seek(end - 8 - size)
    try:
        return [_group(fields) for fields in ThriftReader(file.read(size)).struct(0)[4]]
    except (LookupError, TypeError, ValueError, AttributeError):
        raise InputError(f"{wrong}(its description is damaged, or encrypted)") from None


def _group(fields: dict[int, Any]) -> RowGroup:
    return RowGroup(number(fields, 3), [_chunk(column[3]) for column in fields[1]])


def _chunk(fields: dict[int, Any]) -> Chunk:
    path = ".".join(part.decode("utf-8") for part in fields[3])
    begin, dictionary = number(fields, 9), number(fields, 11) if 11 in fields else 0
    if 0 < dictionary < begin:
        begin = dictionary
    chunk = Chunk(path, begin, packed=number(fields, 7), size=number(fields, 6), values=number(fields, 5))
    if min(chunk.begin, chunk.packed, chunk.size, chunk.values) < 0:
        raise ValueError("less than nothing")
    return chunk

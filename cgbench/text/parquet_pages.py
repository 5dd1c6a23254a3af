"""What the pages of a Parquet file claim, read from their headers before PyArrow makes room for them.

A column's description in the footer says how large it is; each page says so again, and PyArrow believes the page. So
all headers of a column are looked at first. They are Thrift's compact protocol (parquet.thrift, ``PageHeader``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, BinaryIO

from cgbench.errors import InputError
from cgbench.text.parquet_footer import Chunk
from cgbench.text.thrift import ThriftReader, number

HEADERS = (1 << 10, 1 << 16, 16 << 20)  # bytes of a page that are read for its header; the last are PyArrow's most
PADDING = 100  # bytes by which old writers state a column too short, as PyArrow reads them
DELTA_STRINGS = (6, 7)  # encodings of strings; in the second each may repeat the beginning of the one before
DELTAS = (5, *DELTA_STRINGS)
PER_BYTE, SOME = 64, 1024  # values that a byte of these encodings may stand for, and that need none


@dataclass(frozen=True)
class Pages:
    """The pages of a column in a row group: bytes of all when they are unpacked, of the largest, and whether strings
    are told from the one before, so that each may be as long as its page."""

    size: int
    largest: int
    delta: bool


def look_at(file: BinaryIO, chunk: Chunk, name: object) -> Pages:
    """Read the headers of a column's pages.

    :param chunk: the column's description.
    :raises InputError: a header is damaged, or claims what cannot be.
    """
    where = f"{name}: not a Parquet file that can be read (column {chunk.path!r}: "
    begin = chunk.begin
    end = begin + chunk.packed
    seen = size = largest = 0
    delta = False
    while begin < end and seen < chunk.values:
        try:
            fields, length = _header(file, begin)
            unpacked, packed = number(fields, 2), number(fields, 3)
            kind, values, encoding = _inner(fields)
        except (LookupError, TypeError, ValueError):
            raise InputError(f"{where}a page's header is damaged)") from None
        begin += length + packed
        if min(unpacked, packed, values) < 0 or begin > end + PADDING:
            raise InputError(f"{where}a page's sizes are not those of the column)")
        if kind == "dictionary" and values > unpacked:
            raise InputError(f"{where}its dictionary is shorter than its number of words)")
        if kind == "data":
            seen += values
            if encoding in DELTAS and values > PER_BYTE * unpacked + SOME:
                raise InputError(f"{where}a page is shorter than its number of values)")
            delta |= encoding in DELTA_STRINGS
        size += unpacked
        largest = max(largest, unpacked)
    if seen != chunk.values:
        raise InputError(f"{where}its pages have {seen:,} values for {chunk.values:,})")
    return Pages(size, largest, delta)


def _inner(fields: dict[int, Any]) -> tuple[str, int, int]:
    """What a page is, its number of values and their encoding."""
    places = {0: ("data", 5, 2), 2: ("dictionary", 7, 2), 3: ("data", 8, 4)}
    if fields[1] not in places:
        return "other", 0, 0
    kind, field, encoding = places[fields[1]]
    return kind, number(fields[field], 1), number(fields[field], encoding)


def _header(file: BinaryIO, place: int) -> tuple[dict[int, Any], int]:
    """The fields of the page header at ``place``, by their numbers, and its bytes."""
    for size in HEADERS:
        file.seek(place)
        data = file.read(size)
        reader = ThriftReader(data)
        try:
            return reader.struct(0), reader.place
        except IndexError:
            if len(data) < size:
                raise
    raise ValueError("a header without end")

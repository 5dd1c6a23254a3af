"""Thrift's compact protocol, in which Parquet describes itself (thrift-compact-protocol.md), read within bounds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_SIMPLE = {4, 5, 6}  # i16, i32, i64, as varints
_BINARY, _LIST, _SET, _MAP, _STRUCT = 8, 9, 10, 11, 12
_KEPT = {_BINARY, _STRUCT}  # in lists
_DEPTH = 12


class ThriftReader:
    """As much of the protocol as the descriptions of Parquet need.

    :raises LookupError: the bytes end. ValueError: they are none of it.
    """

    def __init__(self, data: bytes) -> None:
        self.data, self.place = data, 0

    def byte(self) -> int:
        """The next byte."""
        value = self.data[self.place]
        self.place += 1
        return value

    def varint(self) -> int:
        """A number in bytes of seven bits, the lowest first."""
        value = 0
        for shift in range(0, 70, 7):
            byte = self.byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
        raise ValueError("a number without end")

    def skip(self, size: int) -> None:
        """Go on behind so many bytes."""
        self.place += size
        if self.place > len(self.data):
            raise IndexError(self.place)

    def struct(self, depth: int) -> dict[int, Any]:
        """The fields of a struct by number: whole numbers, bytes, structs, lists of the two; of what else, nothing."""
        fields: dict[int, Any] = {}
        number = 0
        for kind, step in self._kinds():
            number = number + step if step else _signed(self.varint())
            fields[number] = self.value(kind, depth)
        return fields

    def _kinds(self) -> Iterator[tuple[int, int]]:
        while byte := self.byte():
            yield byte & 15, byte >> 4

    def value(self, kind: int, depth: int) -> Any:
        """A value of a type; numbers in lists are read and forgotten."""
        if depth > _DEPTH:
            raise ValueError("structs and lists in each other")
        if kind in (1, 2):  # true, false: in the type itself
            return None
        if kind in _SIMPLE:
            return _signed(self.varint())
        if kind == _STRUCT:
            return self.struct(depth + 1)
        if kind == _BINARY:
            size, begin = self.varint(), self.place
            self.skip(size)
            return self.data[begin : self.place]
        if kind in (_LIST, _SET):
            head = self.byte()
            return self._elements(head >> 4 if head >> 4 < 15 else self.varint(), (head & 15,), depth)
        if kind == _MAP:
            if count := self.varint():
                head = self.byte()
                self._elements(count, (head >> 4, head & 15), depth)
        elif kind in (3, 7):
            self.skip(1 if kind == 3 else 8)
        else:
            raise ValueError(f"there is no type {kind}")
        return None

    def _elements(self, count: int, kinds: tuple[int, ...], depth: int) -> list[Any]:
        kept = []
        for _ in range(count):
            for kind in kinds:
                if kind in (1, 2):
                    self.skip(1)
                    continue
                value = self.value(kind, depth + 1)
                if kind in _KEPT:
                    kept.append(value)
        return kept


def number(fields: dict[int, Any], field: int) -> int:
    """A field that has to be a whole number.

    :raises KeyError: there is none. TypeError: it is something else.
    """
    value = fields[field]
    if not isinstance(value, int):
        raise TypeError(f"field {field} is no number")
    return value


def _signed(value: int) -> int:
    """A zigzag number: 0, -1, 1, -2, ..."""
    return value >> 1 ^ -(value & 1)

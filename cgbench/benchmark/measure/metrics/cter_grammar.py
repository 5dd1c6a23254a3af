"""Grammars of compounds for CTER: types of atoms, their order, and the names of phrases.

A grammar is a tab-separated file. The first column is the kind of row (lines that begin with ``#``
and empty lines are skipped):

- ``type T``: a type of atom. The flags have the order of these rows.
- ``before LEFT RIGHT [UNLESS]``: an atom of type LEFT passes if its first place is before the last
  place of RIGHT, or if either has no place. Not checked if an atom of type UNLESS has a place.
- ``phrase NAME [T]``: the name of compounds with an atom of type T (default: all compounds); a
  later row overrides.
- ``modifier T``: a type that counts for ``--by modifier``.
- ``repeated last|all``: count only the last of several atoms of a type (the default), or all.

CoGnition's grammar is ``grammar_cognition.tsv``, after the evaluator published with it (Li et al.
2021).
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from cgbench.errors import InputError
from cgbench.settings import did_you_mean
from cgbench.text.streams import read_lines

OTHER = "other"  # compounds that match no phrase
_COLUMNS = {
    "type": (1, 1, "type, T"),
    "before": (2, 3, "before, LEFT, RIGHT and optionally UNLESS"),
    "phrase": (1, 2, "phrase, NAME and, unless it is for all compounds, T"),
    "modifier": (1, 1, "modifier, T"),
    "repeated": (1, 1, "repeated, last or all"),
}


@dataclass(frozen=True)
class OrderRule:
    """``left`` must precede ``right``; not checked if an atom of type ``unless`` has a place."""

    left: str
    right: str
    unless: str | None = None

    def __str__(self) -> str:
        return f"{self.left}<{self.right}"


@dataclass(frozen=True)
class Grammar:
    """``phrases``: name and type (None: every compound).

    ``repeated``: count all atoms of a type, not only the last.
    """

    name: str
    types: tuple[str, ...]
    rules: tuple[OrderRule, ...]
    phrases: tuple[tuple[str, str | None], ...]
    modifiers: tuple[str, ...]
    repeated: bool
    sha256: str

    @classmethod
    def read(cls, name_or_file: str) -> Grammar:
        """Read ``cognition``, or a file.

        :raises InputError: a row is malformed, or has an unknown type.
        """
        path = (
            shipped("grammar_cognition.tsv") if name_or_file == "cognition" else Path(name_or_file)
        )
        lines = list(read_lines(path))
        rows: dict[str, list[tuple[str, list[str]]]] = {kind: [] for kind in _COLUMNS}
        for where, kind, values in _rows(path, lines):
            if kind == "type" and values in (earlier for _, earlier in rows[kind]):
                raise InputError(f"{where}: the type {values[0]!r} is defined twice")
            rows[kind].append((where, values))
        types = [name for _, (name,) in rows["type"]]
        if not types:
            raise InputError(
                f"{path}: defines no type; write a row with the word type, a tab and a name"
            )
        return cls(
            name="cognition" if name_or_file == "cognition" else path.name,
            types=tuple(types),
            rules=tuple(
                OrderRule(*(_type(name, types, where) for name in names))
                for where, names in rows["before"]
            ),
            phrases=tuple(
                (name, _type(of_type[0], types, where) if of_type else None)
                for where, (name, *of_type) in rows["phrase"]
            ),
            modifiers=tuple(_type(name, types, where) for where, (name,) in rows["modifier"]),
            repeated=[values for _, values in rows["repeated"]][-1:] == [["all"]],
            sha256=content_hash(lines),
        )

    @property
    def kinds(self) -> tuple[str, ...]:
        """The names of phrases, in the order of the file."""
        return tuple(dict.fromkeys([*(name for name, _ in self.phrases), OTHER]))

    def kind(self, types: Collection[str]) -> str:
        """The name of a compound with atoms of these types."""
        fitting = [name for name, kind in self.phrases if kind is None or kind in types]
        return fitting[-1] if fitting else OTHER


@cache
def cognition() -> Grammar:
    """The grammar of CoGnition."""
    return Grammar.read("cognition")


def shipped(name: str) -> Path:
    """The path of a table in this package."""
    return Path(__file__).with_name(name)


def content_hash(rows: list[str]) -> str:
    """The SHA-256 of the rows: equal to that of the file if it ends with a newline."""
    return hashlib.sha256("".join(f"{row}\n" for row in rows).encode("utf-8")).hexdigest()


def _rows(path: Path, lines: list[str]) -> Iterator[tuple[str, str, list[str]]]:
    """The rows: place in the file, kind, other columns."""
    for line_number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        where = f"{path}, line {line_number}"
        kind, *values = line.rstrip("\r").split("\t")
        if kind not in _COLUMNS:
            raise InputError(
                f"{where}: {kind!r} is not a kind of row{did_you_mean(kind, _COLUMNS)}"
            )
        least, most, form = _COLUMNS[kind]
        if not least <= len(values) <= most or any(
            len(value.split()) != 1 or value != value.strip() for value in values
        ):
            raise InputError(f"{where}: write {form}, separated by tabs, names without blanks")
        if kind == "before" and values[0] == values[1]:
            raise InputError(f"{where}: {values[0]} cannot precede itself")
        if kind == "repeated" and values[0] not in ("last", "all"):
            raise InputError(f"{where}: repeated {values[0]!r}; there is all, last")
        yield where, kind, values


def _type(name: str, types: list[str], where: str) -> str:
    if name not in types:
        raise InputError(f"{where}: no type {name!r}{did_you_mean(name, types)}")
    return name

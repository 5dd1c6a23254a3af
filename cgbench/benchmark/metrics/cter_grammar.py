"""Grammars of compounds for CTER: types of atoms, their order, and the names of phrases.

A grammar is a tab-separated file. The first column is the kind of row (lines that begin with ``#`` and empty lines are
skipped):

- ``type T``: a type of atom. The flags have the order of these rows.
- ``before LEFT RIGHT [UNLESS]``: an atom of type LEFT passes if its first place is before the last place of RIGHT, or
  if either has no place. Not checked if an atom of type UNLESS has a place.
- ``phrase NAME [T]``: the name of compounds with an atom of type T (default: all compounds); a later row overrides.
- ``modifier T``: a type that counts for ``--by modifier``.
- ``repeated last|all``: count only the last of several atoms of a type (the default), or all.

CoGnition's grammar is ``grammar_cognition.tsv``, after the evaluator published with it (Li et al. 2021).
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
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
    """``phrases``: name and type (None: every compound). ``repeated``: count all atoms of a type, not only the last."""

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
        path = shipped("grammar_cognition.tsv") if name_or_file == "cognition" else Path(name_or_file)
        lines = list(read_lines(path))
        rows = list(_rows(path, lines))
        # Types first: the other rows name them.
        types: list[str] = []
        for line_number, kind, values in rows:
            if kind == "type":
                if values[0] in types:
                    raise InputError(f"{path}, line {line_number}: the type {values[0]!r} is defined twice")
                types.append(values[0])
        if not types:
            raise InputError(f"{path}: defines no type; write a row with the word type, a tab and a name")
        # Order, phrases and modifiers.
        rules: list[OrderRule] = []
        phrases: list[tuple[str, str | None]] = []
        modifiers: list[str] = []
        repeated = False
        for line_number, kind, values in rows:
            where = f"{path}, line {line_number}"
            if kind == "before":
                rule = OrderRule(*(_type(value, types, where) for value in values))
                if rule.left == rule.right:
                    raise InputError(f"{where}: {rule.left} cannot precede itself")
                rules.append(rule)
            elif kind == "phrase":
                phrases.append((values[0], _type(values[1], types, where) if len(values) > 1 else None))
            elif kind == "modifier":
                modifiers.append(_type(values[0], types, where))
            elif kind == "repeated":
                if values[0] not in ("last", "all"):
                    raise InputError(f"{where}: repeated {values[0]!r}; there is all, last")
                repeated = values[0] == "all"
        name = "cognition" if name_or_file == "cognition" else path.name
        digest = content_hash(lines)
        return cls(name, tuple(types), tuple(rules), tuple(phrases), tuple(modifiers), repeated, digest)

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
    return Path(str(files("cgbench.benchmark.metrics"))) / name


def content_hash(rows: list[str]) -> str:
    """The SHA-256 of the rows: equal to that of the file if it ends with a newline."""
    return hashlib.sha256("".join(f"{row}\n" for row in rows).encode("utf-8")).hexdigest()


def _rows(path: Path, lines: list[str]) -> Iterator[tuple[int, str, list[str]]]:
    """The rows: number, kind, other columns."""
    for line_number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        kind, *values = line.rstrip("\r").split("\t")
        if kind not in _COLUMNS:
            raise InputError(f"{path}, line {line_number}: {kind!r} is not a kind of row{did_you_mean(kind, _COLUMNS)}")
        least, most, form = _COLUMNS[kind]
        if not least <= len(values) <= most or any(
            len(value.split()) != 1 or value != value.strip() for value in values
        ):
            raise InputError(f"{path}, line {line_number}: write {form}, separated by tabs, names without blanks")
        yield line_number, kind, values


def _type(name: str, types: list[str], where: str) -> str:
    if name not in types:
        raise InputError(f"{where}: no type {name!r}{did_you_mean(name, types)}")
    return name

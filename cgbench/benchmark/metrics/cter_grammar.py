"""What CTER takes a compound for: types of atoms, which stand before which, and the names of phrases.

A tab-separated file; the first column says what a row is (lines that begin with ``#`` and empty lines are skipped):

- ``type T``: a type of atom. The order of these rows is that of the flags.
- ``before LEFT RIGHT [UNLESS]``: an atom of type LEFT passes if its first place is before the last place of RIGHT, or
  if either has no place. Not checked where an atom of type UNLESS has a place.
- ``phrase NAME [T]``: compounds with an atom of type T (none: all) are called NAME; a later row counts more.
- ``modifier T``: a type that breaking down by modifier asks for.
- ``repeated last|all``: of several atoms of one type the last alone counts (the default), or all do.

CoGnition's is ``grammar_cognition.tsv``, after the evaluator published with it (Li et al. 2021).
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

OTHER = "other"  # a compound that no phrase fits
_COLUMNS = {
    "type": (1, 1, "type, T"),
    "before": (2, 3, "before, LEFT, RIGHT and, where it depends, UNLESS"),
    "phrase": (1, 2, "phrase, NAME and, unless it is of all compounds, T"),
    "modifier": (1, 1, "modifier, T"),
    "repeated": (1, 1, "repeated, last or all"),
}


@dataclass(frozen=True)
class Rule:
    """``left`` stands before ``right``; not checked where an atom of type ``unless`` has a place."""

    left: str
    right: str
    unless: str | None = None

    def __str__(self) -> str:
        return f"{self.left}<{self.right}"


@dataclass(frozen=True)
class Grammar:
    """``phrases``: name and type (None: every compound). ``repeated``: all atoms of one type count, not the last."""

    name: str
    types: tuple[str, ...]
    rules: tuple[Rule, ...]
    phrases: tuple[tuple[str, str | None], ...]
    modifiers: tuple[str, ...]
    repeated: bool
    sha256: str

    @classmethod
    def read(cls, given: str) -> Grammar:
        """``cognition``, or a file.

        :raises InputError: a row is malformed, or names a type that is none; with its line.
        """
        path = shipped("grammar_cognition.tsv") if given == "cognition" else Path(given)
        lines = list(read_lines(path))
        rows = list(_rows(path, lines))
        types: list[str] = []
        for number, kind, values in rows:
            if kind == "type":
                if values[0] in types:
                    raise InputError(f"{path}, line {number}: the type {values[0]!r} is there already")
                types.append(values[0])
        if not types:
            raise InputError(f"{path}: there is no type in it; a row is the word type, a tab and a name")
        rules: list[Rule] = []
        phrases: list[tuple[str, str | None]] = []
        modifiers: list[str] = []
        repeated = False
        for number, kind, values in rows:
            where = f"{path}, line {number}"
            if kind == "before":
                rule = Rule(*(_type(value, types, where) for value in values))
                if rule.left == rule.right:
                    raise InputError(f"{where}: {rule.left} cannot stand before itself")
                rules.append(rule)
            elif kind == "phrase":
                phrases.append((values[0], _type(values[1], types, where) if len(values) > 1 else None))
            elif kind == "modifier":
                modifiers.append(_type(values[0], types, where))
            elif kind == "repeated":
                if values[0] not in ("last", "all"):
                    raise InputError(f"{where}: repeated {values[0]!r}; there is all, last")
                repeated = values[0] == "all"
        name = "cognition" if given == "cognition" else path.name
        digest = content_hash(lines)
        return cls(name, tuple(types), tuple(rules), tuple(phrases), tuple(modifiers), repeated, digest)

    @property
    def kinds(self) -> tuple[str, ...]:
        """What a compound can be called, in the order of the file."""
        return tuple(dict.fromkeys([*(name for name, _ in self.phrases), OTHER]))

    def kind(self, types: Collection[str]) -> str:
        """What a compound with atoms of these types is called."""
        fitting = [name for name, kind in self.phrases if kind is None or kind in types]
        return fitting[-1] if fitting else OTHER


@cache
def cognition() -> Grammar:
    """CoGnition's."""
    return Grammar.read("cognition")


def shipped(name: str) -> Path:
    """A table that comes with cgbench."""
    return Path(str(files("cgbench.benchmark.metrics"))) / name


def content_hash(rows: list[str]) -> str:
    """The SHA-256 of what was read: that of the file, if each of its lines ends with a newline."""
    return hashlib.sha256("".join(f"{row}\n" for row in rows).encode("utf-8")).hexdigest()


def _rows(path: Path, lines: list[str]) -> Iterator[tuple[int, str, list[str]]]:
    """The rows with their numbers: what they are, and their other columns."""
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        kind, *values = line.rstrip("\r").split("\t")
        if kind not in _COLUMNS:
            raise InputError(f"{path}, line {number}: {kind!r} is no kind of row{did_you_mean(kind, _COLUMNS)}")
        least, most, form = _COLUMNS[kind]
        if not least <= len(values) <= most or any(
            len(value.split()) != 1 or value != value.strip() for value in values
        ):
            raise InputError(f"{path}, line {number}: a row is {form}, separated by tabs, names without blanks")
        yield number, kind, values


def _type(name: str, types: list[str], where: str) -> str:
    if name not in types:
        raise InputError(f"{where}: no type {name!r}{did_you_mean(name, types)}")
    return name

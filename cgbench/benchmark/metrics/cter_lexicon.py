"""What CTER is judged by: the atoms of compounds by part of speech, and a lexicon of their translations.

*Atoms*: a tab-separated file, a row an atom: type (P, V, DET, ADJ, N, MOD), name in the lexicon, words in a compound.
Those of CoGnition are ``atoms_cognition.tsv``. *Lexicon*: a row an atom, its translations after a tab, separated by
``/``. A translation is a regular expression; an empty one matches everywhere; the entry ``/`` alone stands for an atom
that needs no translation (*the*). A later row for an atom replaces an earlier one. (Li et al. 2021, and the evaluator
published with CoGnition.)
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import warnings
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from cgbench.errors import InputError
from cgbench.settings import did_you_mean
from cgbench.text.columns import text_lines

TYPES = ("P", "V", "DET", "ADJ", "N", "MOD")
_LITERAL = re.compile(r"[^\\.^$*+?{}\[\]|()]*")
Spans = tuple[int, int] | None
"""The first and the last place where a translation begins."""


@dataclass(frozen=True)
class Atoms:
    """The atoms: ``types`` by name in the lexicon, and ``phrases``, those of several words, with their names."""

    name: str
    types: dict[str, str]
    phrases: tuple[tuple[str, str], ...]
    sha256: str

    @classmethod
    def read(cls, given: str) -> Atoms:
        """``cognition``, or a file.

        :raises InputError: a row is malformed.
        """
        path = Path(given)
        if given == "cognition":
            path = Path(str(files("cgbench.benchmark.metrics"))) / "atoms_cognition.tsv"
        types: dict[str, str] = {}
        phrases: list[tuple[str, str]] = []
        rows = list(text_lines(path))
        for number, line in enumerate(rows, 1):
            row = line.rstrip("\r").split("\t")
            if len(row) != 3 or not all(row):
                raise InputError(f"{path}, line {number}: a row is type, name and words, separated by tabs")
            kind, name, words = row
            if kind not in TYPES:
                raise InputError(f"{path}, line {number}: type {kind!r}{did_you_mean(kind, TYPES)}")
            types[name] = kind
            if words != name:
                phrases.append((words, name))
        if not types:
            raise InputError(f"{path}: there is no atom in it")
        return cls("cognition" if given == "cognition" else Path(given).name, types, tuple(phrases), _hash(rows))

    def names(self, compound: str) -> list[str]:
        """The names of a compound's words: phrases are replaced as they stand, then blanks separate."""
        for words, name in self.phrases:
            compound = compound.replace(words, name)
        return compound.split()


@dataclass(frozen=True)
class Translations:
    """The alternatives of one atom. ``free``: it needs no translation."""

    free: bool
    literals: tuple[str, ...] = ()
    patterns: tuple[re.Pattern[str], ...] = ()

    @classmethod
    def parse(cls, entry: str) -> Translations:
        """Read an entry of the lexicon; raises :class:`re.error`."""
        if entry == "/":
            return cls(True)
        parts = entry.split("/")
        literal = [part for part in parts if _LITERAL.fullmatch(part)]
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # what the next Python may read in another way is no pattern to rely on
            patterns = tuple(re.compile(part) for part in parts if part not in literal)
        return cls(False, tuple(literal), patterns)

    @property
    def has_blank(self) -> bool:
        """Whether an alternative holds a blank."""
        return any(" " in part for part in (*self.literals, *(pattern.pattern for pattern in self.patterns)))

    def find(self, text: str) -> Spans:
        """Where the alternatives begin in ``text``: the first and the last place, or None."""
        begins: list[int] = []
        for part in self.literals:
            at = text.find(part)
            if at < 0:
                continue
            begins.append(at)
            if not part:  # matches before every character and at the end
                begins.append(len(text))
            while part and at >= 0:  # matches do not overlap
                begins.append(at)
                at = text.find(part, at + len(part))
        for pattern in self.patterns:
            begins += [match.start() for match in pattern.finditer(text)]
        return (min(begins), max(begins)) if begins else None


@dataclass(frozen=True)
class Lexicon:
    """Translations by atom."""

    path: Path
    entries: dict[str, Translations]
    sha256: str

    @classmethod
    def read(cls, given: str) -> Lexicon:
        """``cognition`` (from the data folder), or a file.

        :raises InputError: the file is missing, or an entry is malformed, with its line.
        """
        path = Path(given)
        if given == "cognition":
            path = data_folder() / "cognition" / "lexicon"
            if not path.is_file():
                raise InputError(
                    f"{path}: no such file; CoGnition's lexicon states no licence and does not come with cgbench: take "
                    "the file named lexicon from github.com/yafuly/CoGnition and put it there (CGBENCH_DATA names "
                    "another data folder), or give its path with --lexicon"
                )
        entries: dict[str, Translations] = {}
        rows = list(text_lines(path))
        for number, line in enumerate(rows, 1):
            if not line.strip():
                continue
            row = line.rstrip("\r").split("\t")
            if len(row) != 2 or not all(row):
                raise InputError(f"{path}, line {number}: a row is an atom, a tab, and translations separated by /")
            try:
                entries[row[0]] = Translations.parse(row[1])
            except (re.error, RecursionError, OverflowError, Warning) as error:
                raise InputError(f"{path}, line {number}: {row[1]!r} is not a valid pattern ({error})") from None
        if not entries:
            raise InputError(f"{path}: there is no atom in it")
        return cls(path, entries, _hash(rows))


def _hash(rows: list[str]) -> str:
    """The SHA-256 of what was read: that of the file, if each of its lines ends with a newline."""
    return hashlib.sha256("".join(f"{row}\n" for row in rows).encode("utf-8")).hexdigest()


def data_folder() -> Path:
    """Where data sets lie: ``CGBENCH_DATA``, else ``cgbench`` in the user's data directory."""
    if os.environ.get("CGBENCH_DATA"):
        return Path(os.environ["CGBENCH_DATA"])
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "cgbench"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "cgbench"

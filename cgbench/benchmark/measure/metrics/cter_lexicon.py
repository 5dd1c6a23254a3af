"""The atoms of compounds by type, and a lexicon of their translations, for CTER.

*Atoms*: a tab-separated file with one row per atom: type (from the grammar, ``cter_grammar.py``),
name in the lexicon, words in a compound. Those of CoGnition are ``atoms_cognition.tsv``. *Lexicon*:
one row per atom, its translations after a tab, separated by ``/``. An empty translation matches
everywhere; the entry ``/`` marks an atom that needs no translation (*the*). A later row for an atom
replaces an earlier one. (Li et al. 2021, and the evaluator published with CoGnition, which treats
translations as regular expressions; its own lexicon has no special characters.)
"""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from cgbench.benchmark.measure.metrics.cter_grammar import Grammar, cognition, content_hash, shipped
from cgbench.errors import InputError, argument
from cgbench.settings import did_you_mean
from cgbench.text.plain_text import words_of
from cgbench.text.streams import read_lines

MATCHES = ("substring", "word")
"""How to find a translation: as a substring or as whole words."""
_SPECIAL = re.compile(r"[\\.^$*+?{}\[\]|()]")


@dataclass(frozen=True)
class Atoms:
    """Atoms: ``types`` by name in the lexicon, and ``forms``: names by words in a compound."""

    name: str
    types: dict[str, str]
    forms: dict[tuple[str, ...], str]
    grammar: Grammar
    sha256: str

    @classmethod
    def read(cls, name_or_file: str, grammar: Grammar | None = None) -> Atoms:
        """Read ``cognition``, or a file, with the types of ``grammar`` (default: CoGnition's).

        :raises InputError: a row is malformed.
        """
        is_shipped = name_or_file == "cognition"
        path = shipped("atoms_cognition.tsv") if is_shipped else Path(name_or_file)
        grammar = grammar or cognition()
        types: dict[str, str] = {}
        forms: dict[tuple[str, ...], str] = {}
        rows = list(read_lines(path))
        for line_number, line in enumerate(rows, 1):
            where, row = f"{path}, line {line_number}", line.rstrip("\r").split("\t")
            if len(row) != 3 or not all(field.strip() for field in row):
                raise InputError(f"{where}: write type, name and words, separated by tabs")
            kind, name, words = row
            if kind not in grammar.types:
                raise InputError(f"{where}: type {kind!r}{did_you_mean(kind, grammar.types)}")
            if name.split() != [name]:
                raise InputError(f"{where}: the name {name!r} contains a blank; join its parts")
            # Two rows may agree, but not differ.
            if (
                types.setdefault(name, kind) != kind
                or forms.setdefault(tuple(words.split()), name) != name
            ):
                raise InputError(
                    f"{where}: {name!r} or {words!r} is another atom above; give each atom one type"
                )
        if not types:
            raise InputError(f"{path}: no atoms")
        name = "cognition" if is_shipped else path.name
        return cls(name, types, forms, grammar, content_hash(rows))

    def names(self, compound: str) -> list[str]:
        """The names of the atoms of a compound, longest match first; a word that is not an atom is
        its own name.

        Atoms are whole words: *the liked* does not contain *he liked*.
        """
        words = compound.split()  # at any white space, as in the published evaluator
        longest = max(map(len, self.forms))
        names = []
        while words:
            lengths = range(longest, 1, -1)
            length = next((n for n in lengths if tuple(words[:n]) in self.forms), 1)
            names.append(self.forms.get(tuple(words[:length]), words[0]))
            words = words[length:]
        return names


@dataclass(frozen=True)
class Translations:
    """The alternative translations of an atom, none if it needs no translation; ``words``: found as
    whole words.
    """

    literals: tuple[str, ...] = ()
    words: bool = False

    @classmethod
    def parse(cls, entry: str, match: str = "substring", lowercase: bool = False) -> Translations:
        """Read an entry of the lexicon."""
        if entry == "/":
            return cls()
        texts = (entry.lower() if lowercase else entry).split("/")
        return cls(
            tuple(map(_in_words, texts) if match == "word" else texts), words=match == "word"
        )

    def find(self, text: str) -> tuple[int, int] | None:
        """The first and last position where an alternative begins in the
        :meth:`~TranslationLexicon.text`.
        """
        begins: list[int] = []
        for literal in self.literals:
            if not literal:  # matches before every character and at the end
                begins += [0, len(text)]
                continue
            at = text.find(literal)
            step = (
                len(literal) - self.words
            )  # matches do not overlap, except in the blank between two words
            while at >= 0:
                begins.append(at)
                at = text.find(literal, at + step)
        return (min(begins), max(begins)) if begins else None


@dataclass(frozen=True)
class TranslationLexicon:
    """Translations by atom.

    ``special``: the first alternative (with its line) with a special character.
    """

    path: Path
    entries: dict[str, Translations]
    sha256: str
    match: str = "substring"
    lowercase: bool = False
    special: str | None = None

    @classmethod
    def read(
        cls, name: str, match: str = "substring", lowercase: bool = False
    ) -> TranslationLexicon:
        """Read ``cognition`` (from the data folder), or a file.

        :param match: one of :data:`MATCHES`.
        :raises InputError: the file is missing, or an entry is malformed.
        """
        if match not in MATCHES:
            raise InputError(f"match {match!r}{did_you_mean(match, MATCHES)}")
        path = Path(name)
        if name == "cognition":
            path = data_folder() / "cognition" / "lexicon"
            if not path.is_file():
                raise InputError(
                    f"{path}: no such file; CoGnition's lexicon states no licence and is not part"
                    " of cgbench: put the file named lexicon from github.com/yafuly/CoGnition"
                    " there (CGBENCH_DATA sets another data folder), or give its path with"
                    f" {argument('lexicon')}"
                )
        entries: dict[str, Translations] = {}
        special: str | None = None
        rows = list(read_lines(path))
        for line_number, line in enumerate(rows, 1):
            if not line.strip():
                continue
            row = line.strip().split("\t")
            if len(row) != 2 or not all(row):
                raise InputError(
                    f"{path}, line {line_number}: write an atom, a tab, and translations separated"
                    " by /"
                )
            entries[row[0]] = Translations.parse(row[1], match, lowercase)
            if special is None and _SPECIAL.search(row[1]):
                special = f"{path}, line {line_number}: {row[1]!r}"
        if not entries:
            raise InputError(f"{path}: no atoms")
        return cls(path, entries, content_hash(rows), match, lowercase, special)

    def text(self, hypothesis: str, keep_blanks: bool = False) -> str:
        """A hypothesis prepared for searching; empty if it has no words."""
        text = hypothesis.rstrip().replace("@@ ", "")  # in the published order: a final "@@" stays
        text = text.lower() if self.lowercase else text
        if self.match == "word":
            return _in_words(text)
        return text.strip() if keep_blanks else text.replace(" ", "")


def _in_words(text: str) -> str:
    """The words with a blank on each side; empty if there are none."""
    words = words_of(text)
    return f" {' '.join(words)} " if words else ""


def data_folder() -> Path:
    """The folder of data sets: ``CGBENCH_DATA``, else ``cgbench`` in the user's data directory."""
    if os.environ.get("CGBENCH_DATA"):
        return Path(os.environ["CGBENCH_DATA"])
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "cgbench"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "cgbench"

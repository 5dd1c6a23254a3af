"""What a corpus knows of a test text, kept for other commands (``--known-from``): which of its n-grams, how often.

A folder with the words and the automaton of the test text (``automaton.py``), ``matches.npy``, ``known.json`` and
SHA256SUMS. Of a sentence that is not within one of the test text nothing is known, and nothing is guessed.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from cgbench.benchmark.known_ngrams.vocabulary import Vocabulary
from cgbench.benchmark.overlap.automaton import ARRAYS, Automaton, read_array
from cgbench.benchmark.overlap.units import UnitRules, Words
from cgbench.checksums import SUMS, check_recorded, digests_of, known_digest, write_sums
from cgbench.errors import InputError, argument
from cgbench.files import check_shape, ordinary_file, ordinary_folder, read_json, write_json

FORMAT = 1
REMEDY = "run cgbench overlap --out again"


def save_known(folder: Path, test: Path, matches: np.ndarray, rules: UnitRules) -> None:
    """Write what a corpus knows of a test text.

    :param test: the folder of its words and automaton.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    names = [path.name for path in sorted(test.iterdir()) if path.name not in ("step.json", "ids.npy", "lengths.npy")]
    for name in names:
        shutil.copyfile(test / name, folder / name)
    np.save(folder / "matches.npy", matches)
    write_json(folder / "known.json", {"format": FORMAT, "units": rules.units, "counts_up_to": rules.most})
    names += ["matches.npy", "known.json"]
    write_sums(folder, digests_of(folder, names))


@dataclass(frozen=True, eq=False)
class KnownOfTest:
    """The n-grams of a test text that a corpus knows, of words; ``units``: how they were separated, as JSON;
    ``digest``: the SHA-256 of what was found."""

    folder: Path
    words: Vocabulary
    automaton: Automaton
    matches: np.ndarray
    units: dict[str, Any]
    digest: str

    @classmethod
    def load(cls, folder: Path) -> KnownOfTest:
        """Open the result of ``cgbench overlap --out``.

        :raises InputError: it is none, is damaged, or is of a tokeniser's ids.
        """
        said, inner = read_said(folder), folder / "known"
        for name in ("matches.npy", *(f"automaton.{name}.npy" for name in ARRAYS)):
            check_recorded(inner / name, inner / SUMS)
        words, automaton = Vocabulary.load(inner), Automaton.load(inner)
        automaton.check_words(len(words), inner)
        matches = read_array(inner / "matches.npy")
        if matches.dtype != np.int32 or matches.shape != (len(automaton), said["counts_up_to"]):
            raise InputError(f"{inner / 'matches.npy'}: not what was written; {REMEDY}")
        return cls(folder, words, automaton, matches, said["units"]["words"], known_digest(inner / "matches.npy"))

    def ends(self, lines: Sequence[str], min_count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of lines of the test text: ids int32 ``[words of all]``, lengths int32 ``[lines]``, and the words of the
        longest n-gram that ends at each word and occurs ``min_count`` times, int32 ``[words of all]``.

        :raises InputError: a line is not within one of the test text, or counts are not known so high.
        """
        check_count(self.folder, self.matches.shape[1], min_count)
        ids, lengths = Words(self.words).read_lines(lines)
        ends, stranger = self.automaton.ends(ids, lengths, self.automaton.known(self.matches, min_count))
        if stranger >= 0:
            raise self.unknown(f"row {stranger + 1} of the text")
        return ids, lengths, ends

    def measure(self, lines: Sequence[str], min_count: int) -> tuple[np.ndarray, np.ndarray]:
        """Pieces and length of lines of the test text, both int32 ``[lines]``, as
        :meth:`~cgbench.benchmark.known_ngrams.known.KnownNgrams.measure` gives them.

        :raises InputError: as :meth:`ends` does.
        """
        _, lengths, ends = self.ends(lines, min_count)
        pieces = np.array([len(begins) for begins in _begins(lengths, ends)], np.int32)
        return pieces, lengths

    def covers(self, lines: Sequence[str], min_count: int) -> list[list[tuple[str, ...]]]:
        """The pieces of a least cover of lines of the test text, from left to right.

        :raises InputError: as :meth:`ends` does.
        """
        ids, lengths, ends = self.ends(lines, min_count)
        words = [self.words.word(number) for number in ids.tolist()]
        covers, position = [], 0
        for found, length in zip(_begins(lengths, ends), lengths.tolist(), strict=True):
            limits = [*found, length]
            covers.append([tuple(words[position + a : position + b]) for a, b in pairwise(limits)])
            position += length
        return covers

    def spans(self, lines: Sequence[str], min_count: int) -> list[str]:
        """The longest known n-grams of lines of the test text, those within another left out: what holds the known
        n-grams of these lines and no other, one behind the other.

        :raises InputError: as :meth:`ends` does.
        """
        ids, lengths, ends = self.ends(lines, min_count)
        words = [self.words.word(number) for number in ids.tolist()]
        last = np.flatnonzero(not_within(lengths, ends) & (ends > 0)) + 1
        return [" ".join(words[end - size : end]) for end, size in zip(last, ends[last - 1], strict=True)]

    def unknown(self, row: str) -> InputError:
        """What to say of a row that is not in the text that this is of."""
        return InputError(
            f"{self.folder}: of {row} nothing is known: it is not in the text that cgbench overlap was run on; run it "
            "on this text"
        )


def read_said(folder: Path) -> dict[str, Any]:
    """What a result of ``cgbench overlap --out`` says of itself: ``units``, and ``counts_up_to``, up to which it tells
    counts apart. Reads no array.

    :raises InputError: it is none, is damaged, or is of a tokeniser's ids.
    """
    path = folder / "known" / "known.json"
    if not os.path.lexists(path):
        raise InputError(f"{folder}: no result of cgbench overlap --out (there is no {path})")
    ordinary_folder(path.parent)
    ordinary_file(path)
    check_recorded(path, path.with_name(SUMS))
    said: dict[str, Any] = read_json(path)
    check_shape(said, {"format": int, "units": {str: (dict, str)}, "counts_up_to": int}, path, REMEDY)
    if said["format"] != FORMAT:
        raise InputError(f"{path.parent}: of format {said['format']}, and this version reads {FORMAT}; {REMEDY}")
    if "words" not in said["units"]:
        raise InputError(f"{folder}: its n-grams are of a tokeniser's ids, and words are needed here")
    return said


def sums_of(folder: Path) -> Path:
    """The file of a result that has the digests of all that is read of it: its own digest stands for the result."""
    return folder / "known" / SUMS


def check_count(folder: Path, known: int, min_count: int, name: str = "min_count") -> None:
    """Check that a result tells counts apart up to ``min_count``; ``known``: up to what it does.

    :param name: what the threshold is called, in messages.

    :raises InputError: it does not.
    """
    if min_count > known:
        raise InputError(
            f"{folder}: counts are known up to {known}, and {argument(name, min_count)} asks for more; run cgbench "
            f"overlap with {argument('min_count')} {min_count}"
        )


def check_words_alike(folder: Path, units: dict[str, Any], settings: dict[str, Any]) -> None:
    """Check that words are separated (``settings``) as they were in a result (``units``).

    :raises InputError: they are not.
    """
    if settings != units:
        differ = sorted(name for name in {*settings, *units} if settings.get(name) != units.get(name))
        raise InputError(
            f"{folder}: made with other words ({', '.join(differ)}); give {argument('tokenize')}, "
            f"{argument('lowercase')} and such as cgbench overlap had them"
        )


def not_within(lengths: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Whether the longest known n-gram that ends at each word is within none that ends at the next, bool ``[words]``.

    :param ends: int32 ``[words]``, the words of that n-gram.
    """
    found = np.ones(len(ends), bool)
    found[:-1] = ends[1:] != ends[:-1] + 1
    found[np.cumsum(lengths[lengths > 0]) - 1] = True
    return found


def _begins(lengths: np.ndarray, ends: np.ndarray) -> list[list[int]]:
    """Where the pieces of leftmost-longest covers begin, of each line."""
    found, position = [], 0
    for length in lengths.tolist():
        begins: list[int] = []
        for place, end in enumerate(ends[position : position + length].tolist()):
            if not begins or end < place + 1 - begins[-1]:
                begins.append(place)
        found.append(begins)
        position += length
    return found

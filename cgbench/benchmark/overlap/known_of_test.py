"""A saved overlap result, which ``score --exposure`` reads: the n-grams of a test text and their corpus counts.

A folder with the words and the automaton of the test text (``automaton.py``), ``matches.npy``, ``known.json`` and
SHA256SUMS. It has no counts for sentences that are not part of one in the test text.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cgbench.benchmark.known_ngrams.saved import read_array
from cgbench.benchmark.known_ngrams.vocabulary import Vocabulary
from cgbench.benchmark.overlap.automaton import ARRAYS, Automaton
from cgbench.benchmark.overlap.reading import ReadingRules
from cgbench.checksums import SUMS, check_recorded, digests_of, write_sums
from cgbench.errors import InputError
from cgbench.files import check_shape, ordinary_file, ordinary_folder, read_json, write_json

FORMAT = 1
REMEDY = "run cgbench overlap --out again"


def save_known(folder: Path, test: Path, matches: np.ndarray, rules: ReadingRules) -> None:
    """Save the matches of a corpus with a test text.

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
    """The known n-grams of a test text in a corpus."""

    folder: Path
    words: Vocabulary
    automaton: Automaton
    matches: np.ndarray

    @classmethod
    def load(cls, folder: Path) -> KnownOfTest:
        """Open the result of ``cgbench overlap --out``.

        :raises InputError: the folder is not such a result, or is damaged.
        """
        most, inner = _highest_count(folder / "known" / "known.json"), folder / "known"
        for name in ("matches.npy", *(f"automaton.{name}.npy" for name in ARRAYS)):
            check_recorded(inner / name, inner / SUMS)
        words, automaton = Vocabulary.load(inner), Automaton.load(inner)
        automaton.check_words(len(words), inner)
        matches = read_array(inner / "matches.npy", "int32", most, REMEDY)
        if len(matches) != len(automaton):
            raise InputError(f"{inner / 'matches.npy'}: damaged; {REMEDY}")
        return cls(folder, words, automaton, matches)

    def ends(self, lines: Sequence[str]) -> np.ndarray:
        """The length of the longest n-gram of the corpus that ends at each word of lines of the test text, int32
        ``[words of all]``.

        :raises InputError: a line is not part of one in the test text.
        """
        ids, lengths = self.words.read_lines(lines)
        ends, unknown = self.automaton.ends(ids, lengths, self.automaton.known(self.matches, 1))
        if unknown >= 0:
            raise InputError(
                f"{self.folder}: row {unknown + 1} of the text is not in the text that cgbench overlap was run on, so "
                "it has no counts; run it on this text"
            )
        return ends


def _highest_count(path: Path) -> int:
    """The highest exact count of a result, from its summary."""
    if not os.path.lexists(path):
        raise InputError(f"{path.parent.parent}: not a result of cgbench overlap --out (there is no {path})")
    ordinary_folder(path.parent)
    ordinary_file(path)
    check_recorded(path, path.with_name(SUMS))
    summary = read_json(path)
    check_shape(summary, {"format": int, "units": {"words": dict}, "counts_up_to": int}, path, REMEDY)
    if summary["format"] != FORMAT:
        raise InputError(f"{path.parent}: format {summary['format']}, but this version reads format {FORMAT}; {REMEDY}")
    return int(summary["counts_up_to"])

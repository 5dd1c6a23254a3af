"""A saved overlap result for other commands (``--known-from``): the n-grams of a test text and
their corpus counts.

A folder with the words and the automaton of the test text (``automaton.py``), ``matches.npy``,
``known.json`` and SHA256SUMS. It has no counts for sentences that are not part of one in the test
text.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cgbench.benchmark.measure.known_ngrams.saved import read_array
from cgbench.benchmark.measure.known_ngrams.vocabulary import Vocabulary
from cgbench.benchmark.measure.overlap.automaton import ARRAYS, Automaton
from cgbench.benchmark.measure.overlap.reading import ReadingRules
from cgbench.checksums import SUMS, check_recorded, digests_of, known_digest, write_sums
from cgbench.errors import InputError, argument
from cgbench.files import check_shape, ordinary_file, ordinary_folder, read_json, write_json
from cgbench.text.blocks import Block

FORMAT = 1
REMEDY = "run cgbench overlap --out again"


def save_known(folder: Path, test: Path, matches: np.ndarray, rules: ReadingRules) -> None:
    """Save the matches of a corpus with a test text.

    :param test: the folder of its words and automaton.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    names = [
        path.name
        for path in sorted(test.iterdir())
        if path.name not in ("step.json", "ids.npy", "lengths.npy")
    ]
    for name in names:
        shutil.copyfile(test / name, folder / name)
    np.save(folder / "matches.npy", matches)
    write_json(
        folder / "known.json", {"format": FORMAT, "units": rules.units, "counts_up_to": rules.most}
    )
    names += ["matches.npy", "known.json"]
    write_sums(folder, digests_of(folder, names))


@dataclass(frozen=True, eq=False)
class CorpusCounts:
    """The known n-grams of a test text in a corpus. ``units``: how words were separated, as JSON;
    ``digest``: the SHA-256 of the matches."""

    folder: Path
    words: Vocabulary
    automaton: Automaton
    matches: np.ndarray
    units: dict[str, Any]
    digest: str

    @classmethod
    def load(cls, folder: Path) -> CorpusCounts:
        """Open the result of ``cgbench overlap --out``.

        :raises InputError: the folder is not such a result, or is damaged.
        """
        summary, inner = read_summary(folder), folder / "known"
        for name in ("matches.npy", *(f"automaton.{name}.npy" for name in ARRAYS)):
            check_recorded(inner / name, inner / SUMS)
        words, automaton = Vocabulary.load(inner), Automaton.load(inner)
        automaton.check_words(len(words), inner)
        matches = read_array(inner / "matches.npy", "int32", summary["counts_up_to"], REMEDY)
        if len(matches) != len(automaton):
            raise InputError(f"{inner / 'matches.npy'}: damaged; {REMEDY}")
        return cls(
            folder,
            words,
            automaton,
            matches,
            summary["units"]["words"],
            known_digest(inner / "matches.npy"),
        )

    def ends(
        self, name: str, blocks: Iterable[Block], min_count: int
    ) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Of each block of lines: ids int32 ``[words]``, lengths int32 ``[lines]``, and the length
        of the longest n-gram that ends at each word and occurs ``min_count`` times, int32
        ``[words]``.

        :raises InputError: a line is not part of one in the test text.
        """
        settled = self.automaton.known(self.matches, min_count)
        for block in blocks:
            ids, lengths = self.words.read(block)
            ends, unknown = self.automaton.ends(ids, lengths, settled)
            if unknown >= 0:
                raise InputError(
                    f"{self.folder}: row {block.line + unknown + 1} of {name} is not in the text"
                    " that cgbench overlap was run on, so it has no counts; run it on this text"
                )
            yield ids, lengths, ends


def read_summary(folder: Path) -> dict[str, Any]:
    """The summary of a result of ``cgbench overlap --out``: ``units``, and ``counts_up_to``, the
    highest exact count. Reads no array.

    :raises InputError: the folder is not such a result, or is damaged.
    """
    path = folder / "known" / "known.json"
    if not os.path.lexists(path):
        raise InputError(f"{folder}: not a result of cgbench overlap --out (there is no {path})")
    ordinary_folder(path.parent)
    ordinary_file(path)
    check_recorded(path, path.with_name(SUMS))
    summary: dict[str, Any] = read_json(path)
    check_shape(
        summary, {"format": int, "units": {"words": dict}, "counts_up_to": int}, path, REMEDY
    )
    if summary["format"] != FORMAT:
        raise InputError(
            f"{path.parent}: format {summary['format']}, but this version reads format {FORMAT};"
            f" {REMEDY}"
        )
    return summary


def sums_of(folder: Path) -> Path:
    """The file with the checksums of a result; its own checksum identifies the result."""
    return folder / "known" / SUMS


def check_count(folder: Path, known: int, min_count: int, name: str = "min_count") -> None:
    """Check that a result has exact counts up to ``min_count``.

    :param known: its highest exact count.
    :param name: the name of the threshold in messages.
    :raises InputError: it has not.
    """
    if min_count > known:
        raise InputError(
            f"{folder}: counts are known up to {known}, but {argument(name, min_count)} needs more;"
            f" run cgbench overlap with {argument('min_count')} {min_count}"
        )


def check_words_alike(folder: Path, units: dict[str, Any], settings: dict[str, Any]) -> None:
    """Check that words are separated (``settings``) as in a result (``units``)."""
    if settings != units:
        differ = sorted(
            name for name in {*settings, *units} if settings.get(name) != units.get(name)
        )
        raise InputError(
            f"{folder}: its words were separated differently ({', '.join(differ)}); give the same"
            f" {argument('tokenize')}, {argument('lowercase')} and related options as to cgbench"
            " overlap"
        )

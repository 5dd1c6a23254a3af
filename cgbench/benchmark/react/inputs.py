"""What a person gives :func:`~cgbench.benchmark.react.build_react.build_react`, as what a build reads: names of files,
or texts."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from cgbench.benchmark.react.config import SIDES
from cgbench.errors import InputError, argument
from cgbench.files import write_atomic
from cgbench.steps import hash_value
from cgbench.text.formats import CorpusSpec, form, language_suffixes
from cgbench.text.inputs import as_path

PathLike: TypeAlias = str | os.PathLike[str]
Corpus: TypeAlias = CorpusSpec | PathLike | Sequence[PathLike] | Sequence[Sequence[str]]
"""A file with both sides, or two: the source's and the target's; two lists of sentences will do, too."""
KnownFrom: TypeAlias = PathLike | Sequence[PathLike] | Mapping[str, PathLike]
"""Folders of ``cgbench overlap --out`` by side; one alone is of the side of the degree."""


def corpus_of(given: Corpus, role: str, *, columns: tuple[str, str] | None, texts: Path) -> CorpusSpec:
    """The corpus that somebody gave.

    :param role: ``train``, ``pool-1`` and so on: what an error calls it.
    :param columns: of a file with both sides.
    :param texts: where two lists of sentences are written, under a name that says what is in them.
    :raises InputError: it is none.
    """
    if isinstance(given, CorpusSpec):
        return given
    if isinstance(given, (str, os.PathLike)):
        return CorpusSpec((as_path(given),), columns)
    parts = list(given)
    if all(isinstance(part, (str, os.PathLike)) for part in parts):
        paths = tuple(as_path(part) for part in parts)  # type: ignore[arg-type]
        return CorpusSpec(paths, columns if len(paths) == 1 else None)
    sides = [list(part) if isinstance(part, Sequence) and not isinstance(part, str) else None for part in parts]
    if len(sides) != 2 or not all(side is not None and all(isinstance(one, str) for one in side) for side in sides):
        raise InputError(f"{role}: a corpus is a file, two files, or two lists of sentences (source, target)")
    return _write(sides, role, texts)  # type: ignore[arg-type]


def corpora_of(
    given: Corpus | Sequence[Corpus], role: str, *, columns: tuple[str, str] | None, texts: Path
) -> tuple[CorpusSpec, ...]:
    """Several corpora, or one alone: two names of plain files can only be the two sides of one.

    :raises InputError: one of them is none.
    """
    if isinstance(given, (str, os.PathLike, CorpusSpec)) or _is_pair(given):
        return (corpus_of(given, f"{role}-1", columns=columns, texts=texts),)  # type: ignore[arg-type]
    return tuple(
        corpus_of(one, f"{role}-{number}", columns=columns, texts=texts) for number, one in enumerate(given, 1)
    )


def _is_pair(given: Sequence[object]) -> bool:
    """Whether these are the sides of one corpus: two plain files, or two lists of sentences that are no two files."""
    if len(given) != 2:
        return False
    if all(isinstance(part, (str, os.PathLike)) for part in given):
        return all(form(Path(part)) == "plain" for part in given)  # type: ignore[arg-type]
    return all(
        isinstance(part, Sequence) and not isinstance(part, str) and len(part) != 2
        and all(isinstance(one, str) for one in part)
        for part in given
    )  # fmt: skip


def _write(sides: Sequence[Sequence[str]], role: str, folder: Path) -> CorpusSpec:
    for name, lines in zip(("source", "target"), sides, strict=True):
        broken = next((number for number, line in enumerate(lines, 1) if "\n" in line), 0)
        if broken:
            raise InputError(f"{role}, {name}, sentence {broken}: holds a line break; a sentence is one line")
    if len(sides[0]) != len(sides[1]):
        raise InputError(f"{role}: {len(sides[0]):,} source sentences for {len(sides[1]):,} target sentences")
    if not sides[0]:
        raise InputError(f"{role}: the corpus is empty")
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"{role}-{hash_value(sides)[:12]}"
    paths = (folder / f"{stem}.source", folder / f"{stem}.target")
    for path, lines in zip(paths, sides, strict=True):
        write_atomic(path, "".join(line + "\n" for line in lines))
    return CorpusSpec(paths)


def known_from_of(given: KnownFrom, degree_side: str) -> dict[str, Path]:
    """The results of ``cgbench overlap`` by side: ``{"source": FOLDER}``, or ``source=FOLDER``; a folder without a side
    is of the one that the degree is of.

    :raises InputError: there is no such side, or a side has two.
    """
    if isinstance(given, Mapping):
        pairs = [(str(side), str(folder)) for side, folder in given.items()]
    else:
        if not _are_names(given):
            raise InputError(f"{argument('known_from', given)}: a folder, or one a side, as source=FOLDER")
        words = [os.fspath(one) for one in ([given] if isinstance(given, (str, os.PathLike)) else given)]
        parts = [word.partition("=") for word in words]
        pairs = [
            (side, folder) if sign and side in SIDES else (degree_side, word)
            for word, (side, sign, folder) in zip(words, parts, strict=True)
        ]
    for side, folder in pairs:
        if side not in SIDES or not folder:
            raise InputError(f"{argument('known_from', f'{side}={folder}')}: a side and a folder, as source=FOLDER")
    found = {side: Path(folder) for side, folder in pairs}
    if len(found) < len(pairs):
        raise InputError(f"{argument('known_from')}: one folder a side, as source=FOLDER and target=FOLDER")
    return dict(sorted(found.items()))


def _are_names(given: object) -> bool:
    """Whether this is a name, or a list of them: settings of a file may hold anything."""
    many = [given] if isinstance(given, (str, os.PathLike)) else given
    return isinstance(many, Sequence) and all(isinstance(one, (str, os.PathLike)) for one in many)


def pair_of(given: str | Sequence[str | int] | None, name: str) -> tuple[str, str] | None:
    """Two words, given as such or with a comma between.

    :raises InputError: there are not two.
    """
    if given is None:
        return None
    words = given.split(",") if isinstance(given, str) else [str(word) for word in given]
    if len(words) != 2 or not all(words):
        raise InputError(f"{name} {given!r}: two are needed, the source's and the target's")
    return words[0], words[1]


def languages_of(given: str | Sequence[str] | None, train: CorpusSpec) -> tuple[str, str]:
    """The languages: as given, else the last parts of the file names, else ``source`` and ``target``."""
    return pair_of(given, "languages") or language_suffixes(train) or ("source", "target")

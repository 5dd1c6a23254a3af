"""Statistics of a release: its test set against the training text that it was built from, both sides.

Everything that decides the figures (files, columns, normalisation, thresholds) is taken from ``manifest.json``; the
degrees that come out must be those of ``split.jsonl``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cgbench.benchmark.stats.pos import Tags
from cgbench.benchmark.stats.rows import Row, Training, Wanted, measure, phrases_of
from cgbench.benchmark.stats.texts import SIDES, Text, read_text
from cgbench.errors import InputError
from cgbench.files import read_json
from cgbench.steps import hash_file
from cgbench.text.formats import CorpusSpec, read_lines
from cgbench.text.normalisation import Normalisation, normaliser


@dataclass(frozen=True)
class Release:
    """What is needed of a release: its texts by side, its training text, and how both were made."""

    folder: Path
    stem: str
    languages: tuple[str, str]
    train: CorpusSpec
    phrases: Path | None
    normalisation: Normalisation
    min_count: int
    degree_side: str


def open_release(folder: Path, train: Sequence[Path] = ()) -> Release:
    """Read the manifest of a release and find its training text.

    :param train: where the training text is now, if it has moved.
    :raises InputError: this is no release; the training text is not where it was, or not what it was.
    """
    manifest = read_json(folder / "manifest.json")
    try:
        config, languages = manifest["configuration"], manifest["languages"]
        entry, ngrams = manifest["inputs"]["train"], manifest["inputs"].get("ngrams")
        recorded = [(Path(file["path"]), str(file["sha256"])) for file in entry["files"]]
        columns = tuple(entry["columns"]) if entry["columns"] else None
        normalisation = Normalisation(config["tokenize"], config["lowercase"], (languages[0], languages[1]))
        release = Release(
            folder,
            "test" if manifest["until"] == "release" else "candidates",
            normalisation.languages,
            CorpusSpec(tuple(train) or tuple(path for path, _ in recorded), columns),
            Path(ngrams["path"]) if ngrams else None,
            normalisation,
            config["ngram_min_count"],
            config["degree_side"],
        )
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise InputError(f"{folder}: manifest.json is not that of a cgbench release (key {error})") from None
    if len(release.train.paths) != len(recorded):
        raise InputError(f"--train: the release was built from {len(recorded)} file(s); give as many")
    for path, (_, sha256) in zip(release.train.paths, recorded, strict=True):
        _check(path, sha256, "" if train else "; say where it is now with --train")
    if ngrams:
        _check(Path(ngrams["path"]), ngrams["sha256"], "")
    return release


def _check(path: Path, sha256: str, remedy: str) -> None:
    if not path.is_file():
        raise InputError(f"{path}: no such file, and the release was built from it{remedy}")
    if hash_file(path) != sha256:
        raise InputError(f"{path}: not the file that the release was built from (its SHA-256 is another){remedy}")


def release_rows(release: Release, wanted: Wanted, side: str | None, tags: Tags | None) -> Iterator[Row]:
    """A row a side (or of ``side`` alone).

    :raises InputError: a text is missing, or a degree is not the one recorded.
    """
    for number, name in enumerate(SIDES):
        if side not in (None, "both", name):
            continue
        language = release.languages[number]
        identity = release.normalisation.is_identity
        change = None if identity else normaliser(release.normalisation, language)
        path = release.folder / f"{release.stem}.{language}"
        text = read_text(release.train.paths, release.train.columns, name, change, keep=False)
        # The words of a release are normalised already, and the list of phrases is of the side of the degree.
        test = Text(str(path), name, list(read_lines(path)))
        listed = release.phrases if name == release.degree_side else None
        phrases = phrases_of(listed, change) if listed else None
        training = Training(text, release.min_count, phrases)
        settings = Normalisation(release.normalisation.tokenize, release.normalisation.lowercase, (language, language))
        row = measure(training, test, f"{release.folder.name} {language}", wanted, settings, tags, 0)
        if name == release.degree_side and release.stem == "test":
            _compare(row, release.folder / "split.jsonl")
        yield row


def _compare(row: Row, split: Path) -> None:
    recorded = [_row(line, f"{split}, row {number}") for number, line in enumerate(read_lines(split), 1)]
    if len(recorded) != row.examples:
        raise InputError(f"{split} has {len(recorded):,} rows for {row.examples:,} sentences; cgbench verify says more")
    for number, (one, pieces, length) in enumerate(zip(recorded, row.pieces, row.lengths, strict=True), 1):
        if one["degree"] != pieces / length:
            raise InputError(
                f"{split}, row {number}: degree {one['degree']}, but the texts give {pieces}/{length}; "
                "the release was changed (cgbench verify), or built by another version"
            )


def _row(line: str, where: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
        return {"degree": float(row["degree"])}
    except (ValueError, KeyError, TypeError):
        raise InputError(f"{where}: not a row of a release's split") from None

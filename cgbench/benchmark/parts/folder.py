"""The folder of ``cgbench parts``: the pieces of a test set, and the probes that show whether a system knows them.

A *piece* is a part that a test row is composed of: a known n-gram of its cover, a word, an atom of its form, or a
shorter compound. A *probe* is a pair in which pieces stand in known surroundings. One probe may serve many pieces.

============== ========================================================================================================
file           content
============== ========================================================================================================
probes.source  one probe per line: what a system translates
probes.target  its reference
probes.jsonl   the other fields of each :class:`Probe`
pieces.jsonl   each distinct :class:`Piece`; ``probes`` are lines of ``probes.source``, from 1
rows.jsonl     the pieces of each test row: ``[piece, start, end]``, the line of the piece in ``pieces.jsonl`` (from 1)
               and its place as in :class:`Place`
manifest.json  ``side`` (of the pieces), ``k``, ``pieces`` (their type), ``match`` (how an output shows that a piece is
               known), all settings, inputs and files with checksums, counts, the reasons, a digest
============== ========================================================================================================

Text is normalised like that of the release.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cgbench.benchmark.release.export.pairs import write_lines, write_rows
from cgbench.benchmark.release.manifest import MANIFEST, digest
from cgbench.benchmark.release.writer import replacing
from cgbench.checksums import check_digests, digests_of
from cgbench.errors import InputError, argument
from cgbench.files import ordinary_file, read_json, write_json
from cgbench.requests import check_path
from cgbench.text.streams import read_lines

FORMAT, KIND = 1, "parts"
SIDES = ("source", "target")

REASONS = {
    "unknown": "not known from the training text",
    "absent": "in no pair of the corpora",
    "held back": "only in pairs of the test set, the control set or the excluded text",
    "limits": "only in pairs that are too long",
    "neighbours": "only next to words that are not known with it",
    "few": "in fewer pairs than asked for",
}
"""Why a piece has fewer than k probes: the last condition that pairs failed. With ``few`` it may have some."""

STAGES = tuple(REASONS)[1:]
"""The reasons in the order of the conditions: how many a piece's best pair has met."""

_REMEDY = "run cgbench parts again"


class Place(NamedTuple):
    """Where a piece stands in a test row: its first word and the word after its last, from 0, on the side of the
    pieces; -1 if it has no place. ``piece`` counts from 0."""

    piece: int
    start: int = -1
    end: int = -1


@dataclass(frozen=True)
class Piece:
    """A distinct piece. ``count``: occurrences in training, None without training text; ``found``: pairs of the corpora
    that contain it; ``neighbours``: how many of its neighbours, 0 to 2, are known with it in each of its probes, None
    if it is no n-gram; ``probes``: from 0; ``reason``: one of :data:`REASONS`, empty if it has k probes."""

    text: str
    count: int | None
    found: int
    neighbours: int | None = None
    probes: tuple[int, ...] = ()
    reason: str = ""


@dataclass(frozen=True)
class Probe:
    """A probe. ``corpus`` and ``line``, where it was found, count from 1; corpus 0 is the test set. ``degree``: None if
    pieces are not n-grams. ``compound``: empty if pieces are not compounds."""

    source: str
    target: str
    corpus: int
    line: int
    degree: float | None = None
    compound: str = ""


@dataclass(frozen=True, repr=False)
class PartsFolder:
    """The result of ``cgbench parts``: ``rows[i]`` has the places of pieces in test row i, with indices of ``pieces``;
    the ``probes`` of a piece are indices of ``probes``. ``manifest`` is that of the folder."""

    folder: Path
    manifest: dict[str, Any]
    pieces: tuple[Piece, ...]
    probes: tuple[Probe, ...]
    rows: tuple[tuple[Place, ...], ...]

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> PartsFolder:
        """Read a folder of ``cgbench parts``.

        :raises InputError: it is not one, is of a later version, or a file is missing or damaged.
        """
        check_path(folder=folder)
        path = Path(folder)
        if not os.path.lexists(path / MANIFEST):
            raise InputError(f"{path / MANIFEST}: no such file; give a folder of cgbench parts")
        manifest = read_json(ordinary_file(path / MANIFEST))
        if not isinstance(manifest, dict) or manifest.get("kind") != KIND:
            raise InputError(f"{path}: not a folder of cgbench parts")
        if manifest.get("format") != FORMAT:
            raise InputError(f"{path}: format {manifest.get('format')} is not known to this version of cgbench")
        if manifest.get("digest") != digest(manifest):
            raise InputError(f"{path / MANIFEST}: was changed: its digest differs; {_REMEDY}")
        check_digests(path, manifest["files"], _REMEDY)
        sides = (read_lines(path / f"probes.{side}") for side in SIDES)
        return cls(
            path,
            manifest,
            tuple(
                Piece(**{**row, "probes": tuple(line - 1 for line in row["probes"])}) for row in _rows(path, "pieces")
            ),
            tuple(Probe(*pair, **row) for *pair, row in zip(*sides, _rows(path, "probes"), strict=True)),
            tuple(tuple(Place(line - 1, *words) for line, *words in row) for row in _rows(path, "rows")),
        )

    @property
    def side(self) -> str:
        """The side that pieces are of: ``source`` or ``target``."""
        return str(self.manifest["side"])

    @property
    def k(self) -> int:
        """The number of probes asked for per piece."""
        return int(self.manifest["k"])

    @property
    def match(self) -> str:
        """How an output shows that a piece is known. ``words``: it has the piece's words in a row; ``exact``: it is the
        reference of the probe; ``compound``: it translates the compound of the probe."""
        return str(self.manifest["match"])

    @property
    def frequencies(self) -> np.ndarray:
        """How frequent each piece is, int64 ``[pieces]``: its occurrences in training; without training text, the pairs
        of the corpora that contain it."""
        known = all(piece.count is not None for piece in self.pieces)
        return np.array([piece.count if known else piece.found for piece in self.pieces], np.int64)


def write_parts(
    out: Path,
    pieces: Sequence[Piece],
    probes: Sequence[Probe],
    rows: Sequence[Sequence[Place]],
    manifest: dict[str, Any],
) -> PartsFolder:
    """Write a folder, completely or not at all; an earlier one of ``cgbench parts`` is replaced.

    :param manifest: ``side``, ``match``, ``k``, ``pieces``, ``settings``, ``inputs`` and what else describes the run.
    """
    check_output_folder(out)
    lacking = [piece.reason for piece in pieces if piece.reason]
    manifest = {"kind": KIND, "format": FORMAT, **manifest}
    manifest["counts"] = {
        "rows": len(rows),
        "pieces": len(pieces),
        "probed": sum(bool(piece.probes) for piece in pieces),
        "full": sum(len(piece.probes) >= manifest["k"] for piece in pieces),
        "rows_probed": sum(bool(row) and all(pieces[place.piece].probes for place in row) for row in rows),
        "probes": len(probes),
    }
    manifest["reasons"] = {name: lacking.count(name) for name in REASONS if name in lacking}
    with replacing(out) as folder:
        for side in SIDES:
            write_lines(folder / f"probes.{side}", (getattr(probe, side) for probe in probes))
        fields = (asdict(probe) for probe in probes)
        tables: dict[str, Iterator[Any]] = {
            "probes": ({name: row[name] for name in row if name not in SIDES} for row in fields),
            "pieces": (asdict(one) | {"probes": [number + 1 for number in one.probes]} for one in pieces),
            "rows": ([[number + 1, *words] for number, *words in row] for row in rows),
        }
        for name, table in tables.items():
            write_rows(folder / f"{name}.jsonl", table)
        manifest["files"] = digests_of(folder, sorted(path.name for path in folder.iterdir()))
        manifest["digest"] = digest(manifest)
        write_json(folder / MANIFEST, manifest)
    return PartsFolder(out, manifest, tuple(pieces), tuple(probes), tuple(map(tuple, rows)))


def check_output_folder(out: Path) -> None:
    """Check that a folder is new, empty, or of an earlier ``cgbench parts``.

    :raises InputError: it holds something else.
    """
    if out.exists() and not out.is_dir():
        raise InputError(f"{out}: a file, where the output folder should be")
    if out.is_dir() and any(out.iterdir()):
        written = read_json(out / MANIFEST) if (out / MANIFEST).is_file() else None
        if not isinstance(written, dict) or written.get("kind") != KIND:
            raise InputError(f"{out}: the folder holds something else already; give a new one with {argument('out')}")


def _rows(folder: Path, name: str) -> Iterator[Any]:
    """The rows of a table, as written: the checksums were checked."""
    return map(json.loads, read_lines(folder / f"{name}.jsonl"))

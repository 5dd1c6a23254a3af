"""The folder of ``cgbench parts``: the pieces of a test set, and the probes that show whether a system knows them.

A *piece* is a part that a test row is composed of: a known n-gram of its cover, a word, an atom of its form, or a
shorter compound. A *probe* is a pair in which pieces stand in known surroundings. One probe may serve many pieces.

============== ========================================================================================================
file           content
============== ========================================================================================================
probes.source  one probe per line: what a system translates
probes.target  its reference
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

from cgbench.benchmark.release.export.pairs import write_lines, write_rows
from cgbench.benchmark.release.manifest import MANIFEST, digest
from cgbench.benchmark.release.writer import replacing
from cgbench.checksums import check_digests, digests_of
from cgbench.errors import InputError, argument
from cgbench.files import ordinary_file, read_json, write_json
from cgbench.requests import check_path
from cgbench.text.formats import Pair
from cgbench.text.streams import read_lines

FORMAT, KIND = 1, "parts"
SIDES = ("source", "target")
REASONS = {
    "unknown": "not known from the training text",
    "absent": "in no pair that may be a probe",
    "few": "in fewer pairs than k",
}
"""Why a piece has fewer than k probes; with ``few`` it has some."""
_REMEDY = "run cgbench parts again"


class Place(NamedTuple):
    """Where a piece stands in a test row: its first word and the word after its last, from 0, on the side of the
    pieces; -1 if it has no place. ``piece`` counts from 0."""

    piece: int
    start: int = -1
    end: int = -1


@dataclass(frozen=True)
class Piece:
    """A distinct piece. ``count``: occurrences in training (of a shorter compound: its test rows); ``probes``: from 0;
    ``reason``: one of :data:`REASONS`, empty if it has k probes."""

    text: str
    count: int
    probes: tuple[int, ...] = ()
    reason: str = ""


@dataclass(frozen=True, repr=False)
class PartsFolder:
    """The result of ``cgbench parts``: ``probes`` are pairs of source and target; ``rows[i]`` has the places of pieces
    in test row i, with indices of ``pieces``. ``manifest`` is that of the folder."""

    folder: Path
    manifest: dict[str, Any]
    pieces: tuple[Piece, ...]
    probes: tuple[Pair, ...]
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
        pieces = (Piece(**row | {"probes": tuple(line - 1 for line in row["probes"])}) for row in _rows(path, "pieces"))
        sides = (read_lines(path / f"probes.{side}") for side in SIDES)
        rows = (tuple(Place(line - 1, *words) for line, *words in row) for row in _rows(path, "rows"))
        return cls(path, manifest, tuple(pieces), tuple(zip(*sides, strict=True)), tuple(rows))

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
        reference of the probe; ``compound``: it translates the piece, a compound."""
        return str(self.manifest["match"])


def write_parts(
    out: Path,
    pieces: Sequence[Piece],
    probes: Sequence[Pair],
    rows: Sequence[Sequence[Place]],
    manifest: dict[str, Any],
) -> PartsFolder:
    """Write a folder, completely or not at all; an earlier one of ``cgbench parts`` is replaced.

    :param manifest: ``side``, ``match``, ``k``, ``pieces``, ``settings``, ``inputs`` and what else describes the run.
    """
    check_output_folder(out)
    lacking = [piece.reason for piece in pieces if piece.reason]
    counts = {
        "rows": len(rows),
        "pieces": len(pieces),
        "probed": sum(bool(piece.probes) for piece in pieces),
        "full": sum(len(piece.probes) >= manifest["k"] for piece in pieces),
        "rows_probed": sum(bool(row) and all(pieces[place.piece].probes for place in row) for row in rows),
        "probes": len(probes),
    }
    reasons = {name: lacking.count(name) for name in REASONS if name in lacking}
    manifest = {"kind": KIND, "format": FORMAT, **manifest, "counts": counts, "reasons": reasons}
    with replacing(out) as folder:
        for at, side in enumerate(SIDES):
            write_lines(folder / f"probes.{side}", (probe[at] for probe in probes))
        listed = (asdict(one) | {"probes": [number + 1 for number in one.probes]} for one in pieces)
        write_rows(folder / "pieces.jsonl", listed)
        write_rows(folder / "rows.jsonl", ([[number + 1, *words] for number, *words in row] for row in rows))
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

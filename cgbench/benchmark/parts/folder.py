"""The folder of ``cgbench parts``: the pieces of a test set, and the probes that show whether a system knows them.

A *piece* is a part that a test row is composed of: a known n-gram of its cover, a word, an atom of its form, or a
shorter compound. A *probe* is a pair in which pieces stand in known surroundings. One probe may serve many pieces.

================ ======================================================================================================
file             content
================ ======================================================================================================
probes.source    one probe per line: what a system translates
probes.target    its reference
probes.compound  its compound; only if the pieces are compounds
probes.jsonl     per probe: ``probe`` (its line, from 1), ``corpus`` and ``line`` (where it was found, from 1;
                 corpus 0 is the test set),
                 ``degree``, ``pieces`` (the numbers of those that it serves)
pieces.jsonl     per distinct piece: ``piece`` (its number, from 1), ``text``, ``words``, ``count`` (occurrences in
                 training; null if there is no training text), ``found`` (pairs of the corpora that contain it),
                 ``rows`` (test rows that it is part of), ``neighbours`` (how many of its neighbours, 2 to 0, are known
                 with it in each of its probes; null if it is no n-gram), ``probes`` (lines), ``reason`` (why it has
                 fewer than k probes; empty if it has k)
rows.jsonl       per row of the test set: ``row`` (from 1), ``pieces``: the number of each piece of it with the words
                 that it begins and ends at, ``[piece, start, end]``, from 0, the end exclusive; null if it has no place
manifest.json    ``side`` (of the pieces), ``k``, ``pieces`` (their kind), ``match`` (how an output shows that a piece
                 is known), all settings, inputs and files with checksums, counts, the reasons, a digest
================ ======================================================================================================

Files count from 1, Python from 0. Text is normalised like that of the release.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cgbench.benchmark.release.manifest import MANIFEST, digest
from cgbench.benchmark.release.writer import replacing
from cgbench.checksums import check_digests, digests_of
from cgbench.errors import InputError, argument
from cgbench.files import check_shape, file_name, ordinary_file, parse_json, read_json, write_atomic, write_json
from cgbench.requests import check_path
from cgbench.text.plain_text import words_of
from cgbench.text.streams import read_lines

FORMAT, KIND = 1, "parts"
SIDES = ("source", "target")
MATCHES = ("words", "exact", "compound")
"""How an output shows that a piece is known: it has the piece's words in a row; it is the reference of the probe; it
translates the compound of the probe."""

REASONS = {
    "unknown": "not known from the training text",
    "absent": "in no pair of the corpora",
    "held back": "only in pairs of the test set, the control set or the excluded text",
    "limits": "only in pairs that are too long or of too high a degree",
    "neighbours": "only next to words that are not known with it",
    "few": "in fewer pairs than asked for",
}
"""Why a piece has fewer than k probes: the last condition that pairs failed. With ``few`` it may have some."""

STAGES = tuple(REASONS)[1:]
"""The reasons in the order of the conditions: how many a piece's best pair has met."""

_REMEDY = "run cgbench parts again"
_COUNT = (int, None)
_SHAPE = {
    "kind": lambda value: value == KIND,
    "format": int,
    "digest": str,
    "side": lambda value: value in SIDES,
    "match": lambda value: value in MATCHES,
    "pieces": str,
    "k": int,
    "settings": dict,
    "inputs": dict,
    "counts": {str: int},
    "reasons": {str: int},
    "files": {file_name: str},
}
_PIECE = {
    "text": str, "words": int, "count": _COUNT, "found": int, "rows": int, "neighbours": _COUNT, "probes": [int],
    "reason": str,
}  # fmt: skip
_PROBE = {"corpus": int, "line": int, "degree": (float, None), "pieces": [int]}


class Place(NamedTuple):
    """Where a piece stands in a test row: its first word and the word after its last, on the side of the pieces; -1
    if it has no place. ``piece`` counts from 0."""

    piece: int
    start: int
    end: int


@dataclass(frozen=True)
class Piece:
    """A distinct piece. ``count``: occurrences in training, if known; ``found``: pairs of the corpora that contain it;
    ``rows``: test rows that it is part of; ``neighbours``: how many neighbours are known with it in each of its probes;
    ``probes``: from 0; ``reason``: one of :data:`REASONS`, or empty."""

    text: str
    words: int
    count: int | None
    found: int
    rows: int
    neighbours: int | None = None
    probes: tuple[int, ...] = ()
    reason: str = ""


@dataclass(frozen=True)
class Probe:
    """A probe, and the ``pieces`` that it serves, from 0. ``corpus`` and ``line`` count from 1; corpus 0 is the test
    set. ``degree``: None if pieces are not n-grams."""

    source: str
    target: str
    corpus: int
    line: int
    degree: float | None = None
    pieces: tuple[int, ...] = ()
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
        check_shape(manifest, _SHAPE, path / MANIFEST, _REMEDY)
        if manifest["digest"] != digest(manifest):
            raise InputError(f"{path / MANIFEST}: was changed: its digest differs; {_REMEDY}")
        check_digests(path, manifest["files"], _REMEDY)
        pieces = tuple(
            Piece(**{**_only(row, _PIECE), "probes": tuple(one - 1 for one in row["probes"])})
            for row in _read(path / "pieces.jsonl", _PIECE)
        )
        texts = [list(read_lines(path / f"probes.{side}")) for side in SIDES]
        compounds = path / "probes.compound"
        texts.append(list(read_lines(compounds)) if compounds.name in manifest["files"] else [""] * len(texts[0]))
        facts = list(_read(path / "probes.jsonl", _PROBE))
        if any(len(side) != len(facts) for side in texts):
            raise InputError(f"{path}: the files of the probes differ in length; {_REMEDY}")
        probes = tuple(
            Probe(
                source, target, compound=compound,
                **{**_only(row, _PROBE), "pieces": tuple(one - 1 for one in row["pieces"])},
            )
            for source, target, compound, row in zip(*texts, facts, strict=True)
        )  # fmt: skip
        rows = tuple(
            tuple(
                Place(number - 1, *((-1, -1) if start is None else (start, end)))
                for number, start, end in row["pieces"]
            )
            for row in _read(path / "rows.jsonl", {"pieces": [_is_place]})
        )
        inside = all(0 <= one < len(probes) for piece in pieces for one in piece.probes)
        inside = inside and all(0 <= place.piece < len(pieces) for row in rows for place in row)
        if not inside or not all(0 <= one < len(pieces) for probe in probes for one in probe.pieces):
            raise InputError(f"{path}: names a piece or a probe that it does not have; {_REMEDY}")
        return cls(path, manifest, pieces, probes, rows)

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
        """How an output shows that a piece is known, one of :data:`MATCHES`."""
        return str(self.manifest["match"])

    @property
    def probed(self) -> np.ndarray:
        """Whether each piece has a probe, bool ``[pieces]``."""
        return np.array([bool(piece.probes) for piece in self.pieces], bool)

    def lengths(self, side: str = "source") -> np.ndarray:
        """The words of each probe on a side, int64 ``[probes]``."""
        return np.array([len(words_of(getattr(probe, side))) for probe in self.probes], np.int64)

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
        for side in (*SIDES, *(["compound"] if manifest["match"] == "compound" else [])):
            write_atomic(folder / f"probes.{side}", "".join(f"{getattr(probe, side)}\n" for probe in probes))
        tables: dict[str, Iterator[dict[str, Any]]] = {
            "probes": (_row("probe", n, one, _PROBE, "pieces") for n, one in enumerate(probes, 1)),
            "pieces": (_row("piece", n, one, _PIECE, "probes") for n, one in enumerate(pieces, 1)),
            "rows": ({"row": n, "pieces": list(map(_place, row))} for n, row in enumerate(rows, 1)),
        }
        for name, table in tables.items():
            lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in table)
            write_atomic(folder / f"{name}.jsonl", "".join(lines))
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


def _place(place: Place) -> list[int | None]:
    number, *words = place
    return [number + 1, *(words if words[0] >= 0 else (None, None))]


def _is_place(value: Any) -> bool:
    if not isinstance(value, list) or len(value) != 3:
        return False
    whole = [type(one) is int and one >= 0 for one in value]
    return all(whole) or (whole[0] and value[1] is value[2] is None)


def _row(name: str, number: int, one: Any, shape: dict[str, Any], numbers: str) -> dict[str, Any]:
    """A row of a table; its numbers of other rows are counted from 1."""
    found = {name: number, **{key: getattr(one, key) for key in shape}}
    return found | {numbers: [other + 1 for other in getattr(one, numbers)]}


def _only(row: dict[str, Any], shape: dict[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in shape}


def _read(path: Path, shape: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(read_lines(path), 1):
        row = parse_json(line, f"{path}, row {number}")
        check_shape(row, shape, f"{path}, row {number}", _REMEDY)
        yield row

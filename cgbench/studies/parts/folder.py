"""The folder of ``cgbench parts``: the pieces of a test set, and the probes that show whether a
system knows them.

A *piece* is a part that a test row is composed of: a known n-gram of its cover, a word, an atom of
its form, or a shorter compound. A *probe* is a pair that contains pieces in a known context. One
probe may serve many pieces.

============== =====================================================================================
file           content
============== =====================================================================================
probes.source  one probe per line, as its file has it: what a system translates
probes.target  its reference
probes.norm.*  (if text was normalised) both in the normalised form that pieces are found in
pieces.jsonl   each distinct :class:`Piece`; ``probes`` are lines of ``probes.source``, from 1
rows.jsonl     the pieces of each test row: ``[piece, start, end]``, the line of the piece in
               ``pieces.jsonl`` (from 1) and its place as in :class:`Place`
control.jsonl  (of a release with a control set) the same of the rows of the control set
train.*        (if pairs were held back) source and target of the training corpus without them
manifest.json  ``side`` (of the pieces), ``k``, ``pieces`` (their type), ``match`` (how an output
               shows that a piece is known), all settings, inputs and files with checksums, ``test``
               (:func:`text_digest` of both sides of the test set), counts, the reasons, a digest
============== =====================================================================================

Pieces are in the normalised form of the release.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from cgbench.benchmark.release.export.pairs import write_lines, write_rows
from cgbench.benchmark.release.manifest import MANIFEST, digest
from cgbench.checksums import check_digests, digests_of
from cgbench.errors import InputError
from cgbench.files import check_shape, ordinary_file, parse_json, read_json, write_json
from cgbench.locks import replacing
from cgbench.request import check_path
from cgbench.steps import check_folder, hash_value
from cgbench.text.formats import Pair
from cgbench.text.identities import bare
from cgbench.text.normalisation import SIDES, Normalisation
from cgbench.text.streams import read_lines

FORMAT, KIND = 4, "parts"
REASONS = {
    "unknown": "not known from the training text",
    "absent": "in no pair that may be a probe",
    "few": "in fewer pairs than k",
}
"""Why a piece has fewer than k probes; with ``few`` it has some."""
COUNTS = ("rows", "pieces", "probed", "full", "rows_probed", "probes", "trained")
_REMEDY = "run cgbench parts again"
_FILES = ("probes.source", "probes.target", "pieces.jsonl", "rows.jsonl")
_CONTROL = "control.jsonl"
_NORMALISED = ("probes.norm.source", "probes.norm.target")
_SHAPE = {
    "side": lambda value: value in SIDES,
    "match": lambda value: value in ("words", "outputs", "exact", "compound"),
    "pieces": str,
    "k": int,
    "settings": {"normalisation": {"tokenize": str, "lowercase": bool, "languages": (None, [str])}},
    "files": dict.fromkeys(_FILES, str),
    "test": {str: str},
    "counts": dict.fromkeys(COUNTS, int),
    "reasons": {str: int},
}
_PIECE = {
    "text": str,
    "count": int,
    "probes": [int],
    "reason": lambda value: value in ("", *REASONS),
}


class Place(NamedTuple):
    """Where a piece stands in a test row: its first word and the word after its last, from 0, on
    the side of the pieces; -1 if it has no place. ``piece`` counts from 0."""

    piece: int
    start: int = -1
    end: int = -1


@dataclass(frozen=True)
class Piece:
    """A distinct piece. ``count``: occurrences in training (of a shorter compound: its test rows);
    ``probes``: from 0; ``reason``: one of :data:`REASONS`, empty if it has k probes."""

    text: str
    count: int
    probes: tuple[int, ...] = ()
    reason: str = ""


@dataclass(frozen=True, repr=False)
class PartsFolder:
    """The result of ``cgbench parts``: ``probes`` are pairs of source and target, ``normalised``
    the same in normalised form; ``rows[i]`` has the places of pieces in test row i, with indices of
    ``pieces``; ``control`` those in the rows of the control set. ``manifest`` is that of the
    folder."""

    folder: Path
    manifest: dict[str, Any]
    pieces: tuple[Piece, ...]
    probes: tuple[Pair, ...]
    rows: tuple[tuple[Place, ...], ...]
    normalised: tuple[Pair, ...]
    control: tuple[tuple[Place, ...], ...] = ()

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
            raise InputError(
                f"{path}: format {manifest.get('format')!r}, but this version reads {FORMAT};"
                f" {_REMEDY}"
            )
        if manifest.get("digest") != digest(manifest):
            raise InputError(f"{path / MANIFEST}: was changed: its digest differs; {_REMEDY}")
        check_shape(manifest, _SHAPE, path / MANIFEST, _REMEDY)
        names = [*_FILES, *(name for name in (*_NORMALISED, _CONTROL) if name in manifest["files"])]
        check_digests(path, {name: manifest["files"][name] for name in names}, _REMEDY)
        probes = _read_probe_files(path, _FILES[:2])
        normalised = _read_probe_files(path, _NORMALISED) if _NORMALISED[0] in names else probes
        if len(normalised) != len(probes):
            raise InputError(
                f"{path}: {len(probes):,} probes, but {len(normalised):,} normalised ones;"
                f" {_REMEDY}"
            )
        pieces = _read_pieces(path / "pieces.jsonl", len(probes))
        rows = _read_rows(path / "rows.jsonl", len(pieces))
        control = _read_rows(path / _CONTROL, len(pieces)) if _CONTROL in names else []
        return cls(path, manifest, tuple(pieces), probes, tuple(rows), normalised, tuple(control))

    @property
    def side(self) -> str:
        """The side that pieces are of: ``source`` or ``target``."""
        return str(self.manifest["side"])

    @property
    def k(self) -> int:
        """The number of probes asked for per piece."""
        return int(self.manifest["k"])

    @property
    def normalisation(self) -> Normalisation:
        """The normalisation of the pieces; languages are ``source`` and ``target`` where they make
        no difference.
        """
        settings = self.manifest["settings"]["normalisation"]
        languages = tuple(settings["languages"] or SIDES)
        options = settings.get("detokenize", False), settings.get("anonymise", "none")
        return Normalisation(settings["tokenize"], settings["lowercase"], languages, *options)

    def is_test(self, side: str, lines: Sequence[str]) -> bool:
        """Whether a text may be this side of the test set that the folder was made for."""
        return self.manifest["test"].get(side) in (None, text_digest(lines))

    @property
    def match(self) -> str:
        """How an output shows that a piece is known. ``words``: it has the piece's words in a row;
        ``outputs``: it has what the outputs for other probes have for the piece; ``exact``: it is
        the reference of the probe; ``compound``: it translates the piece, a compound."""
        return str(self.manifest["match"])

    @property
    def untested(self) -> int:
        """The number of test rows with a piece that has no probe, or without pieces."""
        return sum(
            not row or any(not self.pieces[position.piece].probes for position in row)
            for row in self.rows
        )

    def words_of_rows(self, rows: Sequence[Sequence[Place]]) -> list[list[str]]:
        """The words of test or control rows on the side of the pieces, which are n-grams that cover
        them.
        """
        return [
            [word for position in row for word in self.pieces[position.piece].text.split(" ")]
            for row in rows
        ]


def write_parts(
    out: Path,
    pieces: Sequence[Piece],
    probes: Sequence[Pair],
    rows: Sequence[Sequence[Place]],
    manifest: dict[str, Any],
    normalised: Sequence[Pair] | None = None,
    control: Sequence[Sequence[Place]] = (),
    trained: int = 0,
    remaining: Sequence[Path] = (),
) -> PartsFolder:
    """Write a folder, completely or not at all; an earlier one of ``cgbench parts`` is replaced.

    :param normalised: the probes in normalised form, if text was normalised.
    :param control: the pieces of the control set; ``trained``: the number of probes in the training
        corpus; ``remaining``: the files of that corpus without the pairs held back, to be copied.
    :param manifest: ``side``, ``match``, ``k``, ``pieces``, ``settings``, ``inputs`` and what else
        describes the run.
    """
    lacking = [piece.reason for piece in pieces if piece.reason]
    counts = {
        "rows": len(rows),
        "pieces": len(pieces),
        "probed": sum(bool(piece.probes) for piece in pieces),
        "full": sum(len(piece.probes) >= manifest["k"] for piece in pieces),
        "rows_probed": sum(
            bool(row) and all(pieces[position.piece].probes for position in row) for row in rows
        ),
        "probes": len(probes),
        "trained": trained,
    }
    reasons = {name: lacking.count(name) for name in REASONS if name in lacking}
    manifest = {"kind": KIND, "format": FORMAT, **manifest, "counts": counts, "reasons": reasons}
    with replacing(out) as folder:
        check_output_folder(out)
        texts = [(probes, _FILES), *([] if normalised is None else [(normalised, _NORMALISED)])]
        for pairs, names in texts:
            for at in (0, 1):
                write_lines(folder / names[at], (pair[at] for pair in pairs))
        listed = (asdict(one) | {"probes": [number + 1 for number in one.probes]} for one in pieces)
        write_rows(folder / "pieces.jsonl", listed)
        for name, places in (("rows.jsonl", rows), *([(_CONTROL, control)] if control else [])):
            write_rows(
                folder / name, ([[number + 1, *words] for number, *words in row] for row in places)
            )
        for file in remaining:
            shutil.copyfile(file, folder / file.name)
        manifest["files"] = digests_of(folder, sorted(path.name for path in folder.iterdir()))
        manifest["digest"] = digest(manifest)
        write_json(folder / MANIFEST, manifest)
    return replace(
        PartsFolder.open(out), manifest=manifest
    )  # in the order of the output, not of the file


def check_output_folder(out: Path) -> None:
    """Check that a folder is new, empty, or of an earlier ``cgbench parts``.

    :raises InputError: it holds something else.
    """

    def is_earlier(folder: Path) -> bool:
        manifest = read_json(folder / MANIFEST) if (folder / MANIFEST).is_file() else None
        return isinstance(manifest, dict) and manifest.get("kind") == KIND

    check_folder(out, is_earlier=is_earlier)


def text_digest(lines: Sequence[str]) -> str:
    """A checksum of the letters and digits of a text, which tokenisation, case and escaped marks do
    not change.
    """
    return hash_value(list(map(bare, lines)))


def _read_probe_files(path: Path, names: Sequence[str]) -> tuple[Pair, ...]:
    sources, targets = (list(read_lines(path / name)) for name in names)
    if len(sources) != len(targets):
        raise InputError(
            f"{path}: {len(sources):,} sources of probes, but {len(targets):,} targets; {_REMEDY}"
        )
    return tuple(zip(sources, targets, strict=True))


def _read_pieces(path: Path, probe_count: int) -> list[Piece]:
    pieces = []
    for where, row in _rows(path):
        check_shape(row, _PIECE, where, _REMEDY)
        probes = tuple(line - 1 for line in row["probes"])
        if (
            set(row) != set(_PIECE)
            or row["count"] < 0
            or not all(0 <= probe < probe_count for probe in probes)
        ):
            raise InputError(f"{where}: not a piece; {_REMEDY}")
        pieces.append(Piece(row["text"], row["count"], probes, row["reason"]))
    if len({probe for piece in pieces for probe in piece.probes}) != probe_count:
        raise InputError(f"{path}: a probe belongs to no piece; {_REMEDY}")
    return pieces


def _read_rows(path: Path, piece_count: int) -> list[tuple[Place, ...]]:
    rows = []
    for where, row in _rows(path):
        check_shape(row, [[int]], where, _REMEDY)
        positions = tuple(
            Place(position[0] - 1, *position[1:]) for position in row if len(position) == 3
        )
        valid = all(
            0 <= position.piece < piece_count
            and (0 <= position.start < position.end or position.start == position.end == -1)
            for position in positions
        )
        if not valid or len(positions) != len(row):
            raise InputError(f"{where}: not the pieces of a test row; {_REMEDY}")
        rows.append(positions)
    return rows


def _rows(path: Path) -> Iterator[tuple[str, Any]]:
    """The rows of a table, each with its position for messages."""
    for line_number, line in enumerate(read_lines(path), 1):
        where = f"{path}, row {line_number}"
        yield where, parse_json(line, where)

"""A finished benchmark folder, opened: the one reader of releases."""

from __future__ import annotations

import html
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cgbench.benchmark.release.manifest import (
    CONTROL,
    FORMAT,
    FORMATS,
    MANIFEST,
    SETS_FILE,
    SETS_HEAD,
    SHAPE,
    SPLIT,
    candidates_file,
    control_text,
    is_inside,
    is_split,
    stem_of,
    table_file,
    train_text,
)
from cgbench.benchmark.release.tables import TRANSLATION, sides_of
from cgbench.benchmark.release.work_folder import default_work, find_input, read_written, work_roots
from cgbench.errors import InputError, argument, require
from cgbench.files import check_shape, file_name, ordinary_file, ordinary_folder, parse_json, read_json
from cgbench.models.checkpoints import BESIDE
from cgbench.requests import check_path
from cgbench.steps import KEY_LENGTH, hash_file
from cgbench.text.formats import is_language
from cgbench.text.normalisation import Normalisation
from cgbench.text.parquet import read_table
from cgbench.text.streams import read_lines

if TYPE_CHECKING:
    from pandas import DataFrame

    from cgbench.benchmark.candidates.correlations import Correlation
    from cgbench.benchmark.known_ngrams.known import KnownNgrams

SIDES = ("source", "target")
_SHAPE_OF_SPLIT = {
    "format": lambda value: value == FORMAT,
    "version": str,
    "signature": str,
    "digest": str,
    "configuration": {"degree_side": lambda value: value in SIDES, "ngram_min_count": int},
    "counts": {"pool": int, "train": int, "selected": int, "neither": int},
    "files": {file_name: str},
    "until": lambda value: value == "release",
}
LARGEST = 64 << 20  # bytes of a manifest: many times what the longest list of inputs takes


@dataclass(frozen=True, repr=False)
class Release:
    """A release that ``build-react`` made, or the candidates of a build that stopped early (``until``); or a
    split (``is_split``).

    Files of a release may come from anybody: names in its manifest are followed only to ordinary files in the folder
    itself, never along a link. ``Release.open(folder).test`` is the test set as a pandas DataFrame.
    """

    folder: Path
    manifest: dict[str, Any]
    work: Path | None = None

    @classmethod
    def open(cls, folder: str | os.PathLike[str], work: str | os.PathLike[str] | None = None) -> Release:
        """Read the manifest of the release in ``folder``; its other files are read when they are asked for.

        :param work: where it was built, if that is not ``folder.work``; it may be gone.
        :raises InputError: this is no release, or one of a later version of cgbench.
        """
        check_path(folder=folder)
        path = Path(folder)
        beside = Path(work) if work is not None else None
        working = any(root.is_dir() for root in work_roots(path, beside))
        if not os.path.lexists(path / MANIFEST) and working:
            raise InputError(f"{path / MANIFEST}: no such file; this build is not finished: give its command again")
        manifest = read_json(release_file(path, MANIFEST, largest=LARGEST))
        if isinstance(manifest, dict) and is_split(manifest):
            check_shape(manifest, _SHAPE_OF_SPLIT, path / MANIFEST, "make the split again")
        if not isinstance(manifest, dict) or not all(
            isinstance(manifest.get(key), kind) for key, kind in SHAPE.items()
        ):
            raise InputError(f"{path}: {MANIFEST} is not that of a cgbench release")
        if manifest.get("format") not in FORMATS:
            raise InputError(f"{path}: release format {manifest.get('format')} is not known to this version of cgbench")
        languages = manifest["languages"]
        if len(languages) != 2 or languages[0] == languages[1] or not all(map(is_language, languages)):
            raise InputError(f"{path / MANIFEST}: it names no two languages that files can be named by")
        return cls(path, manifest, beside)

    @classmethod
    def of(cls, release: Release | str | os.PathLike[str], work: str | os.PathLike[str] | None = None) -> Release:
        """A release that is open already, or the one in a folder (:meth:`open`)."""
        return release if isinstance(release, Release) else cls.open(release, work)

    @property
    def until(self) -> str:
        """``release``, or where the build stopped: ``candidates`` or ``uncertainty``."""
        return str(self.manifest["until"])

    @property
    def is_split(self) -> bool:
        """Whether ``cgbench split`` wrote it: it has a training set, and neither candidates nor a control set."""
        return is_split(self.manifest)

    @property
    def finished(self) -> bool:
        """Whether there is a test set."""
        return self.until == "release"

    @property
    def signature(self) -> str:
        """The short name of exactly this benchmark."""
        return str(self.manifest.get("signature", ""))

    @property
    def languages(self) -> tuple[str, str]:
        """The source's and the target's."""
        source, target = self.manifest["languages"]
        return source, target

    @property
    def configuration(self) -> dict[str, Any]:
        """Every setting of the build."""
        return dict(self.manifest["configuration"])

    @property
    def normalisation(self) -> Normalisation:
        """What the build did to all text."""
        config = self.configuration
        names = config["tokenize"], config["lowercase"], self.languages
        return Normalisation(*names, config.get("detokenize", False), config.get("anonymise", "none"))

    @property
    def ensemble(self) -> Path:
        """The folder of the members that chose the pairs: the one that was given, or where the build published them.

        It is no part of the release and may be gone.
        """
        root, written = self._workspace()
        if given := self.manifest["inputs"].get("ensemble"):
            return find_input(str(given["path"]), written)
        if root is None:
            beside = (self.work or default_work(self.folder)) / BESIDE
            return beside if os.path.lexists(beside) else self.folder / BESIDE
        return root.parent / BESIDE

    def input_path(self, shown: str) -> Path:
        """Where an input is that the manifest names, as far as the workspace knows it."""
        return find_input(shown, self._workspace()[1])

    def outside_members(self) -> list[str]:
        """The names by which the models from outside were found where it was built; none if that is not known."""
        found = self._workspace()[1].get("members")
        return [str(name) for name in found] if isinstance(found, list) else []

    def _workspace(self) -> tuple[Path | None, dict[str, Any]]:
        """The workspace that made this very release, and what it says of it; None and nothing, if it is not here."""
        for root in work_roots(self.folder, self.work):
            written = read_written(root)
            if written and written.get("signature") == self.signature:
                return root, written
        return None, {}

    @property
    def has_text(self) -> bool:
        """Whether the text is in it; a release may hold indices and figures alone (``release_text=none``)."""
        return self.manifest.get("text") != "none"

    def path(self, name: str) -> Path:
        """Where the file ``name`` is.

        :raises InputError: it is not there, or no ordinary file of this folder.
        """
        return release_file(self.folder, name)

    def text_path(self, side: str) -> Path:
        """The file of one side (``source`` or ``target``) of the test set; of the candidates, where there is none.

        :raises InputError: it is missing, or the release was written without text.
        """
        self._check_has_text()
        return self.path(f"{stem_of(self.until)}.{self.languages[SIDES.index(side)]}")

    def lines(self, side: str) -> list[str]:
        """The sentences of that file."""
        return _lines(self.text_path(side))

    def train_path(self, side: str) -> Path:
        """The file of one side (``source`` or ``target``) of the training set of a split.

        :raises InputError: it is missing, or this is no split, whose training text is not in the release.
        """
        if not self.is_split:
            raise InputError(f"{self.folder}: the training text of this release is not in it; only a split has one")
        return self.path(train_text(self.languages[SIDES.index(side)]))

    def train_lines(self, side: str) -> list[str]:
        """The sentences of that file."""
        return _lines(self.train_path(side))

    def sets(self) -> list[int]:
        """The set of every pair of the corpus of a split: 0 training, 1 test set, -1 neither.

        :raises InputError: ``split.tsv`` is missing, or has a row that does not belong.
        """
        names = {"train": 0, "test": 1, "neither": -1}
        found = []
        path = self.path(SETS_FILE)
        for number, line in enumerate(read_lines(path)):
            pair, _, name = line.partition("\t")
            if not number and line == SETS_HEAD:
                continue
            if not number or pair != str(number) or name not in names:
                raise InputError(f"{path}, row {number + 1}: not a row of a split")
            found.append(names[name])
        return found

    def split(self) -> list[dict[str, Any]]:
        """The rows of ``split.jsonl``: where each pair of the test set is from, and every figure of it.

        :raises InputError: there is no test set, or a row is none.
        """
        self.check_finished()
        return _rows(self.path(SPLIT))

    @property
    def has_control(self) -> bool:
        """Whether there is a control set."""
        return self.finished and CONTROL in self.manifest["files"]

    def control_path(self, side: str) -> Path:
        """The file of one side (``source`` or ``target``) of the control set.

        :raises InputError: there is none.
        """
        self.check_finished()
        if self.is_split:
            raise InputError(f"{self.folder}: a split has no control set")
        if not self.has_control:
            raise InputError(
                f"{self.folder}: this release has no control set; give its command again with "
                f"{argument('control')} (finished steps are kept)"
            )
        self._check_has_text()
        return self.path(control_text(self.languages[SIDES.index(side)]))

    def control_lines(self, side: str) -> list[str]:
        """The sentences of that file."""
        return _lines(self.control_path(side))

    def control_rows(self) -> list[dict[str, Any]]:
        """The rows of ``control.jsonl``: where each pair of the control set is from, its lengths and its degree.

        :raises InputError: there is no control set, or a row is none.
        """
        if self.has_text:
            self.control_path("source")
        return _rows(self.path(CONTROL))

    def table(self, name: str = "candidates", *, text: bool = False) -> Any:
        """A table of the release (a pyarrow table): a row a candidate, or a pair of ``test``.

        :param text: with the column ``translation``, where the table has it.
        :raises InputError: it is missing or damaged, or holds other than numbers and text.
        """
        if name == "candidates" and self.is_split:
            raise InputError(f"{self.folder}: a split has no candidates; its tables are train and test")
        file = candidates_file(self.manifest) if name == "candidates" else table_file(name)
        path = self.path(file)
        # Before PyArrow sees it, which a flipped bit may end, and the process with it.
        listed = self.manifest.get("files", {}).get(file)  # none while it is written
        if listed is not None and path.is_file() and hash_file(path) != listed:
            raise InputError(f"{path}: was changed: not the file that {MANIFEST} lists; cgbench verify says more")
        return read_table(path, TRANSLATION, leave_out=not text)

    def correlations(self) -> list[Correlation]:
        """How the candidates' figures go together (:mod:`cgbench.benchmark.candidates.correlations`), from their table.

        :raises InputError: the table is missing or damaged.
        """
        from cgbench.benchmark.candidates.correlations import correlations_of

        return correlations_of(self.table(), self.configuration.get("uncertainty"))

    @property
    def test(self) -> DataFrame:
        """The test set as a pandas DataFrame: ``source``, ``target``, and the columns of ``split.jsonl``.

        :raises InputError: there is none (the build stopped early), or the files do not belong together.
        """
        return self._frame(self.split(), self.lines)

    @property
    def control(self) -> DataFrame:
        """The control set as a pandas DataFrame: ``source``, ``target``, and the columns of ``control.jsonl``.

        :raises InputError: there is none, or the files do not belong together.
        """
        return self._frame(self.control_rows(), self.control_lines)

    def _frame(self, rows: list[dict[str, Any]], read: Callable[[str], list[str]]) -> DataFrame:
        pandas = require("pandas", "analysis")
        sides = SIDES if self.has_text else ()
        frame = pandas.DataFrame({side: _of_length(read(side), len(rows), self) for side in sides})
        return pandas.concat([frame, pandas.DataFrame(rows)], axis=1)

    @property
    def candidates(self) -> DataFrame:
        """All candidates as a pandas DataFrame, with ``source`` and ``target`` where the release has their text.

        :raises InputError: the table is missing or damaged.
        """
        require("pandas", "analysis")
        table = self.table(text=True)
        texts = sides_of(table, self.languages)
        frame = (table.drop_columns([TRANSLATION]) if texts else table).to_pandas()
        if not texts and not self.finished and self.has_text:
            texts = tuple(_of_length(self.lines(side), len(frame), self) for side in SIDES)
        for place, (side, lines) in enumerate(zip(SIDES, texts, strict=False)):
            frame.insert(place, side, lines)
        return frame

    def _check_has_text(self) -> None:
        if not self.has_text:
            raise InputError(
                f"{self.folder}: this release holds no text; cgbench restore puts it back from your copies"
            )

    def check_finished(self) -> None:
        """Check that there is a test set.

        :raises InputError: the build stopped early.
        """
        if not self.finished:
            raise InputError(f"{self.folder}: no finished release; run the build without {argument('until')}")

    def step(self, name: str) -> Path | None:
        """The result of the step ``name`` that this release is made of, while it is still in the workspace."""
        root, written = self._workspace()
        steps = written.get("steps")
        key = steps.get(name) if isinstance(steps, dict) else None
        if root is None or not re.fullmatch("[0-9a-f]{64}", str(key)):
            return None
        folder = root / name / str(key)[:KEY_LENGTH]
        return folder if (folder / "step.json").is_file() else None

    def ngrams(self) -> KnownNgrams | None:
        """The known n-grams it was built with, while they are still in the workspace."""
        from cgbench.benchmark.known_ngrams.known import KnownNgrams

        folder = self.step("known-ngrams")
        return KnownNgrams.load(folder / "ngrams") if folder else None

    def __repr__(self) -> str:
        return f"Release({str(self.folder)!r}, {self.signature!r})"

    def _repr_html_(self) -> str:
        counts, figures = self.manifest["counts"], self.manifest["figures"]
        rows = [("signature", self.signature), ("languages", " to ".join(self.languages)), ("folder", self.folder)]
        rows += [(key, counts[key]) for key in ("pool", "candidates", "selected", "control") if key in counts]
        chosen = figures.get("selected", figures)
        rows += [
            (f"mean {key}", format(chosen[key]["mean"], ".3f"))
            for key in ("degree", "uncertainty")
            if isinstance(chosen.get(key), dict) and isinstance(chosen[key].get("mean"), float)
        ]
        cells = "".join(f"<tr><th>{html.escape(str(a))}</th><td>{html.escape(str(b))}</td></tr>" for a, b in rows)
        return f"<table>{cells}</table>"


def release_file(folder: Path, name: str, *, largest: int | None = None) -> Path:
    """The path of a file that a release names, if it is an ordinary one in ``folder`` itself, or in ``folder/data``.

    A name that leads elsewhere, a link, a device or a pipe is none: a release may come from anybody.

    :param largest: bytes that such a file may have.
    :raises InputError: it is missing, or none.
    """
    if not is_inside(name):
        raise InputError(f"{folder}: {name!r} is a name that leaves the folder")
    path = folder / name
    if path.parent != folder:
        ordinary_folder(path.parent)
    return ordinary_file(path, largest=largest)


def _lines(path: Path) -> list[str]:
    """The lines of a file that cgbench wrote: exactly as they are, where text of people may have a byte order mark."""
    try:
        lines = path.read_bytes().decode("utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 ({error.reason} at byte {error.start:,})") from None
    return lines if lines[-1] else lines[:-1]


def _rows(path: Path) -> list[dict[str, Any]]:
    """The rows of JSON lines that cgbench wrote."""
    rows = []
    for number, line in enumerate(_lines(path), 1):
        row = parse_json(line, f"{path}, row {number}")
        if not isinstance(row, dict):
            raise InputError(f"{path}, row {number}: not a row of a release's split")
        rows.append(row)
    return rows


def _of_length(lines: list[str], rows: int, release: Release) -> list[str]:
    if len(lines) != rows:
        raise InputError(f"{release.folder}: {rows:,} rows for {len(lines):,} sentences; cgbench verify says more")
    return lines

"""A release folder, opened for reading."""

from __future__ import annotations

import html
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cgbench.benchmark.candidates.correlations import Correlation
from cgbench.benchmark.candidates.noise_share import with_cut
from cgbench.benchmark.measure.known_ngrams.known import KnownNgrams
from cgbench.benchmark.release.data_tables import NORMALISED, TEXTS, TRANSLATION, sides_of
from cgbench.benchmark.release.listed_digests import is_listed
from cgbench.benchmark.release.manifest import (
    CONTROL,
    CORRELATIONS,
    MANIFEST,
    SAMPLE,
    SET_NAMES,
    SETS_FILE,
    SETS_HEAD,
    SPLIT,
    is_split,
    keeps_normalised,
    normalised_text,
    stem_of,
    table_file,
)
from cgbench.benchmark.release.release_files import (
    lines_of_file,
    read_manifest,
    release_file,
    rows_of_file,
)
from cgbench.benchmark.release.work_folder import default_work, find_input, read_record
from cgbench.errors import InputError, argument, require
from cgbench.models.checkpoints import BESIDE
from cgbench.request import check_path
from cgbench.steps import KEY_LENGTH, STEPS
from cgbench.text.normalisation import SIDES, Normalisation
from cgbench.text.parquet import read_parquet
from cgbench.text.plain_text import words_of
from cgbench.text.streams import read_lines

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, repr=False)
class Release:
    """A release of ``build-react``, the candidates of a build that stopped early (``until``), or a
    split (``is_split``).

    Releases may come from third parties: file names in the manifest are only followed to ordinary
    files in the folder, never along a link. ``Release.open(folder).test`` is the test set as a
    pandas DataFrame. Methods raise :class:`.InputError` if a file is missing, damaged or not part
    of this kind of release. With ``check``, every file is compared with its checksum in the
    manifest before it is read.
    """

    folder: Path
    manifest: dict[str, Any]
    work: Path | None = None
    check: bool = False

    @classmethod
    def open(
        cls,
        folder: str | os.PathLike[str],
        work: str | os.PathLike[str] | None = None,
        *,
        check: bool = True,
    ) -> Release:
        """Read the manifest of the release in ``folder``; other files are read when needed.

        :param work: the folder that it was built in, if that is not ``folder.work``; it may be
            missing.
        :param check: compare the manifest with its digest, and each file that is read with its
            checksum.
        :raises InputError: the folder is not a release, was changed, or is of another version of
            cgbench.
        """
        check_path(folder=folder)
        path = Path(folder)
        beside = Path(work) if work is not None else None
        manifest = read_manifest(path, beside, check=check)
        return cls(path, manifest, beside, check)

    @classmethod
    def of(
        cls,
        release: Release | str | os.PathLike[str],
        work: str | os.PathLike[str] | None = None,
        *,
        check: bool = True,
    ) -> Release:
        """``release`` if it is open, else the release in that folder (:meth:`open`)."""
        if not isinstance(release, Release):
            return cls.open(release, work, check=check)
        return release if release.check == check else replace(release, check=check)

    @property
    def until(self) -> str:
        """``release``, or where the build stopped: ``candidates`` or ``uncertainty``."""
        return str(self.manifest["until"])

    @property
    def is_split(self) -> bool:
        """Whether ``cgbench split`` wrote it: with a training set, without candidates and a control
        set.
        """
        return is_split(self.manifest)

    @property
    def finished(self) -> bool:
        """Whether there is a test set."""
        return self.until == "release"

    @property
    def signature(self) -> str:
        """The short, unique name of this benchmark."""
        return str(self.manifest.get("signature", ""))

    @property
    def languages(self) -> tuple[str, str]:
        """The language of the source, and that of the target."""
        source, target = self.manifest["languages"]
        return source, target

    @property
    def configuration(self) -> dict[str, Any]:
        """Every setting of the build."""
        return dict(self.manifest["configuration"])

    @property
    def selection_settings(self) -> dict[str, Any]:
        """:attr:`configuration`, with how references were dropped."""
        return with_cut(self.configuration, self.manifest.get("noise"))

    @property
    def normalisation(self) -> Normalisation:
        """The normalisation of all text in the build."""
        config = self.configuration
        names = config["tokenize"], config["lowercase"], self.languages
        return Normalisation(
            *names, config.get("detokenize", False), config.get("anonymise", "none")
        )

    @property
    def ensemble(self) -> Path:
        """The folder of the members that selected the pairs: the user's ensemble, or that published
        by the build.

        It is not part of the release and may be missing.
        """
        if recorded := self.manifest["inputs"].get("ensemble"):
            return self.input_path(str(recorded["path"]))
        return (self.work or default_work(self.folder)) / BESIDE

    def input_path(self, name: str) -> Path:
        """The path of an input in the manifest, as far as the workspace knows it."""
        return find_input(name, self._workspace()[1])

    def reads_originals(self) -> bool:
        """Whether the members of the build read the original text: external models do."""
        members = self.manifest["inputs"].get("members", [])
        return any(member["identity"]["kind"] != "cgbench" for member in members)

    def _workspace(self) -> tuple[Path | None, dict[str, Any]]:
        """The workspace of this very release, and its record; None and empty if it is not here."""
        root = (self.work or default_work(self.folder)) / STEPS
        record = read_record(root)
        is_of_this = record and record.get("signature") == self.signature
        return (root, record) if is_of_this else (None, {})

    @property
    def has_text(self) -> bool:
        """Whether the release contains its text; with ``release_text=none`` it contains only
        indices and scores.
        """
        return self.manifest.get("text") != "none"

    def path(self, name: str) -> Path:
        """The path of the file ``name``, which is as it was written (with ``check``).

        :raises InputError: it is missing, was changed or is not listed.
        """
        path = release_file(self.folder, name)
        if self.check and not is_listed(self.manifest, self.folder, name):
            raise InputError(
                f"{path}: was changed: it does not match {MANIFEST}; see cgbench verify"
            )
        return path

    @property
    def keeps_normalised(self) -> bool:
        """Whether the normalised form that selected the pairs is next to their original text."""
        return keeps_normalised(self.manifest)

    def text_path(self, side: str) -> Path:
        """The file of one side (``source`` or ``target``) of the test set, or of the candidates if
        there is none.
        """
        self._check_has_text()
        return self.path(f"{stem_of(self.until)}.{self.languages[SIDES.index(side)]}")

    def lines(self, side: str, *, normalised: bool = False) -> list[str]:
        """The sentences of that file: the original text, or the normalised form that selected the
        pairs.
        """
        return self._lines(self.text_path(side), normalised)

    def _lines(self, path: Path, normalised: bool) -> list[str]:
        if normalised and self.keeps_normalised:
            return lines_of_file(self.path(normalised_text(path.name)))
        lines = lines_of_file(path)
        return [" ".join(words_of(line)) for line in lines] if normalised else lines

    def pairs(self, name: str = "test", *, normalised: bool = False) -> list[tuple[str, str]]:
        """The pairs of the test set (of the candidates if there is none), of the ``control`` set or
        the ``sample``.
        """
        sources, targets = (self.set_lines(name, side, normalised=normalised) for side in SIDES)
        if len(sources) != len(targets):
            raise InputError(
                f"{self.folder}: {len(sources):,} sources of the {name} set, but {len(targets):,}"
                " targets; see cgbench verify"
            )
        return list(zip(sources, targets, strict=True))

    def train_path(self, side: str) -> Path:
        """The file of one side (``source`` or ``target``) of the training set of a split."""
        if not self.is_split:
            raise InputError(
                f"{self.folder}: this release does not contain its training text; only a split does"
            )
        return self.path(f"train.{self.languages[SIDES.index(side)]}")

    def train_lines(self, side: str) -> list[str]:
        """The sentences of that file."""
        return lines_of_file(self.train_path(side))

    def sets(self) -> list[int]:
        """The set of every pair of the corpus of a split: 0 training, 1 test set, -1 neither."""
        numbers = {name: set_number for set_number, name in SET_NAMES.items()}
        sets = []
        path = self.path(SETS_FILE)
        for row_number, line in enumerate(read_lines(path)):
            if row_number == 0 and line == SETS_HEAD:
                continue
            pair, _, name = line.partition("\t")
            if row_number == 0 or pair != str(row_number) or name not in numbers:
                raise InputError(f"{path}, row {row_number + 1}: not a row of a split")
            sets.append(numbers[name])
        return sets

    def split(self) -> list[dict[str, Any]]:
        """The rows of ``split.jsonl``: the origin and all measures of each pair of the test set."""
        self.check_finished()
        return rows_of_file(self.path(SPLIT))

    @property
    def has_control(self) -> bool:
        """Whether there is a control set."""
        return self.finished and CONTROL in self.manifest["files"]

    @property
    def has_sample(self) -> bool:
        """Whether there is a stratified sample of all candidates."""
        return self.finished and SAMPLE in self.manifest["files"]

    def set_path(self, name: str, side: str) -> Path:
        """The file of one side (``source`` or ``target``) of the ``test`` set (:meth:`text_path`),
        of the ``control`` set, or of the stratified ``sample``."""
        if name == "test":
            return self.text_path(side)
        self.check_finished()
        noun = {"control": "control set", "sample": "stratified sample"}[name]
        if self.is_split:
            raise InputError(f"{self.folder}: a split has no {noun}")
        if f"{name}.jsonl" not in self.manifest["files"]:
            option = argument("control") if name == "control" else argument("design", "stratified")
            raise InputError(
                f"{self.folder}: this release has no {noun}; run its command again with {option}"
                " (finished steps are kept)"
            )
        self._check_has_text()
        return self.path(f"{name}.{self.languages[SIDES.index(side)]}")

    def set_lines(self, name: str, side: str, *, normalised: bool = False) -> list[str]:
        """The sentences of that file: the original text, or the normalised form that selected the
        pairs.
        """
        return self._lines(self.set_path(name, side), normalised)

    def set_rows(self, name: str) -> list[dict[str, Any]]:
        """The rows of ``split.jsonl`` (``test``), ``control.jsonl`` or ``sample.jsonl``: the origin
        and measures of each pair."""
        if name == "test":
            return self.split()
        if self.has_text:
            self.set_path(name, "source")
        return rows_of_file(self.path(f"{name}.jsonl"))

    def table(self, name: str = "candidates", *, text: bool = False) -> Any:
        """A table of the release (a pyarrow table): one row per candidate, or per pair of ``test``.

        :param text: include the columns ``translation`` and ``normalised``, if the table contains
            them.
        :raises InputError: it is missing or damaged, or has columns that are neither numbers nor
            text.
        """
        if name == "candidates" and self.is_split:
            raise InputError(
                f"{self.folder}: a split has no candidates; its tables are train and test"
            )
        file = table_file(name)
        # Not by PyArrow alone, which a flipped bit can crash.
        return read_parquet(self._written_path(file), TEXTS, leave_out=not text)

    def correlations(self) -> list[Correlation]:
        """The correlations of the candidates' measures
        (:mod:`cgbench.benchmark.candidates.correlations`).

        :raises InputError: their file is missing or damaged.
        """
        path = self._written_path(CORRELATIONS)
        try:
            return [Correlation.of_row(row) for row in rows_of_file(path)]
        except KeyError as error:
            raise InputError(f"{path}: a row has no {error}; see cgbench verify") from None

    def _written_path(self, name: str) -> Path:
        """:meth:`path`; while the release is being written, its files are not listed yet."""
        return replace(self, check=name in self.manifest.get("files", {})).path(name)

    @property
    def test(self) -> DataFrame:
        """The test set as a pandas DataFrame: ``source``, ``target``, and the columns of
        ``split.jsonl``.
        """
        return self._frame("test")

    @property
    def control(self) -> DataFrame:
        """The control set as a pandas DataFrame: ``source``, ``target``, and the columns of
        ``control.jsonl``.
        """
        return self._frame("control")

    def _frame(self, name: str) -> DataFrame:
        pandas = require("pandas", "pandas")
        rows = self.set_rows(name)
        texts = {side: self.set_lines(name, side) for side in SIDES if self.has_text}
        for lines in texts.values():
            if len(lines) != len(rows):
                raise InputError(
                    f"{self.folder}: {len(rows):,} rows for {len(lines):,} sentences; see cgbench"
                    " verify"
                )
        return pandas.concat([pandas.DataFrame(texts), pandas.DataFrame(rows)], axis=1)

    def candidate_lines(self, side: str, *, normalised: bool = False) -> list[str] | None:
        """One side (``source`` or ``target``) of all candidates in the order of their table; None
        without text.
        """
        column = NORMALISED if normalised and self.keeps_normalised else TRANSLATION
        sides = sides_of(self.table(text=True), self.languages, column)
        if not sides:
            return None
        lines = sides[SIDES.index(side)]
        return [" ".join(words_of(line)) for line in lines] if normalised else lines

    @property
    def candidates(self) -> DataFrame:
        """All candidates as a pandas DataFrame, with ``source`` and ``target`` if the release
        contains their text.
        """
        require("pandas", "pandas")
        table = self.table(text=True)
        texts = sides_of(table, self.languages)
        frame = table.drop_columns(
            [name for name in TEXTS if name in table.column_names]
        ).to_pandas()
        for column, (side, lines) in enumerate(zip(SIDES, texts, strict=False)):
            frame.insert(column, side, lines)
        return frame

    def _check_has_text(self) -> None:
        if not self.has_text:
            raise InputError(
                f"{self.folder}: this release has no text; cgbench restore adds it from your copies"
                " of the inputs"
            )

    def check_finished(self) -> None:
        """Check that there is a test set."""
        if not self.finished:
            raise InputError(
                f"{self.folder}: not a finished release; run the build without {argument('until')}"
            )

    def step(self, name: str) -> Path | None:
        """The result of the step ``name`` of this release, if it is still in the workspace."""
        root, written = self._workspace()
        steps = written.get("steps")
        key = steps.get(name) if isinstance(steps, dict) else None
        if root is None or not re.fullmatch("[0-9a-f]{64}", str(key)):
            return None
        folder = root / name / str(key)[:KEY_LENGTH]
        return folder if (folder / "step.json").is_file() else None

    def ngrams(self) -> KnownNgrams | None:
        """The known n-grams of the build, if they are still in the workspace."""
        folder = self.step("known-ngrams")
        return KnownNgrams.load(folder / "ngrams") if folder else None

    def __repr__(self) -> str:
        return f"Release({str(self.folder)!r}, {self.signature!r})"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th>{html.escape(name)}</th><td>{html.escape(value)}</td></tr>"
            for name, value in self._summary()
        )
        return f"<table>{rows}</table>"

    def _summary(self) -> Iterator[tuple[str, str]]:
        """Names and values that a notebook shows of a release."""
        yield "signature", self.signature
        yield "languages", " to ".join(self.languages)
        yield "folder", str(self.folder)
        counts, figures = self.manifest["counts"], self.manifest["figures"]
        for stage in ("pool", "candidates", "selected", "control"):
            if stage in counts:
                yield stage, str(counts[stage])
        selected = figures.get("selected", figures)
        for measure in ("degree", "uncertainty"):
            summary = selected.get(measure)
            if isinstance(summary, dict) and isinstance(summary.get("mean"), float):
                yield f"mean {measure}", format(summary["mean"], ".3f")

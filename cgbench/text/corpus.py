"""Aligned text on disk: plain files, indexed in one pass.

Other formats are first converted to plain files.
"""

import hashlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from cgbench.engines import Engine
from cgbench.errors import InputError
from cgbench.records import Record
from cgbench.steps import Step, Workspace, hash_file, hash_value
from cgbench.text.formats import CorpusSpec, read_pairs, unequal_sides
from cgbench.text.normalisation import Normalisation, normalise_pairs
from cgbench.text.plain_text import skip_mark
from cgbench.text.streams import CHUNK, is_stdin, open_raw, split_name, whole_lines


class TextFile(Record):
    """A plain text file on disk, one sentence per line (``plain_text.py``).

    ``sha256`` is the checksum of the file, ``bytes`` its size. ``milestones`` is an int64 array
    ``[k, 2]`` of (line number from 0, byte offset of that line in the file), about one per MiB,
    starting with line 0, so that any line can be found without reading the whole file.
    """

    path: Path
    sha256: str
    bytes: int
    lines: int
    milestones: np.ndarray

    @property
    def begin(self) -> int:
        """The byte offset of the text: 3 after a byte order mark, else 0."""
        return int(self.milestones[0, 1])


def index_text(path: Path) -> TextFile:
    """Hash a plain text file, count its lines and record milestones, in one pass.

    A last line without a newline counts.

    :raises InputError: the file is missing or not a file.
    """
    digest = hashlib.sha256()
    lines = size = 0
    milestones = [(0, 0)]
    with open_raw(path, sentences=True) as file:
        for buffer, end, offset, newlines in whole_lines(file, CHUNK, path, digest=digest):
            begin = 0 if offset else skip_mark(buffer[:end].data, path)
            lines, size = lines + (newlines or end > begin), offset + end
            if not offset:
                milestones = [(0, begin)]
            if newlines:
                milestones.append((lines, size))
    return TextFile(path, digest.hexdigest(), size, lines, np.array(milestones, np.int64))


class ParallelText(Record):
    """Two aligned plain text files."""

    source: TextFile
    target: TextFile

    @property
    def lines(self) -> int:
        """The number of pairs."""
        return self.source.lines

    @property
    def hashes(self) -> dict[str, str]:
        """The SHA-256 of each side."""
        return {"source": self.source.sha256, "target": self.target.sha256}


def index_pair(source: Path, target: Path) -> ParallelText:
    """Index both sides of a plain corpus in parallel (hashing releases the interpreter lock).

    :raises InputError: a file is missing, the corpus is empty, or the line counts differ.
    """
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(index_text, (source, target))
    if first.lines != second.lines:
        raise unequal_sides(source, first.lines, target, second.lines)
    if first.lines == 0:
        raise InputError(f"{source}: the corpus is empty")
    return ParallelText(first, second)


class PlannedText(Record):
    """A corpus before it is read: its identity is known, its plain form may not be written yet.

    ``step`` writes the plain, normalised text as two files named ``source`` and ``target``; it is
    None for a corpus that is already plain and is used in place (``plain``).
    """

    spec: CorpusSpec
    normalisation: Normalisation
    hashes: tuple[str, ...]  # SHA-256 of each file named by the user
    plain: ParallelText | None
    step: Step | None

    @property
    def identity(self) -> str:
        """A hash that changes whenever the text does."""
        if self.plain:
            return hash_value(list(self.plain.hashes.values()))
        assert self.step is not None
        return self.step.key

    def realise(self, workspace: Workspace, engine: Engine | None = None) -> ParallelText:
        """The plain text, written first if necessary.

        :raises InputError: as :func:`index_pair` and :func:`cgbench.text.formats.read_pairs` do.
        """
        if self.plain:
            return self.plain
        assert self.step is not None
        folder = workspace.run(
            self.step, lambda out: _write_plain(self.spec, self.normalisation, out, engine)
        )
        return index_pair(folder / "source", folder / "target")

    def kept(self, workspace: Workspace) -> ParallelText | None:
        """The result of :meth:`realise` if it is already written."""
        if self.plain or (self.step and workspace.done(self.step)):
            return self.realise(workspace)
        return None


def plan_text(role: str, spec: CorpusSpec, normalisation: Normalisation) -> PlannedText:
    """Identify a corpus by its bytes. ``role`` names it within a build (``train``, ``pool-1``).

    :raises InputError: a file is missing; a plain corpus is empty or its sides have different
        lengths.
    """
    if spec.is_plain and normalisation.is_identity:
        plain = index_pair(*spec.paths)
        return PlannedText(
            spec, normalisation, (plain.source.sha256, plain.target.sha256), plain, None
        )
    check_files(spec)
    hashes = tuple(map(hash_file, spec.files))
    sides = [split_name(path)[1] for path in spec.paths]
    step = Step(
        name=f"text-{role}",
        config={
            **normalisation.settings,
            "columns": list(spec.columns) if spec.columns else None,
            "forms": ["".join(path.suffixes[-2:]) for path in spec.files],
            **({"sides": sides} if any(sides) else {}),
        },
        inputs={f"file-{line_number}": value for line_number, value in enumerate(hashes, 1)},
    )
    return PlannedText(spec, normalisation, hashes, None, step)


def check_files(spec: CorpusSpec) -> None:
    """:raises InputError: a corpus has a file that is missing, or cannot be read again."""
    for path in spec.files:
        if is_stdin(path):
            raise InputError(
                "standard input (-) can be read once, but this text is read again; write it to a"
                " file"
            )
        if path.is_dir():
            raise InputError(f"{path}: a folder, not a text file")
        if not path.is_file():
            raise InputError(f"{path}: no such file")


def _write_plain(
    spec: CorpusSpec, normalisation: Normalisation, out: Path, engine: Engine | None
) -> None:
    empty = True
    pairs = normalise_pairs(read_pairs(spec), normalisation, str(spec), engine)
    with (out / "source").open("wb") as first, (out / "target").open("wb") as second:
        for source, target in pairs:
            first.write(source.encode("utf-8") + b"\n")
            second.write(target.encode("utf-8") + b"\n")
            empty = False
    if empty:
        raise InputError(f"{spec}: the corpus is empty")

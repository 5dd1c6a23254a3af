"""Aligned text: plain files that are indexed in one pass, and the formats they come in.

Everything after this file reads plain UTF-8 text, one sentence a line, from disk. Other formats are turned
into such files first, by :func:`write_plain`.
"""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cgbench.errors import InputError

CHUNK = 1 << 20


@dataclass(frozen=True)
class TextFile:
    """A plain text file on disk: one sentence a line.

    ``milestones`` is an int64 array ``[k, 2]`` of (line number from 0, byte offset of that line's first byte),
    about one a MiB, starting with (0, 0): enough to find any line without reading the file again.
    """

    path: Path
    sha256: str
    bytes: int
    lines: int
    milestones: np.ndarray


def index_text(path: Path) -> TextFile:
    """Hash a plain text file, count its lines and note where they are, in one pass.

    A last line without a newline counts as a line.

    :raises InputError: the file is missing or not a file.
    """
    digest = hashlib.sha256()
    lines = size = 0
    milestones = [(0, 0)]
    last = b"\n"
    try:
        with path.open("rb", buffering=0) as file:
            while chunk := file.read(CHUNK):
                digest.update(chunk)
                lines += chunk.count(b"\n")
                end = chunk.rfind(b"\n")
                if end >= 0:
                    milestones.append((lines, size + end + 1))
                size += len(chunk)
                last = chunk[-1:]
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise InputError(f"{path}: a folder, where a text file is needed") from None
    if last != b"\n":
        lines += 1
    return TextFile(path, digest.hexdigest(), size, lines, np.array(milestones, np.int64))


@dataclass(frozen=True)
class ParallelText:
    """Two plain text files whose lines belong together."""

    source: TextFile
    target: TextFile

    @property
    def lines(self) -> int:
        """The number of pairs."""
        return self.source.lines


def index_pair(source: Path, target: Path) -> ParallelText:
    """Index both sides of a plain corpus (side by side: hashing releases the interpreter lock).

    :raises InputError: a file is missing, the corpus is empty, or the line counts differ.
    """
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(index_text, (source, target))
    if first.lines != second.lines:
        raise InputError(
            f"{source} has {first.lines:,} lines and {target} has {second.lines:,}: "
            "the two sides of a corpus need one line a pair; check where they part"
        )
    if first.lines == 0:
        raise InputError(f"{source}: the corpus is empty")
    return ParallelText(first, second)

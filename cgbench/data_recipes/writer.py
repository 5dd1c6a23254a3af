"""Write the splits of a data set: aligned plain text."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from cgbench.errors import InputError
from cgbench.text.streams import open_bytes, read_lines

BLOCK = 20_000  # rows written at a time
RELEASED, GENERATED = "released", "generated"
Row = TypeVar("Row")


@dataclass(frozen=True)
class Split:
    """A part of a prepared set: ``train`` is ``train.<side>``, ``mcd1/train`` is in a folder of its own.

    :param rows: how many it must have; None where nobody has said.
    """

    name: str
    rows: int | None = None


class Writer:
    """Receives the splits of a set while its recipe prepares it."""

    def __init__(
        self, name: str, sides: tuple[str, ...], splits: Sequence[Split], folder: Path, say: Callable[[str], None]
    ) -> None:
        self.name, self.sides, self.folder, self.say = name, sides, folder, say
        self.splits: dict[str, dict[str, Any]] = {}
        self.hashes: dict[str, str] = {}  # of the files of the splits, as they were written
        self.notes: list[str] = []
        self.lacking: list[str] = []  # files beside the splits that could not be had
        self.rows = {split.name: split.rows for split in splits}  # that they must have

    def split(
        self,
        name: str,
        rows: Iterable[Sequence[str]],
        *,
        sides: tuple[str, ...] = (),
        origin: str = RELEASED,
        exact: bool = True,
    ) -> None:
        """Write a split: a file a side, a line a row.

        :param rows: as many texts a row as there are ``sides`` (the recipe's, if not given).
        :param origin: :data:`RELEASED`, or :data:`GENERATED` where no released file was read.
        :param exact: whether it must have as many rows as the recipe says.
        :raises InputError: it has not.
        """
        sides = sides or self.sides
        self.say(f"writing {name}")
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        count, last = 0, ""
        names = [f"{name}.{side}" for side in sides]
        digests = [hashlib.sha256() for _ in sides]
        with ExitStack() as stack:
            files = [stack.enter_context((self.folder / file).open("wb")) for file in names]
            waiting = iter(rows)
            while block := list(islice(waiting, BLOCK)):
                for file, digest, column in zip(files, digests, zip(*block, strict=True), strict=True):
                    data = ("\n".join(column) + "\n").encode("utf-8")
                    file.write(data)
                    digest.update(data)
                count, last = count + len(block), " | ".join(block[-1])
        self.hashes.update((file, digest.hexdigest()) for file, digest in zip(names, digests, strict=True))
        if exact:
            self.check(name, count, last)
        self.splits[name] = {"rows": count, "origin": origin, "files": names}

    def document(self, name: str, side: str, lines: Iterable[str], rows: int) -> None:
        """Write a split that is one file whose ``rows`` examples take several lines each."""
        self.check(name, rows, "")
        (self.folder / f"{name}.{side}").write_text("".join(f"{line}\n" for line in lines), "utf-8", newline="")
        self.splits[name] = {"rows": rows, "origin": RELEASED, "files": [f"{name}.{side}"]}

    def file(self, name: str, text: str) -> None:
        """Write a file that is no split."""
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(text, "utf-8", newline="")

    def copy(self, name: str, path: Path) -> None:
        """Write a file that is no split, as it is at ``path`` (there plain or .gz)."""
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        with open_bytes(path) as source, (self.folder / name).open("wb") as target:
            shutil.copyfileobj(source, target)

    def check(self, name: str, rows: int, last: str) -> None:
        """See that a split has as many rows as the recipe says."""
        expected = self.rows[name]
        if expected is not None and rows != expected:
            raise InputError(
                f"{self.name}: {name} has {rows:,} rows, where {expected:,} are expected; "
                + (
                    f"row {rows:,} is the last ({last[:200]!r})"
                    if rows < expected
                    else f"row {expected + 1:,} is one too many"
                )
                + "; the sources are not the ones that the recipe was written for"
            )

    def note(self, text: str) -> None:
        """Say something that a reader of the set must know; it is kept in the record."""
        self.notes.append(text)
        self.say(text)


def tab_rows(path: Path, *columns: str) -> list[tuple[str, ...]]:
    """The rows of a released file with these columns, a tab between.

    :raises InputError: a row has others.
    """
    rows = [tuple(line.split("\t")) for line in read_lines(path)]
    for number, row in enumerate(rows, 1):
        if len(row) != len(columns):
            raise InputError(f"{path}, row {number} has {len(row)} columns; {', '.join(columns)} are needed")
    return rows


def rows_by_number(rows: Sequence[Row], numbers: Any, where: str) -> list[Row]:
    """The rows with these numbers, from 0, that a file of a published split lists.

    :raises InputError: it is no list of numbers of rows; one below 0 is none, whatever Python reads it as.
    """
    if not isinstance(numbers, list):
        raise InputError(f"{where}: no list of row numbers")
    for number in numbers:
        if type(number) is not int or not 0 <= number < len(rows):
            raise InputError(f"{where}: {str(number)[:40]!r} is no number of a row, of which there are {len(rows):,}")
    return [rows[number] for number in numbers]

"""Write the splits of a data set: aligned plain text."""

import hashlib
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from cgbench.errors import InputError
from cgbench.text.streams import open_bytes, read_lines

BLOCK = 20_000  # rows written at a time
RELEASED, GENERATED = "released", "generated"
ROW_LISTS = {"train": "trainIdxs", "valid": "devIdxs", "test": "testIdxs"}
Row = TypeVar("Row")


@dataclass(frozen=True)
class Split:
    """A part of a prepared set: ``train`` is ``train.<side>``, ``mcd1/train`` is in a subfolder.

    :param rows: the expected number of rows; None if unknown.
    """

    name: str
    rows: int | None = None


class Writer:
    """Writes the splits of a set for its recipe."""

    def __init__(
        self,
        name: str,
        sides: tuple[str, ...],
        splits: Sequence[Split],
        folder: Path,
        say: Callable[[str], None],
        form: str = "",
    ) -> None:
        self.name, self.sides, self.folder, self.say = name, sides, folder, say
        self.form = form  # of the recipe's forms; empty: as published
        self.splits: dict[str, dict[str, Any]] = {}
        self.hashes: dict[str, str] = {}  # checksums of the files of the splits
        self.notes: list[str] = []
        self.lacking: list[str] = []  # unavailable extra files
        self.rows = {split.name: split.rows for split in splits}  # expected numbers

    def split(
        self,
        name: str,
        rows: Iterable[Sequence[str]],
        *,
        sides: tuple[str, ...] = (),
        origin: str = RELEASED,
        exact: bool = True,
    ) -> None:
        """Write a split: one file per side, one line per row.

        :param rows: one text for each of ``sides`` (default: those of the recipe).
        :param origin: :data:`RELEASED`, or :data:`GENERATED` if no released file was read.
        :param exact: check the number of rows.
        :raises InputError: it is not the expected number.
        """
        sides = sides or self.sides
        self.say(f"writing {name}")
        # one file per side, written in blocks and hashed on the way
        count, last = 0, ""
        names = [f"{name}.{side}" for side in sides]
        digests = [hashlib.sha256() for _ in sides]
        with ExitStack() as stack:
            files = [stack.enter_context(self._new(file).open("wb")) for file in names]
            waiting = iter(rows)
            while block := list(islice(waiting, BLOCK)):
                for file, digest, column in zip(
                    files, digests, zip(*block, strict=True), strict=True
                ):
                    data = ("\n".join(column) + "\n").encode("utf-8")
                    file.write(data)
                    digest.update(data)
                count, last = count + len(block), " | ".join(block[-1])
        self.hashes.update(
            (file, digest.hexdigest()) for file, digest in zip(names, digests, strict=True)
        )
        # check the number of rows, and record the split
        if exact:
            self.check(name, count, last)
        self.splits[name] = {"rows": count, "origin": origin, "files": names}

    def document(self, name: str, side: str, lines: Iterable[str], rows: int) -> None:
        """Write a split as one file whose ``rows`` examples have several lines each."""
        self.check(name, rows, "")
        self.file(f"{name}.{side}", "".join(f"{line}\n" for line in lines))
        self.splits[name] = {"rows": rows, "origin": RELEASED, "files": [f"{name}.{side}"]}

    def file(self, name: str, text: str) -> None:
        """Write a file that is not a split."""
        self._new(name).write_text(text, "utf-8", newline="")

    def copy(self, name: str, path: Path) -> None:
        """Copy a file that is not a split from ``path`` (plain or .gz)."""
        with open_bytes(path, text=False) as source, self._new(name).open("wb") as target:
            shutil.copyfileobj(source, target)

    def _new(self, name: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def check(self, name: str, rows: int, last: str) -> None:
        """Check that a split has the expected number of rows."""
        if (expected := self.rows[name]) is not None and rows != expected:
            end = f"is the last ({last[:200]!r})" if rows < expected else "is one too many"
            raise InputError(
                f"{self.name}: {name} has {rows:,} rows, but {expected:,} are expected; row"
                f" {min(rows, expected + 1):,} {end}; the sources are not those that the recipe"
                " expects"
            )

    def note(self, text: str) -> None:
        """Report a note for users of the set, and keep it in the record."""
        self.notes.append(text)
        self.say(text)


def tab_rows(path: Path, *columns: str) -> list[tuple[str, ...]]:
    """The rows of a released tab-separated file with these columns.

    :raises InputError: a row has another number of columns.
    """
    rows = [tuple(line.split("\t")) for line in read_lines(path)]
    for line_number, row in enumerate(rows, 1):
        if len(row) != len(columns):
            raise InputError(
                f"{path}, row {line_number} has {len(row)} columns; {', '.join(columns)} are needed"
            )
    return rows


def check_same(
    name: str, released: Sequence[Sequence[str]], generated: Sequence[Sequence[str]]
) -> None:
    """Check that a released split agrees with its rule, in any order.

    :raises InputError: it does not.
    """
    extra = Counter(released) - Counter(generated)
    lacking = Counter(generated) - Counter(released)
    if extra:
        index = next(index for index, row in enumerate(released) if row in extra)
        raise InputError(
            f"{name}, row {index + 1} ({released[index][0]!r}) does not belong in this split by its"
            " rule"
        )
    if lacking:
        raise InputError(
            f"{name} lacks {next(iter(lacking))[0]!r}, which belongs in this split by its rule"
        )


def rows_by_number(rows: Sequence[Row], split: Any, where: str) -> Iterator[tuple[str, list[Row]]]:
    """Training, validation and test rows by their numbers, from 0, as published by the authors of
    CFQ.

    :raises InputError: ``split`` does not contain three lists of valid row numbers.
    """
    for subset, key in ROW_LISTS.items():
        if not isinstance(split, dict) or not isinstance(numbers := split.get(key), list):
            raise InputError(f"{where}: {key} is not a list of row numbers, or missing")
        for index in numbers:
            if type(index) is not int or not 0 <= index < len(rows):
                raise InputError(
                    f"{where}: {key}: {str(index)[:40]!r} is not the number of one of {len(rows):,}"
                    " rows"
                )
        yield subset, [rows[index] for index in numbers]

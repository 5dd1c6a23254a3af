"""The forms a corpus comes in: plain text, TSV, JSON lines, Parquet; plain, .gz or .zst; one file or two.

:func:`read_pairs` turns any of them into pairs of strings. The form is told by the file's name.
"""

from __future__ import annotations

import gzip
import io
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from cgbench.errors import InputError, require

Pair = tuple[str, str]
COMPRESSED = (".gz", ".zst")
SINGLE_FILE = (".tsv", ".jsonl", ".parquet")


@dataclass(frozen=True)
class CorpusSpec:
    """A corpus as a user names it: one file that holds both sides, or a file a side (source, target).

    ``columns`` names the source and the target column of a file that holds both: numbers from 1 for TSV (or names,
    when its first row is a header), names for JSON lines and Parquet.
    """

    paths: tuple[Path, ...]
    columns: tuple[str, str] | None = None

    def __post_init__(self) -> None:
        if len(self.paths) not in (1, 2):
            raise InputError(
                f"a corpus is one file with both sides or two files, not {len(self.paths)}: "
                + " ".join(map(str, self.paths))
            )
        if len(self.paths) == 1 and form(self.paths[0]) == "plain":
            raise InputError(
                f"{self.paths[0]}: one file must hold both sides (.tsv, .jsonl or .parquet, also .gz or .zst); "
                "for plain text name two files"
            )
        if len(self.paths) == 2 and any(form(path) != "plain" for path in self.paths):
            raise InputError(f"{self.paths[0]} {self.paths[1]}: two files must both be plain text, a side each")

    def __str__(self) -> str:
        return " ".join(map(str, self.paths))

    @property
    def is_plain(self) -> bool:
        """Whether the corpus is two plain, uncompressed text files, which are read where they are."""
        return len(self.paths) == 2 and all(path.suffix not in COMPRESSED for path in self.paths)


def form(path: Path) -> str:
    """``plain``, ``tsv``, ``jsonl`` or ``parquet``, by the name without ``.gz`` or ``.zst``."""
    name = path.with_suffix("") if path.suffix in COMPRESSED else path
    return name.suffix[1:] if name.suffix in SINGLE_FILE else "plain"


def language_suffixes(spec: CorpusSpec) -> tuple[str, str] | None:
    """The languages that the names of two plain files end in (``train.de.gz``: ``de``), or None."""
    if len(spec.paths) != 2:
        return None
    names = [path.with_suffix("") if path.suffix in COMPRESSED else path for path in spec.paths]
    first, second = (name.suffix[1:] for name in names)
    return (first, second) if first and second and first != second else None


def read_pairs(spec: CorpusSpec) -> Iterator[Pair]:
    """The pairs of a corpus in order, without line ends.

    :raises InputError: a file is missing, damaged or not UTF-8 (with its line), a row lacks a column, or the two
        sides have different numbers of lines (with both numbers).
    """
    if len(spec.paths) == 2:
        return _zip_sides(*spec.paths)
    reader = {"tsv": _read_tsv, "jsonl": _read_jsonl, "parquet": _read_parquet}[form(spec.paths[0])]
    return reader(spec.paths[0], spec.columns)


def read_lines(path: Path) -> Iterator[str]:
    """The lines of a plain text file (also .gz or .zst), decoded as UTF-8, without line ends.

    :raises InputError: the file is missing, damaged, or not UTF-8 (with the line).
    """
    try:
        with open_binary(path) as file:
            for number, line in enumerate(file, 1):
                yield decode_line(line, path, number)
    except InputError:
        raise
    except Exception as error:
        if not isinstance(error, (OSError, EOFError, zlib.error)) and type(error).__name__ != "ZstdError":
            raise
        raise _read_error(path, error) from None


def decode_line(line: bytes, path: Path, number: int) -> str:
    """Decode line ``number`` (from 1) of ``path`` without its line end.

    :raises InputError: it is not UTF-8.
    """
    try:
        return line.rstrip(b"\n").decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}, line {number}: not UTF-8 (byte 0x{line[error.start]:02x} at column {error.start + 1}); "
            "convert the file, for example with iconv -t UTF-8"
        ) from None


def open_binary(path: Path) -> BinaryIO:
    """Open ``path`` for reading bytes, decompressed by its suffix (.gz, .zst)."""
    if not path.exists():
        raise InputError(f"{path}: no such file")
    if path.suffix == ".gz":
        return cast(BinaryIO, gzip.open(path, "rb"))
    if path.suffix == ".zst":
        return cast(BinaryIO, io.BufferedReader(_ZstdFile(path)))
    return path.open("rb")


class _ZstdFile(io.RawIOBase):
    """A .zst file as a stream of bytes, all its frames; unlike the library's own reader, it notices a cut end."""

    def __init__(self, path: Path) -> None:
        self.decompressor = require("zstandard", "text").ZstdDecompressor()
        self.file = path.open("rb")
        self.frame: Any = None
        self.ready = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self.ready:
            data = self.frame.unused_data if self.frame and self.frame.eof else b""
            data = data or self.file.read(1 << 16)
            if not data:
                if self.frame and not self.frame.eof:
                    raise EOFError("the compressed data end in the middle of a frame")
                return 0
            if self.frame is None or self.frame.eof:
                self.frame = self.decompressor.decompressobj()
            self.ready = self.frame.decompress(data)
        length = min(len(buffer), len(self.ready))
        buffer[:length], self.ready = self.ready[:length], self.ready[length:]
        return length

    def close(self) -> None:
        self.file.close()
        super().close()


def _read_error(path: Path, error: Exception) -> InputError:
    if isinstance(error, IsADirectoryError):
        return InputError(f"{path}: a folder, where a text file is needed")
    return InputError(f"{path}: cannot be read ({error}); the file may be damaged or cut short")


def _zip_sides(source: Path, target: Path) -> Iterator[Pair]:
    first, second = read_lines(source), read_lines(target)
    count = 0
    for pair in zip(first, second, strict=False):
        count += 1
        yield pair
    # zip has taken one line more from the source if the target ended first
    left, right = sum(1 for _ in first), sum(1 for _ in second)
    if left or right or _count_lines(source) != count:
        raise InputError(
            f"{source} has {_count_lines(source):,} lines and {target} has {_count_lines(target):,}: "
            "the two sides of a corpus need one line a pair; check where they part"
        )


def _count_lines(path: Path) -> int:
    with open_binary(path) as file:
        return sum(1 for _ in file)


def _read_tsv(path: Path, columns: tuple[str, str] | None) -> Iterator[Pair]:
    rows = (line.rstrip("\r").split("\t") for line in read_lines(path))
    first, number = columns or ("1", "2"), 0
    if all(name.isdigit() for name in first):
        wanted = [int(name) - 1 for name in first]
        if min(wanted) < 0:
            raise InputError(f"{path}: columns of a TSV file are counted from 1")
    else:
        header = next(rows, [])
        number = 1
        missing = [name for name in first if name not in header]
        if missing:
            raise InputError(f"{path}: no column {missing[0]!r} in the first row; it has {', '.join(header)}")
        wanted = [header.index(name) for name in first]
    for row in rows:
        number += 1
        if len(row) <= max(wanted):
            raise InputError(f"{path}, row {number} has {len(row)} columns; column {max(wanted) + 1} is needed")
        yield row[wanted[0]], row[wanted[1]]


def _read_jsonl(path: Path, columns: tuple[str, str] | None) -> Iterator[Pair]:
    for number, line in enumerate(read_lines(path), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise InputError(f"{path}, row {number} is not JSON ({error})") from None
        yield _fields(row, columns, f"{path}, row {number}")


def _read_parquet(path: Path, columns: tuple[str, str] | None) -> Iterator[Pair]:
    for number, row in enumerate(read_parquet_rows(path), 1):
        yield _fields(row, columns, f"{path}, row {number}")


def read_parquet_rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a Parquet file, each as a dict.

    :raises InputError: the file is missing or cannot be read.
    """
    import pyarrow
    import pyarrow.parquet

    if not path.exists():
        raise InputError(f"{path}: no such file")
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            for batch in file.iter_batches():
                yield from batch.to_pylist()
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not a Parquet file that can be read ({error})") from None


def _fields(row: Any, columns: tuple[str, str] | None, where: str) -> Pair:
    """The two sides of a JSON or Parquet row; Hugging Face's ``{"translation": {"de": ..., "en": ...}}`` too."""
    if isinstance(row, dict) and isinstance(row.get("translation"), dict):
        row = row["translation"]
    if not isinstance(row, dict):
        raise InputError(f"{where}: an object with two fields is needed")
    names = columns or (("source", "target") if "source" in row else tuple(row)[:2])
    missing = [name for name in names if not isinstance(row.get(name), str)]
    if len(names) < 2 or missing:
        wanted = repr(missing[0]) if missing else "for the target"
        raise InputError(f"{where}: no text field {wanted}; it has {', '.join(map(str, row))} (see --columns)")
    for name in names:
        if not row[name].isascii() and any("\ud800" <= character <= "\udfff" for character in row[name]):
            raise InputError(f"{where}: the text of {name!r} is not Unicode (it holds half of a surrogate pair)")
    return row[names[0]], row[names[1]]

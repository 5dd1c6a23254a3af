"""Parallel text as named by the user: one table with both sides, or one text per side."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from itertools import chain, islice
from pathlib import Path

from cgbench.errors import InputError, argument
from cgbench.records import Record
from cgbench.settings import did_you_mean
from cgbench.text.columns import are_numbers, read_text
from cgbench.text.languages import known
from cgbench.text.limits import FIRST_LINE
from cgbench.text.rows import Row, Table, cell_text, is_number
from cgbench.text.streams import (
    COMPRESSED,
    NUMBERED,
    form,
    is_plain_file,
    is_stdin,
    is_there,
    open_bytes,
    shown,
    split_name,
)

Pair = tuple[str, str]
_LINES = 1024  # of each side at once, which is faster than pair by pair
HEADERS = {
    *(
        "source",
        "target",
        "src",
        "tgt",
        "trg",
        "input",
        "output",
        "text",
        "label",
        "translation",
        "reference",
    ),
    *(
        "sentence",
        "sentence1",
        "sentence2",
        "premise",
        "hypothesis",
        "question",
        "answer",
        "english",
        "german",
        "id",
    ),
}
"""Usual names of columns, besides language codes."""


class CorpusSpec(Record):
    """A corpus as named by the user: one file with both sides, or one text per side (source,
    target).

    The text of a side is a plain file (also compressed), ``TABLE:COLUMN`` or ``-`` for standard
    input. A single file without the suffix of a table (.tsv, .csv, .jsonl, .json, .parquet) is read
    as TSV if its first line contains a tab.

    ``columns`` names the source and target column of a file with both: numbers from 1 for TSV and
    CSV (or names, if the first row is a header), names for JSON and Parquet. ``label`` is its name
    in messages, for sentences in memory, whose files are temporary.
    """

    paths: tuple[Path, ...]
    columns: tuple[str, str] | None = None
    label: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if len(self.paths) not in (1, 2):
            raise InputError(
                f"a corpus is one file with both sides, or two files, not {len(self.paths)}: "
                + " ".join(map(str, self.paths))
            )
        if len(self.paths) == 1 and form(self.paths[0]) == "plain" and not has_tab(self.paths[0]):
            raise InputError(
                f"{self.paths[0]}: a single file must have both sides (.tsv, .csv, .jsonl, .json or"
                " .parquet, also compressed, or any file with a tab in its first line); for plain"
                " text name two files"
            )
        if len(self.paths) == 2 and any(form(path) != "plain" for path in self.paths):
            raise InputError(
                f"{self.paths[0]} {self.paths[1]}: two files must both be plain text, one per side;"
                " name the column of a table (TABLE:COLUMN)"
            )

    def __str__(self) -> str:
        return self.label or " ".join(map(str, self.paths))

    @property
    def is_plain(self) -> bool:
        """Whether the corpus is two plain, uncompressed text files, which are read in place."""
        return len(self.paths) == 2 and all(map(is_plain_file, self.paths))

    @property
    def files(self) -> tuple[Path, ...]:
        """The files without column names."""
        return tuple(split_name(path)[0] for path in self.paths)


def has_tab(path: Path) -> bool:
    """Whether the first line of a file contains a tab; a single file with both sides is then TSV,
    whatever its name.
    """
    if is_stdin(path) or not is_there(path) or path.is_dir():
        return False
    with open_bytes(path) as file:
        return b"\t" in file.readline(FIRST_LINE)


def language_suffixes(spec: CorpusSpec) -> tuple[str, str] | None:
    """The languages in the suffixes of two plain files (``train.de.gz``) or the names of two
    columns (``a.tsv:de``).
    """
    if len(spec.paths) != 2:
        return None
    first, second = map(_language, spec.paths)
    return (first, second) if first and second and first != second else None


def languages_of(named_languages: tuple[str, str] | None, corpus: CorpusSpec) -> tuple[str, str]:
    """The languages of a corpus: as given, else from its file names, else ``source`` and
    ``target``.

    :raises InputError: they are not two different codes.
    """
    languages = named_languages or language_suffixes(corpus) or ("source", "target")
    if languages[0] == languages[1] or not all(map(is_language, languages)):
        raise InputError(
            f"{argument('languages', ','.join(languages))}: two different codes are needed, such as"
            " de,en"
        )
    return languages


def is_language(name: object) -> bool:
    """Whether ``name`` can stand for a language, which is a file suffix in releases."""
    return (
        isinstance(name, str)
        and name.isprintable()
        and bool(name)
        and "/" not in name
        and name != "parquet"
    )


def _language(text: Path) -> str:
    path, column = split_name(text)
    if column is not None:
        return column if column.isalpha() and len(column) <= 3 else ""
    return (path.with_suffix("") if path.suffix in COMPRESSED else path).suffix[1:]


def read_pairs(spec: CorpusSpec) -> Iterator[Pair]:
    """The pairs of a corpus in order, without line ends.

    :raises InputError: a file is missing, damaged or not UTF-8, a row lacks a column, or the two
        sides have different numbers of lines.
    """
    if len(spec.paths) == 1:
        return _read_table(spec)
    # Not one by one: a step of a generator for each pair would take as long as reading it.
    return chain.from_iterable(_zip_sides(*spec.paths))


def _zip_sides(source: Path, target: Path) -> Iterator[Iterable[Pair]]:
    """The pairs of two files, many at once."""
    first, second = read_text(source), read_text(target)
    lines = 0
    while True:
        left, right = list(islice(first, _LINES)), list(islice(second, _LINES))
        yield zip(left, right, strict=False)
        if len(left) != len(right):
            source_lines = lines + len(left) + sum(1 for _ in first)
            target_lines = lines + len(right) + sum(1 for _ in second)
            raise unequal_sides(source, source_lines, target, target_lines)
        if not left:
            return
        lines += len(left)


def unequal_sides(source: Path, lines: int, target: Path, target_lines: int) -> InputError:
    """The error for a corpus whose two files have different numbers of lines."""
    return InputError(
        f"{shown(source)} has {lines:,} lines and {shown(target)} has {target_lines:,}: "
        "the two sides of a corpus need one line per pair; check where the alignment breaks"
    )


def open_corpus(spec: CorpusSpec) -> tuple[tuple[str, str], Table]:
    """The two columns that are read from the table of a corpus, and the table.

    :raises InputError: the file is missing or damaged, or has no such column.
    """
    path, kind = spec.paths[0], form(spec.paths[0])
    chosen = spec.columns
    if chosen is None and kind in ("tsv", "plain") and not _has_header(path):
        chosen = ("1", "2")
    numbers = chosen is not None and are_numbers(path, chosen)
    table = Table(path, named=not numbers)
    names, in_rows = table.names, kind in (*NUMBERED, "plain") and not numbers
    if in_rows and (missing := [name for name in chosen or () if name not in names]):
        raise InputError(
            f"{path}: no column {missing[0]!r} in the first row; it has {', '.join(names)}"
        )
    if chosen is None:
        sides = "source" in names and not table.nested and (kind != "csv" or "target" in names)
        pair = ("source", "target") if sides else tuple(names[:2])
        if len(pair) < 2 and table.names:
            raise InputError(
                f"{path}, row 1: no text field for the target; it has {', '.join(names)} (see"
                f" {argument('columns')})"
            )
        if kind == "csv" and table.names and not _are_header(pair):
            raise InputError(
                f"{path}, row 1: {pair[0]!r:.60} and {pair[1]!r:.60} do not look like a header;"
                f" name the columns with {argument('columns')}, by name or, if there is no header,"
                " by number (1,2)"
            )
        chosen = (pair[0], pair[1]) if len(pair) == 2 else ("source", "target")
    return chosen, table


def _are_header(names: Sequence[str]) -> bool:
    """Whether the first cells of a table are usual names of columns, not a pair of sentences."""
    return all(name.lower() in HEADERS or (len(name) in (2, 3) and known(name)) for name in names)


def _has_header(path: Path) -> bool:
    """Whether the first row of a TSV file names its two first columns."""
    if is_stdin(path):
        return False
    names = Table(path, named=True).names[:2]
    return len(names) == 2 and names[0] != names[1] and _are_header(names)


def column_beside(spec: CorpusSpec, column: str, option: str) -> Iterator[Row]:
    """The rows of a further column of the table that a corpus is in, one per pair. Checks the
    column at once.

    :param option: the option that names the column.
    :raises InputError: the corpus is not in a table, or the table has no such column.
    """
    path, side = (spec.paths[0], None) if len(spec.paths) == 1 else split_name(spec.paths[0])
    if side is None and len(spec.paths) == 2:
        raise InputError(
            f"{option}: {shown(path)} is plain text, which has no columns; give a table"
        )
    table = (
        open_corpus(spec)[1] if side is None else Table(path, named=not are_numbers(path, (side,)))
    )
    if table.names and column not in table.names:
        raise InputError(
            f"{path}: no column {column!r} ({option}){did_you_mean(column, table.names)}"
        )
    if not table.names and not (is_number(column) and int(column)):
        raise InputError(
            f"{option}: the columns of {path} are numbers from 1 (see {argument('columns')})"
        )
    return table.read((column,))


def _read_table(spec: CorpusSpec) -> Iterator[Pair]:
    chosen, table = open_corpus(spec)
    path, names = table.path, table.names
    for row_number, row in table.read(chosen):
        for name, value in zip(chosen, row, strict=True):
            if value is None and name in names:
                raise InputError(
                    f"{path}, row {row_number}: no text field {name!r} in this row (it is missing"
                    " or null); write an empty text, or remove the row"
                )
            if not isinstance(value, str):
                raise InputError(
                    f"{path}, row {row_number}: no text field {name!r}; it has {', '.join(names)} "
                    f"(see {argument('columns')})"
                )
        source, target = (
            cell_text(value, name, path, row_number)
            for name, value in zip(chosen, row, strict=True)
        )
        yield source, target

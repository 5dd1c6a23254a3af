"""Columns of Parquet files, a batch at a time.

A file of 100 kB can hold gigabytes: one long value, named a thousand times. So strings stay what they are in the file,
numbers of a dictionary, until each is handed on; and what a file and its pages say of their sizes is checked before
they are read.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from cgbench.errors import InputError
from cgbench.text.parquet_footer import FOOTER, RowGroup, row_groups
from cgbench.text.parquet_pages import look_at
from cgbench.text.streams import Budget

ROWS = 1024  # of a batch
BATCH = 8 << 20  # bytes of a batch, by the mean of its row group
BUFFER = 1 << 20


class ParquetTable:
    """A Parquet file: the ``names`` of its columns; ``nested`` are those within the struct ``translation``, if any.

    :raises InputError: it is missing, or no Parquet file.
    """

    def __init__(self, path: Path) -> None:
        import pyarrow

        self.path = path
        with _reading(path), self._open(()) as file:
            schema = file.schema_arrow
            self.names = list(schema.names)
            self.nested: list[str] = []
            if "translation" in self.names and pyarrow.types.is_struct(kind := schema.field("translation").type):
                self.nested = [kind.field(number).name for number in range(kind.num_fields)]
            kinds = {name: schema.field(name).type for name in self.names}
            if self.nested:
                kinds |= {f"translation.{part.name}": part.type for part in schema.field("translation").type}
            self._strings = {name for name, kind in kinds.items() if _is_text(kind)}
            self._others = {name for name, kind in kinds.items() if not (_is_text(kind) or _is_number(kind))}

    def _open(self, dictionaries: Sequence[str]) -> Any:
        import pyarrow.parquet

        if not self.path.exists():
            raise InputError(f"{self.path}: no such file")
        return pyarrow.parquet.ParquetFile(
            self.path,
            read_dictionary=list(dictionaries),
            buffer_size=BUFFER,
            thrift_string_size_limit=FOOTER,
            thrift_container_size_limit=FOOTER,
        )

    def read(self, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """The rows, of each the values of ``columns`` (``translation.de`` is a field of the struct).

        :raises InputError: the file is damaged, or grows beyond a limit.
        """
        budget = Budget(self.path)
        packed = self.path.stat().st_size
        known = {*self.names, *(f"translation.{name}" for name in self.nested)}
        if missing := [name for name in columns if name not in known]:
            raise InputError(f"{self.path}: no column {missing[0]!r}; it has {', '.join(self.names)}")
        with _reading(self.path), self._open(()) as file, self.path.open("rb") as pages:
            budget.check(file.metadata.num_rows, packed)  # each is a line, if an empty one
            groups = [self._check(group, columns, budget, pages) for group in row_groups(pages, self.path)]
        # PyArrow makes no dictionaries of such strings.
        delta = {name for _, _, names in groups for name in names}
        strings = [name for name in columns if name in self._strings - delta]
        with _reading(self.path), self._open(strings) as file:
            for group, (number, rows, _) in enumerate(groups):
                seen = 0
                for batch in file.iter_batches(rows, [group], list(columns), use_threads=False):
                    values = [_values(_column(batch, name, self.path)) for name in columns]
                    seen += batch.num_rows
                    for row in zip(*values, strict=True):
                        budget.take(sum(len(value) for value in row if isinstance(value, str)), packed)
                        yield row
                if seen != number:
                    raise InputError(f"{self.path}: not a Parquet file that can be read ({seen:,} rows for {number:,})")

    def _check(
        self, group: RowGroup, columns: Sequence[str], budget: Budget, pages: BinaryIO
    ) -> tuple[int, int, list[str]]:
        """Check the sizes that a row group and its pages claim.

        :returns: its rows, the rows of its batches, and the columns whose strings are told from the one before.
        """
        largest = 0
        rows, delta = ROWS, list[str]()
        for chunk in group.chunks:
            name = chunk.path
            wanted = [column for column in columns if name == column or name.startswith(f"{column}.")]
            if not wanted:
                continue
            budget.check(chunk.size, chunk.packed)
            found = look_at(pages, chunk, self.path)
            budget.check(found.size, chunk.packed)
            largest = max(largest, chunk.size, found.size)
            if found.delta:
                rows = min(rows, BATCH // max(found.largest, 1))
                delta += wanted
            if self._others.intersection(wanted):  # whoever asked for text refuses its first row
                rows = 1
        return group.rows, max(1, min(rows, BATCH * max(group.rows, 1) // max(largest, 1))), delta


def read_table(path: Path, struct: str = "", *, leave_out: bool = False) -> Any:
    """All of a Parquet file of numbers and text (a pyarrow table), in memory that follows the size of the file.

    :param struct: the one column that may be a struct of texts; with ``leave_out`` it is not read.
    :raises InputError: it is no such file, or claims more rows than it has bytes, or more text than any table.
    """
    import pyarrow.parquet

    budget, packed = Budget(path), path.stat().st_size
    with _reading(path), pyarrow.parquet.ParquetFile(path) as file, path.open("rb") as pages:
        if file.metadata.num_rows > packed:
            raise InputError(f"{path}: {file.metadata.num_rows:,} rows in {packed:,} bytes: not a table of this kind")
        schema = file.schema_arrow
        words = []
        for name, kind in zip(schema.names, schema.types, strict=True):
            parts = list(kind) if name == struct and pyarrow.types.is_struct(kind) else []
            if not (_is_text(kind) or _is_number(kind) or (parts and all(_is_text(part.type) for part in parts))):
                raise InputError(f"{path}: not a table of numbers and text (its column {name!r})")
            words += [name] if _is_text(kind) else [f"{name}.{part.name}" for part in parts]
        size = 0
        for group in row_groups(pages, path):
            for chunk in group.chunks:
                size += max(chunk.size, look_at(pages, chunk, path).size)
                budget.check(size, packed)
    # A long text that every row names would be as long as the rows are many: it stays one until that is known.
    text = Budget(path)
    with _reading(path):
        names = [name for name in schema.names if not (leave_out and name == struct)]
        table = pyarrow.parquet.read_table(path, columns=names, read_dictionary=words)
        for place, kind in enumerate(table.schema.types):
            if not _is_number(kind):
                chunks = [_decoded(chunk, text, packed) for chunk in table.column(place).chunks]
                plain = pyarrow.string() if not pyarrow.types.is_struct(kind) else _of_strings(kind)
                table = table.set_column(place, table.column_names[place], pyarrow.chunked_array(chunks, plain))
    return table


def _of_strings(kind: Any) -> Any:
    """A struct of the same names whose values are plain text."""
    import pyarrow

    return pyarrow.struct([(part.name, pyarrow.string()) for part in kind])


def _decoded(array: Any, budget: Budget, packed: int) -> Any:
    """An array of text, or of structs of texts, without dictionaries.

    :raises InputError: it is more text than comes from so many bytes.
    """
    import pyarrow.compute

    if pyarrow.types.is_struct(array.type):
        parts = [_decoded(array.field(number), budget, packed) for number in range(array.type.num_fields)]
        return pyarrow.StructArray.from_arrays(parts, fields=list(_of_strings(array.type)))
    if pyarrow.types.is_dictionary(array.type):
        lengths = pyarrow.compute.binary_length(array.dictionary).take(array.indices)
        budget.take(pyarrow.compute.sum(lengths).as_py() or 0, packed)
    return array.cast(pyarrow.string())


def _is_text(kind: Any) -> bool:
    import pyarrow

    kind = kind.value_type if pyarrow.types.is_dictionary(kind) else kind
    return bool(pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind))


def _is_number(kind: Any) -> bool:
    import pyarrow

    return bool(pyarrow.types.is_integer(kind) or pyarrow.types.is_floating(kind) or pyarrow.types.is_boolean(kind))


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[None]:
    """What pyarrow raises, as one line."""
    import pyarrow

    try:
        yield
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        said = " ".join(str(error).split())
        raise InputError(f"{path}: not a Parquet file that can be read ({said})") from None


def _column(batch: Any, name: str, path: Path) -> Any:
    if name in batch.schema.names:
        return batch.column(name)
    parent, _, field = name.partition(".")
    try:
        return batch.column(parent).field(field)
    except (KeyError, AttributeError):  # the two descriptions of the columns in the footer differ
        raise InputError(f"{path}: not a Parquet file that can be read (there are no values of {name!r})") from None


def _values(column: Any) -> list[Any]:
    """The values of a column; equal strings of a dictionary are one object."""
    import pyarrow

    if not pyarrow.types.is_dictionary(column.type):
        return column.to_pylist()
    words = column.dictionary.to_pylist()
    return [None if index is None else words[index] for index in column.indices.to_pylist()]

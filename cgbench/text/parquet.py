"""Read columns of Parquet files batch by batch in a child process.

PyArrow crashes on some damaged files, and allocates as much memory as a file claims to need. A file
of 100 kB can hold gigabytes: one long value, referenced a thousand times. So one child process with
limited memory reads all files, and its output is counted.
"""

import os
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

from cgbench.engines.child import Answer, Child
from cgbench.errors import InputError, check_installed, reason_of
from cgbench.text.limits import PARQUET_FOOTER, PARQUET_MEMORY, PARQUET_MESSAGE, Budget

ROWS = 1 << 14  # of a batch
BATCH = 8 << 20  # bytes of a batch, estimated from the mean of its row group


@cache
def _started(process: int) -> list[Child]:
    return []


def _child() -> Child:
    """The child process of this process, which is started again if it has ended."""
    children = _started(os.getpid())
    if not (children and children[0].alive):
        children[:] = [Child("cgbench.text.parquet:answers", PARQUET_MEMORY)]
    return children[0]


def _ask(child: Child, path: Path, do: str, **question: Any) -> tuple[Any, bytes]:
    died = (
        f"{path}: not a readable Parquet file (the process that read it crashed, or used too much"
        " memory)"
    )
    question |= {"do": do, "path": str(path), "place": str(path.absolute())}
    return child.ask(question, died, most=PARQUET_MESSAGE)


class ParquetTable:
    """A Parquet file: its ``schema``; ``names`` of its columns; ``nested``: fields of the struct
    ``translation``.

    :raises InputError: it is missing, or not a Parquet file.
    """

    def __init__(self, path: Path) -> None:
        check_installed("pyarrow")
        import pyarrow

        self.path = path
        self.length, schema = _ask(_child(), path, "describe")
        self.schema = pyarrow.ipc.read_schema(pyarrow.py_buffer(schema))
        self.names: list[str] = self.schema.names
        nested = (
            _parts(self.schema.field("translation").type) if "translation" in self.names else []
        )
        self.nested = [field.name for field in nested]

    def read(self, columns: Sequence[str]) -> Iterator[tuple[int, tuple[Any, ...]]]:
        """The values of ``columns`` in each row, with its number.

        :raises InputError: the file is damaged, or exceeds a limit.
        """
        budget, packed = Budget(self.path), self.path.stat().st_size
        if missing := [name for name in columns if name not in (*self.names, *self.nested)]:
            raise InputError(
                f"{self.path}: no column {missing[0]!r}; it has {', '.join(self.names)}"
            )
        budget.check(self.length, packed)  # each row is a line, even if empty
        columns, row_numbers = (
            [f"translation.{name}" if name in self.nested else name for name in columns],
            count(1),
        )
        done = 0
        for batch in self.batches(columns):
            arrays = [_column(batch, name, self.path) for name in columns]
            try:
                values = [array.to_pylist() for array in arrays]
            except UnicodeDecodeError:
                raise self._not_utf8(arrays, columns, done) from None
            done += batch.num_rows
            for row in zip(*values, strict=True):
                budget.take(sum(len(value) for value in row if isinstance(value, str)), packed)
                yield next(row_numbers), row

    def _not_utf8(self, arrays: Sequence[Any], columns: Sequence[str], before: int) -> InputError:
        """The error for a batch with bytes that are no UTF-8, which pyarrow does not check.

        :param before: the number of rows before the batch.
        """
        for name, array in zip(columns, arrays, strict=True):
            for index, value in enumerate(array):
                try:
                    value.as_py()
                except UnicodeDecodeError:
                    return InputError(
                        f"{self.path}, row {before + index + 1}: the field {name!r} is not UTF-8;"
                        " write the file again from text that is"
                    )
        raise AssertionError("a batch is not UTF-8, yet each of its values is")

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """The record batches of these columns (``translation.de`` is a field), of at most about
        :data:`BATCH` bytes.
        """
        import pyarrow

        child = _child()
        reading, _ = _ask(child, self.path, "read", columns=columns)
        try:
            while (reply := _ask(child, self.path, "next", number=reading))[0]:
                yield pyarrow.ipc.open_stream(reply[1]).read_next_batch()
        finally:
            if child.alive:
                _ask(child, self.path, "end", number=reading)


def read_parquet(path: Path, structs: Sequence[str] = (), *, leave_out: bool = False) -> Any:
    """A Parquet file of numbers and text as a pyarrow table, with memory limited by the size of the
    file.

    :param structs: the columns that may be structs of texts; ``leave_out``: do not read them.
    :raises InputError: it is not such a file, has more rows than bytes, or exceeds a limit.
    """
    table, packed = ParquetTable(path), path.stat().st_size
    import pyarrow

    if table.length > packed:
        raise InputError(
            f"{path}: {table.length:,} rows in {packed:,} bytes: not a plausible table"
        )
    for name, kind in zip(table.names, table.schema.types, strict=True):
        fields = _parts(kind) if name in structs else []
        if not (
            _is_text(kind)
            or _is_number(kind)
            or (fields and all(_is_text(field.type) for field in fields))
        ):
            raise InputError(f"{path}: column {name!r} is neither numbers nor text")
    read_names = [name for name in table.names if not (leave_out and name in structs)]
    budget, record_batches = Budget(path), []
    for batch in table.batches(read_names):
        budget.take(batch.nbytes, packed)
        record_batches.append(batch)
    plain = pyarrow.schema([(name, _plain(table.schema.field(name).type)) for name in read_names])
    return pyarrow.Table.from_batches(record_batches, plain)


def _plain(kind: Any) -> Any:
    import pyarrow

    if pyarrow.types.is_struct(kind):
        return pyarrow.struct([(field.name, _plain(field.type)) for field in kind])
    return pyarrow.string() if _is_text(kind) else kind


def _column(batch: Any, name: str, path: Path) -> Any:
    if name in batch.schema.names:
        return batch.column(name)
    parent, _, field = name.partition(".")
    try:
        return batch.column(parent).field(field)
    except (KeyError, AttributeError):  # the two descriptions of the columns in the footer differ
        raise InputError(f"{path}: not a readable Parquet file (no values of {name!r})") from None


def _is_text(kind: Any) -> bool:
    import pyarrow

    kind = kind.value_type if pyarrow.types.is_dictionary(kind) else kind
    return bool(pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind))


def _is_number(kind: Any) -> bool:
    import pyarrow

    return bool(
        pyarrow.types.is_integer(kind)
        or pyarrow.types.is_floating(kind)
        or pyarrow.types.is_boolean(kind)
    )


def _parts(kind: Any) -> list[Any]:
    import pyarrow

    return list(kind) if pyarrow.types.is_struct(kind) else []


# The child process.


def answers() -> Answer:
    """A function that answers the questions of :func:`_ask`."""
    import pyarrow.parquet

    readings: dict[int, Iterator[Any]] = {}
    numbers = count()

    def answer(question: dict[str, Any]) -> tuple[Any, Any]:
        location, path, do = Path(question["place"]), Path(question["path"]), question["do"]
        try:
            if do == "end":
                readings.pop(question["number"], None)
                return None, b""
            if do == "next":
                return _packed(next(readings[question["number"]], None))
            if not location.exists():
                raise InputError(f"{path}: no such file")
            if do == "describe":
                with _open(location) as file:
                    return file.metadata.num_rows, file.schema_arrow.serialize()
            readings[reading := next(numbers)] = _read(location, path, question["columns"])
            return reading, b""
        except (pyarrow.ArrowException, OSError, ValueError, MemoryError) as error:
            raise InputError(f"{path}: not a readable Parquet file ({reason_of(error)})") from None

    return answer


def _open(location: Path) -> Any:
    import pyarrow.parquet

    limits = {
        "thrift_string_size_limit": PARQUET_FOOTER,
        "thrift_container_size_limit": PARQUET_FOOTER,
    }
    return pyarrow.parquet.ParquetFile(location, buffer_size=1 << 20, **limits)


def _read(location: Path, path: Path, columns: Sequence[str]) -> Iterator[Any]:
    """The batches, after checking the sizes stated in the file."""
    budget, groups = Budget(path), []
    file = _open(location)
    for group_index in range(file.metadata.num_row_groups):
        group = file.metadata.row_group(group_index)
        rows = ROWS
        for chunk in map(group.column, range(group.num_columns)):
            if any(
                chunk.path_in_schema == name or chunk.path_in_schema.startswith(f"{name}.")
                for name in columns
            ):
                unpacked = max(chunk.total_uncompressed_size, 1)
                budget.check(unpacked, chunk.total_compressed_size)
                # a delta-encoded text may be as long as the whole chunk
                delta = "DELTA_BYTE_ARRAY" in chunk.encodings
                rows = min(rows, BATCH * (1 if delta else group.num_rows) // unpacked)
        groups.append((group.num_rows, max(rows, 1)))

    def batches() -> Iterator[Any]:
        with file:
            for group_index, (rows, most) in enumerate(groups):
                seen = 0
                for batch in file.iter_batches(
                    most, [group_index], list(columns), use_threads=False
                ):
                    seen += batch.num_rows
                    yield from _cut(batch)
                if seen != rows:
                    raise ValueError(f"{seen:,} rows for {rows:,}")

    return batches()


def _cut(batch: Any) -> Iterator[Any]:
    """A batch without dictionaries, in parts if large: all its rows may refer to one long text."""
    import pyarrow

    if batch.num_rows > 1 and sum(map(_size, batch.columns)) > BATCH:
        half = batch.num_rows // 2
        yield from _cut(batch.slice(0, half))
        yield from _cut(batch.slice(half))
        return
    yield pyarrow.record_batch(
        [array.cast(_plain(array.type)) for array in batch.columns], batch.schema.names
    )


def _size(array: Any) -> int:
    """Bytes of an array without dictionaries."""
    import pyarrow.compute

    if not pyarrow.types.is_dictionary(array.type):
        return int(array.nbytes)
    if not _is_text(array.type):
        return int(array.dictionary.nbytes) * len(array)
    lengths = pyarrow.compute.binary_length(array.dictionary).take(array.indices)
    return int(pyarrow.compute.sum(lengths).as_py() or 0)


def _packed(batch: Any) -> tuple[bool, Any]:
    import pyarrow

    if batch is None:
        return False, b""
    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    return True, sink.getvalue()

"""Tables of pyarrow from arrays and lists, and arrays from tables.

Numbers and text do not go through ``pyarrow.array``, ``pyarrow.table`` and ``to_numpy``: these
import pandas if it is installed, which takes as long as the scan of a small text.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any

import numpy as np


def arrow() -> Any:
    """pyarrow with the C library's allocator: its own does not release some 30 MB."""
    import pyarrow
    import pyarrow.parquet

    pyarrow.set_memory_pool(pyarrow.system_memory_pool())
    return pyarrow


def number_table(columns: Mapping[str, np.ndarray]) -> Any:
    """A table of numbers, from arrays by column."""
    arrays = [number_column(values) for values in columns.values()]
    return arrow().Table.from_arrays(arrays, names=list(columns))


def number_column(values: np.ndarray) -> Any:
    """A column of numbers."""
    pyarrow = arrow()
    kind, buffer = pyarrow.from_numpy_dtype(values.dtype), np.ascontiguousarray(values)
    return pyarrow.Array.from_buffers(kind, len(values), [None, pyarrow.py_buffer(buffer)])


def text_column(lines: Sequence[str]) -> Any:
    """A column of texts."""
    pyarrow = arrow()
    encoded = [line.encode() for line in lines]
    ends = np.array([*accumulate(map(len, encoded), initial=0)], np.int64)
    column = pyarrow.LargeStringArray.from_buffers(
        len(encoded), pyarrow.py_buffer(ends), pyarrow.py_buffer(b"".join(encoded))
    )
    return column.cast(pyarrow.string())


def arrays_of(table: Any, names: Iterable[str]) -> dict[str, np.ndarray]:
    """Columns as arrays, by name."""
    return {name: _array(table[name].combine_chunks()) for name in names}


def _array(column: Any) -> np.ndarray:
    types = arrow().types
    is_number = types.is_integer(column.type) or types.is_floating(column.type)
    if is_number and not column.null_count:
        return np.from_dlpack(column)
    array: np.ndarray = column.to_numpy(zero_copy_only=False)
    return array

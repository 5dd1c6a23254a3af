"""Tables built from buffers are those of pyarrow's own constructors."""

import numpy as np
import pyarrow
from hypothesis import given
from hypothesis import strategies as st

from cgbench.text.arrow_tables import arrays_of, number_table, text_column


@given(st.lists(st.floats(allow_nan=True), max_size=9), st.sampled_from([1, 2]))
def test_a_table_of_numbers_is_that_of_pyarrow(values, step):
    columns = {
        "degree": np.array(values)[::step],
        "line": np.arange(len(values), dtype=np.int32)[::step],
        "content": np.arange(len(values), dtype=np.uint64)[::step],
    }
    table = number_table(columns)
    pyarrow_table = pyarrow.table(columns)
    assert table.schema == pyarrow_table.schema
    assert [column.to_pylist() for column in table.columns[1:]] == [
        column.to_pylist() for column in pyarrow_table.columns[1:]
    ]
    parts = pyarrow.concat_tables([table, table])
    for name, column in arrays_of(parts, columns).items():
        assert column.dtype == columns[name].dtype
        np.testing.assert_array_equal(column, np.tile(columns[name], 2))


@given(st.lists(st.text()))
def test_a_column_of_texts_is_that_of_pyarrow(lines):
    column = text_column(lines)
    column.validate(full=True)
    assert column.equals(pyarrow.array(lines, pyarrow.string()))

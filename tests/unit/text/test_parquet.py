"""Parquet files that claim what is not so: refused before there is room made for it; and odd ones
that are whole.
"""

import resource
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from cgbench.errors import InputError
from cgbench.text.columns import read_column, read_text
from cgbench.text.formats import CorpusSpec, read_pairs
from cgbench.text.parquet import read_parquet

MIB = 1 << 20


def lie(path, old, new):
    """Write another number, as long as the old one, where a file first says it (Thrift: zigzag,
    seven bits a byte).
    """
    data = path.read_bytes()
    old, new = (b"\x15" + _varint(2 * number) for number in (old, new))
    assert len(old) == len(new)
    path.write_bytes(data[: data.index(old)] + new + data[data.index(old) + len(old) :])


def _varint(value):
    return (bytes([value & 127 | 128]) + _varint(value >> 7)) if value > 127 else bytes([value])


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"use_dictionary": False},
        {"data_page_version": "2.0"},
        {"use_dictionary": False, "column_encoding": {"a": "DELTA_BYTE_ARRAY"}},
        {
            "use_dictionary": False,
            "column_encoding": {"a": "DELTA_LENGTH_BYTE_ARRAY", "b": "DELTA_BINARY_PACKED"},
        },
        {"compression": "none", "data_page_size": 1024, "row_group_size": 7000},
    ],
)
def test_a_file_is_read_however_it_was_written(tmp_path, options):
    path = tmp_path / "x.parquet"
    table = pyarrow.table(
        {"a": [f"some words {number}" for number in range(30_000)], "b": range(30_000)}
    )
    pyarrow.parquet.write_table(table, path, **options)
    assert read_column(f"{path}:a").values == table["a"].to_pylist()
    assert read_parquet(path).to_pydict() == table.to_pydict()


def test_a_table_of_structs_and_one_without_rows(tmp_path):
    path = tmp_path / "x.parquet"
    rows = {"line": [1, 2], "translation": [{"de": "a", "en": "b"}, {"de": "c", "en": None}]}
    pyarrow.parquet.write_table(pyarrow.table(rows), path)
    assert read_parquet(path, ["translation"]).to_pydict() == rows
    assert read_parquet(path, ["translation"], leave_out=True).to_pydict() == {"line": [1, 2]}
    with pytest.raises(InputError, match="column 'translation' is neither numbers nor text"):
        read_parquet(path)
    pyarrow.parquet.write_table(pyarrow.table(rows).slice(0, 0), path)
    assert read_parquet(path, ["translation"]).schema == pyarrow.table(rows).schema


def test_two_columns_are_read_side_by_side(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the process that reads was started elsewhere
    table = pyarrow.table({"a": [str(number) for number in range(3000)], "b": ["x"] * 3000})
    pyarrow.parquet.write_table(table, "x.parquet")
    pairs = read_pairs(CorpusSpec((Path("x.parquet:a"), Path("x.parquet:b"))))
    assert list(pairs) == list(zip(*table.to_pydict().values(), strict=True))


def test_a_page_larger_than_the_file_says(tmp_path):
    """The footer says 10 MB, the page 100 MB: PyArrow makes room for it, in a process with a
    limit.
    """
    path = tmp_path / "x.parquet"
    pyarrow.parquet.write_table(
        pyarrow.table({"a": ["x" * (10 * MIB)]}), path, compression="zstd", use_dictionary=False
    )
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    lie(path, 10 * MIB + 10, 100 * MIB)
    for read in (lambda: list(read_text(f"{path}:a")), lambda: read_parquet(path)):
        with pytest.raises(InputError, match="not a readable Parquet file"):
            read()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50 << 10


def test_strings_that_repeat_the_one_before(tmp_path):
    """A page of 1 MB whose 300 values are 300 MB: a batch has as few as fit."""
    path = tmp_path / "x.parquet"
    begin = "x" * MIB
    table = pyarrow.table({"a": [begin + str(number) for number in range(300)]})
    options = {
        "use_dictionary": False,
        "column_encoding": "DELTA_BYTE_ARRAY",
        "compression": "none",
    }
    pyarrow.parquet.write_table(table, path, **options)
    assert path.stat().st_size < 2 * MIB
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(InputError, match="raise CGBENCH_MAX_RATIO"):
        list(read_text(f"{path}:a"))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 150 << 10


def test_rows_without_end(tmp_path):
    path = tmp_path / "x.parquet"
    rows = pyarrow.DictionaryArray.from_arrays(
        pyarrow.array([0] * 70_000_000, pyarrow.int8()), [""]
    )
    pyarrow.parquet.write_table(pyarrow.table({"a": rows}), path, row_group_size=70_000_000)
    assert path.stat().st_size < 200_000
    with pytest.raises(InputError, match="raise CGBENCH_MAX_RATIO"):
        next(read_text(f"{path}:a"))
    with pytest.raises(InputError, match="70,000,000 rows in"):
        read_parquet(path)


@pytest.mark.parametrize(
    "kind", [pyarrow.string(), pyarrow.large_string(), pyarrow.dictionary("int32", "string")]
)
def test_strings_of_every_kind(tmp_path, kind):
    path = tmp_path / "x.parquet"
    rows = ["ein Haus", "", "ein Haus", "ä"] * 600
    pyarrow.parquet.write_table(
        pyarrow.table({"a.b": pyarrow.array(rows).cast(kind), "c": rows}), path
    )
    assert read_column(f"{path}:a.b").values == rows


def test_a_table_of_one_long_text(tmp_path):
    """5,000 rows that name one text of 100 kB: 500 MB from a file of a few kB."""
    path = tmp_path / "x.parquet"
    rows = pyarrow.DictionaryArray.from_arrays(
        pyarrow.array([0] * 5000, pyarrow.int32()), ["x" * 100_000]
    )
    pyarrow.parquet.write_table(pyarrow.table({"a": rows, "b": range(5000)}), path)
    for read in (lambda: read_parquet(path), lambda: list(read_text(f"{path}:a"))):
        with pytest.raises(InputError, match="raise CGBENCH_MAX_RATIO"):
            read()


def test_a_column_that_is_not_there(tmp_path):
    path = tmp_path / "x.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"de": ["a"], "en": ["b"]}), path)
    with pytest.raises(InputError, match=r"no column 'nope'; it has de, en$"):
        list(read_pairs(CorpusSpec((path,), ("de", "nope"))))


def test_footers_whose_two_descriptions_differ(tmp_path):
    """The Arrow schema in the footer says "en", the Parquet schema "fn"."""
    path = tmp_path / "x.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"source": ["a"], "target": ["b"]}), path)
    data = path.read_bytes()
    places = [place for place in range(len(data)) if data.startswith(b"target", place)]
    refused = 0
    for place in places:
        path.write_bytes(data[:place] + b"T" + data[place + 1 :])
        try:
            assert list(read_pairs(CorpusSpec((path,)))) == [("a", "b")]
        except InputError as error:
            refused += 1
            assert "\n" not in str(error)
    assert refused


def test_a_footer_that_contradicts_itself_ends_no_process(tmp_path):
    """PyArrow would abort when asked for the column's description: its histogram has more levels
    than the column.
    """
    path = tmp_path / "x.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"a": ["one two"] * 3}), path)
    data = path.read_bytes()
    optional = data.rindex(b"\x15\x0c\x25\x02\x18\x01a")  # BYTE_ARRAY, OPTIONAL, "a"
    path.write_bytes(
        data[: optional + 3] + b"\0" + data[optional + 4 :]
    )  # REQUIRED: one level fewer
    with pytest.raises(InputError, match="the process that read it crashed") as caught:
        list(read_text(f"{path}:a"))
    assert "\n" not in str(caught.value)
    path.write_bytes(data)
    assert list(read_text(f"{path}:a")) == ["one two"] * 3  # by another process


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"x" * 40,
        b"PAR1\xff\xff\xff\x7fPAR1",
        *(
            b"PAR1" + deep + len(deep).to_bytes(4, "little") + b"PAR1"
            for deep in (b"\x19" * 5000, b"\x1c" * 5000)
        ),
    ],
)
def test_what_is_no_parquet_file_is_one_line(tmp_path, data):
    path = tmp_path / "x.parquet"
    path.write_bytes(data)
    with pytest.raises(InputError, match="not a readable Parquet file") as caught:
        list(read_text(f"{path}:a"))
    assert "\n" not in str(caught.value)


def test_bytes_that_are_no_text_and_nulls_are_named_by_row(tmp_path):
    """PyArrow does not check that a column of text is UTF-8."""
    data = pyarrow.array([b"good"] * 20_000 + [b"\xff\xfe", b"good"], pyarrow.binary())
    texts = pyarrow.Array.from_buffers(pyarrow.string(), len(data), data.buffers())
    path = tmp_path / "bad.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"de": texts, "en": ["x"] * len(data)}), path)
    for read in (
        lambda: list(read_pairs(CorpusSpec((path,), ("en", "de")))),
        lambda: list(read_text(f"{path}:de")),
    ):
        with pytest.raises(InputError, match=r"row 20001: the field 'de' is not UTF-8"):
            read()
    path = tmp_path / "null.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"de": ["a", None], "en": ["b", "c"]}), path)
    message = r"row 2: no text field 'de' in this row \(it is missing or null\)"
    with pytest.raises(InputError, match=message):
        list(read_pairs(CorpusSpec((path,), ("de", "en"))))

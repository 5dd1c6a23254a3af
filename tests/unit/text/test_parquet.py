"""Parquet files that claim what is not so: refused before there is room made for it; and odd ones that are whole."""

import subprocess
import sys

import pyarrow
import pyarrow.parquet
import pytest

from cgbench.errors import InputError
from cgbench.text.columns import read_column, read_text
from cgbench.text.formats import CorpusSpec, read_pairs
from cgbench.text.parquet import read_table
from cgbench.text.parquet_footer import Chunk, row_groups
from cgbench.text.parquet_pages import look_at
from cgbench.text.thrift import ThriftReader

MIB = 1 << 20


def varint(value):
    """A number as Thrift's compact protocol has it: zigzag, seven bits a byte."""
    value, data = value << 1 if value >= 0 else (-value << 1) - 1, b""
    while value > 127:
        data, value = data + bytes([value & 127 | 128]), value >> 7
    return data + bytes([value])


def page_at(path, column=0):
    """The bytes of a file, and the place and fields of its first page: of its dictionary, if it has one."""
    chunk = pyarrow.parquet.read_metadata(path).row_group(0).column(column)
    begin = chunk.dictionary_page_offset or chunk.data_page_offset
    data = path.read_bytes()
    return data, begin, ThriftReader(data[begin : begin + 4096]).struct(0)


def lie(path, field, old, new):
    """Write another number, as long as the old one, into the first page's header: ``field`` of the header itself."""
    data, begin, fields = page_at(path)
    assert fields[field] == old and len(varint(old)) == len(varint(new))
    place = data.index(b"\x15" + varint(old), begin) + 1
    path.write_bytes(data[:place] + varint(new) + data[place + len(varint(old)) :])


def test_pages_are_those_that_pyarrow_wrote(tmp_path):
    rows = [f"some words {number}" for number in range(30_000)]
    for options in (
        {},
        {"use_dictionary": False},
        {"data_page_version": "2.0"},
        {"use_dictionary": False, "column_encoding": {"a": "DELTA_BYTE_ARRAY"}},
        {"use_dictionary": False, "column_encoding": {"a": "DELTA_LENGTH_BYTE_ARRAY", "b": "DELTA_BINARY_PACKED"}},
        {"compression": "none", "data_page_size": 1024},
        {"write_page_index": True, "write_page_checksum": True},
    ):
        path = tmp_path / "x.parquet"
        pyarrow.parquet.write_table(pyarrow.table({"a": rows, "b": range(len(rows))}), path, **options)
        metadata = pyarrow.parquet.read_metadata(path).row_group(0)
        with path.open("rb") as file:
            (group,) = row_groups(file, path)
        assert group.rows == len(rows)
        for number in range(2):
            chunk = metadata.column(number)
            with path.open("rb") as file:
                pages = look_at(file, group.chunks[number], path)
            begin = chunk.dictionary_page_offset if chunk.has_dictionary_page else chunk.data_page_offset
            assert group.chunks[number] == Chunk(
                chunk.path_in_schema,
                begin,
                chunk.total_compressed_size,
                chunk.total_uncompressed_size,
                chunk.num_values,
            )
            assert 0 <= chunk.total_uncompressed_size - pages.size < 0.2 * chunk.total_uncompressed_size  # the headers
            assert pages.delta == bool({"DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"}.intersection(chunk.encodings))
        assert read_column(f"{path}:a").values == rows
        if "column_encoding" not in options:  # of which PyArrow makes no dictionaries
            assert read_table(path).to_pydict() == {"a": rows, "b": [*range(len(rows))]}


def test_a_page_larger_than_the_file_says(tmp_path):
    """The footer says 3 MB, the page 100 MB: PyArrow would make room for the latter."""
    path = tmp_path / "x.parquet"
    text = "x" * (3 * MIB)
    pyarrow.parquet.write_table(pyarrow.table({"a": [text]}), path, compression="zstd", use_dictionary=False)
    lie(path, 2, page_at(path)[2][2], 100 * MIB)
    with pytest.raises(InputError, match=r"become more than 104,857,600, .*raise CGBENCH_MAX_RATIO"):
        list(read_text(f"{path}:a"))
    with pytest.raises(InputError, match="raise CGBENCH_MAX_RATIO"):
        read_table(path)


def test_a_page_longer_than_its_column(tmp_path):
    path = tmp_path / "x.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"a": ["one two"] * 3}), path, compression="snappy")
    assert page_at(path)[2][2] != page_at(path)[2][3]
    for length in (50, 63):
        lie(path, 3, page_at(path)[2][3], length)
        with pytest.raises(InputError, match=r"\(column 'a': "):
            list(read_text(f"{path}:a"))


def test_strings_that_repeat_the_one_before(tmp_path):
    """A page of 1 MB whose 400 values are 400 MB: a batch has as few as fit."""
    path = tmp_path / "x.parquet"
    begin = "x" * MIB
    table = pyarrow.table({"a": [begin + str(number) for number in range(400)]})
    options = {"use_dictionary": False, "column_encoding": "DELTA_BYTE_ARRAY", "compression": "none"}
    pyarrow.parquet.write_table(table, path, **options)
    assert path.stat().st_size < 2 * MIB
    code = (
        "import sys, resource, pyarrow.parquet\n"
        "from cgbench.text.columns import read_text\n"
        "from cgbench.errors import InputError\n"
        "next(read_text(sys.argv[1]))\n"
        "size = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (size + (150 << 20),) * 2)\n"
        "try:\n"
        "    print(sum(1 for line in read_text(sys.argv[1])))\n"
        "except InputError as error:\n"
        "    print(error)\n"
    )
    if sys.platform == "linux":
        done = subprocess.run([sys.executable, "-c", code, f"{path}:a"], capture_output=True, text=True, check=True)
        assert "raise CGBENCH_MAX_RATIO" in done.stdout


def test_rows_without_end(tmp_path):
    path = tmp_path / "x.parquet"
    rows = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * 70_000_000, pyarrow.int8()), [""])
    pyarrow.parquet.write_table(pyarrow.table({"a": rows}), path, row_group_size=70_000_000)
    assert path.stat().st_size < 200_000
    with pytest.raises(InputError, match="raise CGBENCH_MAX_RATIO"):
        next(read_text(f"{path}:a"))
    with pytest.raises(InputError, match="70,000,000 rows in"):
        read_table(path)


@pytest.mark.parametrize("kind", [pyarrow.string(), pyarrow.large_string(), pyarrow.dictionary("int32", "string")])
def test_strings_of_every_kind(tmp_path, kind):
    path = tmp_path / "x.parquet"
    rows = ["ein Haus", "", "ein Haus", "ä"] * 600
    pyarrow.parquet.write_table(pyarrow.table({"a.b": pyarrow.array(rows).cast(kind), "c": rows}), path)
    assert read_column(f"{path}:a.b").values == rows


def test_a_table_of_one_long_text(tmp_path):
    """5,000 rows that name one text of 100 kB: 500 MB from a file of a few kB."""
    path = tmp_path / "x.parquet"
    rows = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * 5000, pyarrow.int32()), ["x" * 100_000])
    pyarrow.parquet.write_table(pyarrow.table({"a": rows, "b": range(5000)}), path)
    before = pyarrow.total_allocated_bytes()
    with pytest.raises(InputError, match="500,000,000, .*raise CGBENCH_MAX_RATIO"):
        read_table(path)
    assert pyarrow.total_allocated_bytes() - before < MIB


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


def test_headers_that_are_no_thrift():
    for data in (b"\x15\x80", b"\x1c" * 50, b"\x1f\x00", b"\x19\xf5\xff\xff\xff\x0f", b"\x15" + b"\xff" * 12):
        with pytest.raises((LookupError, ValueError)):
            ThriftReader(data).struct(0)
    # 1: -2, 3: a list of two numbers and a map, then a struct at 20 by its own number
    data = b"\x15\x03\x29\x25\x02\x04\x1b\x01\x55\x02\x02\x0c\x28\x15\x08\x00\x00"
    assert ThriftReader(data).struct(0) == {1: -2, 3: [], 4: None, 20: {1: 4}}


def test_a_size_that_is_no_number(tmp_path):
    path = tmp_path / "x.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"a": ["one two"] * 3}), path, compression="none")
    data, begin, fields = page_at(path)
    size = b"\x15" + varint(fields[2])
    place = data.index(size, begin)
    path.write_bytes(data[:place] + b"\x18" + b"\x01" * (len(size) - 1) + data[place + len(size) :])  # bytes instead
    with pytest.raises(InputError, match=r"\(column 'a': a page's header is damaged\)"):
        list(read_text(f"{path}:a"))


def test_a_footer_that_contradicts_itself_ends_no_process(tmp_path):
    """PyArrow would abort when asked for the column's description: its histogram has more levels than the column."""
    path = tmp_path / "x.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"a": ["one two"] * 3}), path)
    data = path.read_bytes()
    optional = data.rindex(b"\x15\x0c\x25\x02\x18\x01a")  # BYTE_ARRAY, OPTIONAL, "a"
    path.write_bytes(data[: optional + 3] + b"\0" + data[optional + 4 :])  # REQUIRED: one level fewer
    code = "import sys\nfrom cgbench.text.columns import read_text\nfor line in read_text(sys.argv[1]): print(line)\n"
    done = subprocess.run([sys.executable, "-c", code, f"{path}:a"], capture_output=True, text=True)
    assert done.returncode == 1 and "InputError" in done.stderr.splitlines()[-1], done.stderr


def test_structures_without_end(tmp_path):
    path = tmp_path / "x.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"a": ["one two"] * 3}), path)
    for deep in (b"\x19" * 5000, b"\x1c" * 5000):  # lists of lists, structs in structs
        path.write_bytes(b"PAR1" + deep + len(deep).to_bytes(4, "little") + b"PAR1")
        with path.open("rb") as file, pytest.raises(InputError, match="its description is damaged"):
            row_groups(file, path)
    for wrong, said in (
        (b"", "does not end"),
        (b"PAR1\xff\xff\xff\x7fPAR1", "does not end"),
        (b"x" * 40, "does not end"),
    ):
        path.write_bytes(wrong)
        with path.open("rb") as file, pytest.raises(InputError, match=said):
            row_groups(file, path)

import gzip
import json

import pyarrow
import pyarrow.parquet
import pytest

from cgbench.errors import InputError, InputWarning
from cgbench.text.columns import read_column

ROWS = [{"source": "a b", "score": 1}, {"source": "c", "score": 2.5}]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "plain").write_text("a b\r\n\nc\n")
    (tmp_path / "plain.gz").write_bytes(gzip.compress(b"a b\nc\n"))
    (tmp_path / "t.tsv").write_text("source\tscore\na b\t1\nc\t2.5\n")
    (tmp_path / "bare.tsv").write_text("a b\t1\nc\t2.5\n")
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    pyarrow.parquet.write_table(
        pyarrow.Table.from_pylist([{**row, "score": float(row["score"])} for row in ROWS]), tmp_path / "t.parquet"
    )
    return tmp_path


def test_plain_lines_keep_their_number(folder):
    assert read_column(folder / "plain").values == ["a b", "", "c"]
    assert read_column(f"{folder}/plain.gz").values == ["a b", "c"]


@pytest.mark.parametrize("name", ["t.tsv:source", "t.jsonl:source", "t.parquet:source", "bare.tsv:1"])
def test_a_column_of_a_table(folder, name):
    assert read_column(f"{folder}/{name}").values == ["a b", "c"]


@pytest.mark.parametrize(
    ("name", "values"), [("t.tsv", ["1", "2.5"]), ("t.jsonl", ["1", "2.5"]), ("t.parquet", ["1.0", "2.5"])]
)
def test_numbers_are_text_and_roles_name_columns(folder, name, values):
    assert read_column(f"{folder}/{name}", "hypothesis", "score").values == values


def test_a_byte_order_mark_is_no_text(folder):
    (folder / "bom").write_bytes(b"\xef\xbb\xbfa\nb\n")
    (folder / "bom.tsv").write_bytes(b"\xef\xbb\xbfx\ty\n1\t2\n")
    with pytest.warns(InputWarning, match="byte order mark"):
        assert read_column(folder / "bom").values == ["a", "b"]
    with pytest.warns(InputWarning, match="byte order mark"):
        assert read_column(f"{folder}/bom.tsv:x").values == ["1"]


def test_a_name_of_a_row(folder):
    assert read_column(f"{folder}/t.tsv:score").row(1).endswith("t.tsv:score, row 2")


def test_a_colon_in_a_file_name(folder):
    (folder / "a:b").write_text("x\n")
    assert read_column(f"{folder}/a:b").values == ["x"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing", "missing: no such file"),
        ("t.tsv:sorce", "no column 'sorce'; did you mean source?"),
        ("t.tsv", "which column?"),
        ("bare.tsv:3", "row 1 has 2 columns; column 3 is needed"),
        ("bare.tsv:0", "counted from 1"),
        ("t.tsv:²", "no column '²'"),
        ("t.tsv:" + "9" * 5000, "no column '999"),
        ("t.jsonl:x", "no column 'x'"),
        ("null.jsonl:a", "row 2: no value in the field 'a'"),
        ("half.jsonl:a", "half of a surrogate pair"),
        ("broken.jsonl:a", "row 1 is not JSON"),
        ("latin", "latin, line 1: not UTF-8"),
    ],
)
def test_bad_input(folder, name, message):
    (folder / "null.jsonl").write_text('{"a": "x"}\n{"b": "x"}\n')
    (folder / "half.jsonl").write_text('{"a": "\\ud800"}\n')
    (folder / "broken.jsonl").write_text("{\n")
    (folder / "latin").write_bytes(b"\xe4\n")
    with pytest.raises(InputError, match=message.replace("?", r"\?")):
        read_column(f"{folder}/{name}")

import csv
import gzip
import hashlib
import json

import pyarrow
import pyarrow.parquet
import pytest

from cgbench.errors import InputError
from cgbench.text.columns import read_column
from cgbench.text.rows import Table

ROWS = [{"source": "a b", "score": 1}, {"source": "c", "score": 2.5}]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "plain").write_text("a b\r\n\nc\n")
    (tmp_path / "plain.gz").write_bytes(gzip.compress(b"a b\nc\n"))
    (tmp_path / "t.tsv").write_text("source\tscore\na b\t1\nc\t2.5\n")
    (tmp_path / "bare.tsv").write_text("a b\t1\nc\t2.5\n")
    (tmp_path / "t.csv").write_text('source,score\r\n"a b",1\r\nc,2.5\r\n')
    (tmp_path / "bare.csv").write_text("a b,1\nc,2.5\n")
    (tmp_path / "t.json").write_text(json.dumps(ROWS, indent=1))
    (tmp_path / "lines.json").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    pyarrow.parquet.write_table(
        pyarrow.Table.from_pylist([{**row, "score": float(row["score"])} for row in ROWS]),
        tmp_path / "t.parquet",
    )
    return tmp_path


def test_plain_lines_keep_their_number(folder):
    assert read_column(folder / "plain").values == ["a b", "", "c"]
    assert read_column(f"{folder}/plain.gz").values == ["a b", "c"]


@pytest.mark.parametrize(
    "name",
    [
        *("t.tsv:source", "t.jsonl:source", "t.parquet:source", "bare.tsv:1"),
        *("t.csv:source", "bare.csv:1", "t.json:source", "lines.json:source"),
    ],
)
def test_a_column_of_a_table(folder, name):
    assert read_column(f"{folder}/{name}").values == ["a b", "c"]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("t.tsv", ["1", "2.5"]),
        ("t.csv", ["1", "2.5"]),
        ("t.json", ["1", "2.5"]),
        ("t.jsonl", ["1", "2.5"]),
        ("t.parquet", ["1.0", "2.5"]),
    ],
)
def test_numbers_are_text_and_roles_name_columns(folder, name, values):
    assert read_column(f"{folder}/{name}", "hypothesis", "score").values == values


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
        ("half.jsonl:a", "lone surrogate"),
        ("broken.jsonl:a", "row 1: not valid JSON"),
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


def test_the_example_of_a_column_is_no_id(tmp_path):
    (tmp_path / "t.jsonl").write_text('{"doc_id": 1, "text": "a b"}\n')
    with pytest.raises(InputError, match=r"t\.jsonl:text; its first object has doc_id, text"):
        read_column(tmp_path / "t.jsonl")


def test_csv_is_that_of_rfc_4180(tmp_path):
    rows = [
        ("text", "n"),
        ('a "b", c', "1"),
        ("", ""),
        ("two\nlines", "2"),
        ("two\r\nmore", "3"),
        (" x ", ""),
    ]
    for end in ("\r\n", "\n"):
        with (tmp_path / "t.csv").open("w", newline="") as file:
            csv.writer(file, lineterminator=end).writerows(rows)
        assert read_column(tmp_path / "t.csv", "text").values == [
            'a "b", c',
            "",
            "two lines",
            "two more",
            " x ",
        ]
        (tmp_path / "t.csv.gz").write_bytes(gzip.compress((tmp_path / "t.csv").read_bytes()))
        assert read_column(f"{tmp_path}/t.csv.gz:2").values == ["n", "1", "", "2", "3", ""]
    (tmp_path / "one.csv").write_text(
        'text\na\n\n""\nb\n'
    )  # an empty value is a blank line, or quotes
    assert read_column(tmp_path / "one.csv").values == ["a", "", "", "b"]
    (tmp_path / "end.csv").write_text("text,n\na,1\n\n")
    assert read_column(f"{tmp_path}/end.csv:n").values == ["1"]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("t.csv", "text,n\na, b,1\n", "row 2 has 3 fields but the first row has 2"),
        ("t.csv", 'text,n\n"a,1\nb,2\n', "not CSV"),
        ("t.csv", 'text,n\na,1\n"b"c,2\n', "line 3: not CSV"),
        ("t.csv", "a sentence\nanother one\n", "which column"),
        ("t.json", '[{"text": "a"}, {"text": ]', "not valid JSON .*line 1 column 26"),
        ("t.json", '[{"text": "a"}] x', "not valid JSON"),
        ("t.json", '["a", "b"]', "row 1: not an object"),
        ("t.json", '[{"text": ' + "[" * 100_000, "JSON nested too deeply"),
        ("t.json", '{"text": "a"}\n["b"]\n', "row 2: not an object"),
    ],
)
def test_what_is_no_csv_or_json_is_refused_in_one_line(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=message) as error:
        read_column(tmp_path / name, "text")
    assert "\n" not in str(error.value)


def test_an_array_is_read_whole(tmp_path, monkeypatch):
    rows = [{"text": f"größer {number}", "more": {"deep": [number, None]}} for number in range(50)]
    for indent in (None, 2):
        (tmp_path / "t.json").write_text(
            json.dumps(rows, indent=indent, ensure_ascii=False), encoding="utf-8"
        )
        assert read_column(tmp_path / "t.json", "text").values == [row["text"] for row in rows]
    (tmp_path / "empty.json").write_text(" [ ] \n")
    assert list(Table(tmp_path / "empty.json", named=True).read(("text",))) == []
    monkeypatch.setattr("cgbench.text.rows.LARGEST_ARRAY", 1 << 10)
    with pytest.raises(InputError, match="write one object per line"):
        read_column(tmp_path / "t.json", "text")


@pytest.mark.parametrize("name", ["x.gz", "x.tsv.gz:1", "x.jsonl.gz:a"])
def test_lines_of_a_compressed_file_are_bounded_by_its_size(tmp_path, monkeypatch, name):
    """Below every ratio of bytes: 2,000 short lines in some 60 bytes."""
    from cgbench.text import columns

    monkeypatch.setattr(columns, "MOST_LINES", 1000)
    path = tmp_path / name.partition(":")[0]
    form = '{"a": "%s"}\n' if "jsonl" in name else "%s\n"
    path.write_bytes(gzip.compress("".join(form % "aa" for _ in range(2000)).encode()))
    with pytest.raises(
        InputError, match=r"x[.a-z]*gz: [0-9]+ compressed bytes expand to more than 1,000 lines"
    ):
        read_column(str(tmp_path / name))
    distinct = [hashlib.sha256(b"%d" % number).hexdigest() for number in range(2000)]
    path.write_bytes(gzip.compress("".join(form % line for line in distinct).encode()))
    assert read_column(str(tmp_path / name)).values == distinct

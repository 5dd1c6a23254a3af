"""Shards of corpora: what files are found, where they are cut, what is read, and what is said of a
bad one.
"""

import gzip
import hashlib
import json

import pyarrow
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from cgbench.errors import InputError
from cgbench.text.shards import Shard, cut_files, find_files, hash_shard, kind_of, read_shard

LINES = st.lists(
    st.text(st.characters(codec="utf-8", exclude_characters="\n\ufeff"), max_size=12), max_size=20
)


def texts(shards, **more):
    found = []
    for shard in shards:
        for block in read_shard(shard, **more):
            found += block.buffer[: block.size - 1].tobytes().decode().split("\n")
    return found


@settings(max_examples=60, deadline=None)
@given(LINES, st.integers(1, 60), st.booleans())
def test_any_cut_gives_the_lines(tmp_path_factory, lines, size, ended):
    path = tmp_path_factory.mktemp("cut") / "corpus.txt"
    path.write_bytes("\n".join(lines).encode() + (b"\n" if ended and lines else b""))
    expected = (
        path.read_bytes().decode().removesuffix("\n").split("\n") if path.stat().st_size else []
    )
    shards = cut_files(find_files([path]), size)
    assert texts(shards) == expected
    assert all(one.end - one.begin >= size for one in shards[:-1])
    assert [shard.begin for shard in shards[1:]] == [shard.end for shard in shards[:-1]]
    assert texts(shards, lower=True) == [line.lower() for line in expected]
    assert texts(shards, change=lambda line: line + "!") == [line + "!" for line in expected]
    data = path.read_bytes()
    for shard in shards:
        assert hash_shard(shard) == hashlib.sha256(data[shard.begin : shard.end]).hexdigest()


def test_every_kind_of_file(tmp_path):
    rows = ["a b", "c\nd", "é"]
    jsonl = "".join(
        json.dumps({"id": i, "text": row}) + "\n" for i, row in enumerate(rows)
    ).encode()
    plain = "a b\nc d\né\n".encode()
    (tmp_path / "1.txt").write_bytes(b"\xef\xbb\xbf" + plain)
    (tmp_path / "2.gz").write_bytes(gzip.compress(plain))
    (tmp_path / "3.zst").write_bytes(zstandard.compress(plain))
    (tmp_path / "4.jsonl").write_bytes(jsonl)
    (tmp_path / "5.json.gz").write_bytes(gzip.compress(jsonl))
    (tmp_path / "6.jsonl.zst").write_bytes(zstandard.compress(jsonl))
    parquet.write_table(pyarrow.table({"text": rows, "n": [1, 2, 3]}), tmp_path / "7.parquet")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "8.tsv").write_text("x\ttext\n1\ta b\n2\tc d\n3\té\n")
    (tmp_path / ".hidden").write_bytes(b"\xff")
    with pytest.raises(InputError, match="8.tsv: which column"):
        find_files([tmp_path])
    named = [*sorted(tmp_path.glob("[0-9]*")), f"{tmp_path}/deep/8.tsv:text"]
    for path in named:
        found = [" ".join(line.split()) for line in texts(cut_files(find_files([path]), 5))]
        assert found == ["a b", "c d", "é"], path
    assert [shard.path.name for shard in find_files([f"{tmp_path}/[12]*"])] == ["1.txt", "2.gz"]
    assert [kind_of(shard.path) for shard in find_files(named)] == ["plain"] * 3 + ["jsonl"] * 3 + [
        "parquet",
        "tsv",
    ]


def test_what_is_no_corpus(tmp_path):
    (tmp_path / "a.txt").write_text("a\n")
    (tmp_path / "empty").mkdir()
    for names, said in (
        ([tmp_path / "b.txt"], "b.txt: no such file"),
        ([tmp_path / "empty"], "empty: no files in this folder"),
        ([f"{tmp_path}/x*"], r"x\*: no file matches this pattern"),
        ([tmp_path / "a.txt", tmp_path], "a.txt: named twice"),
        (["-"], r"standard input \(-\) cannot be read in parallel"),
    ):
        with pytest.raises(InputError, match=said):
            find_files(names)


def check(path, said, column="text"):
    """A bad file stops the reading with one line."""
    with pytest.raises(InputError, match=said) as caught:
        texts([Shard(path, None if kind_of(path) == "plain" else column)])
    assert str(path) in str(caught.value)


def test_not_utf8(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"fine\nb\xe9d\nfine too\n\xff\xff\n")
    check(path, r"a.txt, byte 6: not UTF-8 \(byte 0xe9\); convert")
    (tmp_path / "b.gz").write_bytes(gzip.compress(path.read_bytes()))
    check(tmp_path / "b.gz", "b.gz, byte 6: not UTF-8")


def test_json_that_is_none(tmp_path):
    path = tmp_path / "a.jsonl"
    for bad, said in (
        (b'{"text": "cut', "byte 16: not valid JSON .*may be cut short"),
        (b'{"text": "\xff"}', "byte 16: not valid JSON .*invalid start byte"),
        (
            b'{"body": "b", "id": 1}',
            "byte 16: no text in the field 'text'; it has body, id; name another with column",
        ),
        (b'{"text": null}', "byte 16: no text in the field"),
        (b"[1]", "byte 16: no text in the field 'text'; it is not an object"),
        (b'{"text": "\\ud800"}', "byte 16: contains a lone surrogate"),
    ):
        path.write_bytes(b'{"text": "a b"}\n' + bad + b'\n\n{"text": "c"}\n')
        check(path, said)


def test_a_column_that_is_absent(tmp_path):
    path = tmp_path / "a.parquet"
    parquet.write_table(pyarrow.table({"body": ["a"], "id": [1]}), path)
    check(path, "no column 'text'; it has body, id; name one with column")
    parquet.write_table(pyarrow.table({"text": ["a", None, "b"]}), path)
    check(path, "row 2: no value in the field 'text'")
    path.write_bytes(path.read_bytes()[:-20])
    check(path, "not a readable Parquet file")


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_cut_short(tmp_path, suffix):
    # Random enough that half of the file is half of the text.
    lines = [hashlib.sha256(str(i).encode()).hexdigest() for i in range(100_000)]
    data = "\n".join(lines).encode() + b"\n"
    packed = gzip.compress(data, 1) if suffix == ".gz" else zstandard.compress(data)
    path = tmp_path / f"a.txt{suffix}"
    path.write_bytes(packed[: len(packed) // 2])
    shard = Shard(path, None)
    with pytest.raises(InputError, match=r"cannot be read .* after byte [0-9,]+ of its text"):
        texts([shard])


def test_a_line_without_end(tmp_path, monkeypatch):
    monkeypatch.setenv("CGBENCH_MAX_LINE", "1M")
    path = tmp_path / "a.txt"
    path.write_bytes(b"a\n" + b"x" * (8 << 20))
    with pytest.raises(InputError, match=r"a.txt, byte .*longer than"):
        texts([Shard(path, None)])

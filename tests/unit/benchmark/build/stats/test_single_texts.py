"""Texts as a user names them, and what is refused."""

import gzip
import hashlib
from pathlib import Path

import pytest

from cgbench.benchmark.build.stats.single_texts import (
    check_sentences,
    read_single_text,
    text_digest,
)
from cgbench.errors import InputError


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("x.de").write_text("der hund\ndie katze\n")
    Path("x.en").write_text("the dog\nthe cat")
    Path("x.tsv").write_text("der hund\tthe dog\ndie katze\tthe cat\n")
    Path("pairs.txt").write_text(Path("x.tsv").read_text())
    Path("h.tsv").write_text("german\tenglish\nder hund\tthe dog\n")
    Path("x.jsonl").write_text('{"source": "der\\nhund", "target": "the dog"}\n')
    Path("x.en.gz").write_bytes(gzip.compress(b"the dog\nthe cat\n"))


def read(*paths, side=None, columns=None, change=None, keep=True):
    return read_single_text([Path(path) for path in paths], columns, side, change, keep=keep)


@pytest.mark.parametrize(
    ("paths", "side", "expected"),
    [
        (["x.en"], None, ["the dog", "the cat"]),
        (["x.en.gz"], None, ["the dog", "the cat"]),
        (["x.de", "x.en"], None, ["der hund", "die katze"]),
        (["x.de", "x.en"], "target", ["the dog", "the cat"]),
        (["x.tsv"], None, ["der hund", "die katze"]),
        (["x.tsv"], "target", ["the dog", "the cat"]),
        (["pairs.txt"], "target", ["the dog", "the cat"]),
        (["h.tsv:english"], None, ["the dog"]),
        (["x.tsv:2"], None, ["the dog", "the cat"]),
        (["x.jsonl"], None, ["der hund"]),
    ],
)
def test_forms(paths, side, expected):
    assert read(*paths, side=side).lines == expected


def test_columns_and_normalisation():
    assert read("h.tsv", columns=("english", "german")).lines == ["the dog"]
    assert read("x.en", change=str.upper).lines == ["THE DOG", "THE CAT"]


def test_a_plain_file_is_read_where_it_is():
    text = read("x.de", "x.en", side="target", keep=False)
    assert (text.content, text.side) == (Path("x.en"), "target")
    assert text.sentences() == [["the", "dog"], ["the", "cat"]]
    assert read("x.en", change=str.lower, keep=False).content == ["the dog", "the cat"]
    assert read("x.en.gz", keep=False).sentences() == [["the", "dog"], ["the", "cat"]]


def test_the_identity_is_that_of_the_lines_whatever_the_file():
    expected = hashlib.sha256(b"the dog\nthe cat\n").hexdigest()
    texts = [read("x.en", keep=False), read("x.en"), read("x.en.gz"), read("x.tsv", side="target")]
    assert {text_digest(text) for text in texts} == {expected}


def test_sides_that_are_not_there():
    with pytest.raises(InputError, match=r"x\.en: is a single text; leave side='target' out"):
        read("x.en", side="target")
    with pytest.raises(InputError, match=r"x\.tsv:2: is a single column; leave side='source' out"):
        read("x.tsv:2", side="source")
    with pytest.raises(InputError, match=r"y\.en: no such file"):
        read("x.de", "y.en", keep=False)


def test_empty_texts_and_sentences():
    Path("empty").write_text("\n \n")
    with pytest.raises(InputError, match="empty: the text is empty"):
        text_digest(read("empty", keep=False))
    Path("hole").write_text("a b\n\t\nc\n")
    with pytest.raises(InputError, match="hole, row 2: an empty sentence"):
        check_sentences(read("hole"))
    Path("nothing").write_text("")
    with pytest.raises(InputError, match="nothing: the text is empty"):
        check_sentences(read("nothing"))

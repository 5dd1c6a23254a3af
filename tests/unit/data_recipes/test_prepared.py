"""A prepared set is there as a whole or not at all."""

import errno
import gzip
import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from cgbench.data_recipes.prepared import get
from cgbench.data_recipes.recipe import Recipe, Source, Split
from cgbench.data_recipes.writer import GENERATED, rows_by_number
from cgbench.errors import InputError
from cgbench.locks import replacing
from cgbench.steps import hash_file

ROWS = [("a b", "A B"), ("c", "C")]


def write_train(sources, out):
    out.split("train", ROWS)


PAIR = Split("train", 2)


def recipe(prepare=write_train, splits=(PAIR,), **fields):
    return Recipe(
        "toy", "", "MIT", "someone", "", ("src", "tgt"), "2 pairs", splits, (), prepare, **fields
    )


@pytest.fixture
def out(tmp_path):
    return tmp_path / "data" / "toy"


def beside(out):
    return sorted(name for name in os.listdir(out.parent) if name not in ("downloads", out.name))


def test_a_set_is_aligned_text_and_a_record(out):
    prepared = get(recipe(), out)
    assert (out / "train.src").read_text() == "a b\nc\n" and (
        out / "train.tgt"
    ).read_text() == "A B\nC\n"
    record = json.loads((out / "recipe.json").read_text())
    assert record == prepared.record and prepared.made and not prepared.to_get
    assert record["splits"] == {
        "train": {"rows": 2, "origin": "released", "files": ["train.src", "train.tgt"]}
    }
    assert record["files"] == {name: hash_file(out / name) for name in ("train.src", "train.tgt")}
    assert (record["licence"], record["citation"], record["missing"]) == ("MIT", "someone", [])
    assert beside(out) == []


def test_the_same_bytes_anywhere(tmp_path):
    for place in ("one", "two/deep"):
        get(recipe(), tmp_path / place / "toy")
    names = ("train.src", "train.tgt", "recipe.json")
    first, second = (
        [(tmp_path / place / "toy" / name).read_bytes() for name in names]
        for place in ("one", "two/deep")
    )
    assert first == second


def test_a_set_that_is_whole_and_unchanged_is_kept(out):
    get(recipe(), out)
    assert get(recipe(), out).made is False
    (out / "train.src").write_text("edited\n")
    assert get(recipe(), out).made is True
    assert (out / "train.src").read_text() == "a b\nc\n"
    assert get(replace(recipe(), revision=2), out).made is True


@pytest.mark.parametrize("splits", [(Split("train"), Split("test")), (Split("train"),)])
def test_what_was_missing_or_generated_is_tried_again(out, splits):
    later = recipe(lambda sources, out: out.split("train", ROWS, origin=GENERATED), splits)
    get(later, out)
    assert get(later, out).made is True


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (1, r"train has 2 rows, but 1 are expected; row 2 is one too many"),
        (3, r"row 2 is the last \('c \| C'\)"),
    ],
)
def test_a_count_that_does_not_fit_says_where(out, rows, message):
    with pytest.raises(InputError, match=message):
        get(recipe(splits=(Split("train", rows),)), out)
    assert not out.exists() and beside(out) == []


def test_sides_of_different_length_never_pass(out):
    with pytest.raises(ValueError, match="zip"):
        get(recipe(lambda sources, out: out.split("train", [("a", "b"), ("c",)])), out)
    assert beside(out) == []


def test_nothing_at_all_is_an_error_that_says_what_to_do(out):
    lacking = replace(
        recipe(lambda sources, out: sources.find("x")), sources=(Source("x", by_hand="ask"),)
    )
    with pytest.raises(
        InputError, match="toy: nothing can be prepared; ask and put it at .*downloads/toy/x"
    ):
        get(lacking, out)


def test_some_splits_may_be_missing_and_are_named(out):
    def prepare(sources, out):
        write_train(sources, out)
        sources.find("x")

    prepared = get(
        replace(
            recipe(prepare, (Split("train"), Split("test"))), sources=(Source("x", by_hand="ask"),)
        ),
        out,
    )
    assert prepared.record["missing"] == ["test"] and prepared.to_get[0].startswith("ask")


@pytest.mark.parametrize("before", [False, True])
def test_a_full_disk_leaves_what_was_there(out, monkeypatch, before):
    if before:
        get(recipe(), out)

    def full(sources, out):
        out.split("train", ROWS)
        raise OSError(errno.ENOSPC, "No space left on device", "train.src")

    with pytest.raises(OSError, match="No space"):
        get(replace(recipe(full), revision=2), out)
    assert out.exists() == before and beside(out) == []
    if before:
        assert get(recipe(), out).made is False


def test_a_killed_command_leaves_no_set_and_the_next_one_starts_afresh(out, monkeypatch):
    """As after SIGKILL: a half-written folder that nobody clears away."""
    monkeypatch.setattr(shutil, "rmtree", lambda *_, **__: None)

    def killed(sources, out):
        write_train(sources, out)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        get(recipe(killed), out)
    monkeypatch.undo()
    assert beside(out) == [f".toy.{os.getpid()}.tmp"] and not out.exists()
    get(recipe(), out)
    assert beside(out) == [] and sorted(os.listdir(out)) == [
        "recipe.json",
        "train.src",
        "train.tgt",
    ]


@pytest.mark.parametrize("name", ["thesis.tex", "recipe.json"])
def test_another_folder_is_never_overwritten(out, name):
    out.mkdir(parents=True)
    (out / name).write_text('{"format": 1, "recipe": "other"}')
    with pytest.raises(InputError, match="contains|holds something else"):
        get(recipe(), out)
    assert (out / name).exists()


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "toy").write_text("")
    with pytest.raises(InputError, match="a file; give a folder"):
        get(recipe(), tmp_path / "toy")


def test_two_commands_do_not_write_the_same_set(out):
    with replacing(out), pytest.raises(InputError, match="toy: another cgbench command"):
        get(recipe(), out)


def test_further_sides_documents_and_files(out):
    def prepare(sources, out):
        out.split("sub/test", [("a", "b", "c")], sides=("src", "tgt", "type"))
        out.document("tree", "conllu", ["1\ta", ""], 1)
        out.file("sub/codes", "x\n")
        out.note("by hand")

    record = get(recipe(prepare, (Split("sub/test"), Split("tree", 1))), out).record
    assert (out / "sub" / "test.type").read_text() == "c\n" and (
        out / "tree.conllu"
    ).read_text() == "1\ta\n\n"
    assert sorted(record["files"]) == [
        "sub/codes",
        "sub/test.src",
        "sub/test.tgt",
        "sub/test.type",
        "tree.conllu",
    ]
    assert record["notes"] == ["by hand"] and Path(out / "sub" / "codes").read_text() == "x\n"


def test_files_beside_the_splits_are_copied_as_they_are(out):
    """Plain or packed; one that is not at hand is named, and looked for the next time."""
    sources = tuple(
        Source(f"{name}.json", extra=f"lexicons/{name}.json", by_hand="ask") for name in "abc"
    )
    place = out.parent / "downloads" / "toy"
    place.mkdir(parents=True)
    (place / "a.json").write_bytes(b'{"x":\r\n1}')
    (place / "b.json.gz").write_bytes(gzip.compress(b"{}"))
    prepared = get(replace(recipe(), sources=sources), out)
    assert (out / "lexicons" / "a.json").read_bytes() == b'{"x":\r\n1}'
    assert (out / "lexicons" / "b.json").read_bytes() == b"{}"
    assert prepared.record["missing_files"] == ["lexicons/c.json"] and prepared.to_get == []
    assert sorted(prepared.record["files"]) == [
        "lexicons/a.json",
        "lexicons/b.json",
        "train.src",
        "train.tgt",
    ]
    (place / "c.json").write_bytes(b"[]")
    assert get(replace(recipe(), sources=sources), out).record["missing_files"] == []
    assert get(replace(recipe(), sources=sources), out).made is False


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"revision": "1"}, "revision is '1'"),
        ({"splits": []}, r"splits is \[\]"),
        (
            {"splits": {"train": {"rows": None, "origin": "released", "files": []}}},
            "splits.train.rows is None",
        ),
        (
            {"splits": {"train": {"rows": 2, "origin": "stolen", "files": []}}},
            "splits.train.origin is 'stolen'",
        ),
        (
            {"splits": {"train": {"rows": 2, "origin": "released", "files": ["x"]}}},
            "train lists x, which is not in files",
        ),
        ({"files": {"../../secret": "0" * 64}}, "files is '../../secret'"),
        ({"files": {"train.src": 5}}, "files.train.src is 5"),
        ({"missing": None}, "missing is None"),
        ({"format": 7}, "not a record of cgbench data get"),
    ],
)
def test_a_damaged_record_is_one_line(out, changes, said):
    get(recipe(), out)
    path = out / "recipe.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    with pytest.raises(InputError, match=said) as caught:
        get(recipe(), out)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("numbers", [[-1], [2], [True], [0.0], "01", None, {"0": 1}])
def test_numbers_of_rows_are_those_of_rows(numbers):
    with pytest.raises(InputError, match="f: "):
        list(rows_by_number("ab", {"trainIdxs": [0], "devIdxs": numbers, "testIdxs": []}, "f"))
    with pytest.raises(InputError, match="f: testIdxs is not a list of row numbers, or missing"):
        list(rows_by_number("ab", {"trainIdxs": [0], "devIdxs": [1]}, "f"))
    split = {"trainIdxs": [1, 0], "devIdxs": [], "testIdxs": [1]}
    assert dict(rows_by_number("ab", split, "f")) == {
        "train": ["b", "a"],
        "valid": [],
        "test": ["b"],
    }

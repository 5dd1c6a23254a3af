"""Probes of a release, of a split, and on the command line."""

import json
import shutil

import pytest
from small_build import copy_build, rehash

import cgbench
from cgbench.benchmark.release.release import SIDES, Release
from cgbench.errors import InputError
from cgbench.studies.parts.folder import PartsFolder


def inputs_of(release):
    """The files of its training corpus, and those of its pool."""
    entries = release.manifest["inputs"]["train"], release.manifest["inputs"]["pool"][0]
    return [[release.input_path(file["path"]) for file in entry["files"]] for entry in entries]


@pytest.fixture(scope="module")
def found(small_release, tmp_path_factory):
    return cgbench.parts(small_release, out=tmp_path_factory.mktemp("parts") / "parts")


def test_the_pool_of_a_release_without_its_sets(found, small_release):
    release = small_release
    assert found.side == release.configuration["degree_side"] and found.match == "words"
    assert len(found.rows) == len(release.lines("target"))
    held = {side: {*release.lines(side), *release.set_lines("control", side)} for side in SIDES}
    train, pool = (
        [path.read_text().splitlines() for path in paths] for paths in inputs_of(release)
    )
    assert found.probes and set(found.probes) <= set(zip(*pool, strict=True))
    for probe in found.probes:
        assert probe[0] not in held["source"] and probe[1] not in held["target"]
    known = release.ngrams()
    for row, line, degree in zip(
        found.rows, release.lines("target"), release.test["degree"], strict=True
    ):
        assert len(row) / row[-1].end == pytest.approx(degree)
        assert [found.pieces[place.piece].text for place in row] == [
            " ".join(piece) for piece in known.cover(line)
        ]
    covers = [
        [" ".join(piece) for piece in known.cover(line)]
        for line in release.set_lines("control", "target")
    ]
    assert (
        covers
        and [[found.pieces[place.piece].text for place in row] for row in found.control] == covers
    )
    assert PartsFolder.open(found.folder).control == found.control
    assert (
        not {source for source, _ in found.probes} & set(train[0])
        and found.manifest["counts"]["trained"] == 0
    )
    assert found.manifest["inputs"]["release"] == release.signature
    assert set(found.manifest["inputs"]) == {"release", "train", "pool-1"}


def test_what_the_workspace_lost_is_learned_again(found, small_release, tmp_path):
    copy = shutil.copytree(small_release.folder, tmp_path / "release")
    train, pool = inputs_of(small_release)
    again = cgbench.parts(copy, train=train, corpora=pool, out=tmp_path / "parts")
    assert (again.pieces, again.probes, again.rows) == (found.pieces, found.probes, found.rows)
    with pytest.raises(cgbench.InputError, match="and the release was built from it; give corpora"):
        cgbench.parts(copy, train=train, out=tmp_path / "parts")
    with pytest.raises(cgbench.InputError, match="and the release was built from it; give train"):
        cgbench.parts(copy, corpora=pool, out=tmp_path / "parts")


def test_a_line_too_many_is_one_line(small_release, tmp_path):
    copy = copy_build(small_release.folder, tmp_path / "release")
    path = next(path for path in copy.glob("test.*"))
    path.write_text(path.read_text() + "one more\n")
    with pytest.raises(InputError, match="was changed: it does not match manifest.json"):
        cgbench.parts(copy, out=tmp_path / "parts")
    rehash(copy)
    with pytest.raises(
        InputError, match="sources of the test set, but .* targets; see cgbench verify"
    ):
        cgbench.parts(copy, out=tmp_path / "parts")


def test_known_ngrams_of_the_release_are_not_replaced_by_others(small_release, tmp_path):
    release = Release.open(shutil.copytree(small_release.folder, tmp_path / "release"))
    train, pool = inputs_of(small_release)
    for file, path in zip(release.manifest["inputs"]["pool"][0]["files"], pool, strict=True):
        file |= {"path": str(path), "sha256": "0"}
    with pytest.raises(
        cgbench.InputError, match="not the file that the release was built from .*; give corpora"
    ):
        cgbench.parts(release, train=train, out=tmp_path / "parts")
    release.manifest["inputs"]["known_from"] = {"target": {"path": "overlap", "sha256": ""}}
    with pytest.raises(
        cgbench.InputError, match="come from other text than its training corpus; .* [(]train[)]"
    ):
        cgbench.parts(release, corpora=pool, out=tmp_path / "parts")


def test_the_command(run, small_release, tmp_path):
    printed = run("parts", small_release.folder, "--out", tmp_path / "parts", "--k", 2).stdout
    made = PartsFolder.open(tmp_path / "parts")
    counts = made.manifest["counts"]
    assert f"probes to translate {counts['probes']:,}" in " ".join(
        printed.split()
    ) and printed.endswith(f"written to {tmp_path / 'parts'}\n")
    assert all(len(piece.probes) <= 2 for piece in made.pieces)
    words = (
        "parts",
        small_release.folder,
        "--out",
        tmp_path / "parts",
        "--k",
        2,
        "--format",
        "json",
    )
    assert json.loads(run(*words).stdout) == made.manifest
    (tmp_path / "other").mkdir()
    (tmp_path / "other/notes").write_text("mine")
    error = run("parts", small_release.folder, "--out", tmp_path / "other", status=2).stderr
    assert "the folder holds something else already; give a new one with --out" in error
    error = run(
        "parts", small_release.folder, "--test", "a", "b", "--out", tmp_path / "x", status=2
    ).stderr
    assert "give either a release or a test set (--test)" in error


def test_a_split_has_its_training_set(run, tmp_path):
    lines = [
        "walk left",
        "walk right",
        "run left",
        "run twice",
        "walk twice",
        "jump",
        "run right",
        "jump twice",
    ]
    (tmp_path / "all.xx").write_text("".join(f"{line}\n" for line in lines))
    (tmp_path / "all.yy").write_text("".join(f"{line.upper()}\n" for line in lines))
    files = tmp_path / "all.xx", tmp_path / "all.yy"
    run(
        "split",
        "--corpus",
        *files,
        "--method",
        "random",
        "--set",
        "test_size=2",
        "--set",
        "train_size=6",
        "--out",
        tmp_path / "s",
    )
    release = Release.open(tmp_path / "s")
    with pytest.raises(InputError, match="what a system remembers"):
        cgbench.parts(release, pieces="words", out=tmp_path / "parts")
    train = [release.train_path(side) for side in SIDES]
    made = cgbench.parts(release, corpora=train, pieces="words", out=tmp_path / "parts")
    assert made.side == "source" and made.match == "exact"
    assert {source for source, _ in made.probes} <= set(release.train_lines("source"))
    assert {piece.text for piece in made.pieces} == {
        word for line in release.lines("source") for word in line.split()
    }

"""build-react with a difficulty from outside: a figure, what candidates are ranked by."""

import json
import random

import pytest
from small_build import SMALL, copy_build
from small_release import build_release

from cgbench.benchmark.release.release import Release


@pytest.fixture(scope="module")
def folder(tmp_path_factory, small_release, corpora, demo):
    """A release whose candidates are ranked by a difficulty."""
    folder = tmp_path_factory.mktemp("difficulty")
    lines = (demo / "pool.en").read_text().count("\n")
    values = [random.Random(number).uniform(-1, 1) for number in range(lines)]
    (folder / "easy.txt").write_text("".join(f"{value!r}\n" for value in values))
    words = ("--difficulty", folder / "easy.txt", "--set", "select_by=easiness")
    _, result = build_release(corpora, copy_build(small_release.folder, folder / "release"), *words)
    assert "difficulty of the test set" in result.output
    return folder


def test_candidates_are_ranked_by_it_and_keep_every_other_figure(folder, run):
    release = Release.open(folder / "release")
    values = [float(line) for line in (folder / "easy.txt").read_text().split()]
    rows = release.table().to_pylist()
    assert all(row["difficulty"] == values[row["pool_line"] - 1] for row in rows)
    ranked = sorted(rows, key=lambda row: row["rank"])
    found = [row["difficulty"] for row in ranked]
    assert found == sorted(found)  # the values say how easy a pair is: the lowest come first
    figures = release.manifest["figures"]
    assert figures["selected"]["difficulty"]["mean"] < figures["difficulty"]["mean"]
    assert [one["path"] for one in release.manifest["inputs"]["difficulty"]] == ["easy.txt"]
    assert (
        "--difficulty" in release.manifest["command"]
        and "select_by=easiness" in release.manifest["command"]
    )
    card = release.path("README.md").read_text(encoding="utf-8")
    assert "difficulty, from an external model (lowest values first)" in card
    text = run("verify", folder / "release").stdout
    assert "DIFFERS" not in text and "easy.txt" in text


def test_score_by_difficulty(folder, run):
    release = Release.open(folder / "release")
    words = (
        "--release",
        folder / "release",
        "--hyp",
        f"A={release.text_path('target')}",
        "--by",
        "difficulty",
    )
    found = json.loads(run("score", "exact", *words, "--bins", "2", "--format", "json").stdout)
    assert sum(one["n"] for one in found["bins"]) == release.manifest["counts"]["selected"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda lines: lines[:-1], "easy.txt: 2,499 values for the 2,500 pairs of"),
        (lambda lines: [*lines, "1"], "easy.txt: 2,501 values for the 2,500 pairs of"),
        (lambda lines: [lines[0], "hard", *lines[2:]], "easy.txt, row 2: 'hard' is not a number"),
        (lambda lines: [lines[0], "nan", *lines[2:]], "easy.txt, row 2: 'nan' is not a number"),
        (lambda lines: [lines[0], "", *lines[2:]], "easy.txt, row 2: '' is not a number"),
    ],
)
def test_values_that_do_not_fit_are_one_line(folder, corpora, run, tmp_path, change, message):
    lines = (folder / "easy.txt").read_text().split("\n")[:-1]
    (tmp_path / "easy.txt").write_text("".join(f"{line}\n" for line in change(lines)))
    words = (
        "--difficulty",
        tmp_path / "easy.txt",
        "--until",
        "candidates",
        "--out",
        tmp_path / "out",
    )
    for further in (["--dry-run"], []):
        error = run("build-react", *corpora, *SMALL, *words, *further, status=2).stderr
        assert message in error
    assert not (tmp_path / "out/manifest.json").exists()


def test_the_same_candidates_without_a_difficulty_keep_their_steps(folder, corpora, run):
    """What is given beside the pool is no part of what the ensemble does."""
    copy_build(folder / "release", folder / "again")
    words = ("--set", "explain=true", "--out", folder / "again")
    said = run("build-react", *corpora, *SMALL, *words).stderr
    assert "uncertainty: kept" in said and "runs" not in said

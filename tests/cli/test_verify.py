import json
import shutil

import pytest
from small_build import SMALL


@pytest.fixture(scope="module")
def built(tmp_path_factory, corpora):
    from click.testing import CliRunner

    from cgbench.cli import main

    out = tmp_path_factory.mktemp("verify") / "release"
    result = CliRunner().invoke(main, [str(word) for word in ("build-react", *corpora, *SMALL, "--out", out)])
    assert result.exit_code == 0, result.output + result.stderr
    return out


@pytest.fixture
def release(built, tmp_path):
    shutil.copytree(built, tmp_path / "release", ignore=shutil.ignore_patterns(".cgbench"))
    return tmp_path / "release"


def failed(result):
    return {check["check"]: check["detail"] for check in json.loads(result.stdout)["checks"] if check["ok"] is False}


def test_a_release_is_in_order(release, run):
    text = run("verify", release).stdout
    assert "DIFFERS" not in text and "split drawn again" in text
    assert json.loads(run("verify", release, "--format", "json").stdout)["ok"] is True


def change(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def test_what_was_changed_is_named(release, run):
    change(release / "test.en", " ", "  ")
    assert set(failed(run("verify", release, "--format", "json", status=1))) == {"test.en"}
    (release / "test.en").unlink()
    problems = failed(run("verify", release, "--format", "json", status=1))
    assert problems["test.en"] == "missing" and "counts" in problems


def rehash(release):
    """Make the manifest agree with changed files: what a forger would do."""
    from cgbench.benchmark.release import signature
    from cgbench.steps import hash_file

    manifest = json.loads((release / "manifest.json").read_text())
    manifest["files"] = {name: hash_file(release / name) for name in manifest["files"]}
    manifest["signature"] = signature(manifest)
    (release / "manifest.json").write_text(json.dumps(manifest))


def test_the_split_is_drawn_again_so_a_consistent_forgery_shows(release, run):
    rows = (release / "split.jsonl").read_text().splitlines()
    row = json.loads(rows[0])
    row["line"] += 1
    (release / "split.jsonl").write_text("\n".join([json.dumps(row), *rows[1:]]) + "\n")
    rehash(release)
    assert set(failed(run("verify", release, "--format", "json", status=1))) == {"split drawn again"}


def test_figures_are_checked_against_the_text(release, run):
    rows = [json.loads(line) for line in (release / "split.jsonl").read_text().splitlines()]
    rows[2]["target_length"] += 1
    (release / "split.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    rehash(release)
    problems = failed(run("verify", release, "--format", "json", status=1))
    assert problems["figures of the split"].startswith("row 3: lengths")


def test_counts(release, run):
    manifest = json.loads((release / "manifest.json").read_text())
    manifest["counts"]["selected"] += 1
    (release / "manifest.json").write_text(json.dumps(manifest))
    assert "counts" in failed(run("verify", release, "--format", "json", status=1))


@pytest.mark.parametrize("key", ["dropped", "window", "candidates", "rare_word", "pool", "known_words"])
def test_every_count(release, run, key):
    manifest = json.loads((release / "manifest.json").read_text())
    manifest["counts"][key] += 1
    (release / "manifest.json").write_text(json.dumps(manifest))
    assert "counts" in failed(run("verify", release, "--format", "json", status=1))


@pytest.mark.parametrize("path", [("degree", "mean"), ("uncertainty", "q50"), ("selected", "degree", "q100")])
def test_every_figure(release, run, path):
    manifest = json.loads((release / "manifest.json").read_text())
    figures = manifest["figures"]
    for key in path[:-1]:
        figures = figures[key]
    figures[path[-1]] += 1e-9
    (release / "manifest.json").write_text(json.dumps(manifest))
    assert set(failed(run("verify", release, "--format", "json", status=1))) == {"figures"}


def test_other_words_of_the_same_number(release, run):
    lines = (release / "test.de").read_text().splitlines()
    lines[3] = " ".join(reversed(lines[3].split()))
    (release / "test.de").write_text("\n".join(lines) + "\n")
    rehash(release)
    problems = failed(run("verify", release, "--format", "json", status=1))
    assert problems == {"text": "line 4: not the pair that was chosen (1 such lines)"}


def test_a_file_left_out_of_the_manifest(release, run):
    manifest = json.loads((release / "manifest.json").read_text())
    del manifest["files"]["test.de"]
    (release / "manifest.json").write_text(json.dumps(manifest))
    assert "test.de" in failed(run("verify", release, "--format", "json", status=1))["files"]


@pytest.mark.parametrize("key", ["files", "counts", "figures", "configuration", "inputs", "until", "languages"])
def test_a_manifest_without_a_part_is_an_error(release, run, key):
    manifest = json.loads((release / "manifest.json").read_text())
    del manifest[key]
    (release / "manifest.json").write_text(json.dumps(manifest))
    assert "not that of a cgbench release" in run("verify", release, status=2).stderr


def test_white_space_that_separates_nothing(run, tmp_path):
    """A no-break space is part of a word: for the scan, the screen and verify alike."""
    (tmp_path / "train.de").write_text("a b\u00a0c d e f g\n" * 9)
    (tmp_path / "train.en").write_text("t u\u00a0v w\u2028x y z q\n" * 9)
    (tmp_path / "pool.de").write_text("b\u00a0c a d e f\n")
    (tmp_path / "pool.en").write_text("u\u00a0v t w\u2028x z y q\n")
    words = [*("--train", tmp_path / "train.de", tmp_path / "train.en"), "--until", "candidates"]
    out = run(
        *("build-react", *words, "--pool", tmp_path / "pool.de", tmp_path / "pool.en", "--out", tmp_path / "out"),
    ).stdout
    assert "6/6 = 1.00" in out
    run("verify", tmp_path / "out")


def test_what_is_no_release_is_an_error(tmp_path, run, release):
    assert "no such file" in run("verify", tmp_path, status=2).stderr
    (release / "manifest.json").write_text("[]")
    assert "not that of a cgbench release" in run("verify", release, status=2).stderr
    (release / "manifest.json").write_text('{"files": ')
    assert "not valid JSON" in run("verify", release, status=2).stderr


def test_a_manifest_cannot_point_outside_its_folder(release, run):
    manifest = json.loads((release / "manifest.json").read_text())
    manifest["files"]["../../etc/passwd"] = "0"
    (release / "manifest.json").write_text(json.dumps(manifest))
    problems = failed(run("verify", release, "--format", "json", status=1))
    assert problems["../../etc/passwd"] == "a name that leaves the folder"

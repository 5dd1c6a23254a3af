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
    from cgbench.steps import hash_file

    manifest = json.loads((release / "manifest.json").read_text())
    manifest["files"] = {name: hash_file(release / name) for name in manifest["files"]}
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
    assert failed(run("verify", release, "--format", "json", status=1)) == {
        "../../etc/passwd": "a name that leaves the folder"
    }

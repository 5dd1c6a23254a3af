"""Where a build works, and what a release calls its inputs."""

import json
from pathlib import Path

import pytest

from cgbench.benchmark.release.manifest import digest
from cgbench.benchmark.release.work_folder import (
    default_work,
    find_input,
    find_work,
    keep_private,
    shown_names,
)
from cgbench.errors import InputError


def test_it_is_beside_the_release(tmp_path, monkeypatch):
    assert default_work(tmp_path / "x") == tmp_path / "x.work"
    monkeypatch.chdir(tmp_path)
    assert default_work(Path()) == tmp_path.with_name(f"{tmp_path.name}.work")
    assert find_work(tmp_path / "x", None) == tmp_path / "x.work"
    assert find_work(tmp_path / "x", tmp_path / "w") == tmp_path / "w"
    assert not list(tmp_path.iterdir())


def test_folders_that_hold_something_else(tmp_path):
    for name in ("out", "work"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "mine").touch()
    with pytest.raises(
        InputError, match="out: the folder holds something else already; give a new one with out$"
    ):
        find_work(tmp_path / "out", None)
    with pytest.raises(
        InputError, match="work: the folder holds something else already; give a new one with work$"
    ):
        find_work(tmp_path / "new", tmp_path / "work")
    with pytest.raises(InputError, match="mine: is a file, but the output needs a folder"):
        find_work(tmp_path / "out/mine", None)
    for inside in (tmp_path / "new", tmp_path / "new/deep/work"):
        with pytest.raises(InputError, match="and would be published with it"):
            find_work(tmp_path / "new", inside)


def test_a_workspace_elsewhere_knows_its_release(tmp_path):
    out, work = tmp_path / "out", tmp_path / "work"
    for folder in (out, work / ".cgbench"):
        folder.mkdir(parents=True)
    (out / "mine").touch()
    with pytest.raises(InputError, match="holds something else"):
        find_work(out, work)
    record = {"folder": str(out), "signature": "a"}
    record["digest"] = digest(record)
    (work / ".cgbench/release.json").write_text(json.dumps(record))
    assert find_work(out, work) == work
    out.rename(tmp_path / "moved")
    with pytest.raises(InputError, match="holds something else"):
        find_work(tmp_path / "moved", work)
    (tmp_path / "moved/manifest.json").write_text('{"signature": "a"}')
    assert find_work(tmp_path / "moved", work) == work


def test_git_is_told_to_leave_it_alone(tmp_path):
    keep_private(tmp_path)
    assert (tmp_path / ".gitignore").read_text() == "*\n"
    (tmp_path / ".gitignore").write_text("!texts\n")
    keep_private(tmp_path)
    assert (tmp_path / ".gitignore").read_text() == "!texts\n"


def test_what_a_release_calls_its_inputs():
    given = [
        "/a/ted/pool.de",
        "/a/web/pool.de",
        "data/train.de",
        "../x.en",
        "/b/train.en",
        "/c.tsv:de",
    ]
    given.append("/q/data/train.de")
    shown = [
        "ted/pool.de",
        "web/pool.de",
        "data/train.de",
        "../x.en",
        "train.en",
        "c.tsv:de",
        "q/data/train.de",
    ]
    assert shown_names(given) == dict(zip(given, shown, strict=True))


def test_an_input_is_where_the_workspace_knows_it():
    written = {"inputs": {"train.de": "/a/train.de", "/etc/passwd": "/a"}}
    assert find_input("train.de", written) == Path("/a/train.de")
    assert find_input("pool.de", written) == Path("pool.de") == find_input("pool.de", {})
    assert find_input("/etc/passwd", written) == Path("/etc/passwd")

"""Where a build works, and what a release calls its inputs."""

import json
import os
from pathlib import Path

import pytest

from cgbench.benchmark.release.work_folder import (
    default_work,
    find_input,
    find_work,
    keep_private,
    open_work,
    record_digest,
    shown_names,
)
from cgbench.errors import InputError, InputWarning
from cgbench.locks import BusyError, locked


def test_it_is_beside_the_release(tmp_path, monkeypatch):
    assert default_work(tmp_path / "x") == tmp_path / "x.work"
    monkeypatch.chdir(tmp_path)
    assert default_work(Path()) == tmp_path.with_name(f"{tmp_path.name}.work")
    assert open_work(tmp_path / "x", None) == tmp_path / "x.work"
    assert open_work(tmp_path / "x", tmp_path / "w") == tmp_path / "w"
    assert not list(tmp_path.iterdir())


def test_an_earlier_workspace_is_moved_with_one_line(tmp_path):
    out = tmp_path / "x"
    (out / ".cgbench/scan-1").mkdir(parents=True)
    (out / ".cgbench/ensemble.published").touch()
    (out / "ensemble").mkdir()
    (out / "ensemble/ensemble.json").write_text("{}")
    assert find_work(out, None) == out  # said, not done
    with locked(out / ".cgbench/lock", wait=False), pytest.raises(BusyError, match="another cgbench command"):
        open_work(out, None)
    with pytest.warns(InputWarning, match=r"x: .cgbench and ensemble moved to .*x.work, so that .*x can be published"):
        assert open_work(out, None) == tmp_path / "x.work"
    assert not list(out.iterdir())
    assert (tmp_path / "x.work/.cgbench/scan-1").is_dir() and (tmp_path / "x.work/ensemble/ensemble.json").is_file()
    (out / ".cgbench").mkdir()
    with pytest.warns(InputWarning, match="an unused workspace"):
        assert open_work(out, None) == tmp_path / "x.work"


def test_an_ensemble_of_somebody_elses_stays(tmp_path):
    (tmp_path / "x/.cgbench").mkdir(parents=True)
    (tmp_path / "x/ensemble").mkdir()
    with pytest.warns(InputWarning, match=r"x: .cgbench moved"):
        open_work(tmp_path / "x", None)
    assert (tmp_path / "x/ensemble").is_dir()


def test_folders_that_hold_something_else(tmp_path):
    for name in ("out", "work"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "mine").touch()
    with pytest.raises(InputError, match="out: the folder holds something else already; give a new one with out$"):
        find_work(tmp_path / "out", None)
    with pytest.raises(InputError, match="work: the folder holds something else already; give a new one with work$"):
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
    record["digest"] = record_digest(record)
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
    given = ["/a/ted/pool.de", "/a/web/pool.de", "data/train.de", "../x.en", "/b/train.en", "/c.tsv:de"]
    given.append("/q/data/train.de")
    assert shown_names(given) == {
        "/a/ted/pool.de": "ted/pool.de",
        "/a/web/pool.de": "web/pool.de",
        "data/train.de": "data/train.de",
        "../x.en": "../x.en",
        "/b/train.en": "train.en",
        "/c.tsv:de": "c.tsv:de",
        "/q/data/train.de": "q/data/train.de",
    }
    names = shown_names(given)
    assert len(set(names.values())) == len(given) and not any(map(os.path.isabs, names.values()))


def test_an_input_is_where_the_workspace_knows_it():
    written = {"inputs": {"train.de": "/a/train.de", "/etc/passwd": "/a"}}
    assert find_input("train.de", written) == Path("/a/train.de")
    assert find_input("pool.de", written) == Path("pool.de") == find_input("pool.de", {})
    assert find_input("/etc/passwd", written) == Path("/etc/passwd")

"""What a stranger's release, a closed stream, a full disk or an unwritable path does to a command:
one line.
"""

import errno
import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
from small_build import copy_build, release_bytes

from cgbench.errors import InputError
from cgbench.files import check_output, write_json


def one_line(result):
    lines = [line for line in result.stderr.splitlines() if not line.startswith("warning: ")]
    assert len(lines) == 1 and lines[0].startswith("error: "), result.stderr
    return lines[0]


@pytest.fixture
def release(small_release, tmp_path):
    return copy_build(small_release.folder, tmp_path / "release")


def forge(release, row=None, manifest=None):
    if row is not None:
        (release / "split.jsonl").write_text(
            "".join(
                json.dumps(row(json.loads(line))) + "\n"
                for line in (release / "split.jsonl").read_text().splitlines()
            )
        )
    if manifest is not None:
        write_json(
            release / "manifest.json", manifest(json.loads((release / "manifest.json").read_text()))
        )


@pytest.mark.parametrize(
    "forgery",
    [
        {"row": lambda row: {}},
        {"row": lambda row: {**row, "target_length": 0, "source_length": 0}},
        {"row": lambda row: {**row, "pieces": "x", "degree": [1]}},
        {"row": lambda row: {**row, "hypothesis": {"a": [row["line"] % 2 and "x"]}}},
        {"manifest": lambda made: {**made, "configuration": {}}},
        {"manifest": lambda made: {**made, "files": {}, "licence": [5]}},
    ],
)
def test_a_forged_release_is_refused_in_one_line(release, run, tmp_path, forgery):
    forge(release, **forgery)
    one_line(run("export", release, "--to", "lm-eval", "--out", tmp_path / "out", status=2))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("target", ["inspect", "mt-metrics-eval"])
def test_a_full_disk_names_the_file_of_an_export(release, run, tmp_path, monkeypatch, target):
    full(monkeypatch)
    done = run("export", release, "--to", target, "--out", tmp_path / "out", status=2)
    assert ".jsonl: the disk is full" in one_line(done) or ".txt: the disk is full" in one_line(
        done
    )
    assert not (tmp_path / "out").exists()


def test_a_full_disk_names_the_file_of_a_split(demo, run, tmp_path, monkeypatch):
    full(monkeypatch)
    words = (
        "split",
        "--method",
        "random",
        "--corpus",
        demo / "valid.de",
        demo / "valid.en",
        "--out",
        tmp_path / "s",
    )
    assert "train.de: the disk is full" in one_line(run(*words, status=2))
    assert not (tmp_path / "s").exists()


def full(monkeypatch):
    def write(self, *given, **named):
        raise OSError(
            errno.ENOSPC, "No space left on device"
        )  # as a write gives it: without a file

    monkeypatch.setattr(Path, "write_text", write)
    monkeypatch.setattr(Path, "write_bytes", write)


@pytest.mark.skipif(sys.platform != "linux", reason="no /proc")
def test_where_nobody_writes_is_found_before_any_work(run, tmp_path):
    with pytest.raises(InputError, match="/proc/x: cannot be written there"):
        check_output(Path("/proc/x"), [])
    check_output(tmp_path / "x", [])
    assert not list(tmp_path.iterdir())
    (tmp_path / "s").write_text("a\n")
    # The model is not there either, and is looked at later.
    done = run(
        "translate", tmp_path / "s", "--model", tmp_path / "none", "--output", "/proc/x", status=2
    )
    assert "/proc/x: cannot be written there" in one_line(done)


@pytest.mark.skipif(sys.platform == "win32", reason="no shell")
@pytest.mark.parametrize(
    "words", ["stats --train x --test x", "score exact --ref x --hyp a=x --format json"]
)
def test_a_closed_output_is_one_line(tmp_path, words):
    (tmp_path / "x").write_text("a b\nc\n")
    done = subprocess.run(
        f"{sys.executable} -m cgbench {words} >&-",
        shell=True,
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == 2 and "standard output is closed" in one_line(done)


def test_warm_up_needs_no_torch(run, monkeypatch):
    warm_up = importlib.import_module("cgbench.commands.warm_up")

    def missing():
        raise ModuleNotFoundError("No module named 'torch'", name="torch")

    monkeypatch.setattr(warm_up, "_search_and_measure", missing)
    assert "the code of models is left out: torch is not installed" in run("warm-up").stderr


def test_the_order_of_excluded_corpora_does_not_matter(demo, run, tmp_path):
    for name, rows in (("a", slice(0, 20)), ("b", slice(20, 40))):
        for side in ("de", "en"):
            lines = (demo / f"pool.{side}").read_text().splitlines()[rows]
            (tmp_path / f"{name}.{side}").write_text("".join(f"{line}\n" for line in lines))
    found = []
    for order in ("ab", "ba"):
        words = [
            "--train",
            demo / "train.de",
            demo / "train.en",
            "--pool",
            demo / "pool.de",
            demo / "pool.en",
        ]
        for name in order:
            words += ["--exclude", tmp_path / f"{name}.de", tmp_path / f"{name}.en"]
        words += ["--preset", "demo", "--until", "candidates", "--set", "candidates=50"]
        run("build-react", *words, "--out", tmp_path / order)
        found.append(release_bytes(tmp_path / order))
    assert found[0] == found[1]


def test_ray_without_an_address_is_its_own(monkeypatch):
    ray = pytest.importorskip("ray")
    from cgbench.engines import open_engine

    asked = {}

    def start(**options):
        asked.update(options)
        raise ConnectionError("enough")

    monkeypatch.setattr(ray, "init", start)
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    with pytest.raises(InputError), open_engine("ray", jobs=2) as engine:
        list(engine.run(len, [("a",)]))
    assert asked["address"] == "local" and asked["num_cpus"] == 2

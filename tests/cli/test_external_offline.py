"""HF_HUB_OFFLINE=1, with the hub's own library and a cache of the form that it writes: found, or
said in one line.
"""

import json
import os
import subprocess
import sys

import pytest

pytest.importorskip("transformers")
from external_models import LINES, write_model

COMMIT = "c0ffee" * 6 + "0123"
CALLS = """
import json, sys
from click.testing import CliRunner
from cgbench.cli import main
for words in json.loads(sys.stdin.read()):
    found = CliRunner().invoke(main, words)
    print(json.dumps([found.exit_code, found.stderr or repr(found.exception)]), flush=True)
"""


def snapshot(cache, name):
    """The folder of a model in a cache, where ``hf download`` puts it, and the branch that leads to
    it.
    """
    folder = cache / f"models--{name.replace('/', '--')}"
    (folder / "refs").mkdir(parents=True)
    (folder / "refs" / "main").write_text(COMMIT)
    return folder / "snapshots" / COMMIT


def offline(home, *calls):
    """Exit status and standard error of some commands, in a process that may not ask the hub."""
    environment = {
        **os.environ,
        "HF_HOME": str(home),
        "HF_HUB_OFFLINE": "1",
        "HF_HUB_CACHE": str(home / "hub"),
    }
    words = json.dumps([[str(word) for word in call] for call in calls])
    done = subprocess.run(
        [sys.executable, "-c", CALLS], input=words, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return [tuple(json.loads(line)) for line in done.stdout.splitlines()]


@pytest.mark.slow
def test_what_is_in_the_cache_is_all_there_is(tmp_path):
    cache = tmp_path / "home" / "hub"
    write_model(snapshot(cache, "some/model"), "marian", 1)
    write_model(tmp_path / "folder", "marian", 2)
    for name in ("source", "target"):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    source, few = (
        tmp_path / "source",
        (
            "--set",
            "training.max_updates=1",
            "--set",
            "training.max_length=20",
        ),
    )
    train = (
        "train",
        "--train",
        source,
        tmp_path / "target",
        "--valid",
        source,
        tmp_path / "target",
        *few,
        "--init",
    )
    by_main, by_commit = "hf:some/model@main", f"hf:some/model@{COMMIT}"
    good = [
        ("translate", source, "--system", by_main, "--beam", 1, "-o", tmp_path / "main"),
        ("translate", source, "--system", by_commit, "--beam", 1, "-o", tmp_path / "commit"),
        (
            "uncertainty",
            source,
            "--member",
            by_main,
            "--member",
            f"hf:{tmp_path / 'folder'}",
            "-o",
            tmp_path / "u",
        ),
        (*train, by_main, "--out", tmp_path / "whole"),
    ]
    missing = "hf:some/other@v1"
    bad = [
        ("translate", source, "--system", missing, "-o", tmp_path / "no"),
        ("translate", source, "--system", "hf:some/model@v9", "-o", tmp_path / "no"),
        (*train, missing, "--out", tmp_path / "no"),
    ]
    found = offline(tmp_path / "home", *good, *bad)
    assert [(status, said) for status, said in found[: len(good)] if status] == []
    assert (tmp_path / "main").read_bytes() == (tmp_path / "commit").read_bytes()
    for name in ("main", "commit"):
        record = json.loads((tmp_path / f"{name}.system.json").read_text())["system"]
        assert (record["name"], record["revision"]) == ("some/model", COMMIT)
    for (status, said), asked in zip(
        found[len(good) :], ("other@v1", "model@v9", "other@v1"), strict=True
    ):
        model, _, revision = asked.partition("@")
        assert status == 2 and len(said.splitlines()) == 1, said
        assert f"hf download some/{model} --revision {revision}" in said and "cache" in said
    assert not (tmp_path / "no").exists()

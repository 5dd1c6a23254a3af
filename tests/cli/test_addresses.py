"""Texts by their addresses on the Hugging Face Hub, in whole commands."""

import json

import pytest
from hub import COMMIT, serving, use

from cgbench.text import remote

pytest.importorskip("huggingface_hub")
HERE = f"hf://datasets/org/name@{COMMIT}"


@pytest.fixture
def hub(demo, tmp_path, monkeypatch):
    monkeypatch.setattr(remote, "_addresses", {})
    with serving() as found:
        use(monkeypatch, found.url, tmp_path / "cache")
        for name in ("train", "pool"):
            sides = [(demo / f"{name}.{side}").read_text().splitlines() for side in ("de", "en")]
            rows = "".join(f"{source}\t{target}\n" for source, target in zip(*sides, strict=True))
            if name == "pool":
                rows = rows.replace(" ", "\r ", 1)  # of which the manifest has a warning
            found.files[f"{name}.tsv"] = f"de\ten\n{rows}".encode()
        yield found


def test_a_release_says_which_commit_it_was_built_from(hub, run, tmp_path, monkeypatch):
    words = [
        "build-react",
        "--preset",
        "demo",
        "--until",
        "candidates",
        "--columns",
        "de,en",
        "--set",
        "candidates=50",
    ]
    texts = [
        "--train",
        "hf://datasets/org/name/train.tsv",
        "--pool=hf://datasets/org/name/pool.tsv",
    ]
    run(*words, *texts, "--languages", "de,en", "--out", tmp_path / "r")
    manifest = json.loads((tmp_path / "r/manifest.json").read_text())
    assert manifest["inputs"]["train"]["files"][0]["path"] == f"{HERE}/train.tsv"
    assert f"--train {HERE}/train.tsv --pool {HERE}/pool.tsv" in manifest["command"]
    assert str(tmp_path) not in json.dumps(manifest)
    assert f"{HERE}/train.tsv" in run("verify", tmp_path / "r", "--format", "json").stdout
    # Cached, it is built again without the network; where the files are gone, their addresses are
    # "not here".
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    run(*words, *texts, "--languages", "de,en", "--out", tmp_path / "again")
    assert (tmp_path / "again/manifest.json").read_bytes() == (
        tmp_path / "r/manifest.json"
    ).read_bytes()
    use(monkeypatch, hub.url, tmp_path / "empty")
    count = len(hub.requests)
    found = json.loads(run("verify", tmp_path / "r", "--format", "json").stdout)
    assert count == len(hub.requests), "a release of a stranger's asks no server"
    assert f"train {HERE}/train.tsv" in json.dumps(found) and "not here" in json.dumps(found)


def test_columns_are_named_and_messages_speak_of_addresses(hub, run):
    hub.files["bad.tsv"] = b"de\ten\nein\n"
    words = ["stats", "--train", "hf://datasets/org/name/train.tsv:en", "--format", "json"]
    found = json.loads(run(*words, "--test", "pool=hf://datasets/org/name/pool.tsv:en").stdout)
    assert "pool" in json.dumps(found)
    error = run(
        "lm", "train", "hf://datasets/org/name/bad.tsv:en", "--out", "m.arpa", status=2
    ).stderr
    assert f"error: {HERE}/bad.tsv, row " in error
    error = run(
        "lm", "train", "hf://datasets/org/name/none.tsv:en", "--out", "m.arpa", status=2
    ).stderr
    assert error.startswith("error: hf://datasets/org/name/none.tsv:en: cannot be fetched (404 ")
    assert error.count("\n") == 1

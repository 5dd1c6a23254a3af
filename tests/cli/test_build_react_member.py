"""build-react with members from outside: killed and resumed, in the manifest, on the card."""

import json
import re

import pytest

pytest.importorskip("transformers")
from external_models import write_model
from small_build import release_bytes

from cgbench.benchmark.release.release import Release
from cgbench.models.external import token_space

BUILD = ("--preset", "demo", "--set", "candidates=40", "--set", "beam=2", "--jobs", 1)
BUILD += ("--set", "accept_ensemble=true")  # these members have learned nothing


@pytest.fixture(scope="module")
def addresses(tmp_path_factory):
    folder = tmp_path_factory.mktemp("outside")
    return [write_model(folder / f"member-{seed}", "t5", seed) for seed in range(2)]


@pytest.fixture
def members(addresses):
    return [word for address in addresses for word in ("--member", address)]


def test_a_release_by_members_from_outside(corpora, members, addresses, run, tmp_path, monkeypatch):
    monkeypatch.setattr(token_space, "SHARD", 15)
    command = ("build-react", *corpora, *BUILD, *members)
    assert (
        "cgbench translate" not in run(*command, "--out", tmp_path / "whole").stdout
    )  # no ensemble folder to name
    meet, calls = token_space._write_measures, []

    def stop(*given):
        calls.append(given[2])
        if len(calls) == 2:
            raise KeyboardInterrupt
        return meet(*given)

    with monkeypatch.context() as patch:
        patch.setattr(token_space, "_write_measures", stop)
        run(*command, "--out", tmp_path / "stopped", status=130)
    run(*command, "--out", tmp_path / "stopped")
    assert calls == [0, 1]
    assert release_bytes(tmp_path / "stopped") == release_bytes(tmp_path / "whole")

    release = Release.open(tmp_path / "whole")
    given = release.manifest["inputs"]["members"]
    assert [member["name"] for member in given] == ["hf:member-0", "hf:member-1"]
    assert all(member["identity"]["weights"] and member["pretrained"] for member in given)
    assert release.configuration["members"] == 2
    assert "--member hf:member-0 --member hf:member-1" in release.manifest["command"]
    assert str(tmp_path.parent) not in json.dumps(release.manifest)
    card = (tmp_path / "whole" / "README.md").read_text(encoding="utf-8")
    assert "2 external models (`hf:member-0`, `hf:member-1`)" in card
    assert "Kim, Linzen and Smolensky 2022" in card and "an ensemble of existing models" in card


def test_an_ensemble_trained_here_says_nothing_of_that(small_release):
    assert "Smolensky" not in (small_release.folder / "README.md").read_text(encoding="utf-8")
    assert "members" not in small_release.manifest["inputs"]


def test_the_card_tells_native_members_from_external_ones(corpora, small_release, run, tmp_path):
    native = sorted((small_release.folder.parent / "release.work" / "ensemble").glob("member-*"))
    assert len(native) == 2
    run(
        "build-react",
        *corpora,
        *BUILD,
        "--member",
        native[0],
        "--member",
        native[1],
        "--out",
        tmp_path / "r",
    )
    card = (tmp_path / "r" / "README.md").read_text(encoding="utf-8")
    assert "2 models trained with cgbench (`member-0`, `member-1`)" in card
    assert "external model" not in card and "held-out pairs" not in card


def test_what_members_do_not_go_with(corpora, members, run, tmp_path, monkeypatch):
    command = ("build-react", *corpora, *BUILD, "--out", tmp_path / "r")
    for words, said in (
        ((*members, "--ensemble", tmp_path), "--member and --ensemble: give one"),
        ((*members, "--members", 3), "--member takes members as they are; leave --members out"),
        (("--prompt", "{source}"), "--prompt needs --member"),
        ((*members[:2],), "measures the disagreement of members"),
    ):
        assert said in run(*command, *words, status=2).stderr, words
    monkeypatch.setenv("CGBENCH_ESTIMATE", "1")
    table = run(*command, *members, "--dry-run").output
    assert re.search(r"(?m)^uncertainty +not estimated", table) and re.search(
        r"(?m)^scan +[0-9.]+ second", table
    )
    monkeypatch.setenv("CGBENCH_ESTIMATE", "0")
    lines = run(*command, *members, "--dry-run").stdout
    assert "these run:" in lines and "uncertainty" in lines and "member-0" not in lines

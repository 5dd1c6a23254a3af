"""Members of a build have validation pairs: a share of the training text, unless it is set to
none.
"""

import json

import pytest
from small_build import SMALL, copy_build

FEW = (*SMALL, "--set", "candidates=40", "--set", "select=5", "--set", "beam=1")


@pytest.fixture(scope="module")
def built(tmp_path_factory, corpora, run):
    out = tmp_path_factory.mktemp("valid") / "out"
    words = ("build-react", *corpora, *FEW, "--set", "training.validate_every=4", "--out", out)
    run(*words, "--until", "uncertainty")
    return out


def reports(out):
    (member,) = out.parent.glob("out.work/.cgbench/member-0/*/metrics.jsonl")
    return [json.loads(line) for line in member.read_text().splitlines()]


def test_members_are_validated_on_pairs_they_are_not_trained_on(built, demo):
    rows = reports(built)
    assert [row["update"] for row in rows if "valid_loss" in row] == [4, 6]
    assert rows[0]["pairs"] == 1_500 - 15
    (folder,) = built.parent.glob("out.work/.cgbench/held-out/*/valid.source")
    held, kept = (
        folder.with_name(name).read_text().splitlines() for name in ("valid.source", "train.source")
    )
    assert len(held) == 15 and not set(held) & set(kept)
    assert sorted([*held, *kept]) == sorted((demo / "train.de").read_text().splitlines())
    assert json.loads((built / "manifest.json").read_text())["configuration"]["valid"] == "1/100"


def test_the_best_is_kept_and_none_is_a_choice(built, corpora, run, tmp_path):
    best = min(
        (row for row in reports(built) if "valid_loss" in row), key=lambda row: row["valid_loss"]
    )
    member = json.loads((built.parent / "out.work/ensemble/member-0/config.json").read_text())
    assert member["updates"] == best["update"] and member["training"].get("keep", "best") == "best"
    copy_build(built, tmp_path / "out")
    words = ("--set", "valid=0", "--until", "uncertainty", "--dry-run", "--out", tmp_path / "out")
    said = run("build-react", *corpora, *FEW, *words).stdout
    assert "held-out:" not in said and "member-0: runs" in said

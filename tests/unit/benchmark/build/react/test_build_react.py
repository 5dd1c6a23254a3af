"""``build_react`` as people call it."""

import json
import os
from pathlib import Path

import pytest
from small_build import pair, release_bytes

from cgbench.benchmark.build.react.build_plan import plan_build
from cgbench.benchmark.build.react.build_react import build_react, explain, workspace_of
from cgbench.benchmark.build.react.request import BuildRequest
from cgbench.benchmark.release.verify import verify
from cgbench.errors import InputError

SMALL = {"preset": "demo", "until": "candidates", "candidates": 200, "jobs": 1}


def explain_react(**arguments):
    request = BuildRequest(**arguments)
    return explain(plan_build(request), workspace_of(request))


def lines(demo, stem):
    return tuple(path.read_text(encoding="utf-8").splitlines() for path in pair(demo, stem))


@pytest.fixture(scope="module")
def built(demo, tmp_path_factory):
    """The candidates of the demo corpus; tests only read them."""
    out = tmp_path_factory.mktemp("react") / "out"
    return build_react(
        train=pair(demo, "train"),
        pools=[pair(demo, "pool")],
        exclude=[pair(demo, "valid")],
        out=out,
        **SMALL,
    )


def test_the_command_makes_the_same(built, corpora, run, tmp_path):
    run(
        *(
            "build-react",
            *corpora,
            "--preset",
            "demo",
            "--until",
            "candidates",
            "--set",
            "candidates=200",
        ),
        *("--out", tmp_path / "out"),
    )
    assert release_bytes(tmp_path / "out") == release_bytes(built.folder)


def test_names_may_be_strings_and_one_pool_needs_no_list(built, demo, tmp_path):
    def names(stem):
        return [os.fspath(path) for path in pair(demo, stem)]

    other = build_react(
        train=names("train"),
        pools=names("pool"),
        exclude=[names("valid")],
        out=str(tmp_path / "out"),
        **SMALL,
    )
    assert release_bytes(other.folder) == release_bytes(built.folder)


def test_lists_of_sentences(built, demo, tmp_path):
    texts = {
        "train": lines(demo, "train"),
        "pools": [lines(demo, "pool")],
        "exclude": [lines(demo, "valid")],
    }
    arguments = {**texts, "languages": ("de", "en"), "out": tmp_path / "out", **SMALL}
    other = build_react(**arguments)
    for name in ("candidates.de", "candidates.en", "data/candidates-00000-of-00001.parquet"):
        assert (other.folder / name).read_bytes() == (built.folder / name).read_bytes()
    said = explain_react(**arguments)
    assert len(said) == 3 and all("kept" in line for line in said)
    assert verify(other).ok
    # They are files that the manifest names.
    files = json.loads((other.folder / "manifest.json").read_text())["inputs"]["train"]["files"]
    assert [file["path"].partition("-")[0] for file in files] == ["train", "train"]
    paths = [Path(other.input_path(file["path"])) for file in files]
    assert [path.read_text(encoding="utf-8").splitlines() for path in paths] == list(texts["train"])


def test_lines_of_the_training_text_are_no_candidates(demo, tmp_path):
    train, pool = lines(demo, "train"), lines(demo, "pool")
    with_training = tuple([*known[:60], *new] for known, new in zip(train, pool, strict=True))
    release = build_react(
        train=train, pools=with_training, out=tmp_path / "out", **{**SMALL, "candidates": 5000}
    )
    assert min(release.table()["line"].to_pylist()) > 60
    assert release.manifest["counts"]["seen"] > 0


def test_a_training_text_that_does_not_fit_into_memory(demo, tmp_path, monkeypatch):
    monkeypatch.setenv("CGBENCH_MEMORY", "50K")
    with pytest.raises(
        InputError, match=r"n-grams of about .* words needs .* cgbench overlap, .* known_from"
    ):
        build_react(
            train=pair(demo, "train"), pools=[pair(demo, "pool")], out=tmp_path / "out", **SMALL
        )


def test_steps_are_explained_and_nothing_is_written(demo, tmp_path):
    settings = {"preset": "demo", "members": 2, "model": "tiny"}
    said = explain_react(
        train=lines(demo, "valid"), pools=pair(demo, "pool"), out=tmp_path / "out", **settings
    )
    assert [line.partition(":")[0] for line in said] == [
        *(
            "known-ngrams",
            "scan-1",
            "candidates",
            "subwords",
            "held-out",
            "member-0",
            "member-1",
            "uncertainty",
        ),
        "ensemble-quality",
    ]
    assert not list(tmp_path.iterdir())


def test_a_change_in_one_pool_leaves_the_scan_of_the_next_as_it_is(demo, tmp_path):
    sides = lines(demo, "pool")
    first, second = ([side[start:end] for side in sides] for start, end in ((0, 900), (900, None)))
    arguments = {
        "train": pair(demo, "train"),
        "out": tmp_path / "out",
        **SMALL,
        "languages": ("de", "en"),
    }
    said = []
    for before in (900, 300):
        pools = [[side[:before] for side in first], second]
        said.clear()
        release = build_react(pools=pools, say=said.append, **arguments)
        # Lines on the screen and in files are counted through all pools.
        rows = release.table().to_pylist()
        assert {row["pool"] for row in rows} == {1, 2}
        assert all(
            row["line"] == row["pool_line"] + (before if row["pool"] == 2 else 0) for row in rows
        )
        for row, text in zip(rows, release.lines("target"), strict=True):
            assert pools[row["pool"] - 1][1][row["pool_line"] - 1] == text
    assert [line.partition(":")[0] for line in said if "kept" in line] == ["known-ngrams", "scan-2"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"train": [["a b"], ["c", "d"]]}, "train: 1 source sentences for 2 target sentences"),
        ({"train": [["a\nb"], ["c"]]}, "train, source, sentence 1: holds a line break"),
        ({"train": [[], []]}, "train: the corpus is empty"),
        ({"train": [["a"], [7]]}, "train: a corpus is a file, two files, or two lists"),
        ({"pools": []}, "pools: it is missing; give a training corpus and a pool, or one corpus"),
        ({"pools": ["nowhere.de", "nowhere.en"]}, "nowhere.de: no such file"),
        (
            {"pools": [("a.de", "a.en", "b.de")]},
            "a corpus is one file with both sides, or two files, not 3",
        ),
        ({"languages": ("../de", "en")}, "two different codes are needed"),
        ({"columns": (1, 2, 3)}, "columns"),
        (
            {"drop_by": "reference_rmo", "until": "uncertainty"},
            "unknown measure reference_rmo; did you mean reference_rmi",
        ),
        (
            {
                "members": 1,
                "until": "uncertainty",
                "uncertainty": "expected_entropy",
                "drop_by": "reference_epkl",
            },
            "members: reference_epkl measures the disagreement of members",
        ),
        (
            {"drop_by": "joint_cross_entropy", "until": "uncertainty"},
            "drop_by: joint_cross_entropy needs a language model of the source; give one with",
        ),
        (
            {"members": 1, "until": "uncertainty"},
            "members: rmi measures the disagreement of members",
        ),
    ],
)
def test_what_is_wrong_is_said_in_one_line(demo, tmp_path, change, message):
    arguments = {
        "train": pair(demo, "train"),
        "pools": [pair(demo, "pool")],
        "out": tmp_path / "out",
        **SMALL,
    }
    with pytest.raises(InputError, match=message.replace(".", r"\.")) as caught:
        build_react(**arguments | change)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out" / "manifest.json").exists()

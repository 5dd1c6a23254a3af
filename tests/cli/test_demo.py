import json
from functools import partial

import pytest
from small_build import SMALL

from cgbench.benchmark.build.react.cost import Forecast
from cgbench.data_recipes.demo.corpus import write_demo

pytest.importorskip("kenlm")


def test_the_demo_prints_where_each_kind_ended_up(run, tmp_path, monkeypatch):
    settings = [word for word in SMALL if word != "demo"]
    settings = settings[settings.index("--set") :]
    words = [
        "demo",
        "--out",
        tmp_path / "demo",
        *settings,
        "--set",
        "members=2",
        "--set",
        "model=tiny",
    ]
    monkeypatch.setenv("CGBENCH_ESTIMATE", "1")
    small = partial(write_demo, train_pairs=1_500, pool_pairs=3_000, valid_pairs=50)
    monkeypatch.setattr("cgbench.benchmark.build.react.demo.write_demo", small)
    monkeypatch.setattr(
        "cgbench.benchmark.build.react.demo.forecast", lambda *plan: Forecast({"members": 7200.0})
    )
    first = run(*words, "--format", "json")
    assert "\nmembers  2.0 hours\n" in first.stderr
    result = json.loads(first.stdout)
    kinds = result["kinds"]
    assert list(kinds) == [
        "pool",
        "known_words",
        "candidates",
        "dropped_reference",
        "dropped",
        "window",
        "selected",
    ]
    assert set(result["known_noise"]) == {"the paper's way", "this build"}
    total = sum(kinds["window"].values())
    assert result["known_noise"]["this build"]["window"] == kinds["window"]["noise"] / total
    assert (
        result["configuration"]["drop_by"] == "joint_cross_entropy"
        and result["configuration"]["drop"] == 0
    )
    assert sum(kinds["pool"].values()) == result["counts"]["pool"] == 3_000
    for stage, counts in kinds.items():
        assert sum(counts.values()) == result["counts"][stage]
    assert kinds["known_words"]["unknown-word"] == 0
    page = (tmp_path / "demo/report.html").read_text(encoding="utf-8")
    assert result["report"] == str(tmp_path / "demo/report.html") and result["signature"] in page
    assert kinds["selected"]["near-copy"] <= 0.02 * sum(kinds["selected"].values())
    # given again, everything is kept, and the screen has the table
    text = run(*words, env={"COLUMNS": "120"}).stdout
    assert "hard good pairs kept" in text and "the paper's way" in text
    assert "near-copy" in text and "share of each type, by stage" in text
    assert text.endswith(f"report: {tmp_path / 'demo/report.html'}\n")
    assert (tmp_path / "demo/report.html").read_text(encoding="utf-8") == page
    assert f"cgbench translate --model {tmp_path / 'demo/release.work/ensemble'} <" in text
    assert (tmp_path / "demo/release.work/ensemble/member-1/config.json").is_file()
    # a release without text has no page
    (tmp_path / "demo/report.html").unlink()
    text = run(*words, "--set", "release_text=none").stdout
    assert text.endswith("report: none, because the release has no text\n")
    assert not (tmp_path / "demo/report.html").exists()

import json

from small_build import SMALL


def test_the_demo_prints_where_each_kind_ended_up(run, tmp_path):
    settings = [word for word in SMALL if word != "demo"]
    settings = settings[settings.index("--set") :]
    words = ["demo", "--out", tmp_path / "demo", *settings, "--set", "members=2", "--set", "model=tiny"]
    result = json.loads(run(*words, "--format", "json").stdout)
    kinds = result["kinds"]
    assert list(kinds) == ["pool", "known_words", "candidates", "dropped", "window", "selected"]
    assert sum(kinds["pool"].values()) == result["counts"]["pool"] == 30_000
    for stage, counts in kinds.items():
        assert sum(counts.values()) == result["counts"][stage]
    assert kinds["known_words"]["unknown-word"] == 0
    assert kinds["selected"]["near-copy"] <= 0.02 * sum(kinds["selected"].values())
    # given again, everything is kept, and the screen has the table
    text = run(*words).stdout
    assert "near-copy" in text and "share of each kind, by stage" in text

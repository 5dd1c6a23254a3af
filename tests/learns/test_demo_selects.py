"""The demo as users run it: members that really learn, and a record that says whether the right pairs were found."""

import json


def test_the_demo_finds_what_was_planted(run, tmp_path):
    result = json.loads(run("demo", "--out", tmp_path / "demo", "--format", "json").stdout)
    kinds = result["kinds"]
    selected = kinds["selected"]
    total = sum(selected.values())
    assert total == result["counts"]["selected"] == 150
    assert selected["unknown-word"] == 0
    assert selected["near-copy"] <= 0.02 * total
    noise = kinds["dropped"]["noise"] / kinds["candidates"]["noise"]
    others = sum(kinds["candidates"].values()) - kinds["candidates"]["noise"]
    rest = (sum(kinds["dropped"].values()) - kinds["dropped"]["noise"]) / others
    assert noise > 2 * rest  # the cut of the most uncertain takes noise first, clearly and not by chance
    run("verify", tmp_path / "demo" / "release")

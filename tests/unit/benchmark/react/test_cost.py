"""What a build will cost: from rates that are made up, and from a clock that says a second later each time."""

import itertools
import json
from dataclasses import replace
from types import SimpleNamespace

import pytest
from made_up_rates import RATES

from cgbench.benchmark.react import cost
from cgbench.benchmark.react.cost import (
    DAY,
    Cost,
    Forecast,
    duration,
    forecast,
    formulas,
    kept_rates,
    measure_rates,
    size,
)
from cgbench.benchmark.react.plan import plan_build
from cgbench.benchmark.react.request import BuildRequest
from cgbench.engines import Local
from cgbench.files import cache_folder
from cgbench.requests import changed
from cgbench.steps import Workspace

SETTINGS = {"members": 2, "model": "tiny", "text.merges": 300, "beam": 2}


def pair(demo, stem):
    return demo / f"{stem}.de", demo / f"{stem}.en"


@pytest.fixture
def planned(demo, tmp_path):
    def call(preset="demo", until="release", **settings):
        texts = {"train": pair(demo, "train"), "pools": [pair(demo, "pool")], "exclude": [pair(demo, "valid")]}
        words = {"languages": ("de", "en"), "device": "cpu", "until": until}
        return plan_build(BuildRequest(out=tmp_path / "out", **texts, preset=preset, **SETTINGS | settings, **words))

    return call


def engine(members=2, shards=2):
    return SimpleNamespace(jobs=2, at_once=lambda needs, most: shards if most == 1 << 20 else min(members, most))


def test_members_come_in_waves_and_candidates_in_shards(planned):
    plan = planned(**{"training.max_updates": 700, "training.validate_every": 350, "valid": 200, "candidates": 3000})
    two, one = (formulas(plan, engine(at_once, at_once), RATES, 2) for at_once in (2, 1))
    # 700 updates of 0.1 s, a worker to start; both validations read 200 pairs.
    assert two["members"].seconds == pytest.approx(70 + 5 + 2 * 200 * 0.1 / 100 / 3)
    assert one["members"].seconds == pytest.approx(2 * two["members"].seconds)
    # 3,000 candidates are thirty shards.
    assert two["uncertainty"].seconds == pytest.approx(15 * 100 * 0.02)
    assert one["uncertainty"].seconds == pytest.approx(30 * 100 * 0.02)
    few = formulas(planned(candidates=300), engine(), RATES, 2)
    assert few["uncertainty"].seconds == pytest.approx(2 * 100 * 0.02)


def test_what_costs_more(planned):
    def of(**settings):
        return formulas(planned(valid=200, **settings), engine(), RATES, 2)["members"]

    base = of(**{"training.max_updates": 700})
    assert of(**{"training.max_updates": 1400}).seconds > base.seconds + 69
    assert of(**{"training.max_updates": 700, "training.validate_metric": "bleu"}).seconds > base.seconds
    none = formulas(planned(valid=0), engine(), RATES, 2)["members"]
    assert none.disk == pytest.approx(2 * 4e6 * 4) and none.disk < base.disk


def test_steps_that_are_kept_and_what_nobody_times(planned, tmp_path, monkeypatch):
    monkeypatch.setattr(cost, "kept_rates", lambda *given: RATES)
    plan = planned()
    found = forecast(plan, Workspace(tmp_path / "work"), Local(1))
    steps = "known-ngrams scan candidates subwords members uncertainty"
    assert " ".join(one.step for one in found.costs) == steps
    assert "total of estimated steps" not in str(found) and found.advice is None and not (tmp_path / "work").exists()
    done = SimpleNamespace(done=lambda step: step in (*plan.scans, plan.ngrams))
    kept = forecast(plan, done, Local(1))
    assert str(kept).count("kept") == 2 and kept.whole.seconds < found.whole.seconds
    assert forecast(plan, SimpleNamespace(done=lambda step: True), Local(1)) is None
    monkeypatch.setattr(cost, "kept_rates", lambda *given: {**RATES, "update": 1e6})
    assert (
        "about " in (line := forecast(plan, Workspace(tmp_path), Local(2)).advice) and "on 2 CPU cores; a GPU" in line
    )
    monkeypatch.setattr(cost, "kept_rates", lambda *given: RATES)
    clusters = forecast(planned(model="proto_cognition"), Workspace(tmp_path), Local(1))
    assert "members (without clustering prototypes)" in str(clusters) and "total of estimated steps" in str(clusters)


def test_a_table_and_json():
    found = Forecast((Cost("scan", 90.0, 1e9, 12e6), Cost("perplexity", None)))
    assert [line.split() for line in str(found).splitlines()[1:]] == [
        ["scan", "2", "minutes", "1.0", "GB", "12", "MB"],
        ["perplexity", "not", "estimated"],
        ["total", "of", "estimated", "steps", "2", "minutes", "1.0", "GB", "12", "MB"],
    ]
    assert found.as_dict()["seconds"] == 90 and found.as_dict()["steps"][1]["seconds"] is None


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.2, "1 second"), (1.6, "2 seconds"), (89, "89 seconds"), (90, "2 minutes"), (5400, "1.5 hours"),
     (36_000, "10 hours"), (31 * DAY, "31 days")],
)  # fmt: skip
def test_durations_and_sizes(value, text):
    assert duration(value) == text
    assert (size(10), size(12e6), size(3.44e9)) == ("1 MB", "12 MB", "3.4 GB")


def test_rates_are_what_the_clock_says(planned, demo, monkeypatch):
    monkeypatch.setattr(cost, "time", SimpleNamespace(monotonic=itertools.count().__next__))
    plan = planned()
    found = measure_rates(plan, Local(1))
    assert (found["train_pairs"], found["pool_pairs"], found["exclude_pairs"]) == (1500, 2500, 50)
    assert found["train_bytes"] == sum(path.stat().st_size for path in pair(demo, "train"))
    assert found["learn"] * found["train_bytes"] == found["scan"] * found["pool_bytes"] == pytest.approx(1)
    assert found["subwords"] * 1500 == 1 and 0 < found["kept"] < 1 and 0 < found["words"] < 1
    assert found["model"] > 1000 and found["memory"] > 10**7 and found["candidate"] > 0
    assert "update" not in measure_rates(planned(until="candidates", lowercase=True), Local(1))


def test_rates_are_kept(planned, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    asked = []
    monkeypatch.setattr(cost, "measure_rates", lambda plan, engine: asked.append(plan) or RATES)
    plan = planned()
    assert kept_rates(plan, Local(1)) == kept_rates(plan, Local(1)) == RATES and len(asked) == 1
    kept_rates(replace(plan, request=changed(plan.request, beam=1)), Local(1))
    assert len(asked) == 2
    for path in cache_folder("rates").iterdir():
        path.write_text(json.dumps({"update": [3]}))
    assert kept_rates(plan, Local(1)) == RATES and len(asked) == 3
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/none")  # where nothing can be written
    assert kept_rates(plan, Local(1)) == RATES

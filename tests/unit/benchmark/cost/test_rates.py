"""Rates, with a clock that says a second later each time it is asked: nothing depends on how fast this machine is."""

import gzip
import itertools
import json
from dataclasses import replace

import pytest

from cgbench.benchmark.cost import rates
from cgbench.benchmark.cost.foresight import foresee
from cgbench.benchmark.cost.rates import kept_rates, look_at_texts, measure_rates
from cgbench.benchmark.react.arguments import plan_of
from cgbench.engines import Local
from cgbench.files import cache_folder
from cgbench.steps import Workspace

SETTINGS = {"members": 2, "model": "tiny", "text.merges": 300, "beam": 2}


def pair(demo, stem):
    return demo / f"{stem}.de", demo / f"{stem}.en"


@pytest.fixture
def plan(demo, tmp_path):
    return plan_of(
        tmp_path / "texts",
        train=pair(demo, "train"),
        pools=[pair(demo, "pool")],
        exclude=[pair(demo, "valid")],
        preset="demo",
        settings=SETTINGS,
        languages=("de", "en"),
        device="cpu",
    )


def ticking():
    return itertools.count().__next__


def test_texts_are_as_large_as_they_are(plan, demo, tmp_path):
    texts = look_at_texts(plan, ticking())
    assert (texts.train.pairs, texts.pool.pairs, texts.exclude.pairs) == (1500, 2500, 50)
    assert texts.train.size == sum(path.stat().st_size for path in pair(demo, "train"))
    assert len(texts.train_sample) == 1500 and texts.normalise == 0


def test_a_packed_text_is_about_as_large(demo, tmp_path, monkeypatch):
    """Of what is not read to its end, the size is guessed by how well it is packed."""
    monkeypatch.setattr(rates, "READ", 500)
    packed = []
    for path in pair(demo, "train"):
        packed.append(tmp_path / f"{path.name}.gz")
        packed[-1].write_bytes(gzip.compress(path.read_bytes()))
    plan = plan_of(
        tmp_path / "texts",
        train=tuple(packed),
        pools=[pair(demo, "pool")],
        settings={**SETTINGS, "lowercase": True},
        preset="demo",
        until="candidates",
    )
    texts = look_at_texts(plan, ticking())
    assert 1000 < texts.train.pairs < 2250
    assert texts.train_sample[0][0].islower() and texts.normalise == 1 / len(texts.train_sample)


def test_rates_are_what_the_clock_says(plan):
    found = measure_rates(plan.config, plan, look_at_texts(plan), Local(1), ticking(), 0)
    assert 0 < found.kept < 1 and 0 < found.words < 1
    assert found.learn * look_at_texts(plan).train.size == pytest.approx(1)
    models = found.models
    assert models.subwords * 1500 == models.encode * 1500 == 1
    assert 0.5 < models.update < 2  # a second each: the clock was asked once after each of them
    assert models.parameters > 1000 and models.row > 100 and models.memory > 10**7
    assert models.candidate > 0
    none = measure_rates(plan.config, replace(plan, until="candidates"), look_at_texts(plan), Local(1), ticking(), 0)
    assert none.models is None


def test_rates_are_kept(plan, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    texts = look_at_texts(plan)
    found = measure_rates(plan.config, plan, texts, Local(1), ticking(), 0)
    measured = []

    def measure(config, *rest):
        measured.append(config)
        return found

    for _ in range(2):
        assert kept_rates(plan.config, plan, texts, Local(1), measure) == found
    assert len(measured) == 1
    kept_rates(replace(plan.config, beam=1), plan, texts, Local(1), measure)
    assert len(measured) == 2
    for path in cache_folder("rates").iterdir():
        path.write_text(json.dumps({"models": 3}))
    kept_rates(plan.config, plan, texts, Local(1), measure)
    assert len(measured) == 3
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/none")  # where nothing can be written
    assert kept_rates(plan.config, plan, texts, Local(1), measure) == found


def test_a_smaller_preset_is_looked_at_where_this_one_takes_days(plan, tmp_path):
    slow = measure_rates(plan.config, plan, look_at_texts(plan), Local(1), ticking(), 0)
    asked = []

    def rates_of(config, *rest):
        asked.append(config)
        scale = 1.0 if config.model == "small" else 1e4
        return replace(slow, models=replace(slow.models, update=slow.models.update * scale))

    found = foresee(plan, Workspace(tmp_path), Local(1), preset="react", settings={"beam": 2}, rates_of=rates_of)
    assert "--preset small would" in found.advice
    assert [config.model for config in asked] == ["tiny", "small"] and asked[1].beam == 2
    assert not list(tmp_path.iterdir())


def test_clustering_of_prototypes_is_said_to_be_left_out(plan, demo, tmp_path):
    known = measure_rates(plan.config, plan, look_at_texts(plan), Local(1), ticking(), 0)
    settings = {**SETTINGS, "model": "proto_cognition"}
    texts = {"train": pair(demo, "train"), "pools": [pair(demo, "pool")], "languages": ("de", "en"), "device": "cpu"}
    clusters = plan_of(tmp_path / "texts", preset="demo", settings=settings, **texts)
    for asked, said in ((clusters, True), (plan, False)):
        found = foresee(
            asked, Workspace(tmp_path / "work"), Local(1), preset="demo", settings={}, rates_of=lambda *given: known
        )
        assert ("members (without clustering prototypes)" in found.lines) == said

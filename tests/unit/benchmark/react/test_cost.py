"""The estimated time of a build, from a clock that advances one second per call: nothing is timed."""

import itertools
from types import SimpleNamespace

import pytest

from cgbench.benchmark.react import cost
from cgbench.benchmark.react.cost import DAY, Forecast, duration, forecast
from cgbench.benchmark.react.plan import plan_build
from cgbench.benchmark.react.request import BuildRequest
from cgbench.engines import Local
from cgbench.steps import Workspace

SETTINGS = {"members": 2, "model": "tiny", "text.merges": 300, "beam": 2}


def pair(demo, stem):
    return demo / f"{stem}.de", demo / f"{stem}.en"


@pytest.fixture
def planned(demo, tmp_path):
    def call(until="release", **settings):
        texts = {"train": pair(demo, "train"), "pools": [pair(demo, "pool")], "exclude": [pair(demo, "valid")]}
        words = {"languages": ("de", "en"), "device": "cpu", "until": until, "preset": "demo"}
        return plan_build(BuildRequest(out=tmp_path / "out", **texts, **words, **SETTINGS | settings))

    return call


def engine(at_once, member=10.0, candidate=0.5):
    """An engine that runs this number of tasks at once, and whose samples take these seconds."""
    return SimpleNamespace(
        jobs=at_once,
        at_once=lambda needs, tasks: min(at_once, tasks),
        run=lambda function, tasks, needs: [(member, candidate) for _ in tasks],
    )


@pytest.fixture
def clock(monkeypatch):
    monkeypatch.setattr(cost, "time", SimpleNamespace(monotonic=itertools.count().__next__))


def test_the_formula_of_each_step(planned, demo, tmp_path, clock):
    plan, workspace = planned(candidates=1000), Workspace(tmp_path / "work")
    one, two = (forecast(plan, workspace, engine(jobs)).steps for jobs in (1, 2))
    # The whole training text takes one second; the pool has more bytes, and is scanned at one second in all.
    assert " ".join(one) == "known-ngrams scan candidates members uncertainty"
    assert one["known-ngrams"] == pytest.approx(1) and one["scan"] == pytest.approx(1)
    sizes = [sum(path.stat().st_size for path in pair(demo, stem)) for stem in ("train", "pool")]
    assert one["candidates"] == pytest.approx(sum(sizes) / sizes[1])
    # 1,000 candidates are ten shards; two members are trained.
    assert one["members"] == 20 and one["uncertainty"] == pytest.approx(500)
    assert two["members"] == 10 and two["uncertainty"] == pytest.approx(250) and two["scan"] == pytest.approx(0.5)
    assert not (tmp_path / "work").exists()


def test_only_unfinished_steps_are_estimated(planned, clock):
    plan = planned()
    left = forecast(plan, SimpleNamespace(done=lambda step: step in (*plan.scans, plan.ngrams)), engine(1))
    assert list(left.steps) == ["candidates", "members", "uncertainty"]
    one = forecast(plan, SimpleNamespace(done=lambda step: step != plan.ensemble.members[0]), engine(1))
    assert one.steps == {"members": 10}
    assert forecast(plan, SimpleNamespace(done=lambda step: True), engine(1)) is None


def test_days_on_a_cpu_give_advice(planned, tmp_path, clock):
    workspace = Workspace(tmp_path)
    assert forecast(planned(), workspace, engine(2)).advice is None
    advice = forecast(planned(), workspace, engine(2, member=3 * DAY)).advice
    assert advice.startswith("this build will take about 3.0 days on 2 CPU cores; a GPU (--device cuda)")


def test_a_table():
    times = Forecast({"scan": 90.0, "perplexity": None})
    lines = [line.split() for line in str(times).splitlines()[1:]]
    assert lines == [["scan", "2", "minutes"], ["perplexity", "not", "estimated"], ["total", "2", "minutes"]]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.2, "1 second"), (1.6, "2 seconds"), (89, "89 seconds"), (90, "2 minutes"), (5400, "1.5 hours"),
     (36_000, "10 hours"), (31 * DAY, "31 days")],
)  # fmt: skip
def test_durations(value, text):
    assert duration(value) == text


def test_the_samples(planned, tmp_path, monkeypatch):
    """A model of the planned size is trained and translates; both steps are seconds of a clock that runs faster."""
    ticks = (float(tick * tick) for tick in itertools.count())
    monkeypatch.setattr(cost, "time", SimpleNamespace(monotonic=ticks.__next__))
    plan = planned(**{"training.max_updates": 700})
    steps = forecast(plan, Workspace(tmp_path), Local(1)).steps
    assert steps["members"] > 0 and steps["uncertainty"] > 0
    candidates = forecast(planned(until="candidates", lowercase=True), Workspace(tmp_path), Local(1))
    assert list(candidates.steps) == ["known-ngrams", "scan", "candidates"]

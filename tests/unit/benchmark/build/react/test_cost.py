"""The estimated time of a build, from a clock that advances one second per call: nothing is
timed.
"""

import itertools
from types import SimpleNamespace

import pytest
from small_build import pair

from cgbench.benchmark.build.react import cost
from cgbench.benchmark.build.react.build_plan import plan_build
from cgbench.benchmark.build.react.build_react import run_build
from cgbench.benchmark.build.react.cost import DAY, Forecast, forecast
from cgbench.benchmark.build.react.request import BuildRequest
from cgbench.commands.lines import cost_table, duration
from cgbench.engines import Local
from cgbench.errors import InputWarning
from cgbench.steps import Workspace

SETTINGS = {"members": 2, "model": "tiny", "text.merges": 300, "beam": 2}


@pytest.fixture
def planned(demo, tmp_path):
    def call(until="release", **settings):
        texts = {
            "train": pair(demo, "train"),
            "pools": [pair(demo, "pool")],
            "exclude": [pair(demo, "valid")],
        }
        words = {"languages": ("de", "en"), "device": "cpu", "until": until, "preset": "demo"}
        return plan_build(
            BuildRequest(out=tmp_path / "out", **texts, **words, **SETTINGS | settings)
        )

    return call


def engine(at_once, member=10.0, candidate=0.5):
    """An engine that runs this number of tasks at once, and whose samples take these seconds."""
    return SimpleNamespace(
        jobs=at_once,
        at_once=lambda needs, tasks: min(at_once, tasks),
        run=lambda function, tasks, needs: [(member, candidate) for _ in tasks],
    )


@pytest.fixture(autouse=True)
def estimates(monkeypatch):
    monkeypatch.setenv("CGBENCH_ESTIMATE", "1")


@pytest.fixture
def clock(monkeypatch):
    monkeypatch.setattr(cost, "time", SimpleNamespace(process_time=itertools.count().__next__))


def test_the_formula_of_each_step(planned, demo, tmp_path, clock):
    plan, workspace = planned(candidates=1000), Workspace(tmp_path / "work")
    one, two = (forecast(plan, workspace, engine(jobs)).seconds for jobs in (1, 2))
    # The whole training text takes one second; the pool has more bytes, and is scanned at one
    # second in all.
    assert " ".join(one) == "known-ngrams scan candidates members uncertainty"
    assert one["known-ngrams"] == pytest.approx(1) and one["scan"] == pytest.approx(1)
    assert one["candidates"] == pytest.approx(1 + one["known-ngrams"])
    # 1,000 candidates are ten shards; two members are trained.
    assert one["members"] == 20 and one["uncertainty"] == pytest.approx(500)
    assert (
        two["members"] == 10
        and two["uncertainty"] == pytest.approx(250)
        and two["scan"] == pytest.approx(0.5)
    )
    assert not (tmp_path / "work").exists()


def test_only_unfinished_steps_are_estimated(planned, clock, monkeypatch):
    plan = planned()
    times = forecast(
        plan, SimpleNamespace(done=lambda step: step in (*plan.scans, plan.ngrams)), engine(1)
    )
    assert list(times.seconds) == ["candidates", "members", "uncertainty"]
    last_member = SimpleNamespace(done=lambda step: step != plan.ensemble.members[0])
    assert forecast(plan, last_member, engine(1)) == Forecast({"members": 10})
    monkeypatch.setenv("CGBENCH_ESTIMATE", "0")
    assert forecast(plan, last_member, engine(1)) == Forecast()


def test_days_on_a_cpu_give_advice(planned, tmp_path, clock):
    with pytest.warns(InputWarning, match="will take about 3 days on 2 CPU cores; a GPU"):
        forecast(planned(), Workspace(tmp_path), engine(2, member=3 * DAY))


def test_a_table():
    lines = [
        line.split() for line in cost_table({"scan": 90.0, "perplexity": None}).splitlines()[1:]
    ]
    assert lines == [
        ["scan", "2", "minutes"],
        ["perplexity", "not", "estimated"],
        ["total", "2", "minutes"],
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.2, "1 second"),
        (1.6, "2 seconds"),
        (89, "89 seconds"),
        (90, "2 minutes"),
        (5400, "1.5 hours"),
        (36_000, "10 hours"),
        (31 * DAY, "31 days"),
    ],
)
def test_durations(value, text):
    assert duration(value) == text


def test_the_samples(planned, tmp_path, monkeypatch):
    """A model of the planned size is trained and translates; both steps are seconds of a clock that
    runs faster.
    """
    ticks = (float(tick * tick) for tick in itertools.count())
    monkeypatch.setattr(cost, "time", SimpleNamespace(process_time=ticks.__next__))
    plan = planned(**{"training.max_updates": 700})
    steps = forecast(plan, Workspace(tmp_path), Local(1)).seconds
    assert steps["members"] > 0 and steps["uncertainty"] > 0
    candidates = forecast(
        planned(until="candidates", lowercase=True), Workspace(tmp_path), Local(1)
    )
    assert list(candidates.seconds) == ["known-ngrams", "scan", "candidates"]


def test_small_texts_are_counted_exactly(planned, tmp_path, clock):
    """The numbers of the candidates and of the test set are those of the build."""
    plan = planned(until="candidates", candidates="1/4", select="1/10")
    counts = forecast(plan, Workspace(tmp_path / "work"), engine(1)).counts
    with pytest.warns(InputWarning):
        manifest = run_build(plan, Local(1)).manifest
    same = ("pool", "empty", "rare_word", "known_words", "within_length", "candidates")
    assert {name: counts[name] for name in same} == {
        name: manifest["counts"][name] for name in same
    }
    release = forecast(
        planned(candidates="1/4", select="1/10"), Workspace(tmp_path / "x"), engine(1)
    )
    assert release.counts["test"] == round(counts["candidates"] / 10)
    assert f"{release.counts['test']} of them the test set" in release.size


def test_a_spread_sample_is_close(planned, tmp_path, clock, monkeypatch):
    plan = planned(candidates="1/4", select="1/10")
    exact = forecast(plan, Workspace(tmp_path), engine(1)).counts
    monkeypatch.setattr(cost, "POOL", 500)
    sampled = forecast(plan, Workspace(tmp_path), engine(1))
    near = sampled.counts
    assert near["pool"] == exact["pool"] and not sampled.is_pool_estimated
    for name in ("pool", "within_length", "candidates", "test"):
        assert near[name] == pytest.approx(exact[name], rel=0.1), name
    assert near != exact
    monkeypatch.setattr(cost, "READ", 1000)
    assert forecast(plan, Workspace(tmp_path), engine(1)).is_pool_estimated


def test_a_counted_pool_is_not_rounded():
    counts = {"pool": 3557, "within_length": 3541, "candidates": 1771}
    assert Forecast({}, counts).size.startswith("of 3,557 pairs of the pool, about 3,540 have")
    estimate = Forecast({}, counts, is_pool_estimated=True)
    assert estimate.size.startswith("of about 3,560 pairs of the pool, about 3,540 have")


def test_too_few_pairs_are_said_before_training(planned, tmp_path, clock):
    with pytest.warns(InputWarning, match="will probably stop .* too few candidates .* lower"):
        counts = forecast(planned(window=2000), Workspace(tmp_path), engine(1)).counts
    assert "test" not in counts
    with pytest.warns(InputWarning, match="the test set has only 15 pairs"):
        forecast(planned(select=15), Workspace(tmp_path), engine(1))


def test_other_work_on_the_machine_does_not_change_the_time(monkeypatch):
    """Processor time on CPUs; with a GPU, which computes while the processor waits, the clock."""
    monkeypatch.setattr(cost, "time", SimpleNamespace(process_time=lambda: 1, monotonic=lambda: 2))
    assert (cost._clock("cpu"), cost._clock("cuda")) == (1, 2)

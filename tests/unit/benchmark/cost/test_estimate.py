"""What a build will cost, from rates that somebody gives: nothing is timed here."""

from dataclasses import replace

import pytest
from made_up_rates import RATES, TEXTS

from cgbench.benchmark.cost.estimate import DAY, Asked, Cost, Estimate, advice, cost_table, duration, estimate, size
from cgbench.benchmark.react.config import make_config
from cgbench.models.config.presets import load_preset

DEMO = make_config("demo", {})
ASKED = Asked("release", cores=2, members=2, shards=2, training=load_preset("demo").training)


def seconds(found, step):
    return next(cost.seconds for cost in found.costs if cost.step == step)


def test_members_come_in_waves_and_candidates_in_shards():
    two = estimate(DEMO, TEXTS, RATES, ASKED)
    one = estimate(DEMO, TEXTS, RATES, replace(ASKED, members=1, shards=1))
    # 700 updates of 0.1 s, a text of 20,000 pairs to encode, a worker to start; both validations read 200 pairs.
    assert seconds(two, "members") == pytest.approx(70 + 2 + 5 + 2 * 200 * 0.1 / 100 / 3)
    assert seconds(one, "members") == pytest.approx(2 * seconds(two, "members"))
    # 3,000 candidates are thirty shards.
    assert seconds(two, "uncertainty") == pytest.approx(5 + 15 * 100 * 0.02)
    assert seconds(one, "uncertainty") == pytest.approx(5 + 30 * 100 * 0.02)
    three = estimate(make_config("demo", {"members": 3}), TEXTS, RATES, ASKED)
    assert seconds(three, "members") == pytest.approx(2 * seconds(two, "members"))


def test_what_costs_more():
    """Updates, validation by translating, members that keep their best, candidates."""
    base = estimate(DEMO, TEXTS, RATES, ASKED)
    longer = replace(ASKED, training=replace(ASKED.training, max_updates=1400, validate_every=700))
    assert seconds(estimate(DEMO, TEXTS, RATES, longer), "members") == pytest.approx(seconds(base, "members") + 70)
    bleu = replace(ASKED, training=replace(ASKED.training, validate_metric="bleu"))
    assert seconds(estimate(DEMO, TEXTS, RATES, bleu), "members") > seconds(base, "members")
    none = estimate(make_config("demo", {"valid": 0}), TEXTS, RATES, bleu)
    assert seconds(none, "members") < seconds(base, "members")
    assert none.disk == pytest.approx(base.disk - 2 * 4e6 - TEXTS.train.size)
    few = estimate(make_config("demo", {"candidates": 300}), TEXTS, RATES, ASKED)
    assert seconds(few, "uncertainty") == pytest.approx(5 + 2 * 100 * 0.02)


def test_candidates_are_no_more_than_the_pool_has():
    found = estimate(make_config("react", {}), TEXTS, RATES, ASKED)
    # Of 30,000 pairs half are left, 64 shards.
    assert seconds(found, "uncertainty") == pytest.approx(5 + 32 * 235 * 0.02)


def test_steps_that_are_kept_cost_nothing():
    found = estimate(DEMO, TEXTS, RATES, replace(ASKED, done=frozenset({"members", "scan"})))
    assert seconds(found, "members") == seconds(found, "scan") == 0
    assert seconds(found, "uncertainty") > 0
    assert "members" in cost_table(found) and cost_table(found).count("kept") == 2
    one = estimate(DEMO, TEXTS, RATES, replace(ASKED, left=1))
    assert seconds(one, "members") == seconds(estimate(DEMO, TEXTS, RATES, ASKED), "members")  # they went side by side


def test_what_nobody_times_is_said():
    found = estimate(DEMO, TEXTS, RATES, replace(ASKED, clusters=True))
    assert found.seconds == estimate(DEMO, TEXTS, RATES, ASKED).seconds
    assert "members (without clustering prototypes)" in cost_table(found)
    assert "in all that is estimated" in cost_table(found)
    assert "without" not in cost_table(estimate(DEMO, TEXTS, RATES, ASKED))
    assert "that is estimated" not in cost_table(estimate(DEMO, TEXTS, RATES, ASKED))
    kept = estimate(DEMO, TEXTS, RATES, replace(ASKED, clusters=True, done=frozenset({"members"})))
    assert "without" not in cost_table(kept) and "that is estimated" not in cost_table(kept)
    outside = replace(ASKED, training=None, reverse=2)
    found = estimate(DEMO, TEXTS, replace(RATES, models=None), outside)
    assert [cost.step for cost in found.costs if cost.seconds is None] == ["uncertainty", "reverse"]
    assert cost_table(found).count("not estimated") == 2 and seconds(found, "scan") > 0
    assert "in all that is estimated" in cost_table(found)


def test_a_build_stops_where_it_is_told_to():
    found = estimate(DEMO, TEXTS, replace(RATES, models=None), replace(ASKED, until="candidates", lm=True))
    assert [cost.step for cost in found.costs] == ["known-ngrams", "scan", "candidates", "perplexity"]
    assert "not estimated" in cost_table(found)
    assert found.as_dict()["steps"][-1]["seconds"] is None


def test_a_day_on_a_cpu_names_the_preset_that_fits():
    def costs(time):
        return Estimate((Cost("members", time, 1.0, 1.0),))

    month, hours = costs(30 * DAY), lambda: costs(5 * 3600.0)
    line = advice(month, "react", "cpu", 2, hours)
    assert "about 30 days on 2 CPU cores" in line and "--preset small would fit in, with about 5.0 hours" in line
    assert advice(month, "react", "cuda", 2, hours) is None
    assert advice(costs(DAY), "react", "cpu", 2, hours) is None
    assert "--preset small would take about 30 days here" in advice(month, "react", "cpu", 2, lambda: month)
    assert "--members" in advice(month, "small", "cpu", 2, lambda: pytest.fail("it is the smaller one"))


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.2, "1 second"), (1.6, "2 seconds"), (89, "89 seconds"), (90, "2 minutes"), (5400, "1.5 hours"),
     (36_000, "10 hours"), (31 * DAY, "31 days")],
)  # fmt: skip
def test_durations(value, text):
    assert duration(value) == text


def test_sizes():
    assert (size(10), size(12e6), size(3.44e9)) == ("1 MB", "12 MB", "3.4 GB")

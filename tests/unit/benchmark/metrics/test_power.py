"""What ``cgbench power`` says, against closed forms and made-up pilots (perf/interval_coverage.py simulates tests)."""

import math
from statistics import NormalDist

import numpy as np
import pytest

from cgbench.benchmark.metrics.evaluation import Part, Result
from cgbench.benchmark.metrics.power import Test as PowerTest
from cgbench.benchmark.metrics.power import Variance, enough, variance_of
from cgbench.benchmark.metrics.segment_scores import SegmentScores
from cgbench.errors import InputError


def results_of(runs, first, second):
    """Results of two systems with these scores, ``[runs, n]``."""
    made = []
    for name, scores in (("a", first), ("b", second)):
        statistics = np.stack([scores, np.ones_like(scores)], axis=2)
        made.append(Result(name, runs, Part(0, 0, {}), (), statistics))
    return made


def test_the_smallest_difference_of_single_runs_is_the_textbooks():
    variance = Variance(shared=4.0, units=100)
    found = PowerTest().smallest(variance, 100, 1)
    normal = NormalDist()
    # differences whose signs change vary by their mean square
    expected = normal.inv_cdf(0.975) * math.sqrt((4 + found**2) / 100) + normal.inv_cdf(0.8) * math.sqrt(4 / 100)
    assert found == pytest.approx(expected, rel=1e-3)
    assert PowerTest().power_of(found, variance, 100, 1) == pytest.approx(0.8, abs=1e-3)
    assert PowerTest().units_for(found, variance, 1) in (100, 101)
    assert PowerTest().power_of(0.0, variance, 100, 1) == pytest.approx(0.05)


def test_steps_cost_half_of_one():
    smooth, steps = Variance(2500.0, units=100), Variance(2500.0, units=100, step=100.0)
    gap = PowerTest().smallest(steps, 100, 1) - PowerTest().smallest(smooth, 100, 1)
    assert gap == pytest.approx(1.0, rel=0.1)  # a point of 100 examples is a step of two


def test_a_pilot_of_single_runs_has_the_variance_of_its_differences():
    rng = np.random.default_rng(1)
    first = rng.normal(size=(1, 400))
    second = 0.8 * first + 0.6 * rng.normal(size=(1, 400))
    found = variance_of(SegmentScores(400), results_of(1, first, second), samples=4000)
    assert found.shared == pytest.approx((first - second).var(ddof=1), rel=0.08)
    assert (found.own, found.between) == (0.0, 0.0)


def test_the_parts_of_several_runs_are_told_apart():
    rng = np.random.default_rng(2)
    runs, n = 40, 300
    examples = rng.normal(size=(2, 1, n)) * 1.5
    skills = rng.normal(size=(2, runs, 1)) * 0.3
    first, second = examples + skills + rng.normal(size=(2, runs, n)) * 2.0
    found = variance_of(SegmentScores(n), results_of(runs, first, second), samples=1000)
    assert found.shared == pytest.approx(2 * 1.5**2, rel=0.2)
    assert found.own == pytest.approx(2 * 2.0**2, rel=0.2)
    assert found.between == pytest.approx(2 * 0.3**2, rel=0.4)


def test_more_examples_do_not_help_beyond_the_floor():
    variance = Variance(shared=1.0, between=0.5, units=100, runs=3)
    test = PowerTest()
    floor = test.smallest(variance, math.inf, 3)
    assert floor > 0
    assert test.units_for(0.9 * floor, variance, 3) is None
    needs = enough(variance, test, differences=[0.9 * floor]).needs[0]
    assert needs.examples is None
    assert needs.runs > 3
    assert test.power_of(0.9 * floor, variance, 100, needs.runs) >= 0.8
    assert test.power_of(0.9 * floor, variance, 100, needs.runs - 1) < 0.8


def test_few_runs_need_more_than_their_variance_says():
    variance = Variance(shared=0.0, between=1.0, units=100, runs=2)
    known = (NormalDist().inv_cdf(0.975) + NormalDist().inv_cdf(0.8)) * math.sqrt(1 / 2)
    assert PowerTest().smallest(variance, 100, 2) != pytest.approx(known, rel=1e-3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: PowerTest(level=0.0), "level=0.0 is a share"),
        (lambda: PowerTest(power=0.01), "is not above the level"),
        (lambda: enough(Variance(1.0, units=10), PowerTest(), runs=3), "says nothing of the variance between runs"),
        (lambda: enough(Variance(1.0, units=10), PowerTest(), differences=[0.0]), "are above 0"),
        (lambda: variance_of(SegmentScores(2), results_of(1, np.ones((1, 2)), np.ones((1, 2)))[:1]), "a pilot has two"),
        (lambda: variance_of(SegmentScores(1), results_of(1, np.ones((1, 1)), np.ones((1, 1)))), "nothing to resample"),
    ],
)
def test_what_cannot_be_asked(call, message):
    with pytest.raises(InputError, match=message):
        call()

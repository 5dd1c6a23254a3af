"""What ``cgbench power`` says, against closed forms and made-up pilots (lab/intervals.py
simulates tests).
"""

import math
from statistics import NormalDist

import numpy as np
import pytest

from cgbench.benchmark.measure.metrics.segment_scores import SegmentScores
from cgbench.benchmark.score.comparison import power as power_of_tests
from cgbench.benchmark.score.comparison.design import Clusters, Sampling
from cgbench.benchmark.score.comparison.power import PowerTest, Shape, Variance, variance_of
from cgbench.benchmark.score.comparison.results import SubsetScores, SystemScores
from cgbench.benchmark.score.comparison.significance import mcnemar_p
from cgbench.errors import InputError
from cgbench.studies.validity.power import PowerRequest, enough


def results_of(runs, first, second):
    """Results of two systems with these scores, ``[runs, n]``."""
    made = []
    for name, scores in (("a", first), ("b", second)):
        statistics = np.stack([scores, np.ones_like(scores)], axis=2)
        made.append(SystemScores(name, runs, SubsetScores(0, 0, {}), (), statistics))
    return made


def test_the_smallest_difference_of_single_runs_is_the_textbooks():
    variance = Variance(shared=4.0, units=100)
    found = PowerTest().smallest(variance, 100, 1)
    normal = NormalDist()
    # differences whose signs change vary by their mean square
    expected = normal.inv_cdf(0.975) * math.sqrt((4 + found**2) / 100) + normal.inv_cdf(
        0.8
    ) * math.sqrt(4 / 100)
    assert found == pytest.approx(expected, rel=1e-3)
    assert PowerTest().power_of(found, variance, 100, 1) == pytest.approx(0.8, abs=1e-3)
    assert PowerTest().units_for(found, variance, 1) in (100, 101)
    assert PowerTest().power_of(0.0, variance, 100, 1) == pytest.approx(0.05)


@pytest.mark.parametrize(("equal", "seeds"), [(1.0, 1), (0.5, 1), (1.0, 3), (0.5, 3)])
def test_power_of_clusters_has_the_degrees_of_freedom_of_equal_ones(equal, seeds):
    from scipy.stats import nct, t

    own = Variance(4.0, units=16, runs=seeds, clusters=Shape("document", 5.0, equal))
    found = PowerTest().power_of(1.5, own, 16, seeds)
    if seeds == 1:
        degrees = 16 * equal - 1
        critical, shift = t.ppf(0.975, degrees), 1.5 / math.sqrt(4 / 16)
        assert found == pytest.approx(
            nct.sf(critical, degrees, shift) + nct.cdf(-critical, degrees, shift), rel=1e-6
        )
    alone = PowerTest().power_of(
        1.5, Variance(4.0, units=16, runs=seeds, clusters=Shape("document", 5.0, 4.0)), 16, seeds
    )
    assert found < alone  # a few clusters know their variance less well


def test_a_pilot_in_clusters_counts_clusters():
    rng = np.random.default_rng(5)
    documents = np.arange(200) // 5
    first, second = (
        rng.standard_normal((1, 200)) + rng.standard_normal((1, 40))[:, documents] for _ in range(2)
    )
    metric = SegmentScores(200)
    sampling = Sampling(Clusters(("document",), (documents,)))
    found = variance_of(metric, results_of(1, first, second), sampling)
    means = (first - second).reshape(40, 5).mean(axis=1)
    assert found.units == 40 and found.clusters == Shape("document", 5.0, 1.0)
    assert found.shared / 40 == pytest.approx(means.var(ddof=1) / 40)


def test_steps_cost_half_of_one():
    smooth, steps = Variance(2500.0, units=2000), Variance(2500.0, units=2000, step=100.0)
    gap = PowerTest().smallest(steps, 2000, 1) - PowerTest().smallest(smooth, 2000, 1)
    assert gap == pytest.approx(0.05, rel=0.1)  # 0.05 points of 2,000 examples are a step of two


@pytest.mark.parametrize(
    ("units", "gained", "lost"), [(5, 1.0, 0.0), (12, 0.5, 0.1), (30, 0.2, 0.05), (40, 0.3, 0.3)]
)
def test_the_power_of_right_and_wrong_examples_is_that_of_every_outcome(units, gained, lost):
    expected = 0.0
    for one in range(units + 1):
        for other in range(units + 1 - one):
            same = units - one - other
            ways = math.factorial(units) / (
                math.factorial(one) * math.factorial(other) * math.factorial(same)
            )
            outcome = np.zeros((2, units))
            outcome[0, :one], outcome[1, one : one + other] = 1, 1
            if mcnemar_p(*outcome) < 0.05:
                expected += ways * gained**one * lost**other * (1 - gained - lost) ** same
    variance = Variance(1e4 * (gained + lost - (gained - lost) ** 2), units=units, step=100.0)
    assert PowerTest().power_of(100 * (gained - lost), variance, units, 1) == pytest.approx(
        expected, abs=1e-6
    )


def test_summed_and_approximate_power_meet(monkeypatch):
    variance = Variance(2500.0, units=750, step=100.0)
    summed = PowerTest().power_of(5.2, variance, 750, 1)
    monkeypatch.setattr(power_of_tests, "EXACT", 0)
    assert PowerTest().power_of(5.2, variance, 750, 1) == pytest.approx(summed, abs=0.005)


def test_five_examples_reject_nothing():
    variance = Variance(1.0, units=5)
    test = PowerTest()
    assert test.power_of(1e6, variance, 5, 1) == 0.0
    assert test.smallest(variance, 5, 1) is None
    assert test.smallest(Variance(100.0, units=5, step=100.0), 5, 1) is None
    assert test.units_for(100.0, Variance(100.0, units=5, step=100.0), 1) == 6
    all_right, all_wrong = np.ones((1, 5)), np.zeros((1, 5))
    for first, second in ((all_right, all_wrong), (all_right, all_right)):
        metric = SegmentScores(5, scale=(0.0, 1.0), binary=True)
        with pytest.raises(InputError, match="the variance of differences is unknown"):
            variance_of(metric, results_of(1, first, second))


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
    needs = enough(variance, test, PowerRequest(differences=[0.9 * floor]), "", ()).needs[0]
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
        (
            lambda: enough(Variance(1.0, units=10), PowerTest(), PowerRequest(seeds=3), "", ()),
            "does not show the variance between runs",
        ),
        (
            lambda: enough(
                Variance(1.0, units=10), PowerTest(), PowerRequest(differences=[0.0]), "", ()
            ),
            "must be above 0",
        ),
        (
            lambda: enough(Variance(0.0, units=10), PowerTest(), PowerRequest(), "", ()),
            "the variance is 0",
        ),
        (
            lambda: enough(
                Variance(1.0, between=1.0, units=10), PowerTest(), PowerRequest(), "", ()
            ),
            "ignores the variance between runs",
        ),
        (
            lambda: enough(
                Variance(1.0, units=9, step=100.0),
                PowerTest(),
                PowerRequest(differences=[101]),
                "",
                (),
            ),
            "percent is at most 100",
        ),
        (
            lambda: variance_of(
                SegmentScores(2), results_of(1, np.ones((1, 2)), np.ones((1, 2)))[:1]
            ),
            "a pilot needs two",
        ),
        (
            lambda: variance_of(SegmentScores(1), results_of(1, np.ones((1, 1)), np.ones((1, 1)))),
            "nothing to resample",
        ),
    ],
)
def test_what_cannot_be_asked(call, message):
    with pytest.raises(InputError, match=message):
        call()

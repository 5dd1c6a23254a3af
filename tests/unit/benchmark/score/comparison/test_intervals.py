import math

import numpy as np
import pytest

from cgbench.benchmark.measure.metrics.bleu_chrf_ter import Bleu
from cgbench.benchmark.measure.metrics.exact_match import ExactMatch
from cgbench.benchmark.score.comparison.comparison import Comparison, compare
from cgbench.benchmark.score.comparison.intervals import score_interval, student_quantile
from cgbench.benchmark.score.comparison.significance import resampled_runs
from cgbench.benchmark.score.comparison.variance import covariance_of_samples
from cgbench.benchmark.score.outputs.hypotheses import System


def share(sums):
    return 100 * sums[:, :1] / sums[:, 1:]


def interval_of(samples, figures, examples, **given):
    covariance = covariance_of_samples([samples[:, :, None]], examples).of_runs(0, slice(None))
    return score_interval(covariance, figures, **given)


def interval(*runs, samples=4000):
    """Of runs of 0/1 outcomes."""
    values = np.array(runs, float)
    statistics = np.stack([values, np.ones_like(values)], axis=2)
    resampled = resampled_runs([statistics], share, samples, 1)[0][:, :, 0]
    return interval_of(resampled, 100 * values.mean(axis=1), values.shape[1])


def wilson(right, n):
    """Wilson's interval by its textbook formula, with Student's quantile."""
    p, t2 = right / n, student_quantile(n - 1) ** 2
    middle, half = p + t2 / (2 * n), math.sqrt(t2) * math.sqrt(p * (1 - p) / n + t2 / (4 * n * n))
    return 100 * (middle - half) / (1 + t2 / n), 100 * (middle + half) / (1 + t2 / n)


@pytest.mark.parametrize("right", [0, 1, 30, 49, 50])
def test_one_run_of_right_and_wrong_has_wilsons_interval(right):
    found = interval([1] * right + [0] * (50 - right))
    assert found == pytest.approx(wilson(right, 50), abs=0.7)  # the variance is that of samples
    if right in (0, 50):
        assert found == pytest.approx(
            wilson(right, 50), abs=1e-9
        )  # nothing is drawn: the formula alone
        assert found[0] == 0 or found[1] == 100


def test_several_runs_stay_within_the_range():
    """Runs of 78 and 100 percent: 100 must not be passed, and the mean lies within."""
    low, high = interval([1] * 78 + [0] * 22, [1] * 100, [1] * 92 + [0] * 8)
    assert 0 < low < 70 and 96 < high < 100
    low, high = interval([0] * 97 + [1] * 3, [0] * 100, [1] + [0] * 99)
    assert 0 < low < 1 and 5 < high < 20


def test_the_quantile_is_that_of_so_few_runs():
    """Runs that all examples agree in: the interval of the mean is Student's, bent by the range."""
    runs = [[1] * 400 + [0] * 600, [1] * 440 + [0] * 560, [1] * 420 + [0] * 580]
    low, high = interval(*runs)
    assert (high - low) / 2 == pytest.approx(
        math.hypot(4.303 * 2 / math.sqrt(3), 1.962 * 1.51), rel=0.05
    )
    low, high = interval(*runs[:2])
    assert (high - low) / 2 == pytest.approx(12.706 * 2, rel=0.15)  # |40 - 44| / 2


def test_equal_runs_are_as_wide_as_one():
    one = [1, 0, 0, 1, 1] * 20
    assert interval(one, one, one) == pytest.approx(interval(one))
    assert interval([1] * 60, [1] * 60) == pytest.approx(wilson(60, 60))
    # as many right in each run, but not the same ones: the spread of the runs is 0, and the
    # interval is no point
    low, high = interval([1, 0] * 50, [0, 1] * 50, [1, 1, 0, 0] * 25)
    assert high - low > 5
    assert interval([1, 0] * 50, [0, 1] * 50) == pytest.approx(
        wilson(50, 100)
    )  # the mean of an example is always 50


def test_ter_may_exceed_100():
    figures = np.array([104.0, 96.0, 99.0])
    rng = np.random.default_rng(1)
    samples = figures + 2 * rng.standard_normal((1000, 1))
    low, high = interval_of(samples, figures, 500, top=None)
    assert 80 < low < figures.mean() and high > 106
    low, high = interval_of(np.zeros((100, 2)), np.zeros(2), 500, top=None)
    assert low == 0 and 0 < high < 1


def test_a_figure_beyond_its_range_has_a_plain_interval():
    samples = 130 + np.random.default_rng(1).standard_normal((4000, 1))
    low, high = interval_of(samples, np.array([130.0]), 1000)
    assert (low, high) == (pytest.approx(128, abs=0.2), pytest.approx(132, abs=0.2))


def test_undefined_figures_have_none():
    samples = np.full((50, 2), 40.0)
    assert interval_of(samples, np.array([40.0, 40.0]), 10) is not None
    samples[3, 1] = np.nan
    assert interval_of(samples, np.array([40.0, 40.0]), 10) is None


@pytest.mark.parametrize(
    ("degrees", "quantile"),
    [(1, 12.7062), (2, 4.30265), (30, 2.04227), (500, 1.96472), (1e7, 1.95996)],
)
def test_students_quantiles_are_those_of_tables(degrees, quantile):
    assert student_quantile(degrees) == pytest.approx(quantile, abs=1e-5)


def test_the_two_ways_to_a_quantile_meet():
    assert student_quantile(500) == pytest.approx(student_quantile(500.001), abs=1e-7)


def test_runs_that_are_right_where_the_other_is_wrong_have_no_interval_of_a_point():
    first = np.tile([1.0, 0.0], 3)
    statistics = np.stack([np.stack([run, np.ones(6)], axis=1) for run in (first, 1 - first)])
    resampled = resampled_runs([statistics], share, 1000, 1)[0][:, :, 0]
    low, high = interval_of(resampled, np.array([50.0, 50.0]), 6)
    assert low < 20 and high > 80  # Wilson's, of six draws; not 50 to 50


def test_score_of_several_runs_stays_within_0_and_100():
    metric = ExactMatch([["1"]] * 200)
    runs = tuple(["1"] * right + ["0"] * (200 - right) for right in (200, 198, 150))
    figure = compare(metric, [System("a", runs)], Comparison(confidence=True))[0].whole.figures[
        "exact"
    ]
    assert figure.ci_low < figure.value < figure.ci_high < 100


def test_single_runs_of_bleu_keep_sacrebleus_interval_and_several_keep_the_range():
    references = [[f"a b c d {number}"] for number in range(40)]
    best = [one for (one,) in references]
    worse = [one if number % 2 else "a b c x y z" for number, one in enumerate(best)]
    metric = Bleu(references)
    single, several = (
        compare(metric, [System("a", runs)], Comparison(confidence=True))[0].whole.figures["score"]
        for runs in ((best,), (best, worse, best))
    )
    assert single.ci_low == pytest.approx(100) and single.ci_high == pytest.approx(100)
    assert 0 < several.ci_low < several.value < several.ci_high < 100

"""Measures of agreement: the numbers in the tests of mt-metrics-eval, and definitions."""

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from cgbench.studies.agreement.measures import (
    KendallTau,
    PairwiseAccuracy,
    PearsonCorrelation,
    SoftPairwiseAccuracy,
)


def matrix(values, systems):
    """``[systems, items]`` of numbers, None for missing ones."""
    numbers = [np.nan if value is None else float(value) for value in values]
    return np.array(numbers).reshape(systems, -1)


TWO_SYSTEMS = matrix([1, 2, 3, 4, 5, 6], 2), matrix([2, 1, 4, 3, 3, 7], 2)
FIVE_OUTPUTS = matrix([1, 2, 2, 3, 4], 5), matrix([2, 1, 1.5, 5, 3], 5)


def test_numbers_of_mt_metrics_eval():
    assert PearsonCorrelation().value(*TWO_SYSTEMS) == pytest.approx(0.776, abs=5e-4)
    assert KendallTau().value(*TWO_SYSTEMS) == pytest.approx(1.0)
    assert KendallTau().value(*FIVE_OUTPUTS) == pytest.approx(0.316227766)
    accuracy = PairwiseAccuracy()
    assert accuracy.at_threshold(*FIVE_OUTPUTS, 0.0) == pytest.approx([0.6])
    assert accuracy.at_threshold(*FIVE_OUTPUTS, 2.0) == pytest.approx([0.4])
    assert accuracy.value(*FIVE_OUTPUTS) == pytest.approx(0.7)
    # Theirs draws 1,000 permutations of three items, ours takes all eight: 0.872.
    three_items = matrix([1, 2, 3, 2, 3, 4], 2), matrix([2, 2, 4, 1, 3, 5], 2)
    assert SoftPairwiseAccuracy().value(*three_items) == pytest.approx(0.875)


def test_missing_judgements_of_mt_metrics_eval():
    human, metric = matrix([1, None, 3, 4, 5, 6], 2), matrix([2, 1, 8, 3, 5, 6], 2)
    expected = np.corrcoef([1, 3, 4, 5, 6], [2, 8, 3, 5, 6])[0, 1]
    assert PearsonCorrelation().value(human, metric) == pytest.approx(expected)
    # The second item has one judgement and counts nowhere.
    assert np.isnan(KendallTau().of_items(human, metric)[1])
    assert KendallTau().value(human, metric) == pytest.approx((1 - 1) / 2)
    tied = matrix([7, 1, 2, 7, 4, 3, 2], 7), matrix([4, 1, 3, 6, 1, 5, 6], 7)
    tau = stats.kendalltau(*(side[:, 0] for side in tied)).statistic
    assert KendallTau().value(*tied) == pytest.approx(tau)


@pytest.mark.parametrize("seed", range(20))
def test_the_threshold_is_the_best_of_all(seed):
    draw = np.random.default_rng(seed)
    human = draw.integers(0, 4, (4, 12)).astype(float)
    human[draw.random(human.shape) < 0.2] = np.nan
    metric = np.round(np.nan_to_num(human) + draw.normal(0, 1, human.shape), 1)
    accuracy = PairwiseAccuracy()
    distances = {abs(a - b) for row in metric.T for a, b in combinations(row, 2)} | {0.0}
    of_all = [np.nanmean(accuracy.at_threshold(human, metric, each)) for each in distances]
    assert accuracy.value(human, metric) == pytest.approx(max(of_all))


@pytest.mark.parametrize("items", [40, 400])
def test_resamples_of_soft_accuracy_use_what_permutations_give(items):
    draw = np.random.default_rng(items)
    human = draw.normal(size=(4, items)) + np.linspace(0, 0.3, 4)[:, None]
    metric = human + draw.normal(0, 2, human.shape)
    measure = SoftPairwiseAccuracy()
    approximate = measure.compute(measure.sums(human, metric).sum(axis=0))
    assert measure.value(human, metric) == pytest.approx(float(approximate), abs=0.03)
    assert measure.value(human, human) == 1.0


def test_undefined_measures():
    flat = np.ones((3, 5))
    assert np.isnan(KendallTau().value(flat, TWO_SYSTEMS[0][:1].repeat(3, 0)[:, :1].repeat(5, 1)))
    assert np.isnan(PearsonCorrelation().value(flat, np.arange(15.0).reshape(3, 5)))
    # All outputs are equally good: a metric agrees by calling all of them tied.
    assert PairwiseAccuracy().value(flat, np.arange(15.0).reshape(3, 5)) == 1.0

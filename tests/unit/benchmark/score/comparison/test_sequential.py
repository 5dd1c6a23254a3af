"""Looks after every value: equality with plain loops, levels, and the exact end."""

import math

import numpy as np
import pytest

from cgbench import InputError, sequential
from cgbench.benchmark.score.comparison.sequential import STAKES, log_capitals, sequential_clusters

VALUES = {
    "ties": ([-1.0, 0.0, 1.0], [0.1, 0.7, 0.2]),
    "skewed": ([-0.2, 0.0, 0.9], [0.5, 0.3, 0.2]),
}


def draw(name, n, seed=3):
    values, shares = VALUES[name]
    return np.random.default_rng(seed).choice(values, p=shares, size=n)


def capital(values, mean, size):
    """The mean over the stakes of the product of all bets that values are above ``mean``, by plain
    loops.
    """
    total, spent = [1.0] * len(STAKES), 0.0
    for t, value in enumerate(values):
        claimed = mean if size is None else (size * mean - spent) / (size - t)
        spent += value
        for number, stake in enumerate(STAKES):
            total[number] *= (
                1 - stake + stake * value / claimed
                if claimed > 1e-9
                else math.inf
                if value > 1e-9
                else 1
            )
        if size is not None and size * mean < spent - 1e-9 * size:
            return math.inf
    starts = [math.sqrt(stake) for stake in STAKES]
    return sum(start * end for start, end in zip(starts, total, strict=True)) / sum(starts)


def plain(values, size, level):
    """p and the interval after the last value, from -1 to 1: every claim is tried after every
    value.
    """

    def most(units, mean):
        return max(capital(units[:stop], mean, size) for stop in range(1, len(units) + 1))

    def bound(units):
        low, high = 0.0, 1.0
        while high - low > 1e-7:
            middle = (low + high) / 2
            low, high = (middle, high) if most(units, middle) >= 2 / level else (low, middle)
        return low

    up, down = [(value + 1) / 2 for value in values], [(1 - value) / 2 for value in values]
    p = min(1.0, 2 / max(most(up, 0.5), most(down, 0.5)))
    return p, 2 * bound(up) - 1, 1 - 2 * bound(down)


@pytest.mark.parametrize("size", [None, 100, 40])
@pytest.mark.parametrize("name", VALUES)
def test_equals_plain_loops(name, size):
    values = draw(name, 40)
    result = sequential(values, -1, 1, level=0.2, size=size)
    for stop in (1, 17, 39):
        p, low, high = plain(values[:stop].tolist(), size, 0.2)
        assert result.p[stop - 1] == pytest.approx(p, abs=1e-12)
        # Rounded outwards, by less than a cell of the finest grid.
        assert (
            -1e-6 < low - result.low[stop - 1] < 2 / 1728
            and -1e-6 < result.high[stop - 1] - high < 2 / 1728
        )


def test_what_is_known_does_not_depend_on_what_comes():
    values = draw("ties", 500)
    whole, part = (
        sequential(values, -1, 1, margin=0.05),
        sequential(values[:173], -1, 1, margin=0.05),
    )
    for name in ("p", "low", "high"):
        np.testing.assert_allclose(getattr(part, name), getattr(whole, name)[:173], atol=1e-12)
    assert (
        (np.diff(whole.p) <= 0).all()
        and (np.diff(whole.low) >= 0).all()
        and (np.diff(whole.high) <= 0).all()
    )
    assert whole.decision == "better" and part.decision in ("better", "undecided")
    assert whole.p[whole.decided_after - 1] <= 0.05 < whole.p[whole.decided_after - 2]


def test_the_end_of_a_test_set_is_exact():
    values = draw("ties", 60)
    result = sequential(values, -1, 1, size=60)
    assert result.low[-1] == result.high[-1] == pytest.approx(values.mean(), abs=1e-15)
    assert result.decision == "better" and result.about == "test-set"
    assert np.isnan(result.p[-1]) and result.p[-2] < 0.05  # the mean is known: nothing to test
    assert sequential(-values, -1, 1, size=60).decision == "worse"
    even = sequential([1, -1] * 20, -1, 1, size=40)
    assert even.decision == "equivalent" and even.decided_after == 40 and even.p[-2] > 0.05
    assert sequential(values, -1, 1, size=60, margin=0.5).decision == "equivalent"
    assert sequential([0.0] * 30, 0, 1, size=30).low[-1] == 0.0


@pytest.mark.filterwarnings("error")
def test_the_interval_of_a_share():
    values = (np.random.default_rng(4).random(400) < 0.1) * 1.0
    for size in (None, 400):
        result = sequential(values, 0, 1, size=size)
        assert (
            0 < result.low[200] < values.mean() < result.high[200] < 0.2
            and result.decision == "better"
        )
    assert sequential(values, 0, 1, margin=2).decision == "equivalent"


def test_equivalent_within_the_margin():
    values = np.tile([0.0, 0.1, -0.1], 300)
    result = sequential(values, -1, 1, margin=0.05)
    assert result.decision == "equivalent" and result.low[-1] > -0.05 and result.high[-1] < 0.05
    assert sequential(values, -1, 1, margin=0.0).decision == "undecided"


def test_level_under_peeking():
    """800 true nulls of 400 values, looked at after each one: at most 5%, and not much below."""
    rng = np.random.default_rng(1)
    values = rng.choice([0.0, 0.5, 1.0], p=[0.15, 0.7, 0.15], size=(800, 400))
    either = np.maximum(
        log_capitals(values, 0.5).max(axis=1), log_capitals(1 - values, 0.5).max(axis=1)
    )
    assert 0.01 < (either >= math.log(2 / 0.05)).mean() < 0.05
    # A bet on values that were seen already would win: the test can fail.
    ahead = np.sort(values, axis=1)[:, ::-1]
    assert (log_capitals(ahead, 0.5).max(axis=1) >= math.log(2 / 0.05)).mean() > 0.9


def test_clusters_count_as_one():
    rng = np.random.default_rng(5)
    sizes = rng.integers(1, 9, 60)
    clusters = np.repeat(np.arange(60), sizes)
    values = np.repeat(rng.choice([-1.0, 0.0, 1.0], p=[0.1, 0.5, 0.4], size=60), sizes)
    about = {"about": "test-set"}
    result = sequential_clusters(values, clusters, -1, 1, sizes=sizes, **about)
    assert len(result.p) == 60 and result.low[-1] == pytest.approx(values.mean())
    some = sequential_clusters(values[:100], clusters[:100], -1, 1, sizes=sizes, **about)
    np.testing.assert_allclose(some.high[:-1], result.high[: len(some.high) - 1])
    ones = np.arange(len(values)), -1, 1
    alike = sequential_clusters(values, *ones, sizes=[1] * len(values), **about)
    np.testing.assert_allclose(alike.p, sequential(values, -1, 1, size=len(values)).p)
    models = sequential_clusters(values, *ones, sizes=[1] * len(values))
    np.testing.assert_allclose(models.p, sequential(values, -1, 1).p)


def test_equal_models_differ_on_a_test_set():
    """A test set drawn from equally good models: the claim about it is nearly always decided, that
    about the models in at most 5% of cases.
    """
    rng = np.random.default_rng(3)
    draws = rng.choice([-1.0, 0.0, 1.0], p=[0.15, 0.7, 0.15], size=(200, 200))
    different = {
        size: np.mean(
            [
                sequential(values, -1, 1, size=size).decision in ("better", "worse")
                for values in draws
            ]
        )
        for size in (None, 200)
    }
    assert different[None] <= 0.05 and different[200] > 0.9


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"values": [0.0, math.nan]}, "value 2 (nan) is not between -1 and 1"),
        ({"values": [0.0, 1.5]}, "value 2 (1.5)"),
        ({"values": []}, "at least one number"),
        ({"values": [[0.0]]}, "one dimension"),
        ({"values": ["a"]}, "must be numbers"),
        ({"low": 1.0}, "low must be below high"),
        ({"high": math.inf}, "low must be below high"),
        ({"level": 1.0}, "between 0 and 1"),
        ({"margin": -0.1}, "at least 0"),
        ({"size": 1}, "at least 2"),
        ({"size": 2.5}, "whole number"),
    ],
)
def test_bad_arguments(change, words):
    with pytest.raises(InputError) as error:
        sequential(**{"values": [0.0, 1.0], "low": -1, "high": 1} | change)
    assert words in str(error.value)

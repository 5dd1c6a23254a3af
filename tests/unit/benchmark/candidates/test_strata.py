"""The stratified sample: strata, allocation, draw."""

import itertools
from typing import get_args

import numpy as np
import pytest

from cgbench.benchmark.candidates.strata import (
    COLUMNS,
    OWN_SCORE,
    Allocation,
    allocate,
    deviations_in,
    draw_columns,
    strata_of,
)


def ranked(values):
    return np.argsort(np.argsort(-values, kind="stable")) + 1


def test_strata_are_blocks_of_the_ranks():
    rng = np.random.default_rng(1)
    values = rng.random(400)
    rank = ranked(values)
    found = strata_of(values, rank, 4)
    assert found.max() == 3
    for block in range(4):
        inside = found == block
        assert rank[inside].max() - rank[inside].min() == inside.sum() - 1  # neighbours
        assert rank[inside].min() > rank[found < block].max(initial=0)
        assert abs(inside.sum() - 100) < 15  # of a uniform distribution, equally many


def test_strata_of_a_skewed_measure_are_nearer_the_best_borders_than_equal_parts():
    values = np.random.default_rng(2).exponential(size=4000)

    def variance(stratum):  # of Neyman's allocation: the square of the mean deviation
        return ((np.bincount(stratum) / len(values)) @ deviations_in(stratum, values)) ** 2

    found = strata_of(values, ranked(values), 5)
    equal = (ranked(values) - 1) * 5 // 4000
    assert variance(found) < 0.75 * variance(equal)
    assert np.bincount(found)[0] < 400


def test_odd_measures_have_strata():
    ones, rank = np.ones(20), np.arange(1, 21)
    assert (strata_of(ones, rank, 5) == 0).all()
    assert (strata_of(ones * np.nan, rank, 5) == 0).all()
    values = np.array([np.nan, np.nan, *range(18, 0, -1)])
    found = strata_of(values, rank, 3)
    assert found[0] == found[1] == found[2] == 0 and (np.diff(found) >= 0).all()


@pytest.mark.parametrize("how", get_args(Allocation))
def test_allocation_adds_up_and_stays_within_the_strata(how):
    rng = np.random.default_rng(2)
    for _ in range(300):
        sizes = rng.integers(1, 60, rng.integers(1, 12))
        deviations = rng.random(len(sizes)) * (rng.random(len(sizes)) > 0.2)
        low = np.minimum(sizes, 2)
        total = int(rng.integers(low.sum(), sizes.sum() + 1))
        found = allocate(sizes, deviations, total, how)
        assert found.sum() == total and (low <= found).all() and (found <= sizes).all()


def test_no_other_whole_numbers_are_nearer_to_the_shares():
    rng = np.random.default_rng(5)
    for _ in range(40):
        sizes, deviations = rng.integers(4, 25, 3), rng.random(3)
        total = int(rng.integers(6, sizes.sum() + 1))
        every = [
            np.array([a, b, total - a - b])
            for a, b in itertools.product(*(range(2, n + 1) for n in sizes[:2]))
        ]
        weights = (2 * sizes / sizes.sum() + sizes * deviations / (sizes @ deviations)) ** 2
        best = min(
            (weights * (1 / draws - 1 / sizes)).sum()
            for draws in every
            if 2 <= draws[2] <= sizes[2]
        )
        draws = allocate(sizes, deviations, total, "neyman")
        assert (weights * (1 / draws - 1 / sizes)).sum() == pytest.approx(best)


def test_two_thirds_of_neymans_sample_are_proportional_where_the_ensemble_is_perfect():
    draws = allocate(np.array([300, 300, 2400]), np.array([20.0, 10, 0]), 150, "neyman")
    assert draws.tolist() == [43, 27, 80]


def test_too_few_draws_for_the_strata_are_an_error():
    with pytest.raises(ValueError, match="19 draws"):
        allocate(np.array([30] * 10), np.ones(10), 19, "equal")


def candidates(n=200, seed=3):
    rng = np.random.default_rng(seed)
    return {
        "rmi": (values := rng.random(n)).tolist(),
        "rank": ranked(values).tolist(),
        "degree": rng.random(n).tolist(),
        "content": np.arange(n, dtype=np.uint64),
        OWN_SCORE: (rng.random(n) * 100).tolist(),
        "stage": ["rest"] * n,
    }


@pytest.mark.parametrize("how", get_args(Allocation))
def test_every_candidate_is_drawn_with_its_probability(how):
    columns = candidates()
    config = {"uncertainty": "rmi", "strata": 8, "allocation": how}
    drawn, trials = np.zeros(200), 1500
    for seed in range(trials):
        found = draw_columns(columns, config | {"seed": seed}, {"select": 10, "sample": 40})
        assert sum(found["sampled"]) == 40 and set(COLUMNS) == {*found}
        drawn += found["sampled"]
    probability = np.array(found["sample_inclusion"])
    assert probability.min() > 0 and probability.sum() == pytest.approx(40)
    error = np.sqrt(probability * (1 - probability) / trials)
    assert np.abs((drawn / trials - probability) / error).max() < 4.5


def test_the_order_of_the_candidates_does_not_matter():
    columns = candidates()
    order = np.random.default_rng(4).permutation(200)
    other = {name: np.array(values)[order] for name, values in columns.items()}
    one, two = (
        draw_columns(
            some, {"seed": 1, "strata": 5, "uncertainty": "rmi"}, {"select": 10, "sample": 40}
        )
        for some in (columns, other)
    )
    for name in COLUMNS:
        np.testing.assert_allclose(np.array(one[name])[order], two[name])


def test_deviations_are_those_of_each_stratum():
    np.testing.assert_allclose(
        deviations_in(np.array([0, 0, 1, 2, 2, 2]), np.array([1.0, 3, 9, 1, 2, 3])), [2**0.5, 0, 1]
    )

"""The estimate of ``lab/second_run.py`` on simulated builds whose effect is known."""

import sys
from pathlib import Path

import numpy as np
import pytest

LAB = Path(__file__).parents[4] / "lab"
sys.path.insert(0, str(LAB))

from second_run_effects import (  # noqa: E402
    Build,
    answer,
    build_of,
    differences,
    effect_of,
    match,
    missing_effect,
    over_pools,
)
from second_run_lexical import learn  # noqa: E402

sys.path.remove(str(LAB))


def flat_build(high, low, cell, covariates):
    """A build of a few rows, from lists."""
    return Build(*(np.array(values, bool) for values in (high, low, cell)), np.array(covariates))


def simulated(seed, effect, rows=3000):
    """Columns of a build and scores. Length, the rarest word and the reference cost chrF, and
    sentences of high degree have more of all three.
    """
    random = np.random.default_rng(seed)
    degree = random.uniform(0.2, 1, rows)
    length = np.round(8 + 4 * degree + random.exponential(3, rows))
    rarest = np.round(np.exp(random.normal(5 - 1.5 * degree, 1.5, rows))) + 3
    reference = 1 + 0.05 * length + 0.5 * degree + random.normal(0, 0.5, rows)
    uncertainty = reference + random.normal(0, 1, rows)
    build = build_of(degree, uncertainty, length, rarest, [reference], np.ones(rows, bool))
    score = 80 - 2 * length + 3 * np.log(rarest) - 8 * reference - effect * build.high
    return build, score + random.normal(0, 8, rows), random.random(rows) < 0.5


def test_pairs_are_of_one_cell_within_the_calipers_and_given():
    #                 high,     low: equal, far, other cell, not given, equal
    build = flat_build(
        [1, 0, 0, 0, 0, 0],
        [0, 1, 1, 1, 1, 1],
        [0, 0, 0, 1, 0, 0],
        [[0, 0, 0], [0.4, 0, 0], [0.6, 0, 0], [0, 0, 0], [0, 0, 0], [0.3, 0.3, 0]],
    )
    given = np.array([1, 1, 1, 1, 0, 1], bool)
    assert match(build, given).tolist() == [[0, 1]]  # 0.16, against 0.18 of the last
    assert len(match(build, given & (np.arange(6) < 5) & (np.arange(6) != 1))) == 0


def test_the_most_pairs_come_before_the_nearest():
    # The first is nearest to both, but the second high sentence has no other partner.
    build = flat_build(
        [1, 1, 0, 0], [0, 0, 1, 1], [0] * 4, [[0, 0, 0], [0.5, 0, 0], [0.1, 0, 0], [-0.4, 0, 0]]
    )
    assert match(build, np.ones(4, bool)).tolist() == [[0, 3], [1, 2]]


def test_unmatched_sentences_are_counted():
    build = flat_build([1, 1, 0], [0, 0, 1], [0] * 3, [[0, 0, 0], [2, 0, 0], [0, 0, 0]])
    result = effect_of(build, np.ones(3, bool), np.array([40.0, 10.0, 45.0]))
    assert result == (5.0, 1, 1, 0.0)


@pytest.mark.parametrize("effect", [0.0, 3.0])
def test_matching_removes_what_other_differences_cost(effect):
    estimates, raw = [], []
    for seed in range(12):
        build, score, given = simulated(seed, effect)
        result = effect_of(build, given, score)
        assert result.pairs > 100
        estimates.append(result.effect)
        raw.append(score[given & build.low].mean() - score[given & build.high].mean())
    assert np.mean(raw) > effect + 5  # what has to be removed
    assert np.mean(estimates) == pytest.approx(effect, abs=0.9)


def test_without_the_likelihood_of_references_its_cost_remains():
    runs = [simulated(seed, 0.0) for seed in range(6)]
    assert np.mean([effect_of(*run[::2], run[1], (0, 1)).effect for run in runs]) > 1.5


def test_how_well_parts_are_known_is_taken_into_account():
    estimates = []
    for seed in range(12):
        build, score, given = simulated(seed, 2.0)
        random = np.random.default_rng([seed, 1])
        knowledge = random.uniform(0.6, 1, len(score)) - 0.1 * build.high
        score = score + 50 * knowledge
        estimates.append(
            [effect_of(build, given, score, knowledge=k).effect for k in (None, knowledge)]
        )
    without, with_knowledge = np.mean(estimates, axis=0)
    assert without == pytest.approx(7, abs=0.9)
    assert with_knowledge == pytest.approx(2, abs=0.9)


def test_missing_pieces_are_divided_by_those_that_chance_does_not_hide():
    build = flat_build([1, 0], [0, 1], [0, 0], np.zeros((2, 3)))
    effect = missing_effect(build, np.ones(2, bool), np.array([0.3, 0.1]), np.array([0.5, 0.0]))
    assert effect == pytest.approx(0.6 - 0.1)


def test_the_interval_contains_the_truth():
    random, covered = np.random.default_rng(1), 0
    for _ in range(600):
        pools = random.normal(1.1, 1, (4, 1, 1, 1))
        runs = random.normal(0, 1.5, (1, 2, 5, 3))  # shared by the pools
        interval = over_pools(pools + runs + random.normal(0, 0.5, (4, 2, 1, 1)))
        covered += interval.low <= 1.1 <= interval.high
    assert 0.92 <= covered / 600 <= 0.98


def test_the_answers_of_the_design():
    pools = np.array([2.0, 2.2, 1.8, 2.1]).reshape(4, 1, 1, 1)
    seeds = np.array([-0.1, 0.0, 0.1]).reshape(1, 1, 1, 3)
    effects = np.broadcast_to(pools + seeds, (4, 2, 5, 3))
    assert answer(over_pools(effects), 1.1) == "yes"
    assert answer(over_pools(effects - 2), 1.1) == "no"
    assert answer(over_pools(effects - 1.5), 1.1) == "yes, and less than half"
    assert answer(over_pools(5 * (effects - 1.8)), 1.1) == "undecided"


def test_differences_are_of_the_first_minus_the_second():
    random = np.random.default_rng(2)
    shared = random.normal(0, 2, (4, 2, 1))
    effects = {
        name: shared + cost + random.normal(0, 0.2, (4, 2, 3))
        for name, cost in (("low", 0.0), ("high", 3.0), ("same", 0.0))
    }
    results = {(one, two): (interval, p) for one, two, interval, p in differences(effects)}
    assert results["low", "high"][0].mean == pytest.approx(-3, abs=0.3)
    assert results["low", "high"][1] < 0.01 < results["low", "same"][1]


def test_model_1_finds_the_words_whatever_their_order():
    corpus = [("a b", "x y"), ("b c", "y z"), ("c a", "x z"), ("a", "x"), ("b", "y")] * 5
    model = learn(corpus)
    assert model.translations["a", "x"] > 0.9 > 0.1 > model.translations["a", "y"]
    right, turned, wrong = (model.likelihood(("a b", target)) for target in ("x y", "y x", "x z"))
    assert right == pytest.approx(turned)
    assert right > wrong

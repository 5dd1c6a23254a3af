"""How a part of the candidates ranks systems."""

import itertools
import math

import numpy as np
import pytest

from cgbench.benchmark.metrics.exact_match import ExactMatch
from cgbench.benchmark.validity.ranking import Scores, chance_of, compare_pairs, kendall, own_family, rank, score_parts


def slow_tau(first, second):
    """Concordant less discordant pairs over the geometric mean of the pairs that are not tied."""
    pairs = list(itertools.combinations(range(len(first)), 2))
    signs = [[np.sign(values[a] - values[b]) for a, b in pairs] for values in (first, second)]
    untied = [sum(sign != 0 for sign in some) for some in signs]
    together = sum(a * b for a, b in zip(*signs, strict=True))
    return together / math.sqrt(untied[0] * untied[1]) if all(untied) else math.nan


def test_tau_is_the_definition():
    rng = np.random.default_rng(1)
    for _ in range(200):
        first, second = rng.integers(0, 5, (2, 6))
        assert kendall(first, second) == pytest.approx(slow_tau(first, second), nan_ok=True)


def test_the_chance_of_a_tau_counts_every_order():
    for systems in (3, 4, 5):
        orders = [kendall(range(systems), order) for order in itertools.permutations(range(systems))]
        for tau in set(orders):
            expected = sum(other >= tau - 1e-9 for other in orders) / len(orders)
            assert chance_of(tau, systems) == pytest.approx(expected)
    assert chance_of(1.0, 3) == pytest.approx(1 / 6)


def right(share, n, rng, kind=np.ones):
    return ["x" if one else "y" for one in rng.random(n) < share * kind(n)]


def scored(n=400, parts=None, samples=200, **systems):
    metric = ExactMatch([["x"]] * n)
    parts = parts or {"part": np.arange(0, n, 4), "whole": np.arange(n)}
    return score_parts(metric, {name: [run] for name, run in systems.items()}, parts, samples=samples, seed=1)


def test_scores_of_parts_are_those_of_their_examples_and_share_the_draws():
    rng = np.random.default_rng(2)
    a, b = right(0.5, 400, rng), right(0.9, 400, rng)
    found = scored(a=a, b=b)
    assert found.values["part"].tolist() == [100 * np.mean([x == "x" for x in one[::4]]) for one in (a, b)]
    assert found.sizes == {"part": 100, "whole": 400}
    # A part that is the whole has its samples, one and all.
    same = scored(a=a, b=b, parts={"part": np.arange(400), "whole": np.arange(400)})
    assert np.array_equal(same.samples["part"], same.samples["whole"])
    low, high = found.interval("part", 0)
    assert low < found.values["part"][0] < high


def test_clusters_are_drawn_where_all_above_differ_from_all_below():
    rng = np.random.default_rng(5)
    shares = {"a": 0.9, "b": 0.9, "c": 0.5, "d": 0.1}
    found = scored(1000, **{name: right(share, 1000, rng) for name, share in shares.items()})
    tests = compare_pairs(found, "whole")
    assert [sorted(found.systems[row] for row in cluster) for cluster in tests.clusters] == [["a", "b"], ["c"], ["d"]]
    assert not tests.differ(0, 1) and tests.differ(1, 2)
    # Where less is better, the order is the other way round.
    assert compare_pairs(found, "whole", lower_is_better=True).clusters[0] == (3,)


def test_a_part_that_reverses_the_order_shows():
    rng = np.random.default_rng(4)
    part = np.arange(0, 1000, 5)

    def system(share):
        run = right(share, 1000, rng)
        for row in part:
            run[row] = "x" if rng.random() < 1 - share else "y"
        return run

    found = scored(1000, a=system(0.9), b=system(0.6), c=system(0.3), parts={"part": part, "whole": np.arange(1000)})
    one = rank(found, "part", "whole")
    assert one.tau == -1 and one.swapped == one.pairs == one.decided == one.reversed == 3 and one.kept == 0
    assert one.chance == 1.0 and one.interval[1] < 0
    assert rank(found, "whole", "whole").tau == 1


def test_what_a_family_loses_where_its_own_kind_selected():
    """Both lose 10 points on b's part and a is better by 20: that cancels; each loses 6 more on its own."""
    values = {"a": np.array([64.0, 50.0]), "b": np.array([60.0, 34.0])}  # a on a's: 70 - 6; b on a's: 50
    samples = {part: np.tile(value, (100, 1)) for part, value in values.items()}
    found = own_family(Scores(("s", "t"), {}, values, samples), {"a": "a", "b": "b"}, ["a", "b"])
    assert [(one.family, one.points) for one in found] == [("a", 6.0), ("b", 6.0)]
    assert found[0].interval == (6.0, 6.0)
    lower = own_family(Scores(("s", "t"), {}, values, samples), {"a": "a", "b": "b"}, ["a", "b"], True)
    assert lower[0].points == -6.0
    # Without a system of the other family there is nothing to compare with.
    assert own_family(Scores(("s", "t"), {}, values, samples), {"a": "a", "b": "b"}, ["a", None]) == []

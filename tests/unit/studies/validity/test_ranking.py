"""How a part of the candidates ranks systems."""

import itertools

import numpy as np
import pytest

from cgbench.benchmark.measure.metrics.exact_match import ExactMatch
from cgbench.benchmark.score.comparison.design import Clusters
from cgbench.benchmark.score.comparison.tiers import AllPairs
from cgbench.benchmark.score.evaluation.evaluate import evaluate
from cgbench.studies.validity.ranking import PartScores, rank, score_parts


def ranking_of(*parts):
    """The ranking of a part with these scores, then of the whole."""
    untested = AllPairs([], [], {})
    return rank(
        *(PartScores(9, np.array(values), [], np.zeros((0, 0)), untested) for values in parts)
    )


def test_the_chance_of_a_tau_counts_every_order():
    for systems in (3, 4, 5):
        orders = list(itertools.permutations(range(systems)))
        rankings = [ranking_of(order, range(systems)) for order in orders]
        taus = [ranking.tau for ranking in rankings]
        for ranking in rankings:
            expected = sum(tau >= ranking.tau - 1e-9 for tau in taus) / len(taus)
            assert ranking.chance == pytest.approx(expected)
    tied = ranking_of([1, 1, 1], [1, 2, 3])
    assert np.isnan(tied.tau) and tied.chance is None


def right(share, n, rng, kind=np.ones):
    return ["x" if one else "y" for one in rng.random(n) < share * kind(n)]


def scored(n=400, parts=None, samples=200, clusters=None, **systems):
    metric = ExactMatch([["x"]] * n)
    parts = parts or {"part": np.arange(0, n, 4), "whole": np.arange(n)}
    return score_parts(
        metric,
        clusters,
        {name: [run] for name, run in systems.items()},
        parts,
        samples=samples,
        seed=1,
    )


def test_scores_of_parts_are_those_of_their_examples_and_share_the_draws():
    rng = np.random.default_rng(2)
    a, b = right(0.5, 400, rng), right(0.9, 400, rng)
    found = scored(a=a, b=b)
    assert found["part"].values.tolist() == [
        100 * np.mean([x == "x" for x in one[::4]]) for one in (a, b)
    ]
    assert {name: part.size for name, part in found.items()} == {"part": 100, "whole": 400}
    # A part that is the whole has its samples, one and all.
    same = scored(a=a, b=b, parts={"part": np.arange(400), "whole": np.arange(400)})
    assert np.array_equal(same["part"].samples, same["whole"].samples)
    low, high = found["part"].intervals[0]
    assert low < found["part"].values[0] < high


def test_pairs_of_a_source_are_drawn_together():
    rng = np.random.default_rng(2)
    one, other = (
        [text for text in right(share, 100, rng) for _ in range(4)] for share in (0.5, 0.6)
    )
    sources = Clusters(("source",), (np.arange(400) // 4,))
    alone, together = scored(a=one, b=other), scored(a=one, b=other, clusters=sources)
    assert alone["whole"].values.tolist() == together["whole"].values.tolist()
    widths = [np.diff(found["whole"].intervals[0])[0] for found in (alone, together)]
    assert widths[1] > 1.6 * widths[0]  # four equal rows are worth one
    p_values = [found["whole"].pairs.pairs[0, 1].p_star for found in (alone, together)]
    assert p_values[1] > p_values[0]


def test_clusters_are_drawn_where_all_above_differ_from_all_below():
    rng = np.random.default_rng(5)
    shares = {"a": 0.9, "b": 0.9, "c": 0.5, "d": 0.1}
    found = scored(1000, **{name: right(share, 1000, rng) for name, share in shares.items()})
    tests = found["whole"].pairs
    assert [sorted(list(shares)[row] for row in tier) for tier in tests.tiers] == [
        ["a", "b"],
        ["c"],
        ["d"],
    ]
    assert not tests.differ(0, 1) and tests.differ(1, 2)


def test_a_part_that_reverses_the_order_shows():
    rng = np.random.default_rng(4)
    part = np.arange(0, 1000, 5)

    def system(share):
        run = right(share, 1000, rng)
        for row in part:
            run[row] = "x" if rng.random() < 1 - share else "y"
        return run

    found = scored(
        1000,
        a=system(0.9),
        b=system(0.6),
        c=system(0.3),
        parts={"part": part, "whole": np.arange(1000)},
    )
    one = rank(found["part"], found["whole"])
    assert (
        one.tau == -1
        and one.swapped == one.pairs == one.decided == one.reversed == 3
        and one.kept == 0
    )
    assert one.chance == 1.0 and one.interval[1] < 0
    assert rank(found["whole"], found["whole"]).tau == 1


def test_pairs_of_systems_are_tested_with_the_variance_of_their_runs():
    rng = np.random.default_rng(8)
    shares = {"wide": (0.4, 0.6, 0.8), "also wide": (0.3, 0.5, 0.65), "narrow": (0.95, 0.96, 0.95)}
    systems = {name: [right(share, 400, rng) for share in some] for name, some in shares.items()}
    metric = ExactMatch([["x"]] * 400)
    found = score_parts(metric, None, systems, {"whole": np.arange(400)}, samples=200, seed=1)
    assert not found["whole"].pairs.differ(0, 1)
    # Runs that lie as far apart are no evidence, however many examples there are; single runs of
    # them would be.
    single = {
        name: [runs[place]] for (name, runs), place in zip(systems.items(), (2, 0, 0), strict=True)
    }
    found = score_parts(metric, None, single, {"whole": np.arange(400)}, samples=200, seed=1)
    assert found["whole"].pairs.differ(0, 1)


def test_intervals_of_several_runs_are_those_of_score():
    rng = np.random.default_rng(8)
    runs = [right(share, 400, rng) for share in (0.4, 0.6, 0.8)]
    found = score_parts(
        ExactMatch([["x"]] * 400),
        None,
        {"a": runs},
        {"whole": np.arange(400)},
        samples=4000,
        seed=1,
    )
    (system,) = evaluate("exact", {"a": runs}, ["x"] * 400, comparison={"confidence": True}).results
    score = next(iter(system.whole.figures.values()))
    assert found["whole"].intervals[0] == pytest.approx((score.ci_low, score.ci_high), abs=1.0)
    assert np.diff(found["whole"].intervals[0]) > 1.3 * np.diff(
        np.percentile(found["whole"].samples[:, 0], [2.5, 97.5])
    )

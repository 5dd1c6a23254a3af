"""The difference of systems with several runs: its test holds its level, and agrees with its
interval.
"""

import numpy as np
import pytest
from scipy import optimize, stats

from cgbench import evaluate
from cgbench.benchmark.score.comparison.variance import (
    covariance_of_examples,
    covariance_of_samples,
)
from cgbench.benchmark.score.comparison.variance_components import (
    Contrast,
    Contrasts,
    contrast,
    degrees_of_seeds,
    half_width,
)
from cgbench.errors import InputError


def examples_of(first, second, covariance, examples, **given):
    return contrast(first, second, covariance_of_examples(covariance, examples), **given)


def rejected(size, runs, deviation, trials=1500, own=0.0):
    """The share of true nulls that the test rejects: answers right or wrong, runs differ by
    ``deviation`` points.
    """
    rng = np.random.default_rng([size, *runs])
    found = []
    for _ in range(0, trials, 100):
        skill = 0.5 + deviation / 100 * rng.standard_normal((100, sum(runs), 1))
        hard = rng.random((100, 1, size))
        right = (0.5 * hard + 0.5 * rng.random((100, sum(runs), size)) < 0.25 + skill / 2).astype(
            np.float32
        )
        means = right.mean(axis=-1, dtype=float)
        apart = right - means[:, :, None].astype(np.float32)
        covariance = 1e4 * (apart @ apart.swapaxes(1, 2)).astype(float) / (size - 1) / size
        one = contrast(
            100 * means[:, : runs[0]],
            100 * means[:, runs[0] :],
            covariance_of_examples(covariance, size),
        )
        found.append(one.p_value() < 0.05)
    return float(np.mean(found))


@pytest.mark.parametrize("runs", [(2, 2), (3, 3), (5, 5), (5, 3), (1, 5)])
@pytest.mark.parametrize(("size", "deviation"), [(100, 6.0), (1000, 6.0), (1000, 0.0)])
def test_true_nulls_are_rejected_as_often_as_the_level_says(size, deviation, runs):
    # The bootstrap that drew runs rejected 17.9% with 3,000 examples and two runs, 11.7% with
    # three.
    assert 0.02 < rejected(size, runs, deviation) < 0.075


def random_case(rng, a, b, trials=300):
    figures = rng.normal(50, 3, (trials, a + b))
    parts = rng.standard_normal((trials, a + b, 2 * (a + b))) * rng.gamma(1, 1, (trials, 1, 1))
    return figures[:, :a], figures[:, a:], parts @ parts.swapaxes(1, 2) / 20


@pytest.mark.parametrize(
    ("a", "b", "shared"), [(2, 2, False), (3, 3, True), (5, 3, False), (1, 4, False), (1, 1, False)]
)
def test_p_is_below_5_percent_exactly_where_the_interval_leaves_zero_out(a, b, shared):
    found = examples_of(*random_case(np.random.default_rng(1), a, b), 200, shared_seeds=shared)
    low, high = found.interval()
    significant = found.p_value() < 0.05
    assert np.array_equal(significant, (low > 0) | (high < 0)) and 0 < significant.sum() < 300
    low, high = found.interval(0.99)
    assert np.array_equal(found.p_value() < 0.01, (low > 0) | (high < 0))


def test_without_variance_of_examples_seeds_are_all_there_is():
    rng = np.random.default_rng(2)
    first, second = rng.normal(50, 3, (200, 4)), rng.normal(51, 3, (200, 4))
    none = np.zeros((200, 8, 8))
    paired = examples_of(first, second, none, 1000, shared_seeds=True)
    assert paired.p_value() == pytest.approx(stats.ttest_rel(first, second, axis=1).pvalue)
    single = examples_of(first[:, :1], second, none[:, :5, :5], 1000)
    # One run against four: Student's t of a new observation.
    t = (first[:, 0] - second.mean(axis=1)) / second.std(axis=1, ddof=1) / np.sqrt(1 + 1 / 4)
    assert single.p_value() == pytest.approx(2 * stats.t.sf(np.abs(t), 3))
    apart = examples_of(first, second, none, 1000)
    assert apart.error**2 == pytest.approx(
        (first.var(axis=1, ddof=1) + second.var(axis=1, ddof=1)) / 4
    )
    assert (apart.of_seeds >= 3 - 1e-9).all() and (apart.of_seeds <= 6 + 1e-9).all()


def test_without_variance_of_seeds_examples_are_all_there_is():
    single, same = np.array([[4.0, 1.0], [1.0, 4.0]]), np.full((4, 4), 2.0)
    same[:2, 2:] = same[2:, :2] = 0.5
    for runs, covariance, variance in ((1, single, 6), (2, same, 3)):
        found = contrast(
            np.full(runs, 52.0), np.full(runs, 50.0), covariance_of_examples(covariance, 300)
        )
        assert found.error == pytest.approx(np.sqrt(variance))
        assert found.p_value() == pytest.approx(2 * stats.t.sf(2 / np.sqrt(variance), 299))


def slow(first, second, covariance, units):
    """The same of one comparison, in plain words."""
    a, b = len(first), len(second)
    spread = [np.var(first, ddof=1) / a, np.var(second, ddof=1) / b]
    inside = [covariance[i, j] for i in range(a) for j in range(a) if i != j]
    other = [covariance[a + i, a + j] for i in range(b) for j in range(b) if i != j]
    across = [covariance[i, a + j] for i in range(a) for j in range(b)]
    common = max(0.0, np.mean(inside) + np.mean(other) - 2 * np.mean(across))
    more = 3 / (max(a, b) - 1)
    welch = (
        sum(spread) ** 2 / (spread[0] ** 2 / (a - 1 + more) + spread[1] ** 2 / (b - 1 + more))
        - more
    )
    welch = min(max(welch, min(a, b) - 1), a + b - 2)
    share = sum(spread) / (sum(spread) + common)
    degrees = 1 / (share ** (2 - 1.3 / welch) / welch + (1 - share) ** 2 / (units - 1))
    difference = abs(np.mean(first) - np.mean(second))

    def half(level):
        mixed = stats.t.isf(level / 2, degrees) ** 2 * (sum(spread) + common)
        each = (
            stats.t.isf(level / 2, welch) ** 2 * sum(spread)
            + stats.t.isf(level / 2, units - 1) ** 2 * common
        )
        weight = min(max(np.log(0.05 / level) / np.log(50), 0), 1)
        return np.sqrt(mixed + weight * max(each - mixed, 0))

    return np.exp(optimize.brentq(lambda log: half(np.exp(log)) - difference, np.log(1e-12), -1e-9))


def level_of(runs, share, level):
    """The share of true nulls rejected at a level on the normal model, of seeds and examples."""
    rng = np.random.default_rng(9)
    seeds = rng.chisquare(runs - 1, (2, 50_000)) / (runs - 1) / runs
    common = np.full(50_000, share / (1 - share) * 2 / runs)
    half = half_width(
        seeds.sum(axis=0),
        common,
        degrees_of_seeds(*seeds, runs, runs),
        10**6,
        np.full(50_000, level),
    )
    return float(np.mean(2 * stats.norm.sf(half / np.sqrt(2 / runs + common))))


@pytest.mark.parametrize("share", [0.03, 0.1, 0.5])
def test_small_levels_hold_too_since_holm_asks_for_them(share):
    # With the degrees of freedom of the mixture alone, 0.8% with two runs and 0.3% with three at
    # 0.1%.
    for runs in (2, 3, 5):
        assert level_of(runs, share, 0.001) < 0.0012
        assert level_of(runs, share, 0.01) < 0.0125
        assert 0.03 < level_of(runs, share, 0.05) < 0.06


@pytest.mark.parametrize(("a", "b"), [(2, 2), (5, 3), (2, 6)])
def test_many_at_once_are_each_by_itself(a, b):
    given = random_case(np.random.default_rng(3), a, b, 50)
    expected = [slow(*one, 80) for one in zip(*given, strict=True)]
    assert examples_of(*given, 80).p_value() == pytest.approx(expected)


def test_data_without_variance_prove_no_more_than_randomisation_would():
    one, none = np.array([100.0, 100.0]), np.zeros((4, 4))
    assert examples_of(one, np.zeros(2), none, 8).p_value() == 2**-7
    assert np.isnan(examples_of(one, np.zeros(2), none, 8).interval()).all()
    assert np.isnan(examples_of(one, np.zeros(2), none, 5).p_value())
    assert np.isnan(examples_of(one, np.zeros(2), none, 5).interval()).all()
    assert examples_of(one, one, none, 8).p_value() == 1
    undefined = Contrast(
        np.array([np.nan, 1.0]), np.array([1.0, np.nan]), np.ones(2), np.ones(2), 49, 50, 50
    )
    assert np.isnan(undefined.p_value()).all()


def test_runs_are_compared_one_by_one_only_where_each_has_its_fellow():
    with pytest.raises(ValueError, match="2 and 3 runs"):
        examples_of(np.zeros(2), np.zeros(3), np.zeros((5, 5)), 10, shared_seeds=True)


def test_any_two_of_several_systems_from_one_bootstrap():
    rng = np.random.default_rng(4)
    values = [rng.normal(50, 3, (runs, 2)) for runs in (2, 3, 1)]
    samples = [rng.normal(50, 3, (500, runs, 2)) for runs in (2, 3, 1)]
    found = Contrasts(values, covariance_of_samples(samples, 40)).of(2, 0)
    for figure in range(2):
        joined = np.concatenate([samples[2][:, :, figure], samples[0][:, :, figure]], axis=1)
        covariance = np.cov(joined.T) * 40 / 39
        alone = contrast(
            values[2][:, figure], values[0][:, figure], covariance_of_examples(covariance, 40)
        )
        assert found.p_value()[figure] == pytest.approx(float(alone.p_value()))


def seeds(rng, share, count, size=400):
    """Runs of one system, right or wrong against references of "1"."""
    return [
        ["1" if one else "0" for one in rng.random(size) < share + 0.06 * rng.standard_normal()]
        for _ in range(count)
    ]


@pytest.mark.filterwarnings("ignore::cgbench.errors.InputWarning")
def test_stars_intervals_and_p_values_of_a_table_agree():
    rng = np.random.default_rng(5)
    systems = {
        "base": seeds(rng, 0.5, 3),
        **{f"s{place}": seeds(rng, 0.5 + place / 20, 3) for place in range(8)},
    }
    found = evaluate("exact", systems, ["1"] * 400, paired=True)
    pairs = evaluate("exact", systems, ["1"] * 400, comparison={"all_pairs": True})
    several = [result.whole.figures["exact"] for result in found.results[1:]]
    several += [pair for result in pairs.results for pair in result.whole.figures["exact"].pairs]
    significant = [one.p_value < 0.05 for one in several]
    assert significant == [one.difference_low > 0 or one.difference_high < 0 for one in several]
    assert 0 < sum(significant) < len(several)
    assert "|paired:components|runs:3|" in found.signature
    assert "95% of Δ" in found.report()
    assert {"difference_low", "difference_high"} <= set(found.to_pandas().columns)


@pytest.mark.filterwarnings("ignore::cgbench.errors.InputWarning")
def test_runs_that_share_their_seeds():
    rng = np.random.default_rng(6)
    runs = seeds(rng, 0.5, 4)
    better = [["1" if rng.random() < 0.03 else one for one in run] for run in runs]
    apart = evaluate("exact", {"a": runs, "b": better}, ["1"] * 400, paired=True)
    together = evaluate(
        "exact",
        {"a": runs, "b": better},
        ["1"] * 400,
        paired=True,
        comparison={"shared_seeds": True},
    )
    loose, tight = (one.results[1].whole.figures["exact"] for one in (apart, together))
    assert tight.p_value < 0.02 and loose.p_value > 0.2
    assert "|seeds:shared|" in together.signature and "seeds:" not in apart.signature
    with pytest.raises(
        InputError, match=r"so each needs the same number of runs, at least two \(runs: a 4, b 3\)"
    ):
        evaluate(
            "exact",
            {"a": runs, "b": better[:3]},
            ["1"] * 400,
            paired=True,
            comparison={"shared_seeds": True},
        )


def test_one_run_against_several_is_said():
    rng = np.random.default_rng(7)
    systems = {
        "one": seeds(rng, 0.5, 1)[0],
        "single": seeds(rng, 0.6, 1)[0],
        "five": seeds(rng, 0.9, 5),
    }
    with pytest.warns(
        UserWarning, match="one run of one, single: .* the same variance between seeds is assumed"
    ):
        found = evaluate("exact", systems, ["1"] * 400, paired=True)
    with pytest.warns(UserWarning, match="^with one run of one, single, a difference may be"):
        evaluate("exact", systems, ["1"] * 400)
    figures = {result.system: result.whole.figures["exact"] for result in found.results}
    assert figures["five"].difference_low > 0 and figures["five"].p_value < 0.05
    # Single runs are compared by approximate randomisation, whatever else is in the table.
    alone = evaluate(
        "exact", {"one": systems["one"], "single": systems["single"]}, ["1"] * 400, paired=True
    )
    assert figures["single"].p_value == alone.results[1].whole.figures["exact"].p_value
    # Their interval is that of the paired differences, from bootstrap samples.
    differences = [
        100.0 * ((a == "1") - (b == "1"))
        for a, b in zip(systems["single"], systems["one"], strict=True)
    ]
    half = 1.966 * np.std(differences, ddof=1) / np.sqrt(400)
    ends = [figures["single"].difference_low, figures["single"].difference_high]
    assert ends == pytest.approx(
        [np.mean(differences) - half, np.mean(differences) + half], abs=half / 10
    )

import math
import random

import numpy as np
import pytest
from sacrebleu.metrics import BLEU
from sacrebleu.significance import PairedTest

from cgbench.benchmark.measure.metrics.bins import Bin
from cgbench.benchmark.measure.metrics.bleu_chrf_ter import Bleu
from cgbench.benchmark.measure.metrics.exact_match import ExactMatch
from cgbench.benchmark.score.comparison import significance
from cgbench.benchmark.score.comparison.comparison import Comparison, compare
from cgbench.benchmark.score.comparison.intervals import percentile_interval
from cgbench.benchmark.score.comparison.significance import (
    bootstrap_counts,
    bootstrap_p,
    draw_runs,
    holm,
    mcnemar_p,
    randomization_of_pairs,
    resampled_runs,
)
from cgbench.benchmark.score.outputs.hypotheses import System
from cgbench.errors import InputError


def bootstrap(systems, compute, samples, seed):
    """The hierarchical bootstrap: draws of units, and of runs on each."""
    return draw_runs(resampled_runs(systems, compute, samples, seed), seed)


def randomization_p(first, second, samples, seed):
    return randomization_of_pairs([first, second], [(0, 1)], share, samples, seed)[0]


def share(sums):
    """A metric by hand: the share of ones."""
    return 100 * sums[:, :1] / sums[:, 1:]


def ones(*runs):
    """Statistics ``[runs, units, 2]`` of 0/1 outcomes."""
    values = np.array(runs, float)
    return np.stack([values, np.ones_like(values)], axis=2)


@pytest.fixture(scope="module")
def three():
    """References and three systems that differ a little, in a few hundred sentences."""
    rng = random.Random(3)
    words = [f"w{number}" for number in range(40)]
    references = [" ".join(rng.choices(words, k=rng.randrange(4, 20))) for _ in range(300)]

    def noisy(line, noise):
        return " ".join(
            rng.choice(words) if rng.random() < noise else word for word in line.split()
        )

    systems = [[noisy(line, noise) for line in references] for noise in (0.20, 0.22, 0.30)]
    return references, systems


@pytest.mark.parametrize(
    ("test", "code", "samples"), [("bootstrap", "bs", 300), ("randomization", "ar", 500)]
)
def test_p_values_of_bleu_are_those_of_sacrebleu(three, test, code, samples):
    references, systems = three
    names = ["a", "b", "c"]
    metric = BLEU(references=[references])
    paired = PairedTest(
        list(zip(names, systems, strict=True)), {"BLEU": metric}, None, code, samples
    )
    theirs = paired()[1]["BLEU"]
    ours = compare(
        Bleu([[one] for one in references]),
        [System(name, (one,)) for name, one in zip(names, systems, strict=True)],
        Comparison(paired=test, samples=samples),
    )
    for one, other in zip(ours, theirs, strict=True):
        estimate = one.whole.figures["score"]
        assert estimate.value == pytest.approx(other.score)
        assert estimate.p_value == other.p_value
        if test == "bootstrap":
            assert estimate.ci_mean == pytest.approx(
                other.mean, abs=1e-4
            )  # theirs sums in single precision
            assert (estimate.ci_high - estimate.ci_low) / 2 == pytest.approx(other.ci, abs=1e-4)
    assert (
        0.01 < ours[1].whole.figures["score"].p_value < 0.9
    )  # a test of what is neither certain nor hopeless


def test_draws_do_not_depend_on_their_blocks(monkeypatch):
    whole = np.concatenate(list(bootstrap_counts(37, 200, 5)))
    monkeypatch.setattr(significance, "_MEMORY", 1)  # blocks of 64
    parts = list(bootstrap_counts(37, 200, 5))
    assert len(parts) == 4 and np.array_equal(np.concatenate(parts), whole)
    assert np.array_equal(whole.sum(axis=1), np.full(200, 37))


def test_randomization_does_not_depend_on_its_blocks(monkeypatch):
    rng = np.random.default_rng(1)
    first, second = ones(rng.integers(2, size=37)), ones(rng.integers(2, size=37))
    whole = randomization_p(first, second, 500, 7)
    monkeypatch.setattr(significance, "_MEMORY", 1)
    assert randomization_p(first, second, 500, 7) == whole


def test_the_bootstrap_interval_of_a_share():
    values = bootstrap([ones([1] * 60 + [0] * 40)], share, 2000, 1)[0][:, 0]
    low, high = percentile_interval(values)
    deviation = 100 * math.sqrt(0.6 * 0.4 / 100)
    assert values.mean() == pytest.approx(60, abs=0.5)
    assert (low, high) == (
        pytest.approx(60 - 1.96 * deviation, abs=1.5),
        pytest.approx(60 + 1.96 * deviation, abs=1.5),
    )


def test_randomization_agrees_with_the_exact_permutation_test():
    first, second = [1, 1, 1, 1, 1, 0, 1, 0], [0, 0, 1, 0, 1, 1, 0, 0]
    observed = abs(sum(first) - sum(second))
    extreme = 0
    for mask in range(256):
        distance = sum(
            (a - b) * (-1 if mask >> place & 1 else 1)
            for place, (a, b) in enumerate(zip(first, second, strict=True))
        )
        extreme += abs(distance) >= observed
    assert randomization_p(ones(first), ones(second), 20_000, 3)[0] == pytest.approx(
        extreme / 256, abs=0.01
    )


def test_equal_systems_do_not_differ():
    same = ones([1, 0, 1, 1])
    assert randomization_p(same, same, 100, 1) == [1.0]
    values = bootstrap([same, same], share, 100, 1)
    assert bootstrap_p(values[0][:, 0], values[1][:, 0], 0.0) == 1.0
    assert mcnemar_p(same[0, :, 0], same[0, :, 0]) == 1.0


@pytest.mark.parametrize(
    ("wins", "losses", "p"),
    [
        (1, 6, 0.125),  # 2 (1 + 7) / 128
        (0, 5, 0.0625),
        (3, 3, 1.0),
        (121, 59, 4.434e-06),  # R: 2 * pbinom(59, 180, 0.5)
    ],
)
def test_mcnemar_is_the_binomial_test(wins, losses, p):
    system = np.array([1] * wins + [0] * losses + [1, 0])
    baseline = np.array([0] * wins + [1] * losses + [1, 0])
    assert mcnemar_p(system, baseline) == pytest.approx(p, rel=1e-3)
    assert mcnemar_p(baseline, system) == mcnemar_p(system, baseline)


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, None, 0.5]) == [1.0, None, 1.0]
    assert holm([]) == []


def test_several_runs_widen_the_interval():
    """Two runs that disagree: the hierarchical bootstrap draws runs, too, so the spread between
    them counts.
    """
    runs = ones([1] * 90 + [0] * 10, [1] * 50 + [0] * 50)
    values = bootstrap([runs], share, 4000, 2)[0][:, 0]
    # the runs' own deviation is 28.3, their mean's 28.3 / sqrt(2); the noise of the examples comes
    # on top
    assert values.std() == pytest.approx(math.sqrt(400 + 100 * 0.25 * 0.7), abs=1.5)
    single = bootstrap([runs[:1]], share, 4000, 2)[0][:, 0]
    assert single.std() < 5


def test_the_seed_draws_runs_too():
    """Runs without any noise of examples: what differs between seeds is the draw of the runs."""
    runs = ones([1] * 10, [0] * 10)
    values = [bootstrap([runs], share, 60, seed)[0][:, 0] for seed in (1, 2)]
    assert set(values[0]) > {50.0} and not np.array_equal(*values)


def test_the_two_sided_p_value_of_the_bootstrap_by_hand():
    system, baseline = np.array([3.0, 1.0, 2.0, 6.0]), np.zeros(4)  # mean 3: distances 0, 2, 1, 3
    assert bootstrap_p(system, baseline, 2.0) == (2 + 1) / 5
    assert bootstrap_p(-system, baseline, -2.0) == (2 + 1) / 5
    assert (
        bootstrap_p(system, baseline, 3.0, as_sacrebleu=True) == (1 + 1) / 5
    )  # 0, -2, -1, 3 reach 3 once


def test_the_units_of_one_run_are_drawn_alike_beside_several():
    one = ones([1, 0, 1, 1, 0, 1])
    alone = bootstrap([one], share, 50, 9)[0]
    beside = bootstrap([np.concatenate([one, one]), one], share, 50, 9)[1]
    assert np.array_equal(alone, beside)


# --- put together ---------------------------------------------------------------------------------


def exact(outcomes):
    """Systems of 0/1 outcomes for :class:`ExactMatch` whose references are all ``1``."""
    return [System(name, tuple(list(run) for run in runs)) for name, runs in outcomes.items()]


def test_runs_have_a_mean_and_a_sample_deviation():
    metric = ExactMatch([["1"]] * 4)
    result = compare(metric, exact({"a": ["1111", "1100", "1110"]}), Comparison())[0]
    estimate = result.whole.figures["exact"]
    assert (estimate.value, estimate.stdev, estimate.runs) == (75.0, 25.0, (100.0, 50.0, 75.0))
    assert result.runs == 3 and estimate.ci_low is None


def test_bins_have_intervals_differences_and_holm_over_bins_and_systems():
    metric = ExactMatch([["1"]] * 40)
    bins = [Bin("low", np.arange(20)), Bin("high", np.arange(20, 40))]
    systems = exact(
        {"base": ["0" * 40], "a": ["1" * 10 + "0" * 30], "b": ["0" * 20 + "1" * 6 + "0" * 14]}
    )
    results = compare(metric, systems, Comparison(paired="mcnemar"), bins)
    low, high = (results[1].bins[number][1].figures["exact"] for number in (0, 1))
    assert (low.value, low.difference, low.p_value) == (50.0, 50.0, pytest.approx(2 / 2**10))
    assert low.ci_low is not None and low.ci_low < 50 < low.ci_high
    assert high.p_value == 1.0
    raw = [result.bins[n][1].figures["exact"].p_value for n in (0, 1) for result in results[1:]]
    adjusted = [result.bins[n][1].figures["exact"].p_holm for n in (0, 1) for result in results[1:]]
    assert adjusted == holm(raw) and adjusted[0] == pytest.approx(4 * raw[0])
    assert [result.whole.figures["exact"].p_value for result in results] == [
        None,
        pytest.approx(2 / 2**10),
        pytest.approx(2 / 2**6),
    ]


THREE = {
    "a": ["1" * 10 + "0" * 30],
    "b": ["0" * 4 + "1" * 26 + "0" * 10],
    "c": ["1" * 12 + "01" * 14],
}


@pytest.mark.parametrize("test", ["bootstrap", "randomization", "mcnemar"])
def test_all_pairs_have_the_p_values_of_two_systems_alone(test):
    """Each pair as if the other system were the baseline of a comparison of its own; Holm's family
    is all pairs.
    """
    metric, bins = (
        ExactMatch([["1"]] * 40),
        [
            Bin("low", np.arange(20)),
            Bin("high", np.arange(20, 40)),
        ],
    )
    together = compare(
        metric, exact(THREE), Comparison(paired=test, samples=2000, all_pairs=True), bins
    )
    for number in range(3):
        parts = [
            (one.bins[number - 1][1] if number else one.whole).figures["exact"] for one in together
        ]
        assert [[pair.against for pair in part.pairs] for part in parts] == [[], ["a"], ["a", "b"]]
        assert all(part.difference is None and part.p_value is None for part in parts)
        for name, part in zip("abc", parts, strict=True):
            for pair in part.pairs:
                two = {pair.against: THREE[pair.against], name: THREE[name]}
                alone = compare(metric, exact(two), Comparison(paired=test, samples=2000), bins)[1]
                estimate = (alone.bins[number - 1][1] if number else alone.whole).figures["exact"]
                assert (pair.difference, pair.p_value) == (estimate.difference, estimate.p_value)
    whole = [pair for one in together for pair in one.whole.figures["exact"].pairs]
    assert [pair.p_holm for pair in whole] == holm([pair.p_value for pair in whole])
    binned = [
        pair
        for number in (0, 1)
        for one in together
        for pair in one.bins[number][1].figures["exact"].pairs
    ]
    assert [pair.p_holm for pair in binned] == holm([pair.p_value for pair in binned])
    assert len(whole) == 3 and len(binned) == 6 and min(pair.p_value for pair in whole) < 0.1


def test_all_pairs_draw_the_samples_once(monkeypatch):
    drawn = []
    blocks = significance._blocks
    monkeypatch.setattr(
        significance, "_blocks", lambda *given: drawn.append(given) or blocks(*given)
    )
    systems = exact({str(number): ["10" * number + "0" * (40 - 2 * number)] for number in range(8)})
    for test, times in (
        ("bootstrap", 1),
        ("randomization", 2),
    ):  # randomization: one bootstrap for intervals
        drawn.clear()
        compare(
            ExactMatch([["1"]] * 40), systems, Comparison(paired=test, samples=100, all_pairs=True)
        )
        assert len(drawn) == times


def test_holm_leaves_clear_differences_significant_among_many_systems():
    """With 100 samples no p-value is below 1 / 101, and Holm's correction for 28 pairs made that
    0.28.
    """
    systems = exact(
        {str(number): ["1" * (8 * number) + "0" * (60 - 8 * number)] for number in range(8)}
    )
    comparison = Comparison(paired="randomization", samples=100, all_pairs=True)
    results = compare(ExactMatch([["1"]] * 60), systems, comparison)
    pairs = [pair for result in results for pair in result.whole.figures["exact"].pairs]
    clear = [pair.p_holm for pair in pairs if abs(pair.difference) > 50]
    assert max(clear) < 0.01 and min(clear) >= 2.0**-59
    assert all(pair.p_value > 0.005 for pair in pairs if abs(pair.difference) < 15)


def test_the_bound_of_the_tail_is_above_the_exact_p_value():
    first, second = [1] * 20 + [0] * 20, [0] * 40
    p = randomization_of_pairs([ones(first), ones(second)], [(0, 1)], share, 200, 1, tests=1000)[0][
        0
    ]
    assert 2.0**-19 < p < 1 / 201
    assert randomization_of_pairs([ones(first), ones(second)], [(0, 1)], share, 200, 1)[0] == [
        1 / 201
    ]


def test_one_example_has_no_interval_and_no_test():
    metric = ExactMatch([["1"]])
    results = compare(
        metric, exact({"a": ["1"], "b": ["0"]}), Comparison(paired="bootstrap", confidence=True)
    )
    estimate = results[1].whole.figures["exact"]
    assert (estimate.value, estimate.difference, estimate.ci_low, estimate.p_value) == (
        0.0,
        -100.0,
        None,
        None,
    )


@pytest.mark.parametrize(
    ("comparison", "systems", "message"),
    [
        (Comparison(baseline="c"), {"a": ["1"]}, "baseline='c': no such system; there is a"),
        (Comparison(paired="bootstrap"), {"a": ["1"]}, "give a second systems"),
        (
            Comparison(paired="bootstrap", baseline="a", all_pairs=True),
            {"a": ["1"], "b": ["0"]},
            "leave baseline out",
        ),
        (Comparison(paired="bootstrap", all_pairs=True), {"a": ["1"]}, "give a second systems"),
        (
            Comparison(paired="mcnemar"),
            {"a": ["1", "0"], "b": ["1"]},
            r"one run with one run \(runs: a 2, b 1\)",
        ),
        (
            Comparison(paired="randomization"),
            {"a": ["1", "0"], "b": ["1"]},
            r"one run with one run \(runs: a 2, b 1\)",
        ),
    ],
)
def test_tests_that_do_not_fit(comparison, systems, message):
    with pytest.raises(InputError, match=message):
        compare(ExactMatch([["1"]]), exact(systems), comparison)


def test_mcnemar_is_for_right_and_wrong_only():
    systems = [System("a", (["x"],)), System("b", (["x"],))]
    with pytest.raises(InputError, match="BLEU is not binary"):
        compare(Bleu([["x"]]), systems, Comparison(paired="mcnemar"))


def test_cter_aggregate_resamples_groups(tmp_path):
    """Two groups of five rows, one right and one wrong: samples of groups have an aggregate of 0,
    50 or 100. Ten rows can be tested, two groups cannot.
    """
    from cgbench.benchmark.measure.metrics.cter import Cter
    from cgbench.benchmark.measure.metrics.cter_lexicon import Atoms, TranslationLexicon
    from cgbench.text.columns import Column

    (tmp_path / "lexicon").write_text("dog\tD\ncat\tC\n")
    (tmp_path / "atoms").write_text("N\tdog\tdog\nN\tcat\tcat\n")
    compounds = Column("compounds", ["dog"] * 5 + ["cat"] * 5)
    lexicon, atoms = (
        TranslationLexicon.read(str(tmp_path / "lexicon")),
        Atoms.read(str(tmp_path / "atoms")),
    )
    metric = Cter(compounds, compounds, lexicon, atoms)
    statistics = metric.statistics(["D"] * 5 + ["x"] + ["C"] * 4)
    units = metric.collect(statistics, np.arange(10))[None]
    values = bootstrap([units], metric.compute, 200, 1)[0]
    assert set(values[:, 1]) == {0.0, 50.0, 100.0}
    assert set(values[:, 0]) == {0.0, 10.0, 20.0}
    systems = [System("a", (["D"] * 5 + ["x"] + ["C"] * 4,)), System("b", (["D"] * 5 + ["C"] * 5,))]
    figures = compare(metric, systems, Comparison(paired="mcnemar"))[1].whole.figures
    assert (figures["instance"].p_value, figures["aggregate"].p_value) == (1.0, None)
    assert (figures["instance"].difference, figures["aggregate"].difference) == (-10.0, -50.0)

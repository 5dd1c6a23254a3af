"""What systems lose from a control set to the test set: the figure, its interval, and what does not
fit.
"""

import json
import math

import numpy as np
import pytest
from few import few

from cgbench.benchmark.score.comparison.drop import CONTROL_DRAWS
from cgbench.benchmark.score.comparison.intervals import (
    difference_interval,
    score_interval,
    student_quantile,
)
from cgbench.benchmark.score.comparison.significance import bootstrap_counts, resampled_runs
from cgbench.benchmark.score.comparison.variance import covariance_of_examples
from cgbench.benchmark.score.evaluation.evaluate import evaluate
from cgbench.benchmark.score.evaluation.request import Control, ScoreRequest
from cgbench.errors import InputError

pytestmark = pytest.mark.filterwarnings("ignore::cgbench.errors.InputWarning")


def answers(rights, n):
    """References ``a``, and hypotheses of which the first are right."""
    return ["a"] * rights + ["b"] * (n - rights)


def scored(test, control, **options):
    """Exact match of systems with so many right answers of 80 (test) and 100 (control), a number a
    run.
    """
    systems, control_systems = (
        {name: [answers(k, n) for k in runs] for name, runs in rights.items()}
        for rights, n in ((test, 80), (control, 100))
    )
    given = {
        "metric": "exact",
        "systems": systems,
        "references": ["a"] * 80,
        "control_systems": control_systems,
    }
    return evaluate(ScoreRequest(**{**given, "control_references": ["a"] * 100, **options}))


def test_a_drop_by_hand_with_newcombes_interval():
    found = scored({"A": [40]}, {"A": [80]})
    one = found.scored.drops["A"]["exact"]
    assert (one.control, one.value, one.ratio) == (80, 30, 0.625) and one.stdev is None

    def wilson(right, n):
        p, t2 = right / n, student_quantile(n - 1) ** 2
        middle, half = (
            p + t2 / (2 * n),
            math.sqrt(t2) * math.sqrt(p * (1 - p) / n + t2 / (4 * n * n)),
        )
        return 100 * (middle - half) / (1 + t2 / n), 100 * (middle + half) / (1 + t2 / n)

    (a, b), (c, d) = wilson(80, 100), wilson(40, 80)  # Newcombe (1998), method 10
    expected = 30 - math.hypot(80 - a, d - 50), 30 + math.hypot(b - 80, 50 - c)
    # The variance is that of 1,000 samples: a standard error of 2%, of an interval of 25 points.
    assert (one.ci_low, one.ci_high) == pytest.approx(expected, abs=1)
    # All right on one, all wrong on the other: nothing varies, and yet it is not known to the last
    # digit.
    one = scored({"A": [0]}, {"A": [100]}).scored.drops["A"]["exact"]
    assert one.value == one.ci_high == 100 and 90 < one.ci_low < 96


def test_the_two_sets_are_drawn_apart_and_the_runs_together():
    """The slow way: every resample on its own."""
    rng = np.random.default_rng(1)
    runs = 3
    test, control = ((rng.random((runs, n)) < 0.5).astype(float) for n in (30, 40))

    def texts(values):
        return [["a" if right else "b" for right in run] for run in values.tolist()]

    found = evaluate(
        "exact",
        {"A": texts(test)},
        ["a"] * 30,
        comparison={"samples": 200, "seed": 5},
        control=Control({"A": texts(control)}, ["a"] * 40),
    )
    one = found.scored.drops["A"]["exact"]
    each = 100 * (control.mean(axis=1) - test.mean(axis=1))
    assert one.runs == pytest.approx(tuple(each)) and one.value == pytest.approx(each.mean())
    assert one.stdev == pytest.approx(each.std(ddof=1))

    drawn = np.empty((2, 200, runs))
    hard = np.concatenate(list(bootstrap_counts(30, 200, 5)))
    easy = np.concatenate(list(bootstrap_counts(40, 200, [5, CONTROL_DRAWS])))
    for sample in range(200):
        for run in range(runs):
            drawn[:, sample, run] = (
                100 * easy[sample] @ control[run] / 40,
                100 * hard[sample] @ test[run] / 30,
            )
    of_sets = [np.cov(one.T) * n / (n - 1) for one, n in zip(drawn, (40, 30), strict=True)]

    def squared(function):
        one, other = map(function, of_sets)
        degrees = (one + other) ** 2 / (one**2 / 39 + other**2 / 29)  # Satterthwaite's
        return student_quantile(max(degrees, 1)) ** 2 * (one + other)

    common = squared(
        lambda covariance: (covariance.sum() - np.trace(covariance)) / (runs * (runs - 1))
    )
    error = student_quantile(runs - 1) ** 2 * each.var(ddof=1) / runs + max(common, 0)
    error = max(error, squared(np.mean))
    assert (one.ci_low, one.ci_high) == pytest.approx(
        (one.value - math.sqrt(error), one.value + math.sqrt(error))
    )


def test_runs_that_are_good_on_both_sets_make_no_drop_uncertain():
    # Skills of 20 to 60, a loss of 20 in every run: what varies is nothing but the examples.
    rng = np.random.default_rng(0)
    shuffled = {}
    for name, n, rights in (("test", 800, [160, 320, 480]), ("control", 1000, [400, 600, 800])):
        shuffled[name] = [list(rng.permutation(answers(k, n))) for k in rights]
    control = Control({"A": shuffled["control"]}, ["a"] * 1000)
    found = evaluate(
        "exact",
        {"A": shuffled["test"]},
        ["a"] * 800,
        control=control,
        comparison={"confidence": True},
    )
    one, whole = found.scored.drops["A"]["exact"], found.results[0].whole.figures["exact"]
    assert one.value == pytest.approx(20) and one.stdev == pytest.approx(0, abs=1e-9)
    assert one.ci_high - one.ci_low < 10 < 50 < whole.ci_high - whole.ci_low


@pytest.mark.parametrize(
    ("metric", "worse"),
    [("bleu", "falls"), ("chrf", "falls"), ("ter", "rises"), ("exact", "falls")],
)
def test_every_metric_says_which_way_it_goes(metric, worse):
    texts = ["the cat saw a small dog", "the dog ran to the house", "he sat on a chair"] * 20
    bad = [text.replace("dog", "cow").replace("chair", "horse") for text in texts]
    found = evaluate(
        metric,
        {"A": bad},
        texts,
        control={"control_systems": {"A": texts}, "control_references": texts},
    )
    name = found.scored.metric.figures[0]
    one = found.scored.drops["A"][name]
    assert one.value == pytest.approx(abs(one.control - found.figures["A"][name])) and one.value > 5
    assert one.ci_low <= one.value <= one.ci_high
    said = (
        f"{found.scored.metric.name} {worse} by {one.value:.1f} [{one.ci_low:.1f},"
        f" {one.ci_high:.1f}] from the control"
    )
    assert said in found.report()
    assert f"control:{len(texts)}" in found.signature


def test_cter_of_a_control_set(tmp_path):
    (tmp_path / "lexicon").write_text("dog\t狗\nthe\t/\n")
    (tmp_path / "atoms").write_text("N\tdog\tdog\nDET\tthe\tthe\n")
    given = {
        "sources": ["the dog ran", "he saw the dog"],
        "compounds": ["the dog"] * 2,
        "lexicon": tmp_path / "lexicon",
        "atoms": str(tmp_path / "atoms"),
        "group_size": 2,
    }
    control = Control(
        {"A": ["狗"] * 4}, control_sources=["the dog sat"] * 4, control_compounds=["the dog"] * 4
    )
    found = evaluate("cter", {"A": ["狗", "猫"]}, control=control, **given)
    lost = found.scored.drops["A"]
    assert (lost["instance"].value, lost["aggregate"].value) == (50, 100)
    assert "CTER instance rises by 50.0" in found.report()
    with pytest.raises(
        InputError,
        match="CTER of a control set needs its compounds: give control_sources and control",
    ):
        evaluate(
            "cter", {"A": ["狗", "猫"]}, control={"control_systems": {"A": ["狗"] * 4}}, **given
        )


def test_losses_are_compared_with_the_baselines():
    found = scored(
        {"A": [40], "B": [70], "C": [41]}, {"A": [80], "B": [85], "C": [80]}, paired="bootstrap"
    )
    lost = {name: row["exact"] for name, row in found.scored.drops.items()}
    assert lost["A"].difference is None and lost["B"].difference == pytest.approx(-2.5 - 30)
    assert lost["B"].p_value < 0.01 < 0.3 < lost["C"].p_value
    assert lost["B"].p_holm == pytest.approx(2 * lost["B"].p_value)
    assert (
        scored({"A": [40], "B": [70]}, {"A": [80], "B": [85]}).scored.drops["B"]["exact"].difference
        is None
    )


def test_every_form():
    found = scored({"A": [40, 44], "B": [70, 71]}, {"A": [80, 81], "B": [85, 86]})
    rows = json.loads(found.report("json"))
    assert rows[0]["control"]["n"] == 100 and rows[0]["control"]["value"] == 80.5
    assert rows[0]["control"]["drop"] == 28 and rows[0]["control"]["drops"] == [30, 26]
    assert rows[0]["control"]["ci_low"] < 28 < rows[0]["control"]["ci_high"]
    lines = [line.split("\t") for line in found.report("tsv").split("\n")]
    place = {name: lines[0].index(name) for name in lines[0]}
    drop = next(
        line for line in lines if line[place["bin"]] == "drop" and line[place["system"]] == "B"
    )
    assert (drop[place["by"]], drop[place["n"]]) == ("control", "100")
    assert float(drop[place["value"]]) == pytest.approx(85.5 - 100 * 70.5 / 80)
    latex = found.report("latex")
    assert "control to test" in latex and "falls" not in latex and "28.0" in latex
    text = found.report()
    assert "A: exact falls by 28.0 [" in text and "B: exact rises by 2.6 [" in text
    assert found.to_pandas() is not None


def test_a_bound_just_below_zero_has_no_sign():
    found = scored({"A": [53]}, {"A": [79]})
    assert -0.5 < found.scored.drops["A"]["exact"].ci_low < 0
    assert "exact falls by 13 [0, " in found.report(width=0)


@pytest.mark.parametrize(
    ("test", "control", "message"),
    [
        ({"A": [1]}, {"B": [1]}, "control_systems: B is not one of the systems"),
        ({"A": [1], "B": [1]}, {"A": [1]}, "control_systems: B is missing; give the same systems"),
        (
            {"A": [1, 2]},
            {"A": [1]},
            "control_systems: A has 1 runs on the control set and 2 on the test set",
        ),
    ],
)
def test_other_systems_or_runs_are_one_line(test, control, message):
    with pytest.raises(InputError, match=message):
        scored(test, control)


def test_a_control_set_needs_its_texts():
    with pytest.raises(
        InputError, match="the control set needs references: give control_references"
    ):
        evaluate("exact", {"A": ["a"]}, ["a"], control={"control_systems": {"A": ["a"]}})
    with pytest.raises(InputError, match="the control set has no hypotheses; give control_systems"):
        evaluate("exact", {"A": ["a"]}, ["a"], control={"control_references": ["a"]})
    with pytest.raises(InputError, match="name the systems in both, or in neither"):
        evaluate(
            "exact",
            ["a"],
            ["a"],
            control={"control_systems": {"A": ["a"]}, "control_references": ["a"]},
        )
    with pytest.raises(InputError, match="has 2 lines and references has 1"):
        evaluate(
            "exact",
            ["a"],
            ["a"],
            control={"control_systems": ["a", "b"], "control_references": ["a"]},
        )


def test_intervals_of_differences_at_the_limits_of_what_there_is():
    given = covariance_of_examples(np.zeros((2, 2)), 50), np.zeros(2)
    assert (
        difference_interval(
            given, (covariance_of_examples(np.full((2, 2), np.nan), 50), np.zeros(2))
        )
        is None
    )
    # Runs that do not differ and units that do not vary: as of a single one.
    one = score_interval(*given)
    assert difference_interval(given, given) == pytest.approx((-one[1], one[1]))


def test_resamples_of_one_seed_are_those_of_a_number():
    statistics = [np.random.default_rng(1).random((1, 20, 2)) + 1]
    first, second = (
        resampled_runs(statistics, lambda sums: sums[:, :1] / sums[:, 1:], 64, seed)
        for seed in (7, [7])
    )
    assert first[0].shape == second[0].shape == (64, 1, 1)
    assert np.array_equal(first[0], second[0])


@pytest.mark.filterwarnings("ignore::cgbench.errors.InputWarning")
@pytest.mark.parametrize("samples", few([40, 200], 40))
def test_equal_drops_are_called_different_as_often_as_the_level_says(samples):
    """The bootstrap that drew runs called 0.0 to 0.8% different: it counted the luck of examples
    twice.
    """
    rng = np.random.default_rng(3)
    rejected = []

    def runs(share):
        return [["a" if right else "b" for right in rng.random(100) < share] for _ in range(3)]

    for _ in range(samples):
        found = evaluate(
            "exact",
            {"A": runs(0.7), "B": runs(0.7)},
            ["a"] * 100,
            paired=True,
            comparison={"samples": 60},
            control={
                "control_systems": {"A": runs(0.9), "B": runs(0.9)},
                "control_references": ["a"] * 100,
            },
        )
        one = found.scored.drops["B"]["exact"]
        assert (one.p_value < 0.05) == (one.difference_low > 0 or one.difference_high < 0)
        rejected.append(one.p_value < 0.05)
    assert 0.02 <= np.mean(rejected) <= 0.1

"""Few human judgements and a metric of all examples."""

import json
import re
import warnings

import numpy as np
import pytest
from text_files import write_lines

from cgbench import import_scores
from cgbench.benchmark.score.comparison.design import Clusters
from cgbench.benchmark.score.comparison.prediction_powered import (
    human_means,
    regression_weight,
    scale_of,
)
from cgbench.errors import InputError, InputWarning

Z = 1.959963984540054


def case(judged=80, examples=580, seed=0):
    rng = np.random.default_rng(seed)
    metric = rng.normal(size=examples)
    human = 0.7 * metric + 0.5 * rng.normal(size=examples)
    human[judged:] = np.nan
    return human, metric


def test_estimates_and_errors_by_hand():
    """The definition, written out with numpy alone; with the weight of PPI++ glide-py 0.11.0 has
    the same estimate.
    """
    human, metric = case()
    judged, others = slice(80), slice(80, None)
    slope, _ = np.polyfit(metric[judged], human[judged], 1)
    explained = np.corrcoef(metric[judged], human[judged])[0, 1] ** 2
    weight = slope * (1 - 4 / (78 * explained / (1 - explained))) * 500 / 580
    estimate = human_means({"a": human}, {"a": metric})[0]
    assert estimate.weight[0] == pytest.approx(weight)
    residuals = human[judged] - weight * metric[judged]
    assert estimate.powered == pytest.approx(residuals.mean() + weight * metric[others].mean())
    variance = ((residuals - residuals.mean()) ** 2).sum() / 78 / 80 + weight**2 * metric[
        others
    ].var() / 500
    half = 1.990847 * np.sqrt(variance)  # Student's t, 78 degrees of freedom
    assert (estimate.powered_high - estimate.powered_low) / 2 == pytest.approx(half, rel=1e-6)
    assert len(human_means({"a": human}, {"a": metric}, strata=np.arange(580) % 3)[0].weight) == 3


def test_rare_errors_that_happen_to_be_judged_do_not_mislead():
    """2% of 2,000 are wrong, two of the 30 judged are, and the metric is the human label: PPI++
    gave -8.7.
    """
    truth = np.zeros(2_000)
    truth[:40] = 100
    judged = np.full(2_000, np.nan)
    judged[[0, 1, *range(100, 128)]] = truth[[0, 1, *range(100, 128)]]
    estimate = human_means({"a": judged}, {"a": truth})[0]
    assert estimate.alone == pytest.approx(100 * 2 / 30)
    assert estimate.powered == pytest.approx(2, abs=0.01) and estimate.narrower > 0.25
    assert 0 <= estimate.powered_low < 2 < estimate.powered_high <= 100


@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_intervals_stay_within_the_scale(scale):
    for seed in range(40):
        rng = np.random.default_rng(seed)
        truth = scale * (rng.random(300) < 0.03)
        judged = np.where(np.arange(300) < 20, truth, np.nan)
        ends = (0.0, scale)
        estimate = human_means({"a": judged}, {"a": rng.random(300)}, scale=ends)[0]
        assert 0 <= estimate.alone_low <= estimate.alone_high <= scale
        assert 0 <= estimate.powered_low <= estimate.powered <= estimate.powered_high <= scale


def test_a_useless_metric_is_mostly_not_used_and_never_harms():
    """Squared errors over 400 draws; PPI++ without a limit has 1.3 times that of the judgements
    with 10 of them.
    """
    rng, errors = np.random.default_rng(1), []
    for _ in range(400):
        human = rng.normal(size=500)
        estimate = human_means(
            {"a": np.where(np.arange(500) < 30, human, np.nan)}, {"a": rng.random(500)}
        )[0]
        errors.append(
            (
                estimate.powered - human.mean(),
                estimate.alone - human.mean(),
                estimate.weight[0] == 0,
            )
        )
    powered, alone, unused = np.array(errors).T
    assert np.sqrt((powered**2).mean() / (alone**2).mean()) < 1.02 and unused.mean() > 0.9


def test_a_metric_on_another_scale_or_upside_down_helps_as_much():
    human, metric = case()
    plain, scaled = (human_means({"a": human}, {"a": one})[0] for one in (metric, 7 - 40 * metric))
    assert scaled.powered == pytest.approx(plain.powered) and scaled.narrower == pytest.approx(
        plain.narrower
    )
    assert scaled.weight[0] == pytest.approx(-plain.weight[0] / 40)


def test_a_metric_that_never_varies_leaves_the_judgements_alone():
    human, _ = case()
    one = human_means({"a": human}, {"a": np.ones(580)})[0]
    assert one.weight == (0.0,) and one.powered == one.alone and one.narrower == 0
    assert regression_weight(human[:80], np.arange(80.0), 0) == 0


def test_clusters_widen_the_interval():
    human, metric = case()
    documents = np.arange(580) // 10
    human, metric = human + 2 * np.sin(documents), metric
    alone = human_means({"a": human}, {"a": metric})[0]
    clustered = human_means(
        {"a": human}, {"a": metric}, clusters=Clusters(("document",), (documents,))
    )[0]
    assert clustered.powered == alone.powered
    assert clustered.powered_high - clustered.powered_low > 1.5 * (
        alone.powered_high - alone.powered_low
    )


def test_degrees_of_freedom_are_those_of_the_judged_clusters():
    """Five judged documents of 500: Student's t with at most 4 degrees, not with 499; fewer are
    refused.
    """
    rng = np.random.default_rng(0)
    documents = np.repeat(np.arange(500), 4)
    human = rng.normal(size=500)[documents] + 0.1 * rng.normal(size=2_000)
    clusters, five = Clusters(("document",), (documents,)), np.where(documents < 5, human, np.nan)
    estimate = human_means({"a": five}, {"a": np.ones(2_000)}, clusters=clusters)[0]
    means = human[:20].reshape(5, 4).mean(axis=1)
    half = 2.776445 * means.std(ddof=1) / np.sqrt(5)  # Student's t, 4 degrees of freedom
    assert (estimate.alone_high - estimate.alone_low) / 2 >= 0.99 * half
    with pytest.raises(InputError, match=r"are in 4 cluster\(s\) .*at least 5"):
        human_means(
            {"a": np.where(documents < 4, human, np.nan)}, {"a": np.ones(2_000)}, clusters=clusters
        )


def half_exact(rng, right_of_judged=0.3, judged=50):
    """600 examples, half of them known exactly (90% right), and a metric of all."""
    exact = np.arange(600) < 300
    right = 100.0 * (rng.random(600) < np.where(exact, 0.9, right_of_judged))
    flipped = np.where(rng.random(600) < 0.1, 100 - right, right)
    human = np.where(exact | (np.arange(600) < 300 + judged), right, np.nan)
    return exact, right, human, np.where(exact, right, flipped)


def test_examples_known_exactly_are_no_sample():
    """By hand: half the mean of the known ones and half the mean of the judged ones; as examples
    that nobody judged, they pull the mean to 30 (60 is true).
    """
    outside = []
    for seed in range(200):
        exact, right, human, metric = half_exact(np.random.default_rng(seed))
        mean = human_means({"a": human}, {"a": metric}, exact=exact)[0]
        by_hand = right[:300].mean() / 2 + right[300:350].mean() / 2
        assert mean.alone == pytest.approx(by_hand) and mean.judged == 50
        outside.append(not mean.powered_low <= 60 <= mean.powered_high)
    assert np.mean(outside) < 0.1


def test_judged_examples_that_are_all_right_still_leave_doubt():
    """50 judged of 300 are right: their share may be 93% (Wilson), which the known half cannot
    hide.
    """
    rng = np.random.default_rng(0)
    exact, right, human, _ = half_exact(rng, right_of_judged=1.0)
    mean = human_means({"a": human}, {"a": np.ones(600)}, exact=exact)[0]
    known = right[:300].mean()
    assert mean.alone == pytest.approx(known / 2 + 50)
    assert mean.alone_low < known / 2 + 50 * 0.93
    few = exact & (np.arange(600) < 1)
    assert human_means({"a": human}, {"a": np.ones(600)}, exact=few)[0].alone_low is not None


def test_differences_are_of_examples_judged_for_both():
    human, metric = case()
    other = np.where(np.arange(580) < 60, human - 1, np.nan)
    found = human_means({"a": human, "b": other}, {"a": metric, "b": metric}, baseline="a")
    rows = [(one.system, one.against, one.judged) for one in found]
    assert rows == [("a", None, 80), ("b", None, 60), ("b", "a", 60)]
    assert found[2].powered == pytest.approx(-1) and found[2].p_value < 1e-6


@pytest.mark.filterwarnings("ignore::cgbench.errors.InputWarning")
def test_judgements_are_joined_by_row_or_by_id(tmp_path):
    rng = np.random.default_rng(2)
    right = (rng.random(200) < 0.7).astype(int)
    scores = write_lines(
        tmp_path / "s.tsv", ["id\tscore", *(f"x{row}\t{one}" for row, one in enumerate(right))]
    )
    blank = write_lines(
        tmp_path / "b.tsv",
        ["human", *(str(one) if row < 50 else "" for row, one in enumerate(right))],
    )
    some = write_lines(
        tmp_path / "h.tsv", ["id\thuman", *(f"x{row}\t{right[row]}" for row in rng.permutation(50))]
    )
    by_row = import_scores({"a": f"{scores}:score"}, judgements={"people": {"a": f"{blank}:human"}})
    people = {"people": {"a": f"{some}:human"}}
    by_id = import_scores({"a": f"{scores}:score"}, judgements=people, examples={"ids": "id"})
    assert by_row.scored.people == by_id.scored.people and by_row.scored.people[0].judged == 50
    one = by_row.scored.people[0]
    assert one.narrower > 0.3 and one.powered_low < 100 * right.mean() < one.powered_high
    assert re.search(r"human +a +50 ", str(by_row))
    assert json.loads(by_row.report("json"))["people"][0]["judged"] == 50


def test_what_people_cannot_tell_is_one_line(tmp_path):
    scores = [float(number) for number in range(30)]
    few = [1.0] * 5 + [float("nan")] * 25
    with pytest.raises(
        InputError, match="people='a': 5 of 30 examples have a judgement; at least 10 are needed"
    ):
        import_scores({"a": scores}, judgements={"people": {"a": few}})
    half = scores[:15] + [float("nan")] * 15
    (path := tmp_path / "t.tsv").write_text(
        "document\n" + "".join(f"d{number // 15}\n" for number in range(30))
    )
    with pytest.raises(InputError, match="0 of 15 examples of stratum d1 have a judgement"):
        import_scores(
            {"a": scores},
            judgements={"people": {"a": half}, "strata": "document"},
            examples={"table": path},
        )
    with pytest.raises(
        InputError, match=r"examples with a judgement are in 1 cluster\(s\) .*document.*; intervals"
    ):
        options = {"comparison": {"cluster": ["document"]}, "examples": {"table": path}}
        import_scores({"a": scores}, judgements={"people": {"a": half}}, **options)
    with pytest.raises(InputError, match="no scores of a system of that name"):
        import_scores({"a": scores}, judgements={"people": {"b": scores}})
    with pytest.raises(InputError, match="strata='x' needs people"):
        import_scores({"a": scores}, judgements={"strata": "x"})
    with pytest.raises(InputError, match="has 29 rows for 30 examples"):
        import_scores({"a": scores}, judgements={"people": {"a": scores[:29]}})
    with pytest.raises(InputError, match="one run per system"):
        import_scores({"a": [scores, scores]}, judgements={"people": {"a": scores}})


@pytest.mark.filterwarnings("ignore::cgbench.errors.InputWarning")
@pytest.mark.parametrize("cluster", [(), ("source",)])
def test_judgements_that_never_vary_have_no_interval(cluster):
    scores = np.random.default_rng(4).random(60).tolist()
    judged = [3.0 if number % 2 else float("nan") for number in range(60)]
    sources = [f"s{number // 4}" for number in range(60)]
    found = import_scores(
        {"a": scores},
        judgements={"people": {"a": judged}},
        comparison={"cluster": cluster},
        texts={"sources": sources},
    )
    one = found.scored.people[0]
    assert (one.alone, one.alone_low, one.powered_high, one.narrower) == (3, None, None, None)
    rows = [line.split() for line in found.report().splitlines()]
    assert ["human", "a", "30", "3.0000"] in rows or ["human", "a", "30", "3.0"] in rows, rows
    assert json.loads(found.report("json"))["people"][0]["narrower"] is None


def people_of(scores, judged, **judgements):
    found = import_scores({"a": scores}, judgements={"people": {"a": judged}, **judgements})
    return found.scored.people[0]


def test_judgements_of_zero_do_not_show_their_scale():
    """0 of MQM is the best judgement, and was read as a share of 0% with the interval 0 to 12."""
    judged = [0.0 if row < 30 else float("nan") for row in range(60)]
    scores = np.random.default_rng(4).normal(size=60).tolist()
    with pytest.warns(InputWarning, match=r"all 30 judgements are 0, .*give it \(people_scale"):
        mean = people_of(scores, judged)
    assert (mean.alone, mean.alone_low, mean.alone_high) == (0, None, None)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", ".*show their scale.*")
        mqm = people_of(scores, judged, people_scale="-25:0")
        assert (mqm.alone, mqm.alone_high) == (0, 0)
        # one judgement of -25 was not seen: Student's t with 29 degrees of freedom
        assert mqm.alone_low == pytest.approx(-2.04523 * 25 / np.sqrt(30 * 29), rel=1e-5)
        # right or wrong: known from the scores, or given
        of_binary = people_of([float(row % 2) for row in range(60)], judged)
        with_scale = people_of(scores, judged, people_scale="0:1")
    assert of_binary.alone_low == with_scale.alone_low == 0
    assert 10 < of_binary.alone_high < 14 and 10 < with_scale.alone_high < 14
    with pytest.raises(InputError, match="people_scale: a judgement of 0 is outside the scale 1"):
        people_of(scores, judged, people_scale="1:5")
    with pytest.raises(InputError, match="needs people"):
        import_scores({"a": scores}, judgements={"people_scale": "1:5"})


def test_a_system_without_errors_is_not_right_or_wrong():
    """MQM of two systems, of which one has no error: intervals do not end above 0."""
    metric = np.random.default_rng(0).random(60)
    judged = np.arange(60) < 30
    perfect = np.where(judged, 0.0, np.nan)
    poor = np.where(judged, -(np.arange(60) % 5 == 0).astype(float), np.nan)
    first, second = human_means({"a": perfect, "b": poor}, {"a": metric, "b": metric})
    assert first.alone_low < first.alone == first.alone_high == 0
    assert second.alone_low < second.alone < second.alone_high <= 0


def test_an_end_of_the_scale_counts_if_it_is_far_away():
    """A mean of -0.5 with judgements of 0 and -1 says little of how rare -25 is; judgements that
    vary over their scale get Student's interval.
    """
    judged, metric = np.arange(100) < 50, np.random.default_rng(1).random(100)
    minor = np.where(judged, -(np.arange(100.0) % 2), np.nan)
    mean = human_means({"a": minor}, {"a": metric}, scale=(-25.0, 0.0))[0]
    error2, quantile = 0.25 / 49, 2.0095752  # Student's t, 49 degrees of freedom
    unseen = (24.5**2 - 25 * 50 * error2) / (50 * 49)
    assert mean.alone_low == pytest.approx(-0.5 - quantile * np.sqrt(error2 + unseen))
    assert mean.alone_high == pytest.approx(-0.5 + quantile * np.sqrt(error2))
    varied = np.where(judged, np.arange(100) % 50 * 2.0, np.nan)
    mean = human_means({"a": varied}, {"a": metric}, scale=(0.0, 100.0))[0]
    half = quantile * np.nanstd(varied, ddof=1) / np.sqrt(50)
    assert mean.alone_high - mean.alone == pytest.approx(half)


def test_points_are_not_percentages():
    """Of 5 or 10 points, neither the highest nor the lowest is known."""
    assert scale_of(np.array([1.0, 4.0, 10.0])) is None
    assert scale_of(np.array([1.0, 40.0])) == (0.0, 100.0)


@pytest.mark.filterwarnings("ignore::cgbench.errors.InputWarning")
@pytest.mark.parametrize("cluster", [(), ("source",)])
def test_examples_without_a_score_are_left_out_of_the_mean(cluster):
    scores = np.random.default_rng(5).random(60)
    judged = np.where(np.arange(60) % 2, scores + np.random.default_rng(6).random(60), np.nan)
    sources = np.array([f"s{number // 4}" for number in range(60)])
    kept = np.delete(np.arange(60), [1, 2, 40])
    missing = np.full(60, np.nan)
    missing[kept] = scores[kept]
    found = import_scores(
        {"a": missing.tolist()},
        judgements={"people": {"a": judged.tolist()}},
        metric={"drop_missing": True},
        texts={"sources": sources.tolist()},
        comparison={"cluster": cluster},
    )
    alone = import_scores(
        {"a": scores[kept].tolist()},
        judgements={"people": {"a": judged[kept].tolist()}},
        texts={"sources": sources[kept].tolist()},
        comparison={"cluster": cluster},
    )
    assert found.scored.people == alone.scored.people and found.scored.people[0].examples == 57


def test_skewed_scores_are_named_with_the_number_needed():
    """Cochran's rule: 25 times the squared skewness; 3% of -25 in 100 scores are too few, in 1,000
    not.
    """
    scores = [-25.0 if row % 33 == 0 else float(-(row % 4 == 0)) for row in range(2_000)]
    with pytest.warns(
        InputWarning, match=r"skewed; with 100 examples, .* \(about \d\d\d are needed"
    ):
        import_scores(scores[:100])
    with warnings.catch_warnings():
        warnings.filterwarnings("error", ".*skewed.*")
        warnings.filterwarnings("ignore", ".*one run.*")
        import_scores(scores)

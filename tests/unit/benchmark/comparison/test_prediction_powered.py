"""Few human judgements and a metric of all examples."""

import json

import numpy as np
import pytest

from cgbench import import_scores
from cgbench.benchmark.comparison.design import Clusters
from cgbench.benchmark.comparison.prediction_powered import human_means, tuning_weight
from cgbench.errors import InputError

Z = 1.959963984540054


def case(judged=80, examples=580, seed=0):
    rng = np.random.default_rng(seed)
    metric = rng.normal(size=examples)
    human = 0.7 * metric + 0.5 * rng.normal(size=examples)
    human[judged:] = np.nan
    return human, metric


def test_estimates_and_errors_are_those_of_glide():
    """Values printed by glide-py 0.11.0: PPIMeanEstimator and StratifiedPPIMeanEstimator, on these arrays."""
    human, metric = case()
    one = human_means({"a": human}, {"a": metric})[0]
    assert one.powered == pytest.approx(-0.05969056288729827, rel=1e-9)
    assert (one.powered_high - one.powered_low) / 2 == pytest.approx(Z * 0.06176600579555557, rel=1e-9)
    one = human_means({"a": human}, {"a": metric}, strata=np.arange(580) % 3)[0]
    assert one.powered == pytest.approx(-0.0408425724333664, rel=1e-9) and len(one.weight) == 3
    assert (one.powered_high - one.powered_low) / 2 == pytest.approx(Z * 0.06476684861393948, rel=1e-9)


def test_a_metric_on_another_scale_or_upside_down_helps_as_much():
    human, metric = case()
    plain, scaled = (human_means({"a": human}, {"a": one})[0] for one in (metric, 7 - 40 * metric))
    assert scaled.powered == pytest.approx(plain.powered) and scaled.narrower == pytest.approx(plain.narrower)
    assert scaled.weight[0] == pytest.approx(-plain.weight[0] / 40)


def test_a_metric_that_never_varies_leaves_the_judgements_alone():
    human, _ = case()
    one = human_means({"a": human}, {"a": np.ones(580)})[0]
    assert one.weight == (0.0,) and one.powered == one.alone and one.narrower == 0
    assert tuning_weight(human[:80], np.arange(80.0), np.zeros(0)) == 0


def test_clusters_widen_the_interval():
    human, metric = case()
    documents = np.arange(580) // 20
    human, metric = human + 2 * np.sin(documents), metric
    alone = human_means({"a": human}, {"a": metric})[0]
    clustered = human_means({"a": human}, {"a": metric}, clusters=Clusters(("document",), (documents,)))[0]
    assert clustered.powered == alone.powered
    assert clustered.powered_high - clustered.powered_low > 1.5 * (alone.powered_high - alone.powered_low)


def test_differences_are_of_examples_judged_for_both():
    human, metric = case()
    other = np.where(np.arange(580) < 60, human - 1, np.nan)
    found = human_means({"a": human, "b": other}, {"a": metric, "b": metric}, baseline="a")
    assert [(one.system, one.against, one.judged) for one in found] == [
        ("a", None, 80),
        ("b", None, 60),
        ("b", "a", 60),
    ]
    assert found[2].powered == pytest.approx(-1) and found[2].p_value < 1e-6


def write(tmp_path, name, rows):
    (path := tmp_path / name).write_text("".join(f"{row}\n" for row in rows))
    return path


@pytest.mark.filterwarnings("ignore::cgbench.errors.InputWarning")
def test_judgements_are_joined_by_row_or_by_id(tmp_path):
    rng = np.random.default_rng(2)
    right = (rng.random(200) < 0.7).astype(int)
    scores = write(tmp_path, "s.tsv", ["id\tscore", *(f"x{row}\t{one}" for row, one in enumerate(right))])
    blank = write(tmp_path, "b.tsv", ["human", *(str(one) if row < 50 else "" for row, one in enumerate(right))])
    some = write(tmp_path, "h.tsv", ["id\thuman", *(f"x{row}\t{right[row]}" for row in rng.permutation(50))])
    by_row = import_scores({"a": f"{scores}:score"}, judgements={"people": {"a": f"{blank}:human"}})
    by_id = import_scores(
        {"a": f"{scores}:score"}, judgements={"people": {"a": f"{some}:human"}}, examples={"ids": "id"}
    )
    assert by_row.scored.people == by_id.scored.people and by_row.scored.people[0].judged == 50
    one = by_row.scored.people[0]
    assert one.narrower > 0.3 and one.powered_low < 100 * right.mean() < one.powered_high
    assert "50 of 200" in str(by_row)
    assert json.loads(by_row.report("json"))["people"][0]["judged"] == 50


def test_what_people_cannot_tell_is_one_line(tmp_path):
    scores = [float(number) for number in range(30)]
    few = [1.0] * 5 + [float("nan")] * 25
    with pytest.raises(InputError, match="people='a': 5 of 30 examples have a judgement; at least 10 are needed"):
        import_scores({"a": scores}, judgements={"people": {"a": few}})
    half = scores[:15] + [float("nan")] * 15
    (path := tmp_path / "t.tsv").write_text("document\n" + "".join(f"d{number // 15}\n" for number in range(30)))
    with pytest.raises(InputError, match="0 of 15 examples of stratum d1 have a judgement"):
        import_scores({"a": scores}, judgements={"people": {"a": half}, "strata": "document"}, examples={"table": path})
    with pytest.raises(InputError, match="all examples with a judgement are in one cluster .*document.*; intervals"):
        import_scores(
            {"a": scores},
            judgements={"people": {"a": half}},
            comparison={"cluster": ["document"]},
            examples={"table": path},
        )
    with pytest.raises(InputError, match="no scores of a system of that name"):
        import_scores({"a": scores}, judgements={"people": {"b": scores}})
    with pytest.raises(InputError, match="strata='x' belongs to people"):
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
        {"a": scores}, judgements={"people": {"a": judged}}, comparison={"cluster": cluster}, texts={"sources": sources}
    )
    one = found.scored.people[0]
    assert (one.alone, one.alone_low, one.powered_high, one.narrower) == (3, None, None, None)
    assert "30 of 60" in str(found) and json.loads(found.report("json"))["people"][0]["narrower"] is None


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
        {"a": missing.tolist()}, judgements={"people": {"a": judged.tolist()}}, metric={"drop_missing": True},
        texts={"sources": sources.tolist()}, comparison={"cluster": cluster},
    )  # fmt: skip
    alone = import_scores(
        {"a": scores[kept].tolist()}, judgements={"people": {"a": judged[kept].tolist()}},
        texts={"sources": sources[kept].tolist()}, comparison={"cluster": cluster},
    )  # fmt: skip
    assert found.scored.people == alone.scored.people and found.scored.people[0].examples == 57

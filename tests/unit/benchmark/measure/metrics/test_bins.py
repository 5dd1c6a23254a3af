import re

import numpy as np
import pytest

from cgbench.benchmark.measure.metrics.bins import Feature, coinciding, feature_of_column, make_bins
from cgbench.benchmark.score.evaluation.features import FeatureInputs, make_feature
from cgbench.errors import InputError, with_arguments
from cgbench.text.columns import Column


def bins(values, how=None):
    return {
        one.label: one.rows.tolist()
        for one in make_bins(Feature("x", np.array(values, float)), how)
    }


def test_few_whole_numbers_are_a_bin_each():
    assert bins([3, 1, 3]) == {"1": [1], "3": [0, 2]}


def test_equal_widths_quantiles_and_edges():
    values = [0, 1, 2, 3, 10]
    assert bins(values, "2") == {"< 5": [0, 1, 2, 3], ">= 5": [4]}
    assert bins(values, "quantiles:2") == {"< 2": [0, 1], ">= 2": [2, 3, 4]}
    assert bins(values, "1,3,20") == {
        "< 1": [0],
        "1-2": [1, 2],
        "3-19": [3, 4],
    }  # an empty bin is left out
    assert bins([0.2, 0.5, 0.75], "0.5,") == {"< 0.5": [0], ">= 0.5": [1, 2]}
    assert bins([0.2, 0.5, 0.75], "0.25,0.75") == {
        "< 0.25": [0],
        "0.25 to < 0.75": [1],
        ">= 0.75": [2],
    }
    assert bins([4, 4], "quantiles:4") == {"all": [0, 1]}


@pytest.mark.parametrize(
    ("values", "how", "said"),
    [
        (
            [1.5, 1.5, 1.5, 2.5],
            None,
            "quantiles of x coincide, as many examples have the same value; 2 bins are left",
        ),
        ([4, 4], "quantiles:4", "bins='quantiles:4': quantiles of x coincide, .*; one bin is left"),
        ([0, 1], "5", "bins='5': edges of x coincide, .*; 2 bins are left"),
        ([1.5, 2.5, 3.5, 4.5], None, None),
        ([1, 2, 3, 1], None, None),  # a bin each, as nobody asked for quantiles
        (
            [1] * 3 + [2] * 20 + [3] * 20,
            None,
            None,
        ),  # the same, though 1 is too rare for a bin of its own
        ([0, 0.1, 10], "5", None),  # the bins between are empty, but there
        ([1, 1, 1], "0.5,2", None),
    ],
)
def test_quantiles_that_coincide_are_said(values, how, said):
    line = coinciding(Feature("x", np.array(values, float)), how)
    assert (
        line is None
        if said is None
        else re.fullmatch(said, with_arguments(line, lambda *of: f"{of[0]}={of[2]}"))
    )


def test_zero_may_be_a_bin_of_its_own():
    values = np.array([0, 3, 0, 1, 40, 7, 7, 7, 7, 7, 7, 7], float)
    found = {
        how: make_bins(Feature("f", values, zero="unseen"), how)
        for how in (None, "quantiles:2", "5,10", "0,8")
    }
    labels = {how: [one.label for one in bins] for how, bins in found.items()}
    assert labels[None] == ["unseen", "1", "3", "7", "40"]
    assert labels["quantiles:2"] == ["unseen", "1-6", ">= 7"]
    assert labels["5,10"] == ["unseen", "1-4", "5-9", ">= 10"] and labels["0,8"] == [
        "unseen",
        "1-7",
        ">= 8",
    ]
    for bins in found.values():
        assert bins[0].rows.tolist() == [0, 2] and (bins[0].low, bins[0].high) == (0.0, 0.0)
        assert sorted(np.concatenate([one.rows for one in bins]).tolist()) == list(range(12))
        assert all(values[row] >= one.low for one in bins[1:] for row in one.rows)
    assert [one.label for one in make_bins(Feature("f", np.zeros(3), zero="unseen"), None)] == [
        "unseen"
    ]
    said = coinciding(Feature("f", values, zero="unseen"), "quantiles:4")
    assert said.endswith("; 2 bins are left besides unseen")


def test_edges_of_whole_numbers_are_whole_and_labels_differ():
    assert bins([0, 1], "3") == {"< 1": [0], ">= 1": [1]}
    assert list(bins([0.1, 0.12342, 0.2], "0.12341,0.12343")) == [
        "< 0.12341",
        "0.12341 to < 0.12343",
        ">= 0.12343",
    ]


def test_every_example_is_in_one_bin():
    rng = np.random.default_rng(1)
    for how in (None, "5", "quantiles:3", "0.1,0.2"):
        rows = np.concatenate([one.rows for one in make_bins(Feature("x", rng.random(500)), how)])
        assert sorted(rows.tolist()) == list(range(500))
    sizes = [len(one.rows) for one in make_bins(Feature("x", rng.random(500)), "quantiles:5")]
    assert sizes == [100] * 5


@pytest.mark.parametrize(
    "how",
    [
        "0",
        "-1,0,-1",
        "quantiles:0",
        "quantiles:x",
        "a,b",
        "nan,",
        "2,1",
        "width:3",
        ",",
        "1001",
        f"quantiles:{10**11}",
    ],
)
def test_bins_that_cannot_be_read(how):
    with pytest.raises(InputError, match="bins="):
        bins([1, 2, 3], how)


def test_columns_are_numbers_or_labels():
    assert feature_of_column("c", Column("c", ["1", "2.5"])).values.tolist() == [1, 2.5]
    assert feature_of_column("c", Column("c", ["1", "x"])).labels == ("1", "x")
    assert feature_of_column("c", Column("c", ["1_1", "1_2"])).labels == ("1_1", "1_2")
    for odd in ("nan", "inf", "-1e308"):
        with pytest.raises(InputError, match=f"c, row 2: '{odd}' cannot be put into a bin"):
            feature_of_column("c", Column("c", ["1", odd]))
    with pytest.raises(InputError, match="labels, not numbers"):
        make_bins(Feature("c", labels=("a",)), "3")


# --- features -------------------------------------------------------------------------------------

TRAIN = "what can we do\n" * 3 + "we rarely see this\n"


@pytest.fixture
def material(tmp_path):
    (tmp_path / "train").write_text(TRAIN)
    (tmp_path / "table.tsv").write_text(
        "id\trmi\tdegree\treference_pe_stu\n1\t0.5\t0.1\t4\n2\t0.25\t0.2\t2.5\n3\t0\t0.3\t3\n"
    )
    text = Column("text", ["what can we see", "", "we can"])
    return FeatureInputs(text, train=str(tmp_path / "train"), table=str(tmp_path / "table.tsv"))


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("length", [4, 0, 2]),
        ("degree", [0.5, 0, 1]),  # what can we | see: known from three times on
        ("frequency", [1, 0, 3]),
        ("uncertainty", [0.5, 0.25, 0]),
        ("reference", [4, 2.5, 3]),
        ("column:id", [1, 2, 3]),
    ],
)
def test_values(material, name, values):
    assert make_feature(name, 3, material).values.tolist() == values


def test_one_shot(material):
    text = Column(
        "text", ["what can we see", "never heard", "we can"]
    )  # "see" once; unseen words; three times each
    labels = make_feature("one-shot", 3, FeatureInputs(text, material.train)).labels
    assert labels == ("1-shot", "other", "other")


def test_the_degree_of_a_release_is_in_its_table(material):
    assert make_feature("degree", 3, FeatureInputs(table=material.table)).values.tolist() == [
        0.1,
        0.2,
        0.3,
    ]


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("lenght", {}, "by='lenght'; did you mean length?"),
        ("length", {}, "give sources"),
        ("degree", {}, "give train"),
        ("frequency", {}, "give train"),
        ("uncertainty", {}, "give table"),
        ("perplexity", {}, "give lm"),
        ("modifier", {}, "for cgbench score cter"),
        ("column:nope", {"table": True}, "no column 'nope'"),
        ("column:id", {"table": True, "n": 4}, "has 3 rows for 4 examples"),
    ],
)
def test_what_is_missing_is_named(material, name, given, message):
    less = FeatureInputs(table=material.table if given.get("table") else None)
    with pytest.raises(InputError, match=message.replace("?", r"\?")):
        make_feature(name, given.get("n", 3), less)


def test_an_empty_training_text(material, tmp_path):
    (tmp_path / "empty").write_text("\n")
    with pytest.raises(InputError, match="empty: the corpus is empty"):
        make_feature("degree", 3, FeatureInputs(material.text, str(tmp_path / "empty")))


def test_values_of_few_examples_are_merged():
    values = np.repeat([3.0, 4.0, 5.0, 6.0, 7.0], [4, 7, 30, 12, 2])
    assert [
        (one.label, len(one.rows), one.low, one.high)
        for one in make_bins(Feature("length", values), None)
    ] == [
        ("3-4", 11, 3.0, 4.0),
        ("5", 30, 5.0, 5.0),
        ("6-7", 14, 6.0, 7.0),
    ]
    assert [one.label for one in make_bins(Feature("length", values[:39]), None)] == ["3", "4", "5"]

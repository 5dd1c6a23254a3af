"""The row of a table: degrees by hand, and what decides them."""

import pytest

from cgbench.benchmark.build.stats.single_texts import Text
from cgbench.benchmark.build.stats.text_statistics import (
    Training,
    Wanted,
    measure_text,
    statistics_as_json,
)
from cgbench.text.normalisation import Normalisation

TRAIN = ["what can we do"] * 3 + ["we can see this"] * 3 + ["a bird"]
TEST = ["what can we do", "can we see a bird", "this bird can see"]


def row(train=TRAIN, test=TEST, wanted=None, min_count=3, **settings):
    training = Training.learn(Text("train", None, train), min_count)
    return measure_text(
        training,
        Text("test", None, test),
        "test",
        wanted or Wanted(),
        Normalisation(**settings),
        None,
        0,
    )


def test_by_eye():
    found = row()
    # what can we do | can we, see, a, bird | this, bird, can see
    assert found.pieces.tolist() == [1, 4, 3]
    assert found.lengths.tolist() == [4, 5, 4]
    assert found.degree == pytest.approx((1 / 4 + 4 / 5 + 3 / 4) / 3)
    assert found.quantiles == {"q0": 0.25, "q25": 0.5, "q50": 0.75, "q75": 0.775, "q100": 0.8}
    assert found.mean_length == pytest.approx(13 / 3)
    assert found.words[2].novel == 4  # we see, see a; this bird, bird can


def test_min_count_decides_what_is_known():
    assert row(min_count=7).degree == 1.0
    assert row(train=[*TRAIN, "see a bird"], min_count=1).pieces.tolist() == [1, 2, 3]


def test_a_plain_file_gives_the_same(tmp_path):
    (tmp_path / "train").write_text("\n".join(TRAIN))
    training = Training.learn(Text("train", None, tmp_path / "train"), 3)
    found = measure_text(
        training, Text("test", None, TEST), "test", Wanted(), Normalisation(), None, 0
    )
    assert statistics_as_json(found) == statistics_as_json(row())


def test_signature_changes_with_what_the_figures_depend_on():
    base = str(row().signature)
    assert base.startswith("orders:2+3|min:3|tok:none|case:mixed|train:")
    changes = [
        {"train": [*TRAIN, "more"]},
        {"test": [*TEST, "more"]},
        {"min_count": 2},
        {"wanted": Wanted((2,))},
    ]
    others = [row(**change) for change in (*changes, {"lowercase": True})]
    assert len({base, *(str(other.signature) for other in others)}) == 6

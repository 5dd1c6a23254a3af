"""An ensemble that has learned nothing is named: by its loss, and by the shape of what it says."""

import json
import math

import numpy as np
import pytest

from cgbench.benchmark.candidates.ensemble_quality import (
    shape_of,
    table_of,
    token_count,
    unigram_loss,
    validation_of,
    warning_of,
    warnings_in,
)
from cgbench.benchmark.measure.metrics.bleu_chrf_ter import chrf_and_bleu

OUTPUTS = {"cut": 0.1, "distinct": 0.9, "repetitive": 0.1, "repetitive_references": 0.0}
GOOD = {
    "members": [],
    "held_out": {
        "loss": 2.0,
        "unigram_loss": 5.0,
        "chrf": 40.0,
        "copy_chrf": 15.0,
        "constant_chrf": 20.0,
    },
    "candidates": {"loss": 3.0, "unigram_loss": 5.0, **OUTPUTS},
}


def test_the_shape_of_hypotheses():
    repeated = [" ".join(["the"] * number) for number in range(2, 102)]
    assert shape_of(repeated) == {"distinct": 1.0, "repetitive": 0.99}  # two words are one pair
    looped = ["a b a b a b a b", "they sat in the house by the sea"]
    assert shape_of(looped)["repetitive"] == 0.5
    assert shape_of(["the the"] * 4 + ["a dog"]) == {"distinct": 0.4, "repetitive": 0.0}
    assert shape_of(["", "one"]) == {"distinct": 1.0, "repetitive": 0.0}
    assert shape_of([]) == {"distinct": 1.0, "repetitive": 0.0}
    chinese = ["我们在海边的房子里看书", "的的的的的的的的的的"]
    assert shape_of(chinese)["repetitive"] == 0.5


@pytest.mark.parametrize(
    ("values", "names"),
    [
        ({}, []),
        ({"loss": 5.0}, ["unigram"]),
        ({"loss": None}, ["unigram"]),  # infinite
        ({"chrf": 20.0}, ["constant"]),
        ({"chrf": 12.0}, ["copy", "constant"]),
        ({"chrf": 20.1}, []),
        ({"copy_chrf": 50.0}, ["copy"]),
        ({"chrf": None}, []),  # without sacrebleu
        ({"copy_chrf": None, "constant_chrf": None}, []),  # external models
        ({"cut": 0.51}, ["cut"]),
        ({"cut": None}, []),  # external models do not say
        ({"distinct": 0.49}, ["equal"]),
        ({"repetitive": 0.51}, ["repetitive"]),
        ({"repetitive": 0.9, "repetitive_references": 0.8}, []),  # as in SCAN
        ({"cut": 0.5, "distinct": 0.5, "repetitive": 0.5}, []),
        (
            {"loss": 9.0, "cut": 1.0, "distinct": 0.0, "repetitive": 1.0},
            ["unigram", "cut", "equal", "repetitive"],
        ),
    ],
)
def test_each_warning_has_its_cause(values, names):
    held_out = {key: value for key, value in values.items() if key.endswith(("loss", "chrf"))}
    found = {
        **GOOD,
        "held_out": GOOD["held_out"] | held_out,
        "candidates": GOOD["candidates"] | values,
    }
    assert warnings_in(found) == names
    said = warning_of({**found, "warnings": names})
    assert (said is None) == (not names)
    assert not names or "the ensemble has learned too little" in said


def test_without_held_out_pairs_the_references_decide():
    found = {**GOOD, "held_out": None}
    assert warnings_in(found) == []
    assert warnings_in({**found, "candidates": GOOD["candidates"] | {"loss": 5.5}}) == ["unigram"]


def test_the_unigram_model_is_the_frequencies_of_training():
    training, text = [np.array([2, 2, 2, 3])], [np.array([2]), np.array([3, 0])]
    expected = -(math.log(4 / 8) + math.log(2 / 8) + math.log(1 / 8)) / 3
    assert unigram_loss(training, text, 4) == pytest.approx(expected)


def test_the_length_of_a_hypothesis_follows_from_its_probability():
    assert token_count(-7.5, 1.25) == 6
    assert token_count(-math.inf, math.inf) == 0
    assert token_count(0.0, 0.0) == 0


def test_a_member_without_a_log_was_not_validated(tmp_path):
    assert validation_of(tmp_path) == {"valid_loss": None, "valid_perplexity": None}


def test_a_tiny_build_says_that_its_ensemble_knows_nothing(small_release, recwarn):
    found = small_release.manifest["ensemble"]
    assert "unigram" in found["warnings"]
    assert any(
        "no better than a unigram model" in line for line in small_release.manifest["warnings"]
    )
    assert found["held_out"]["pairs"] == 15 and found["candidates"]["pairs"] == 300
    assert found["held_out"]["loss"] > found["held_out"]["unigram_loss"]
    assert found["held_out"]["chrf"] <= found["held_out"]["constant_chrf"]
    rows = small_release.split()
    hypotheses = [row["hypothesis"] for row in rows]
    assert found["test"] == {
        "pairs": 35,
        **chrf_and_bleu(hypotheses, small_release.lines("target")),
    }
    assert found["control"]["pairs"] == small_release.manifest["counts"]["control"]
    for number, member in enumerate(found["members"]):
        (log,) = small_release.folder.parent.glob(
            f"release.work/.cgbench/member-{number}/*/metrics.jsonl"
        )
        losses = [
            row["valid_loss"]
            for row in map(json.loads, log.read_text().splitlines())
            if "valid_loss" in row
        ]
        assert member["valid_loss"] == min(losses)
    card = (small_release.folder / "README.md").read_text()
    assert (
        "## How well the ensemble translates" in card and "**Warning: the ensemble predicts" in card
    )
    hypotheses = [row["hypothesis"] for row in small_release.table(text=True).to_pylist()]
    assert found["candidates"]["distinct"] == len(set(hypotheses)) / 300


def test_what_was_not_measured_is_not_in_the_table():
    outputs = {"pairs": 5000, "chrf": 47.0, "bleu": None, "distinct": 0.998, "repetitive": 0.0}
    head, rows = table_of({"members": [], "held_out": None, "candidates": outputs})
    assert head == ("", "candidates")
    shares = {"distinct translations": "99.8%", "repetitive translations": "0.0%"}
    assert dict(rows) == {"pairs": "5,000", "chrF": "47.0", **shares}
    member = {"valid_loss": 1.25, "valid_perplexity": 3.49}
    head, rows = table_of({"members": [member], "held_out": None, "candidates": outputs})
    assert head == ("", "held-out pairs", "candidates")
    assert rows[:2] == [
        ("member 0: validation loss, perplexity", "1.250, 3.490", ""),
        ("pairs", "-", "5,000"),
    ]


def test_page_and_console_show_the_ensemble(small_release):
    from cgbench.commands.build_report import report
    from cgbench.report.release_page import release_page

    page = release_page(small_release)
    assert (
        "Translation quality of the ensemble" in page and "no better than a unigram model" in page
    )
    console = report(small_release)
    assert "translations cut at" in console and "test set  control set" in console

"""Measures of a pair as a whole."""

import math
from types import SimpleNamespace

import pytest

from cgbench.benchmark.candidates.pair_measures import pair_measures
from cgbench.benchmark.release.checks.candidates import check_pair_measures

COLUMNS = {
    "reference_pe_stu": [1.0, 3.0, 2.0],
    "reference_log_prob": [-4.0, -9.0, -8.0],
    "source_length": [1, 2, 3],
    "target_length": [3, 2, 3],
}


def test_dual_cross_entropy_by_hand():
    # |1 - 3| + (1 + 3) / 2, the same the other way round, and 2 where both agree
    found = pair_measures({**COLUMNS, "reverse_pe_stu": [3.0, 1.0, 2.0]}, None)
    assert found == {"dual_cross_entropy": [4, 4, 2]}


def test_joint_cross_entropy_by_hand():
    # Two tokens of the source at a perplexity of e², three more words and an end on the other side:
    # (2 * 2 + 4) / 6
    columns = {**COLUMNS, "perplexity": [math.exp(2), math.exp(1), 1.0]}
    assert pair_measures(columns, "source") == {
        "joint_cross_entropy": pytest.approx([8 / 6, 12 / 6, 8 / 8])
    }
    assert (
        pair_measures(columns, "target") == {}
    )  # the perplexity of the other side says nothing of the source


def test_nothing_without_what_they_are_made_of():
    assert pair_measures(COLUMNS, None) == {}
    assert (
        pair_measures({"perplexity": [2.0], "source_length": [1], "target_length": [1]}, "source")
        == {}
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, ""),
        (
            {"dual_cross_entropy": [4.0, 4.0, 2.1]},
            "dual_cross_entropy: do not match the other columns",
        ),
        ({"reverse_pe_stu": [3.0, 1.0, 2.5]}, "dual_cross_entropy: do not match the other columns"),
        (
            {"joint_cross_entropy": [1.0, 1.0, 1.0]},
            "joint_cross_entropy: do not match the other columns",
        ),
    ],
)
def test_verify_computes_them_again(change, said):
    """The last: a column that nothing in the release gives a reason for."""
    columns = {
        **COLUMNS,
        "reverse_pe_stu": [3.0, 1.0, 2.0],
        "dual_cross_entropy": [4.0, 4.0, 2.0],
        **change,
    }
    release = SimpleNamespace(
        table=lambda: SimpleNamespace(to_pydict=lambda: columns),
        manifest={"inputs": {"lm": {"side": "target"}}},
    )
    assert check_pair_measures(release) == said

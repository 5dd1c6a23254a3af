"""Ranks and tiers of systems compared all with all."""

import json

import pytest

from cgbench import import_scores
from cgbench.benchmark.score.comparison.results import Pair, Score, best_of
from cgbench.benchmark.score.comparison.tiers import tiers

pytestmark = pytest.mark.filterwarnings("ignore::cgbench.errors.InputWarning")
SCORES = {"middle": [row % 2 for row in range(200)], "best": [1] * 200, "worst": [0] * 200}
SCORES["like the middle"] = [(row + 1) % 2 for row in range(200)]


@pytest.mark.parametrize(
    ("lower", "order"), [(False, ["best", "worst"]), (True, ["worst", "best"])]
)
def test_ranges_and_tiers(lower, order):
    found = import_scores(
        SCORES, comparison={"all_pairs": True, "samples": 200}, metric={"lower_is_better": lower}
    )
    rows = {row["system"]: (row["rank"], row["tier"]) for row in found.to_json()}
    assert rows == {
        order[0]: ([1, 1], 1),
        "middle": ([2, 3], 2),
        "like the middle": ([2, 3], 2),
        order[1]: ([4, 4], 3),
    }
    lines = found.report().splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("best first"))
    assert lines[start + 1].split() == [order[0], "0.0" if lower else "100.0", "1", "1"]
    assert lines[start + 2].split()[-2:] == ["2-3", "2"]
    assert lines[start + 5].startswith("tier: each system is significantly better than all of")


def test_without_pairs_there_are_no_ranks():
    found = import_scores(SCORES, paired=True, comparison={"samples": 200})
    assert "rank" not in found.to_json()[0]
    assert "best first" not in found.report()
    assert json.loads(found.report("json"))[0]["test"] == "calibrated"


def test_tiers():
    """Three systems: 0 and 1 alike, 1 and 2 alike, 0 better than 2; then all told apart."""
    differ = {(0, 1): False, (1, 2): False, (0, 2): True}
    both = lambda found: found | {(b, a): differs for (a, b), differs in found.items()}  # noqa: E731
    assert tiers([0, 1, 2], both(differ)) == [[0, 1, 2]]
    assert tiers([0, 1, 2], both(differ | {(1, 2): True})) == [[0, 1], [2]]
    assert tiers([2, 0, 1], both(dict.fromkeys(differ, True))) == [[2], [0], [1]]
    assert tiers([0, 1, 2], both(differ | {(0, 1): None, (0, 2): None})) == []  # not tested


def test_winners_are_told_by_the_test():
    scores = {"a": Score(50.0), "b": Score(60.0, p_holm=0.2), "c": Score(40.0, p_holm=0.01)}
    assert best_of(scores, "a", lower_is_better=False) is None  # b and c were not compared
    assert best_of(scores, "a", lower_is_better=True) is None  # nor were c and b
    paired = scores | {
        "c": Score(40.0, p_holm=0.01, pairs=(Pair("b", difference=-20.0, p_holm=0.03),))
    }
    assert best_of(paired, "a", lower_is_better=False) == {"a", "b"}
    assert best_of(paired, "a", lower_is_better=True) == {"c"}
    assert best_of({"a": Score(50.0), "b": Score(60.0)}, None, lower_is_better=False) is None
    assert best_of({"a": Score(50.0), "b": Score(None)}, "a", lower_is_better=False) is None

"""Ranks and clusters of systems compared all with all."""

import json

import pytest

from cgbench import import_scores
from cgbench.benchmark.metrics.ranks import clusters

pytestmark = pytest.mark.filterwarnings("ignore::cgbench.errors.InputWarning")
SCORES = {"middle": [row % 2 for row in range(200)], "best": [1] * 200, "worst": [0] * 200}
SCORES["like the middle"] = [(row + 1) % 2 for row in range(200)]


@pytest.mark.parametrize(("lower", "order"), [(False, ["best", "worst"]), (True, ["worst", "best"])])
def test_ranges_and_clusters(lower, order):
    found = import_scores(SCORES, all_pairs=True, samples=200, lower_is_better=lower)
    rows = {row["system"]: (row["rank"], row["cluster"]) for row in found.to_json()}
    assert rows == {order[0]: ([1, 1], 1), "middle": ([2, 3], 2), "like the middle": ([2, 3], 2), order[1]: ([4, 4], 3)}
    lines = found.report().splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("best first"))
    assert lines[start + 1].split() == [order[0], "0.0" if lower else "100.0", "1", "1"]
    assert lines[start + 2].split()[-2:] == ["2-3", "2"]


def test_without_pairs_there_are_no_ranks():
    found = import_scores(SCORES, paired=True, samples=200)
    assert "rank" not in found.to_json()[0]
    assert "best first" not in found.report()
    assert json.loads(found.report("json"))[0]["test"] == "calibrated"


def test_a_chain_of_differences_that_are_not_significant_is_one_cluster():
    p_star = {(0, 1): 0.2, (1, 2): 0.2, (0, 2): 0.01}
    assert clusters([0, 1, 2], p_star | {(b, a): p for (a, b), p in p_star.items()}) == [[0, 1, 2]]

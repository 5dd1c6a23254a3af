"""Correlations of the candidates' figures."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from twins import spearman as slow_spearman

from cgbench.benchmark.candidates.correlations import (
    as_jsonl,
    correlations,
    doubled_ranks,
    partial,
    rho_interval,
)


def spearman(first, second):
    (pair,) = correlations({"degree": first, "rmi": second}, None)
    return pair.rho


@given(st.lists(st.tuples(st.integers(-3, 3), st.floats(-2, 2)), min_size=2, max_size=30))
def test_spearman_is_the_definition(pairs):
    first, second = zip(*pairs, strict=True)
    found, expected = spearman(first, second), slow_spearman(first, second)
    assert (found is None) == (expected is None)
    if expected is not None:
        assert found == pytest.approx(float(expected), abs=1e-6)  # as it is rounded
    # What grows with a figure ranks as it does, to the last bit.
    assert spearman([3 * one for one in first], second) == found


def test_ties_share_the_mean_of_their_ranks():
    assert doubled_ranks(np.array([7.0, 1.0, 7.0, 9.0])).tolist() == [0, -3, 0, 3]


def by_name(found):
    return {(one.first, one.second): one for one in found}


def regressed(x, y, controls):
    """The correlation of what two lists of ranks have beyond a linear function of others."""
    design = np.column_stack([np.ones(len(x)), *controls])
    left = [value - design @ np.linalg.lstsq(design, value, rcond=None)[0] for value in (x, y)]
    return float(np.corrcoef(*left)[0, 1])


def table(seed=0, n=300):
    rng = np.random.default_rng(seed)
    length = rng.integers(6, 20, n)
    return {
        "line": list(range(n)),
        "source_length": length.tolist(),
        "target_length": (length + rng.integers(-2, 3, n)).tolist(),
        "degree": (0.5 + rng.integers(0, 6, n) / 12).tolist(),
        "hypothesis": ["x"] * n,
        "rmi": (0.1 * length + rng.normal(size=n)).tolist(),
        "epkl": rng.normal(size=n).tolist(),
        "stage": ["rest"] * n,
        "rank": list(range(n)),
    }


def test_partial_correlations_are_those_of_what_regression_leaves():
    columns = table()
    rows = correlations(columns, "rmi")
    found = by_name(rows)
    ranks = {
        name: doubled_ranks(np.array(values, float))
        for name, values in columns.items()
        if name not in ("hypothesis", "stage")
    }
    controls = [ranks["source_length"], ranks["target_length"]]
    for pair in (("degree", "rmi"), ("rmi", "epkl")):
        expected = regressed(ranks[pair[0]], ranks[pair[1]], controls)
        assert found[pair].given_length == pytest.approx(expected, abs=1e-6)
    # Made of length and noise: what is left given length is much less.
    assert (
        found["source_length", "rmi"].rho > 0.3
        and found["source_length", "rmi"].given_length is None
    )
    assert len(rows) == len(found) and set(found) == {
        *(("degree", name) for name in ("source_length", "target_length", "rmi", "epkl")),
        *(("source_length", name) for name in ("target_length", "rmi", "epkl")),
        *(("target_length", name) for name in ("rmi", "epkl")),
        ("rmi", "epkl"),
    }


def test_a_list_that_length_explains_has_nothing_left_given_length():
    columns = table()
    columns["rmi"] = [float(length) ** 2 for length in columns["source_length"]]
    found = by_name(correlations(columns, "rmi"))["rmi", "epkl"]
    assert (
        found.rho is not None and found.given_length is None and found.given_length_interval is None
    )


def test_a_control_that_says_nothing_or_nothing_more_is_no_control():
    columns = table()
    columns["target_length"] = columns["source_length"]
    same = by_name(correlations(columns, "rmi"))["degree", "rmi"]
    columns["target_length"] = [7] * len(columns["line"])
    constant = by_name(correlations(columns, "rmi"))["degree", "rmi"]
    del columns["target_length"]
    alone = by_name(correlations(columns, "rmi"))["degree", "rmi"]
    assert same == constant == alone and alone.given_length is not None


def test_constants_and_missing_figures():
    columns = table()
    columns["epkl"] = [0.0] * len(columns["line"])
    columns["rmi"][5] = math.nan
    found = by_name(correlations(columns, "rmi"))
    assert found["degree", "epkl"].rho is None and found["degree", "epkl"].interval is None
    assert found["degree", "rmi"].n == 299 and found["degree", "epkl"].n == 300
    without = {name: values[:5] + values[6:] for name, values in columns.items()}
    assert found["degree", "rmi"] == by_name(correlations(without, "rmi"))["degree", "rmi"]
    assert [json.loads(row)["first"] for row in as_jsonl(list(found.values())).splitlines()] == [
        a for a, _ in found
    ]


def test_intervals_of_too_few_candidates():
    assert (
        rho_interval(0.5, 3) is None
        and rho_interval(0.5, 5, 2) is None
        and rho_interval(0.5, 4) is not None
    )
    assert rho_interval(1.0, 50) == (1.0, 1.0)
    assert partial(1.0, 0.3, 0.3) is None and partial(0.0, 0.0, 0.4) == 0.4


@pytest.mark.parametrize("truth", [0.0, 0.8])
def test_intervals_hold_the_truth_as_often_as_they_say(truth):
    """Of 1,000 samples of 60 pairs of a normal distribution, whose rank correlation is 6 / pi
    asin(r / 2).
    """
    rng = np.random.default_rng(1)
    rank_truth = 6 / math.pi * math.asin(truth / 2)
    held = 0
    for _ in range(1000):
        x, noise = rng.normal(size=(2, 60))
        (pair,) = correlations(
            {"degree": x, "rmi": truth * x + math.sqrt(1 - truth**2) * noise}, None
        )
        low, high = pair.interval
        held += low <= rank_truth <= high
    assert 930 <= held <= 970

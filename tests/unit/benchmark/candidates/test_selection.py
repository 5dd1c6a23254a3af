from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cgbench.benchmark.candidates.selection import (
    STAGES,
    count_stages,
    given_degree,
    parts_of_candidates,
    seeded_hash,
    select,
    select_rows,
    selection_sizes,
)
from cgbench.errors import InputError


def drawn_of(stage):
    return np.flatnonzero(stage == STAGES.index("selected"))


def chosen(uncertainty, content, **sizes):
    rank, stage = select(np.array(uncertainty, float), np.array(content, np.uint64), **sizes)
    return rank, stage, {int(content[place]) for place in drawn_of(stage)}


def test_by_hand():
    # ranks by uncertainty: 9 8 7 6 5 4 3 2 1 0; the first two are dropped, two of the next four
    # drawn
    rank, stage, drawn = chosen(range(10), range(100, 110), drop=2, window=4, count=2, seed=1)
    assert [STAGES[number] for number in stage[[8, 9]]] == ["dropped", "dropped"]
    assert drawn < {104, 105, 106, 107} and len(drawn) == 2
    assert {STAGES[number] for number in stage[:4]} == {"rest"}
    assert rank[9] == 0 and rank[0] == 9


@given(st.data())
def test_the_draw_does_not_depend_on_order_and_keeps_its_bounds(data):
    total = data.draw(st.integers(1, 40))
    drop = data.draw(st.integers(0, total - 1))
    window = data.draw(st.integers(1, total - drop))
    count = data.draw(st.integers(1, window))
    values = data.draw(
        st.lists(st.sampled_from([0.0, 0.5, 1.0, np.inf, np.nan]), min_size=total, max_size=total)
    )
    content = data.draw(
        st.lists(st.integers(0, 2**64 - 1), min_size=total, max_size=total, unique=True)
    )
    order = data.draw(st.permutations(range(total)))
    sizes = {"drop": drop, "window": window, "count": count, "seed": data.draw(st.integers(0, 5))}
    rank, stage, drawn = chosen(values, content, **sizes)
    *_, again = chosen([values[i] for i in order], [content[i] for i in order], **sizes)
    assert drawn == again and len(drawn) == count
    assert sorted(rank) == list(range(total))
    counts = np.bincount(stage, minlength=4)
    assert counts[STAGES.index("dropped")] == drop
    assert counts[STAGES.index("window")] + counts[STAGES.index("selected")] == window
    inside = rank[drawn_of(stage)]
    assert np.all((inside >= drop) & (inside < drop + window))


def test_whole_documents_are_drawn_until_there_are_enough_pairs():
    documents = np.repeat(np.arange(20), 5).astype(
        np.uint64
    )  # of 100 candidates; the window has the last 60
    values, content = np.arange(100.0), np.arange(100)
    for seed in range(20):
        sizes = {"drop": 0, "window": 60, "count": 12, "seed": seed}
        first = drawn_of(select(values, content, **sizes, documents=documents)[1])
        drawn = documents[first].tolist()
        assert sorted(drawn) == sorted([*{*drawn}] * 5) and len(drawn) == 15 and min(drawn) >= 8
        order = np.random.default_rng(seed).permutation(100)
        again = drawn_of(
            select(values[order], content[order], **sizes, documents=documents[order])[1]
        )
        assert {*order[again]} == {*first}
    _, stage = select(
        values, content, drop=0, window=60, count=12, seed=1, documents=np.zeros(100, np.uint64)
    )
    assert len(drawn_of(stage)) == 60  # a single document


def test_every_pair_of_the_window_is_drawn_about_as_often():
    counts = np.zeros(100)
    for seed in range(400):
        _, stage = select(np.zeros(100), np.arange(100), drop=0, window=100, count=25, seed=seed)
        counts[drawn_of(stage)] += 1
    # 100 draws expected each, standard deviation sqrt(400 * 1/4 * 3/4) = 8.7; five of them are out
    # of reach of chance
    assert np.abs(counts - 100).max() < 44
    assert 6 < counts.std() < 12


def test_seed_and_purpose_give_independent_hashes():
    content = np.arange(1000, dtype=np.uint64)
    first, second, third = (
        seeded_hash(content, *salt) for salt in ((1, "rank"), (2, "rank"), (1, "draw"))
    )
    for other in (second, third):
        assert not np.any(first == other)
        assert (
            abs(np.corrcoef(np.argsort(np.argsort(first)), np.argsort(np.argsort(other)))[0, 1])
            < 0.15
        )


def test_sizes_that_do_not_fit():
    for sizes in ({"drop": 2, "window": 9, "count": 1}, {"drop": 0, "window": 2, "count": 3}):
        with pytest.raises(ValueError):
            chosen(range(10), range(10), seed=1, **sizes)


def test_the_highest_perplexities_and_then_the_least_likely_references_go_first_by_hand():
    # 8 and 9 go for their perplexity. Of the others' references, 3 is no number and 0 the least
    # likely: both go. Of what is left, by uncertainty, 7 is dropped and 6 5 4 are drawn from.
    reference = np.array([9.0, 1, 1, np.nan, 1, 1, 1, 1, 99, 99])
    first = {"dropped_perplexity": (np.arange(10) * 10.0, 2), "dropped_reference": (reference, 2)}
    rank, stage, drawn = chosen(
        range(10), range(10), drop=1, window=3, count=3, seed=1, first=first
    )
    assert drawn == {4, 5, 6}
    assert [STAGES[number] for number in stage] == [
        *(
            "dropped_reference",
            "rest",
            "rest",
            "dropped_reference",
            "selected",
            "selected",
            "selected",
            "dropped",
        ),
        *("dropped_perplexity", "dropped_perplexity"),
    ]
    assert rank.tolist() == list(range(9, -1, -1))
    with pytest.raises(ValueError, match="cannot drop"):
        chosen(range(10), range(10), drop=1, window=6, count=3, seed=1, first=first)


def test_what_references_are_dropped_by():
    columns = {
        "content": list(range(6)),
        "rmi": [0.0, 1.0, 2.0, 3.0, 4.0, 5.0],
        "reference_pe_stu": [5.0, 1.0, 1.0, 1.0, 1.0, 1.0],
        "reference_log_prob": [-1.0, -30.0, -1.0, -1.0, -1.0, -1.0],
        "reference_rmi": [0.0, 0.0, 9.0, 0.0, 0.0, 0.0],
    }
    config = {
        "uncertainty": "rmi",
        "drop": 0,
        "window": 2,
        "select": 1,
        "seed": 1,
        "drop_reference": 1,
    }
    for change, place in (
        ({}, 0),
        ({"drop_by": "reference_log_prob"}, 1),  # the lowest
        ({"drop_by": "reference_rmi"}, 2),
        ({"drop_reference": 0}, None),
    ):
        used = config | change
        _, stages = select_rows(columns, used, selection_sizes(used, 6))
        dropped = [row for row, stage in enumerate(stages) if stage == "dropped_reference"]
        assert dropped == ([] if place is None else [place])
    with pytest.raises(
        InputError,
        match="drop_by: there is no measure 'reference_var'; there is reference_log_prob",
    ):
        select_rows(columns, config | {"drop_by": "reference_var"}, selection_sizes(config, 6))


def slow_given_degree(rows, tie):
    """By hand: rows of (value, degree, length) in thirds by degree, each in thirds by length."""

    def thirds(some):
        size, more = divmod(len(some), 3)
        ends = [0, size + (more > 0), 2 * size + (more > 0) + (more > 1), len(some)]
        return [some[begin:end] for begin, end in pairwise(ends)]

    found = {}
    for third in thirds(sorted(range(len(rows)), key=lambda row: (rows[row][1], tie[row]))):
        for part in thirds(sorted(third, key=lambda row: (rows[row][2], tie[row]))):
            values = sorted(rows[row][0] for row in part)
            for row in part:
                n = len(part)
                spread = values[3 * n // 4] - values[n // 4]
                found[row] = (rows[row][0] - values[n // 2]) / (spread or 1.0)
    return [found[row] for row in range(len(rows))]


@given(st.integers(0, 60), st.integers(0, 2**32))
def test_given_degree_is_the_definition(number, seed):
    rng = np.random.default_rng(seed)
    rows = [(rng.normal(), rng.integers(1, 4) / 4, rng.integers(5, 8)) for _ in range(number)]
    content, order = rng.permutation(number).astype(np.uint64), rng.permutation(number)
    values, degree, length = np.array(rows, np.float64).reshape(number, 3).T
    config = {"seed": 1, "degree_side": "target"}

    def measured(some):
        columns = {"degree": degree[some], "target_length": length[some], "content": content[some]}
        return given_degree(values[some], parts_of_candidates(columns, config)).tolist()

    tie = seeded_hash(content, 1, "given_degree").tolist()
    found = measured(np.arange(number))
    assert found == slow_given_degree(rows, tie)
    assert measured(order) == [found[row] for row in order]


def test_unknown_values_do_not_leave_a_part_raw():
    """A part with many unknown values is compared with its own median, as all others are."""
    values = np.array([1.0, 2, 3, 4, 5, 6, 7, np.nan, np.nan, np.nan, 11.0, 12, 13, 14, 15])
    measured = given_degree(values, [np.arange(10), np.arange(10, 15)])
    np.testing.assert_array_equal(measured[:7], (values[:7] - 4) / 4)
    assert np.isinf(measured[7:10]).all()
    np.testing.assert_array_equal(measured[10:], (values[10:] - 13) / 2)
    assert np.isinf(given_degree(np.full(3, np.nan), [np.arange(3)])).all()


def test_a_cut_given_degree_spares_what_is_compositional():
    """A loss that rises with degree, as on real text: the plain cut takes good pairs of the highest
    degrees.
    """
    rng = np.random.default_rng(1)
    degree = rng.uniform(0.5, 1, 3_000)
    noise = rng.random(3_000) < 0.04
    loss = 4 * degree + rng.normal(0, 0.5, 3_000) + 2 * noise
    columns = {
        "content": list(range(3_000)),
        "rmi": rng.random(3_000).tolist(),
        "degree": degree.tolist(),
        "target_length": rng.integers(6, 30, 3_000).tolist(),
        "reference_pe_stu": loss.tolist(),
    }
    config = {
        "uncertainty": "rmi",
        "drop": 0,
        "window": 2,
        "select": 1,
        "seed": 1,
        "drop_reference": "1/10",
        "degree_side": "target",
    }
    third = np.searchsorted(np.quantile(degree, [1 / 3, 2 / 3]), degree)
    shares = []
    for by in ("reference_pe_stu", "reference_pe_stu_given_degree"):
        used = config | {"drop_by": by}
        gone = (
            np.array(select_rows(columns, used, selection_sizes(used, 3_000))[1])
            == "dropped_reference"
        )
        assert gone.sum() == 300
        shares.append(
            [gone[~noise & (third == one)].mean() for one in (0, 2)] + [gone[noise].mean()]
        )
    plain, given_it = shares
    assert plain[0] < 0.01 and plain[1] > 0.15
    assert abs(given_it[1] - given_it[0]) < 0.02 and given_it[2] > plain[2] > 0.5
    with pytest.raises(
        InputError, match="drop_by: there is no measure 'reference_var'; there is reference_pe_stu"
    ):
        select_rows(
            columns,
            config | {"drop_by": "reference_var_given_degree"},
            selection_sizes(config, 3_000),
        )


def test_what_is_no_number_stays_above_all_given_degree():
    values = np.array([1.0, np.nan, 2.0, 3.0, 4.0] * 6)
    found = given_degree(values, np.array_split(np.arange(30), 3))
    assert np.isinf(found[1::5]).all() and np.isfinite(found[::5]).all()


def test_stages_are_counted_as_the_manifest_has_them():
    stages = ["rest", "window", "selected", "dropped"]
    assert count_stages(stages) == {"rest": 1, "dropped": 1, "window": 2, "selected": 1}
    assert count_stages([*stages, "dropped_perplexity"])["dropped_perplexity"] == 1
    assert count_stages([*stages, "dropped_reference"])["dropped_reference"] == 1

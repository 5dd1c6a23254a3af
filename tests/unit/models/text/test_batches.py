import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cgbench.models.text.batches import Rows, make_batches

lengths = st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), min_size=1, max_size=80)


@given(lengths, st.integers(30, 200), st.integers(0, 3), st.integers(0, 3))
def test_every_row_is_in_one_batch_within_the_budget(pairs, max_tokens, seed, epoch):
    source, target = np.array(pairs).T
    rows = np.arange(len(pairs))
    batches = make_batches(source, target, rows, max_tokens, (seed, epoch))
    assert sorted(np.concatenate(batches).tolist()) == rows.tolist()
    for batch in batches:
        longest = max(source[batch].max(), target[batch].max())
        assert longest * len(batch) <= max_tokens
    again = make_batches(source, target, rows, max_tokens, (seed, epoch))
    assert all(np.array_equal(a, b) for a, b in zip(batches, again, strict=True))


@given(lengths, st.integers(30, 200))
def test_without_an_order_batches_go_from_short_to_long_and_no_two_neighbours_would_fit_together(
    pairs, max_tokens
):
    source, target = np.array(pairs).T
    batches = make_batches(source, target, np.arange(len(pairs)), max_tokens)
    assert np.all(np.diff(np.concatenate([source[batch] for batch in batches])) >= 0)
    for batch, following in itertools.pairwise(batches):
        grown = np.append(batch, following[0])
        assert max(source[grown].max(), target[grown].max()) * len(grown) > max_tokens


def test_epochs_and_seeds_differ():
    source = target = np.tile(np.arange(3, 13), 50)
    rows = np.arange(500)
    orders = [make_batches(source, target, rows, 100, order) for order in ((0, 0), (0, 1), (1, 0))]
    firsts = {tuple(order[0].tolist()) for order in orders}
    assert len(firsts) == 3


def test_a_row_over_the_budget_is_a_batch_of_its_own():
    batches = make_batches(np.array([50, 2]), np.array([3, 2]), np.arange(2), 20)
    assert [batch.tolist() for batch in batches] == [[1], [0]]


def test_rows_are_taken_in_the_order_asked_for():
    rows = Rows.pack(
        [np.array([5, 2], np.int32), np.array([2], np.int32), np.array([7, 8, 9, 2], np.int32)]
    )
    batch = rows.take(np.array([2, 0]))
    assert batch.ids.tolist() == [7, 8, 9, 2, 5, 2]
    assert batch.layout.lengths.tolist() == [4, 2]
    assert rows.lengths.tolist() == [2, 1, 4]
    assert len(Rows.pack([])) == 0

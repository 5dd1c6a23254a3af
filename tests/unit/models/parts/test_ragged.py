"""Layouts: tokens to grids and back, in values and in gradients."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from ragged_models import unpad

from cgbench.models.parts.ragged import GatherLayout, Layout, Pairing, Ragged
from cgbench.models.special_ids import EOS, PAD

LENGTHS = st.lists(st.integers(1, 40), min_size=1, max_size=12)


@given(LENGTHS)
def test_grids_hold_each_token_in_its_place_and_give_it_back(lengths):
    layout = Layout(lengths)
    x = torch.arange(1.0, sum(lengths) + 1)[:, None].requires_grad_()
    grids = layout.to_grids(x)
    seen = []
    for bucket, grid in zip(layout.buckets, grids, strict=True):
        assert grid.shape == (len(bucket.rows), bucket.columns, 1)
        for row, sequence in zip(grid[..., 0].tolist(), bucket.rows.tolist(), strict=True):
            first = int(layout.starts[sequence]) + 1
            assert row[: lengths[sequence]] == list(range(first, first + lengths[sequence]))
            seen.append(sequence)
        real = (
            torch.arange(bucket.columns) < torch.tensor([lengths[i] for i in bucket.rows])[:, None]
        )
        assert (bucket.mask is None) == bool(real.all())
        if bucket.mask is not None:
            assert torch.equal(bucket.mask[:, 0, 0] == 0, real)
    assert sorted(seen) == list(range(len(lengths)))
    back = layout.from_grids([grid * 3 for grid in grids])
    assert torch.equal(back, x * 3)
    weight = torch.arange(len(x))[:, None] ** 2.0
    (back * weight).sum().backward()
    assert torch.equal(x.grad, weight * 3)


def test_lengths_of_a_bucket_are_similar():
    layout = Layout([3, 30, 4, 100, 31, 90])
    assert [bucket.rows.tolist() for bucket in layout.buckets] == [[0, 2], [1, 4], [3, 5]]


@pytest.mark.parametrize(
    ("right", "expected"),
    [(False, [[1, 1, 1, 0, 0], [1, 0, 1, 1, 1]]), (True, [[1, 1, 0, 0, 1], [0, 1, 1, 1, 1]])],
)
def test_parts_begin_or_end_at_the_same_column(right, expected):
    layout = Layout([[2, 1], [1, 3]], right=right)
    ((bucket, grid),) = zip(
        layout.buckets, layout.to_grids(torch.arange(7.0)[:, None]), strict=True
    )
    assert bucket.widths == (2, 3)
    real = bucket.mask[:, 0, 0] == 0
    assert real.tolist() == expected
    assert [row[keep].tolist() for row, keep in zip(grid[..., 0], real, strict=True)] == [
        [0, 1, 2],
        [3, 4, 5, 6],
    ]


def test_ends_are_the_last_tokens_of_parts_in_matching_grids():
    layout = Layout([[2, 1], [1, 3], [9, 9]], right=True)
    ends = layout.ends(np.array([[0, 1], [1, 2], [3, 0]]))
    x = torch.arange(float(layout.tokens))[:, None]
    assert ends.gather(x).flatten().tolist() == [2, 3, 5, 6, 13, 14, 15]
    assert [bucket.rows.tolist() for bucket in ends.buckets] == [
        bucket.rows.tolist() for bucket in layout.buckets
    ]
    assert [bucket.widths for bucket in ends.buckets] == [(1, 2), (3, 0)]
    assert ends.to_grids(x)[0][1, :, 0].tolist() == [3, 5, 6]


@given(LENGTHS, st.randoms(use_true_random=False))
def test_copies_are_what_their_rows_say(lengths, random):
    """In tokens and grids, and in the ends of these; gradients are sums over the table_layout."""
    plain = Layout(lengths, right=True)
    rows = np.array([random.randrange(5) for _ in range(plain.tokens)])
    table_layout = GatherLayout(plain, rows)
    table = torch.arange(5 * 6.0).view(5, 6).requires_grad_()
    flat = table.detach()[torch.from_numpy(rows)]
    assert torch.equal(table_layout.gather(table), flat)
    for given_grid, expected in zip(
        table_layout.to_grids(table), plain.to_grids(flat), strict=True
    ):
        assert torch.equal(given_grid, expected)
    counts = np.array([[random.randint(0, length)] for length in lengths])
    assert torch.equal(table_layout.ends(counts).gather(table), plain.ends(counts).gather(flat))
    table_layout.from_grids(table_layout.to_grids(table)).sum().backward()
    assert table.grad[:, 0].tolist() == np.bincount(rows, minlength=5).tolist()


@given(LENGTHS, st.randoms(use_true_random=False))
def test_a_pairing_lays_the_memory_beside_its_sequences(lengths, random):
    layout = Layout(lengths)
    memory = Layout([random.randint(1, 9) for _ in range(random.randint(1, 6))])
    which = np.array([random.randrange(len(memory)) for _ in lengths])
    x = torch.arange(float(memory.tokens))[:, None].requires_grad_()
    pairing = Pairing(layout, memory, which)
    uses = np.zeros(len(memory))
    total = 0
    for bucket, grid, mask in zip(layout.buckets, pairing.grids(x), pairing.masks, strict=True):
        real = torch.ones(grid.shape[:2]) if mask is None else (mask[:, 0, 0] == 0).float()
        for row, keep, sequence in zip(grid[..., 0], real.bool(), bucket.rows, strict=True):
            start, length = memory.starts[which[sequence]], memory.lengths[which[sequence]]
            assert row[keep].tolist() == list(range(start, start + length))
            uses[which[sequence]] += 1
        total = total + (grid * real[..., None]).sum()
    total.backward()
    assert x.grad[:, 0].tolist() == np.repeat(uses, memory.lengths).tolist()


def test_a_batch_from_padded_ids_has_no_padding():
    batch = unpad(torch.tensor([[5, 6, EOS], [PAD, 7, EOS], [EOS, PAD, PAD]]))
    assert batch.ids.tolist() == [5, 6, EOS, 7, EOS, EOS]
    assert batch.layout.lengths.tolist() == [3, 2, 1]
    assert batch.layout.positions.tolist() == [0, 1, 2, 0, 1, 0]
    assert batch.layout.sequence.tolist() == [0, 0, 0, 1, 1, 2]
    assert batch.layout.last.tolist() == [2, 4, 5]


def test_what_stands_before_and_what_a_decoder_reads():
    batch = Ragged.pack([[5, 6, EOS], [7, EOS]])
    assert batch.preceded(0).ids.tolist() == [0, 5, 6, EOS, 0, 7, EOS]
    assert batch.preceded(0).layout.lengths.tolist() == [4, 3]
    assert batch.shifted().ids.tolist() == [EOS, 5, 6, EOS, 7]


@pytest.mark.parametrize("lengths", [[4, 4], [5]])
def test_equal_lengths_need_no_move(lengths):
    layout = Layout(lengths)
    x = torch.randn(sum(lengths), 2)
    (grid,) = layout.to_grids(x)
    assert grid.data_ptr() == x.data_ptr()

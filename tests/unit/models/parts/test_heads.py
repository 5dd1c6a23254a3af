"""Heads in one gather against the way through plain grids, in values and in gradients."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from cgbench.models.parts.forms import plain_definitions
from cgbench.models.parts.heads import head_indices, split_heads
from cgbench.models.parts.ragged import Layout, Pairing, grid_index

LENGTHS = st.lists(st.integers(1, 30), min_size=1, max_size=8)
HEADS, WIDTH = 3, 6


def gradient(values, x, masks):
    """Of a sum that reads each number with another weight, and what stands at padding not at all."""
    total = torch.zeros(())
    for group, mask in zip(values, masks, strict=True):
        real = 1.0 if mask is None else (mask == 0).float().transpose(2, 3)
        for number, value in enumerate(group, 1):
            total = total + (number * torch.arange(value.numel()).view(value.shape) * value * real).sum()
    return torch.autograd.grad(total, x)[0]


@settings(deadline=None)
@given(LENGTHS, st.sampled_from([1, 2, 3]))
def test_tokens_to_heads(lengths, parts):
    layout = Layout(lengths)
    x = torch.randn(sum(lengths), parts * WIDTH, requires_grad=True)
    slow = [split_heads(grid, HEADS, parts) for grid in layout.to_grids(x)]
    fast = layout.to_heads(x, parts, HEADS)
    for one, other, bucket in zip(fast, slow, layout.buckets, strict=True):
        assert len(one) == len(other) == parts
        for value, expected in zip(one, other, strict=True):
            assert value.shape == (len(bucket.rows), HEADS, bucket.columns, WIDTH // HEADS)
            assert value.isfinite().all() and value.is_contiguous()
            real = torch.ones(()) if bucket.mask is None else (bucket.mask == 0).transpose(2, 3)
            assert torch.equal(value * real, expected * real)
    masks = [bucket.mask for bucket in layout.buckets]
    assert torch.equal(gradient(fast, x, masks), gradient(slow, x, masks))


@settings(deadline=None)
@given(LENGTHS)
def test_heads_to_tokens(lengths):
    layout = Layout(lengths)
    grids = [torch.randn(len(b.rows), HEADS, b.columns, WIDTH // HEADS, requires_grad=True) for b in layout.buckets]
    fast = layout.from_heads(grids)
    slow = layout.from_grids([grid.transpose(1, 2).flatten(2) for grid in grids])
    assert torch.equal(fast, slow)
    weights = torch.randn_like(fast)
    for one, other in zip(
        torch.autograd.grad(fast, grids, weights), torch.autograd.grad(slow, grids, weights), strict=True
    ):
        assert torch.equal(one, other)


@settings(deadline=None)
@given(LENGTHS, st.randoms(use_true_random=False), st.booleans())
def test_a_memory_to_heads(lengths, random, once):
    layout, memory = Layout(lengths), Layout([random.randint(1, 9) for _ in lengths])
    which = np.array(random.sample(range(len(lengths)), len(lengths)) if once else [0 for _ in lengths])
    pairing = Pairing(layout, memory, which)
    x = torch.randn(memory.tokens, 2 * WIDTH, requires_grad=True)
    slow = [split_heads(grid, HEADS, 2) for grid in pairing.grids(x)]
    fast = pairing.heads(x, 2, HEADS)
    for one, other in zip(fast, slow, strict=True):
        assert all(map(torch.equal, one, other))
    assert torch.allclose(gradient(fast, x, pairing.masks), gradient(slow, x, pairing.masks))


@pytest.mark.parametrize("lengths", [[3, 3], [2, 3]])
def test_bfloat16_becomes_float32_on_a_cpu_and_gradients_bfloat16(lengths):
    layout = Layout(lengths)
    x = torch.randn(sum(lengths), WIDTH).bfloat16().requires_grad_()
    ((heads,),) = layout.to_heads(x, 1, HEADS)
    assert heads.dtype == torch.float32
    back = layout.from_heads([heads])
    assert torch.equal(back, x.float())
    back.sum().backward()
    assert x.grad.dtype == torch.bfloat16 and torch.equal(x.grad, torch.ones_like(x))


@settings(deadline=None)
@given(LENGTHS, st.sampled_from([1, 2, 3]))
def test_indices_are_the_same_made_by_the_host_and_on_a_device(lengths, parts):
    """A place that no token has may hold any; the order of padding is nobody's matter."""
    layout = Layout(lengths)
    grids = [grid_index(layout.starts[rows], layout.parts[rows]) for rows in (b.rows for b in layout.buckets)]
    tokens = torch.from_numpy(np.concatenate([index.ravel() for index, _ in grids]))
    host = head_indices(tokens, grids, parts, HEADS)
    with plain_definitions():
        device = head_indices(tokens, grids, parts, HEADS)
    assert torch.equal(host[0], device[0]) and torch.equal(host[1], device[1])
    assert (host[2] is None) == (device[2] is None)
    assert host[2] is None or torch.equal(host[2], device[2].sort().values)

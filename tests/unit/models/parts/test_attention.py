"""The attention core against loops that follow the formulas word by word."""

import contextlib
import math
from unittest import mock

import pytest
import torch

from cgbench.models.config.common import TransformerConfig
from cgbench.models.parts.attention import CrossAttention, KVCache, SelfAttention, attend
from cgbench.models.parts.cpu import attention as fast
from cgbench.models.parts.cpu.dropout import keep_mask
from cgbench.models.parts.layers import build_self_attention
from cgbench.models.parts.positions import (
    DistanceTable,
    SinusoidalDistance,
    distance_logits,
    interleaved_sinusoids,
    skew,
)
from cgbench.models.parts.ragged import Layout, Pairing


def relative_logit(module, h, q, k, i, j):
    """What the distance adds, straight from the formula of each form."""
    relative = module.relative
    if relative is None:
        return 0.0
    if isinstance(relative, DistanceTable):
        a = relative.table[max(-relative.limit, min(relative.limit, i - j)) + relative.limit]
        return q @ a + (k @ a if relative.by_key else 0.0)
    head = len(q)
    sinusoid = interleaved_sinusoids(torch.tensor(j - i), relative.width).double()
    r = relative.project(sinusoid)[h * head : (h + 1) * head]
    return relative.content[h, 0] @ k + (q + relative.position[h, 0]) @ r


def slow_self_attention(module, x, causal):
    """One query at a time: softmax over (q·k + what the distance adds) / sqrt(d_head)."""
    length, width = x.shape
    head = width // module.heads
    query, keys, values = module.project_in(x).split(width, dim=-1)
    result = torch.zeros_like(x)
    for h in range(module.heads):
        columns = slice(h * head, (h + 1) * head)
        for i in range(length):
            q, seen = query[i, columns], range(i + 1 if causal else length)
            logits = [
                q @ keys[j, columns] + relative_logit(module, h, q, keys[j, columns], i, j)
                for j in seen
            ]
            weights = (torch.stack(logits) / math.sqrt(head)).softmax(0)
            result[i, columns] = sum(
                w * values[j, columns] for j, w in zip(seen, weights, strict=True)
            )
    return module.project_out(result)


def forms():
    yield "plain", None
    for p in (1, 3, 20):
        yield f"relative-{p}", DistanceTable(p, 4)
    yield "shaw", DistanceTable(3, 4, by_key=False)
    yield "transformer-xl", SinusoidalDistance(12, 3)


@pytest.fixture(params=[name for name, _ in forms()])
def module(request):
    """A self-attention of every form, with no parameter at rest."""
    torch.manual_seed(0)
    module = SelfAttention(12, 3, 0.0, dict(forms())[request.param]).eval()
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return module


@pytest.mark.parametrize("causal", [False, True])
def test_self_attention_is_the_loop(module, causal):
    module = module.double()
    lengths = [7, 2, 1, 30, 6, 2]  # three buckets
    layout = Layout(lengths)
    x = torch.randn(sum(lengths), 12, dtype=torch.float64)
    expected = torch.cat([slow_self_attention(module, part, causal) for part in x.split(lengths)])
    assert torch.allclose(module(x, layout, causal), expected, atol=1e-12)


def test_relative_tables_start_at_zero_and_then_count():
    torch.manual_seed(0)
    plain, relative = SelfAttention(8, 2, 0.0), SelfAttention(8, 2, 0.0, DistanceTable(4, 4))
    relative.load_state_dict(plain.state_dict(), strict=False)
    x, layout = torch.randn(6, 8), Layout([6])
    assert torch.allclose(plain(x, layout), relative(x, layout), atol=1e-6)
    relative(x, layout).sum().backward()
    assert relative.relative.table.grad.abs().sum() > 0


def test_skew_reads_along_diagonals():
    for n, width in ((1, 1), (2, 2), (3, 3), (6, 6), (1, 4), (3, 5), (5, 2)):
        x = torch.randn(2, n, n + width - 1)
        expected = torch.stack(
            [torch.stack([x[:, i, j - i + n - 1] for j in range(width)], -1) for i in range(n)], -2
        )
        assert torch.equal(skew(x), expected)


# With gradients, and on other devices, the steps are operations of torch.
STEPS = pytest.mark.parametrize("steps", [contextlib.nullcontext, torch.no_grad])


@STEPS
def test_steps_are_the_last_rows_of_the_whole(module, steps):
    x = torch.randn(3, 9, 12)
    whole = module(x.flatten(0, 1), Layout([9, 9, 9]), causal=True).view(3, 9, 12)
    memory = module.empty(3, x)
    with steps():
        for t in range(9):
            assert torch.allclose(module.step(x[:, t], memory), whole[:, t], atol=1e-5)


def test_steps_across_are_the_whole_in_a_loop_too():
    """Sources of different lengths; two hypotheses of each."""
    torch.manual_seed(0)
    cross, source = CrossAttention(12, 3, 0.0).eval(), Layout([4, 1, 7])
    states, x = torch.randn(source.tokens, 12), torch.randn(6, 12)
    targets = Layout([2, 2, 2])
    pairing = Pairing(targets, source)
    whole = cross(x, targets, cross.kv_cache(states, pairing), pairing.masks)
    (memory,), (mask,) = cross.kv_cache(states, pairing), pairing.masks
    with mock.patch.object(fast, "_attend", wraps=fast._attend) as loop, torch.no_grad():
        assert torch.allclose(cross.step(x, memory, mask), whole, atol=1e-6)
    assert loop.call_count == 1


@STEPS
def test_hypotheses_that_share_a_memory_attend_as_if_each_had_its_own(module, steps):
    """Two rows a sentence; after two steps the second row of each goes on from the first."""
    separate, shared = module.empty(4, torch.empty(0)), module.empty(2, torch.empty(0))
    own = torch.full((2, 2), -math.inf).fill_diagonal_(0)
    mask, positions = torch.empty(2, 1, 2, 0), torch.empty(0, dtype=torch.int64)
    for t in range(5):
        if t == 2:
            separate.select(torch.tensor([0, 0, 2, 2]))
            mask = mask[:, :, [0, 0]]
        x = torch.randn(4, 12)
        mask = torch.cat((mask, own.expand(2, 1, 2, 2)), 3)
        positions = torch.cat((positions, torch.full((2,), t)))
        with steps():
            together = module.step(x, shared, mask, t - positions)
            assert torch.allclose(together, module.step(x, separate), atol=1e-6)


def test_a_memory_grows_and_keeps_rows_as_plain_tensors_do():
    torch.manual_seed(0)
    memory = KVCache(torch.randn(3, 2, 2, 4), torch.randn(3, 2, 2, 4))
    keys, values = memory.keys.clone(), memory.values.clone()
    for count, index in ((1, None), (3, [2, 0]), (1, [1, 1, 0]), (1, None), (9, [0, 2])):
        more = torch.randn(2, len(memory), 2, count, 4)
        memory.append(*more)
        keys, values = torch.cat((keys, more[0]), 2), torch.cat((values, more[1]), 2)
        if index:
            capacity = memory.capacity
            memory.select(torch.tensor(index))
            assert memory.capacity == capacity  # the next position needs no copy
            keys, values = keys[index], values[index]
        assert torch.equal(memory.keys, keys) and torch.equal(memory.values, values)
        assert len(memory) == len(keys)


@pytest.mark.parametrize("p", [0.0, 0.5])
@pytest.mark.parametrize("bias", [None, "mask", "logits"])
def test_attention_and_its_gradients_are_those_of_its_formula(p, bias):
    torch.manual_seed(0)
    query, keys, values = (
        torch.randn(2, 3, n, 4, dtype=torch.float64, requires_grad=True) for n in (5, 6, 6)
    )
    inputs, added = [query, keys, values], None
    if bias == "mask":
        added = torch.zeros(2, 1, 1, 6, dtype=torch.float64).index_fill_(
            3, torch.tensor([4]), -math.inf
        )
    elif bias == "logits":
        added = torch.randn(2, 3, 5, 6, dtype=torch.float64, requires_grad=True)
        inputs.append(added)
    torch.manual_seed(1)
    kept = keep_mask(torch.Size((2, 3, 5, 6)), p, torch.float64) if p else 1.0
    torch.manual_seed(1)
    found = attend(query, keys, values, added, p)
    logits = query @ keys.transpose(2, 3) / 2 + (0.0 if added is None else added)
    expected = (logits.softmax(3) * kept) @ values
    assert torch.allclose(found, expected, atol=1e-12)
    if not p:  # torch's own form, where no gradient is wanted
        with torch.no_grad():
            assert torch.allclose(attend(query, keys, values, added), expected, atol=1e-12)
    weights = torch.randn_like(expected)
    for one, other in zip(
        torch.autograd.grad(found, inputs, weights),
        torch.autograd.grad(expected, inputs, weights),
        strict=True,
    ):
        assert torch.allclose(one, other, atol=1e-12)


def test_cross_attention_is_plain_attention_over_the_memory():
    torch.manual_seed(0)
    module = CrossAttention(8, 2, 0.0).double().eval()
    x, states = torch.randn(2, 3, 8, dtype=torch.float64), torch.randn(2, 5, 8, dtype=torch.float64)
    reference = torch.nn.MultiheadAttention(8, 2, batch_first=True, dtype=torch.float64)
    with torch.no_grad():
        reference.in_proj_weight.copy_(
            torch.cat((module.project_query.weight, module.project_memory.weight))
        )
        reference.in_proj_bias.copy_(
            torch.cat((module.project_query.bias, module.project_memory.bias))
        )
        reference.out_proj.load_state_dict(module.project_out.state_dict())
    expected, _ = reference(x, states, states, need_weights=False)
    layout = Layout([3, 3])
    pairing = Pairing(layout, Layout([5, 5]))
    memory = module.kv_cache(states.flatten(0, 1), pairing)
    assert torch.allclose(
        module(x.flatten(0, 1), layout, memory, pairing.masks), expected.flatten(0, 1), atol=1e-12
    )


def test_projections_start_within_their_bounds():
    torch.manual_seed(0)
    module = build_self_attention(TransformerConfig(width=64, attention_heads=2))
    bound = math.sqrt(6 / 128) / math.sqrt(2)
    for part in module.project_in.weight.split(64):
        assert 0.95 * bound < part.abs().max() <= bound
    assert (
        0.95 * bound * math.sqrt(2) < module.project_out.weight.abs().max() <= bound * math.sqrt(2)
    )
    assert module.project_out.bias.abs().max() == 0


def test_relative_distances_are_clipped_at_both_ends():
    table, query = torch.tensor([[-1.0], [0.0], [1.0]]), torch.ones(1, 1, 4, 1)
    logits = distance_logits(table, 1, query, query, by_key=False)
    assert logits[0, 0].tolist() == [[0, -1, -1, -1], [1, 0, -1, -1], [1, 1, 0, -1], [1, 1, 1, 0]]

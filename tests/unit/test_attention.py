"""The attention core against loops that follow the formulas word by word."""

import math

import pytest
import torch

from cgbench.models.attention import (
    CrossAttention,
    KeysValues,
    RelativePositions,
    SelfAttention,
    attend,
    causal_mask,
    skew,
    split_heads,
)

torch.set_num_threads(1)


def slow_self_attention(module, x, allowed):
    """One query at a time: softmax over (q·k + q·a + k·a) / sqrt(d_head), with a the row of the clipped distance."""
    rows, length, width = x.shape
    head = width // module.heads
    query, keys, values = module.project_in(x).split(width, dim=-1)
    result = torch.zeros_like(x)
    for b in range(rows):
        for h in range(module.heads):
            columns = slice(h * head, (h + 1) * head)
            for i in range(length):
                q = query[b, i, columns]
                logits = []
                for j in range(length):
                    k = keys[b, j, columns]
                    logit = q @ k
                    if module.relative is not None:
                        limit = module.relative.limit
                        a = module.relative.table[max(-limit, min(limit, i - j)) + limit]
                        logit = logit + q @ a + k @ a
                    logits.append(logit / math.sqrt(head) if allowed[b, i, j] else torch.tensor(-math.inf))
                weights = torch.stack(logits).softmax(0)
                result[b, i, columns] = sum(w * values[b, j, columns] for j, w in enumerate(weights))
    return module.project_out(result)


@pytest.mark.parametrize("relative", [None, 1, 3, 20])
@pytest.mark.parametrize("causal", [False, True])
def test_self_attention_is_the_loop(relative, causal):
    torch.manual_seed(0)
    module = SelfAttention(12, 3, 0.0, relative).double().eval()
    if relative is not None:
        torch.nn.init.normal_(module.relative.table)
    x = torch.randn(2, 7, 12, dtype=torch.float64)
    allowed = torch.ones(2, 7, 7, dtype=torch.bool)
    if causal:
        mask, allowed = causal_mask(7, x), allowed.tril()
    else:
        allowed[1, :, 5:] = False
        mask = torch.zeros(2, 1, 7, 7, dtype=torch.float64).masked_fill(~allowed[:, None], -math.inf)
    assert torch.allclose(module(x, mask), slow_self_attention(module, x, allowed), atol=1e-12)


def test_relative_tables_start_at_zero_and_then_count():
    torch.manual_seed(0)
    plain, relative = SelfAttention(8, 2, 0.0), SelfAttention(8, 2, 0.0, 4)
    relative.load_state_dict(plain.state_dict(), strict=False)
    x = torch.randn(1, 6, 8)
    assert torch.allclose(plain(x, None), relative(x, None), atol=1e-6)
    relative(x, None).sum().backward()
    assert relative.relative.table.grad.abs().sum() > 0


def test_skew_reads_along_diagonals():
    for n in (1, 2, 3, 6):
        x = torch.randn(2, n, 2 * n - 1)
        expected = torch.stack([torch.stack([x[:, i, j - i + n - 1] for j in range(n)], -1) for i in range(n)], -2)
        assert torch.equal(skew(x), expected)


@pytest.mark.parametrize("relative", [None, 3])
def test_steps_are_the_last_rows_of_the_whole(relative):
    torch.manual_seed(0)
    module = SelfAttention(8, 2, 0.0, relative).eval()
    if relative:
        torch.nn.init.normal_(module.relative.table)
    x = torch.randn(3, 9, 8)
    whole = module(x, causal_mask(9, x))
    memory = module.empty(3, x)
    for t in range(9):
        assert torch.allclose(module.step(x[:, t : t + 1], memory)[:, 0], whole[:, t], atol=1e-6)


def test_equal_keys_give_the_mean_of_the_values():
    values = torch.tensor([[[[1.0], [3.0], [8.0]]]])
    memory = KeysValues(torch.ones(1, 1, 3, 1), values)
    assert attend(torch.ones(1, 1, 1, 1), memory, None, 0.0).item() == pytest.approx(4.0)
    hidden = torch.tensor([[0.0, 0.0, -math.inf]])
    assert attend(torch.ones(1, 1, 1, 1), memory, hidden, 0.0).item() == pytest.approx(2.0)


def test_cross_attention_is_plain_attention_over_the_memory():
    torch.manual_seed(0)
    module = CrossAttention(8, 2, 0.0).double().eval()
    x, states = torch.randn(2, 3, 8, dtype=torch.float64), torch.randn(2, 5, 8, dtype=torch.float64)
    reference = torch.nn.MultiheadAttention(8, 2, batch_first=True, dtype=torch.float64)
    with torch.no_grad():
        reference.in_proj_weight.copy_(torch.cat((module.project_query.weight, module.project_memory.weight)))
        reference.in_proj_bias.copy_(torch.cat((module.project_query.bias, module.project_memory.bias)))
        reference.out_proj.load_state_dict(module.project_out.state_dict())
    expected, _ = reference(x, states, states, need_weights=False)
    assert torch.allclose(module(x, module.remember(states), None), expected, atol=1e-12)


def test_projections_start_within_their_bounds():
    torch.manual_seed(0)
    module = SelfAttention(64, 2, 0.0)
    bound = math.sqrt(6 / 128) / math.sqrt(2)
    for part in module.project_in.weight.split(64):
        assert 0.95 * bound < part.abs().max() <= bound
    assert 0.95 * bound * math.sqrt(2) < module.project_out.weight.abs().max() <= bound * math.sqrt(2)
    assert module.project_out.bias.abs().max() == 0


def test_split_heads_keeps_each_head_together():
    x = torch.arange(2 * 3 * 8.0).reshape(2, 3, 8)
    query, keys = split_heads(x, 2, 2)
    assert query.shape == (2, 2, 3, 2)
    assert torch.equal(query[0, 1, 2], x[0, 2, 2:4])
    assert torch.equal(keys[1, 0, 1], x[1, 1, 4:6])


def test_selecting_rows_of_a_relative_table_clips_both_ends():
    positions = RelativePositions(2, 1)
    with torch.no_grad():
        positions.table.copy_(torch.tensor([[-1.0], [0.0], [1.0]]))
    assert positions.rows(-3, 3).flatten().tolist() == [-1, -1, -1, 0, 1, 1, 1]

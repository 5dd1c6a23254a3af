"""LRF against its equations: every layer projected, every place on its own."""

import numpy as np
import pytest
import torch
from architecture_table import pack, pairs, row, small_model
from slow_attention import attend_slowly, consult_slowly, memory_of

from cgbench.models.architectures.lrf import FuseAttention, fuse_weights
from cgbench.models.parts.ragged import Layout, Ragged

torch.set_num_threads(1)


def config_of(**changes):
    return row("lrf", **{"decoder_layers": 3, **changes}).values[0]


def slow_fuse(model, sublayer, layer, x, below):
    """Multi-head attention of each token over its own vectors in the layers below, then residual and norm."""
    pre = model.config.norm == "pre"
    result = []
    for place, token in enumerate(x):
        seen = torch.stack([vectors[place] for vectors in below])
        query, seen = (sublayer.norm(token), sublayer.norm(seen)) if pre else (token, seen)
        projections = sublayer.attention.projections
        keys, values = memory_of(projections, seen)
        mixed = attend_slowly(projections.project_query(query)[None], keys, values, sublayer.attention.heads)
        result.append(projections.project_out(mixed)[0])
    fused = torch.stack(result)
    return x + fused if pre else sublayer.norm(x + fused)


def slow_stack(model, side, x, attend):
    below, config = [x], model.config
    stack = model.encoder if side == "source" else model.decoder
    for number, layer in enumerate(stack):
        x = attend(layer, x)
        if config.fuse in ("both", side) and (config.fuse_layers == "all" or number == len(stack) - 1):
            module = model.encoder_fuse if side == "source" else model.decoder_fuse
            x = slow_fuse(model, module[str(number)], layer, x, below)
        x = layer.feed(x)
        below.append(x)
    return x


def slow_logits(model, source, target):
    m, n = Layout([len(source)]), Layout([len(target)])
    x = model.embed(model.source_embedding, torch.tensor(source), m.positions)
    states = model.encoder_norm(slow_stack(model, "source", x, lambda layer, x: layer.attend(x, m)))

    def attend(layer, y):
        return consult_slowly(layer, layer.attend(y, n, causal=True), *memory_of(layer.cross, states))

    y = model.embed(model.target_embedding, torch.tensor(target), n.positions)
    return model.project(model.decoder_norm(slow_stack(model, "target", y, attend)))


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"fuse": "source"},
        {"fuse": "target"},
        {"fuse_layers": "top"},
        {"attention_bias": False, "positions": "relative"},
    ],
)
def test_logits_are_those_of_the_equations(norm, changes):
    model = small_model(config_of(norm=norm, **changes)).double()
    batch = pairs([(5, 3), (2, 6)])
    expected = torch.cat([slow_logits(model, *pair) for pair in batch])
    assert torch.allclose(model(*pack(batch)), expected, atol=1e-10)


def test_attention_dropout_drops_whole_layers_of_a_head():
    """With every value vector equal to the bias, a token's result is the bias times the weights that were kept."""
    torch.manual_seed(0)
    module = FuseAttention(config_of(attention_dropout=0.5)).train()
    torch.nn.init.zeros_(module.projections.project_memory.weight)
    torch.nn.init.ones_(module.projections.project_memory.bias)
    torch.nn.init.eye_(module.projections.project_out.weight)
    result = module(torch.randn(500, 16), torch.randn(500, 4, 16)).view(500, 2, 8)
    # Four equal weights, each kept at 1/4 · 2 or dropped: 0, 1/2, 1, 3/2, 2.
    assert (result == result[:, :, :1]).all()
    assert set(result.unique().tolist()) == {0, 0.5, 1, 1.5, 2}


def test_weights_are_the_means_over_tokens_and_heads():
    model = small_model(config_of()).double()
    batch = pairs([(5, 3), (2, 6)])
    source, _ = pack(batch)
    target = Ragged.pack([[*ids[1:], 2] for _, ids in batch])  # what the decoder reads, as a translation
    found = fuse_weights(model, source, target)
    x = model.embed_source(source)[0]
    below, layout = [x], source.layout
    for number, layer in enumerate(model.encoder):
        attended = layer.attend(below[-1], layout)
        fuse = model.encoder_fuse[str(number)]
        projections, heads = fuse.attention.projections, fuse.attention.heads
        logits = torch.zeros(len(x), heads, len(below), dtype=torch.float64)
        query = projections.project_query(attended)
        for k, vectors in enumerate(below):
            keys = memory_of(projections, vectors)[0]
            logits[:, :, k] = (query * keys).unflatten(-1, (heads, -1)).sum(-1) / (16 / heads) ** 0.5
        expected = logits.softmax(-1).mean((0, 1)).detach().numpy()
        assert np.allclose(found["encoder"][number, : number + 1], expected)
        below.append(layer.feed(fuse(layer, attended, below)))
    assert np.isnan(found["decoder"][np.triu_indices(3, 1)]).all()
    assert np.allclose(np.nansum(found["decoder"], 1), 1) and found["decoder"][0, 0] == 1
    # The decoder's weights depend on what it reads: another first word, other weights.
    other = fuse_weights(model, source, Ragged.pack([[4, *ids[2:], 2] for _, ids in batch]))
    assert not np.allclose(other["decoder"][2], found["decoder"][2], atol=1e-6)
    assert not model.training


def test_layers_without_fuse_attention_have_no_weights():
    model = small_model(config_of(fuse="source", fuse_layers="top")).train()
    batch = pairs([(5, 3)])
    found = fuse_weights(model, *pack(batch))
    assert np.isnan(found["decoder"]).all() and np.isnan(found["encoder"][:2]).all()
    assert found["encoder"][2].sum() == pytest.approx(1)
    assert model.training

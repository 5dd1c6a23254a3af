"""LRF against its equations: every layer projected, every place on its own."""

import pytest
import torch
from architecture_table import check_logits, row
from slow_attention import attend_slowly, consult_slowly, memory_of

from cgbench.models.architectures.lrf import FuseAttention
from cgbench.models.parts.ragged import Layout


def config_of(**changes):
    return row("lrf", **{"decoder_layers": 3, **changes}).values[0]


def slow_fuse(model, sublayer, layer, x, below):
    """Multi-head attention of each token over its own vectors in the layers below, then residual
    and norm.
    """
    pre = model.config.norm == "pre"
    result = []
    for place, token in enumerate(x):
        seen = torch.stack([vectors[place] for vectors in below])
        query, seen = (sublayer.norm(token), sublayer.norm(seen)) if pre else (token, seen)
        projections = sublayer.attention.projections
        keys, values = memory_of(projections, seen)
        mixed = attend_slowly(
            projections.project_query(query)[None], keys, values, sublayer.attention.heads
        )
        result.append(projections.project_out(mixed)[0])
    fused = torch.stack(result)
    return x + fused if pre else sublayer.norm(x + fused)


def slow_stack(model, side, x, attend):
    below, config = [x], model.config
    stack = model.encoder if side == "source" else model.decoder
    for number, layer in enumerate(stack):
        x = attend(layer, x)
        if config.fuse in ("both", side) and (
            config.fuse_layers == "all" or number == len(stack) - 1
        ):
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
        return consult_slowly(
            layer, layer.attend(y, n, causal=True), *memory_of(layer.cross, states)
        )

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
    check_logits(config_of(norm=norm, **changes), slow_logits)


def test_attention_dropout_drops_whole_layers_of_a_head():
    """With every value vector equal to the bias, a token's result is the bias times the weights
    that were kept.
    """
    torch.manual_seed(0)
    module = FuseAttention(config_of(attention_dropout=0.5)).train()
    torch.nn.init.zeros_(module.projections.project_memory.weight)
    torch.nn.init.ones_(module.projections.project_memory.bias)
    torch.nn.init.eye_(module.projections.project_out.weight)
    result = module(torch.randn(500, 16), torch.randn(500, 4, 16)).view(500, 2, 8)
    # Four equal weights, each kept at 1/4 · 2 or dropped: 0, 1/2, 1, 3/2, 2.
    assert (result == result[:, :, :1]).all()
    assert set(result.unique().tolist()) == {0, 0.5, 1, 1.5, 2}

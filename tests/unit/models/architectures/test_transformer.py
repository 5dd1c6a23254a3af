"""The Transformer: sizes, invariances, agreement with torch's own layers and with itself step by
step.
"""

import dataclasses
import math

import numpy as np
import pytest
import torch
from ragged_models import logits_of, state_of

from cgbench.models.config.architectures import build_model
from cgbench.models.config.common import TransformerConfig
from cgbench.models.parts.positions import sinusoids
from cgbench.models.special_ids import PAD

FORMS = [(positions, norm) for positions in ("sinusoidal", "relative") for norm in ("pre", "post")]
SIZES = {
    "encoder_layers": 2,
    "decoder_layers": 2,
    "width": 16,
    "feedforward_width": 24,
    "attention_heads": 2,
}
SMALL = TransformerConfig(**SIZES, max_relative_position=4, dropout=0.1)


def small_model(positions="relative", norm="pre", seed=0):
    torch.manual_seed(seed)
    model = build_model(dataclasses.replace(SMALL, positions=positions, norm=norm), 40, 30).eval()
    for name, parameter in model.named_parameters():
        if name.endswith("relative.table"):
            torch.nn.init.normal_(parameter)
    return model


def batch(rows=3, source_length=9, target_length=11):
    generator = torch.Generator().manual_seed(1)
    source = torch.randint(4, 40, (rows, source_length), generator=generator)
    target = torch.randint(4, 30, (rows, target_length), generator=generator)
    source[:, -1], target[:, 0] = 2, 2
    return source, target


def test_embeddings_of_length_1():
    config = dataclasses.replace(SMALL, embedding="unit")
    torch.manual_seed(0)
    model = build_model(config, 40, 30)
    lengths = model.source_embedding.weight.norm(dim=1)
    assert lengths[PAD] == 0
    assert torch.allclose(torch.cat((lengths[:PAD], lengths[PAD + 1 :])), torch.ones(39))
    assert (model.scale, model.position_scale) == (math.sqrt(config.width), 1.0)


def test_parameters_come_from_the_source_to_the_output():
    # The norm of the gradients adds parameters in their order: another order of the embeddings
    # trained other models from the fifth digit of the loss on.
    parts = [name.split(".")[0] for name, _ in small_model().named_parameters()]
    assert list(dict.fromkeys(parts)) == [
        "source_embedding",
        "target_embedding",
        "encoder",
        "decoder",
        "encoder_norm",
        "decoder_norm",
    ]


def test_hypotheses_share_memories_and_a_beam_that_changes_its_order_moves_nothing():
    model = small_model()
    source, _ = batch(rows=3)
    state = state_of(model, source, beam=2)
    model.step(torch.full((6,), 2), state)
    before = [memory.keys.data_ptr() for memory in (*state.source, *state.target)]
    state.reorder(np.array([1, 0, 2, 2, 5, 4]))
    assert [memory.keys.data_ptr() for memory in (*state.source, *state.target)] == before
    assert {len(memory) for memory in (*state.source, *state.target)} == {3}
    state.reorder(np.array([0, 1, 4, 5]))
    assert {len(memory) for memory in (*state.source, *state.target)} == {2}


def copy_attention(to, qkv_weight, qkv_bias, out):
    to.in_proj_weight.copy_(qkv_weight)
    to.in_proj_bias.copy_(qkv_bias)
    to.out_proj.load_state_dict(out.state_dict())


def torch_twin(model):
    """torch's own encoder and decoder with the same weights."""
    config = model.config
    pre = config.norm == "pre"
    options = {
        "dim_feedforward": config.feedforward_width,
        "dropout": 0.0,
        "batch_first": True,
        "norm_first": pre,
    }
    twin = torch.nn.Transformer(config.width, config.attention_heads, 2, 2, **options).eval()
    twin.encoder.norm = torch.nn.LayerNorm(config.width) if pre else None
    twin.decoder.norm = torch.nn.LayerNorm(config.width) if pre else None
    with torch.no_grad():
        for ours, theirs in zip(
            [*model.encoder, *model.decoder],
            [*twin.encoder.layers, *twin.decoder.layers],
            strict=True,
        ):
            attention = ours.attention
            copy_attention(
                theirs.self_attn,
                attention.project_in.weight,
                attention.project_in.bias,
                attention.project_out,
            )
            norms = [ours.attention_norm, ours.feed_forward_norm]
            if hasattr(ours, "cross"):
                cross = ours.cross
                weight = torch.cat((cross.project_query.weight, cross.project_memory.weight))
                bias = torch.cat((cross.project_query.bias, cross.project_memory.bias))
                copy_attention(theirs.multihead_attn, weight, bias, cross.project_out)
                norms.insert(1, ours.cross_norm)
            theirs.linear1.load_state_dict(ours.feed_forward.expand.state_dict())
            theirs.linear2.load_state_dict(ours.feed_forward.contract.state_dict())
            for number, norm in enumerate(norms, 1):
                getattr(theirs, f"norm{number}").load_state_dict(norm.state_dict())
        if pre:
            twin.encoder.norm.load_state_dict(model.encoder_norm.state_dict())
            twin.decoder.norm.load_state_dict(model.decoder_norm.state_dict())
    return twin


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_logits_equal_those_of_torchs_transformer(norm):
    model = small_model("sinusoidal", norm)
    for parameter in model.parameters():
        if parameter.dim() == 1:
            torch.nn.init.normal_(parameter)
    source, target = batch()
    source[0, 6:] = PAD
    width = model.config.width
    x = model.source_embedding(source) * width**0.5 + sinusoids(torch.arange(9), width)
    y = model.target_embedding(target) * width**0.5 + sinusoids(torch.arange(11), width)
    mask = torch.triu(torch.ones(11, 11, dtype=torch.bool), 1)
    padding = source == PAD
    states = torch_twin(model)(
        x, y, tgt_mask=mask, src_key_padding_mask=padding, memory_key_padding_mask=padding
    )
    expected = states @ model.target_embedding.weight.T
    assert torch.allclose(logits_of(model, source, target), expected, atol=1e-5)


def test_sinusoids_are_sines_then_cosines_from_place_two():
    values = sinusoids(torch.tensor([0, 5]), 4)
    angle = torch.tensor([2.0, 7.0])
    expected = torch.stack(
        (angle.sin(), (angle * 1e-4).sin(), angle.cos(), (angle * 1e-4).cos()), -1
    )
    assert torch.allclose(values, expected)

"""The Transformers of Csordás et al. (2021): how they start, how embeddings meet positions, what is
dropped.
"""

import dataclasses
import math

import pytest
import torch
from architecture_table import CSORDAS, CSORDAS_RELATIVE, SMALL

from cgbench.models.config.architectures import build_model
from cgbench.models.config.common import TransformerConfig
from cgbench.models.parts.ragged import Ragged
from cgbench.models.special_ids import BOS, EOS, PAD

WIDTH, FEEDFORWARD, SIZE = 64, 96, 3000
ABSOLUTE = TransformerConfig(
    **{**SMALL, "width": WIDTH, "feedforward_width": FEEDFORWARD, **CSORDAS}
)
RELATIVE = dataclasses.replace(ABSOLUTE, **CSORDAS_RELATIVE)


def build(config, size=SIZE):
    torch.manual_seed(0)
    return build_model(config, size, size).eval()


def is_uniform(x, bound):
    """Whether elements look drawn from U(-bound, bound)."""
    deviation = bound / math.sqrt(3)
    return (
        x.abs().max() <= bound
        and x.abs().max() > 0.98 * bound
        and abs(x.std() / deviation - 1) < 0.05
    )


def xavier(fan_in, fan_out, gain=1.0):
    return gain * math.sqrt(6 / (fan_in + fan_out))


@pytest.mark.parametrize(
    ("embedding", "deviation"), [("none", 1.0), ("ped", math.sqrt(2 / WIDTH)), ("fairseq", 0.125)]
)
def test_normal_embeddings(embedding, deviation):
    model = build(dataclasses.replace(ABSOLUTE, embedding=embedding))
    for table in (model.source_embedding.weight, model.target_embedding.weight):
        assert table.std().item() == pytest.approx(deviation, rel=0.02)
        assert table.abs().max() > 3.5 * deviation
        assert not table[PAD].any()


@pytest.mark.parametrize("config", [dataclasses.replace(ABSOLUTE, embedding="teu"), RELATIVE])
def test_uniform_embeddings(config):
    model = build(config)
    assert is_uniform(model.source_embedding.weight.detach(), xavier(WIDTH, SIZE))
    assert is_uniform(model.target_embedding.weight.detach(), xavier(WIDTH, SIZE))


@pytest.mark.parametrize("config", [ABSOLUTE, RELATIVE])
def test_projections(config):
    model = build(config)
    for layer in [*model.encoder, *model.decoder]:
        feed = layer.feed_forward
        assert is_uniform(feed.expand.weight.detach(), xavier(WIDTH, FEEDFORWARD, math.sqrt(2)))
        assert is_uniform(feed.contract.weight.detach(), xavier(WIDTH, FEEDFORWARD))
        assert 0.8 < feed.expand.bias.abs().max() * math.sqrt(WIDTH) <= 1
        # torch's default in relative attention: that code never reaches its initialisation.
        bound = WIDTH**-0.5 if config is RELATIVE else xavier(WIDTH, WIDTH)
        parts = [
            *layer.attention.project_in.weight.detach().chunk(3),
            layer.attention.project_out.weight.detach(),
        ]
        if config is RELATIVE:
            relative = layer.attention.relative
            parts.append(relative.project.weight.detach())
            assert not relative.content.any() and not relative.position.any()
        assert all(is_uniform(part, bound) for part in parts)
        assert layer.attention.project_in.bias is None and layer.attention.project_out.bias is None
    for layer in model.decoder:
        parts = [layer.cross.project_query.weight, *layer.cross.project_memory.weight.chunk(2)]
        assert all(
            is_uniform(part.detach(), xavier(WIDTH, WIDTH))
            for part in [*parts, layer.cross.project_out.weight]
        )
    assert not model.output_bias.any() and len(model.output_bias) == SIZE


def place(position, width=WIDTH):
    """Sine and cosine in turn, of position / 10000^(2i/d)."""
    return torch.tensor(
        [
            (math.cos if i % 2 else math.sin)(position / 10000 ** ((i - i % 2) / width))
            for i in range(width)
        ]
    )


@pytest.mark.parametrize(
    ("embedding", "of_words", "of_places"),
    [("teu", WIDTH**0.5, 1.0), ("none", 1.0, 1.0), ("ped", 1.0, WIDTH**-0.5), ("xavier", 1.0, 0.0)],
)
def test_embeddings_meet_positions(embedding, of_words, of_places):
    config = (
        RELATIVE if embedding == "xavier" else dataclasses.replace(ABSOLUTE, embedding=embedding)
    )
    model = build(config, 20)
    ids = [7, 9, 8, EOS]
    source, layout = model.embed_source(Ragged.pack([[5, EOS], ids]))
    assert layout.lengths.tolist() == [3, 5]
    target = model.embed_target(Ragged.pack([ids]))
    for i, word in enumerate([BOS, *ids]):
        expected = of_words * model.source_embedding.weight[word] + of_places * place(i)
        assert torch.allclose(source[3 + i], expected, atol=1e-5)
    for i, word in enumerate(ids):
        expected = of_words * model.target_embedding.weight[word] + of_places * place(i)
        assert torch.allclose(target[i], expected, atol=1e-5)


@pytest.mark.parametrize(("config", "dropped"), [(ABSOLUTE, True), (RELATIVE, False)])
def test_only_absolute_embeddings_are_dropped(config, dropped):
    model = build(dataclasses.replace(config, dropout=0.5), 20).train()
    x = model.embed_target(Ragged.pack([[5, 6, EOS] * 10]))
    assert ((x == 0).double().mean() > 0.3).item() == dropped


def test_the_bias_of_the_output_counts():
    model = build(ABSOLUTE, 20)
    source, target = Ragged.pack([[5, EOS]]), Ragged.pack([[EOS, 7]])
    before = model(source, target)
    with torch.no_grad():
        model.output_bias[3] = 2.0
    assert torch.allclose(model(source, target) - before, torch.eye(20)[3] * 2, atol=1e-5)

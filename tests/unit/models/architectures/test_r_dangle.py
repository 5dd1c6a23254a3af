"""Sizes and presets of Dangle and R-Dangle."""

import pytest
import torch

from cgbench.models.config.architectures import build_model
from cgbench.models.config.presets import load_preset

torch.set_num_threads(1)


def layer_sizes(width, hidden, table):
    """Parameters of an encoder layer and of a decoder layer, by arithmetic."""
    attention, norm = 4 * width * width + 4 * width, 2 * width
    feed = 2 * width * hidden + hidden + width
    encoder = attention + table + feed + 2 * norm
    return encoder, encoder + attention + norm


def count(preset, source_size=8848, target_size=6632):
    with torch.device("meta"):
        model = build_model(load_preset(preset).model, source_size, target_size)
    return sum(parameter.numel() for parameter in model.parameters())


@pytest.mark.parametrize(
    ("values", "top", "bottom", "extra", "total"),
    [("shared", 10, 2, 3 * 512 + 1024, 71_111_424), ("separate", 8, 4, 4 * 512 + 2 * 1024, 71_113_216)],
)
def test_presets_have_as_many_parameters_as_the_authors_models_71_111_and_71_113_million(
    values, top, bottom, extra, total
):
    """Vocabularies of ReaCT; the norms above the encoders and the vectors of the sides, END and SE are extra."""
    plain, decoder = layer_sizes(512, 1024, 31 * 128)
    mixed, _ = layer_sizes(512, 1024, 2 * 31 * 64 + 2 * 64)
    embeddings = (8848 + 6632) * 512
    assert embeddings + top * plain + bottom * mixed + 12 * decoder + extra + 1024 == total
    assert count(f"r_dangle_react_{values}") == total


@pytest.mark.parametrize(
    ("preset", "layers", "norm", "dropouts"),
    [
        ("dangle_cognition", (2, 4, 6), "post", (0.3, 0, 0)),
        ("dangle_cognition_relative", (4, 4, 4), "post", (0.3, 0, 0)),
        ("r_dangle_cognition", (2, 8, 12), "pre", (0.4, 0.3, 0.4)),
        ("r_dangle_react_separate", (2, 8, 12), "pre", (0.4, 0.3, 0.4)),
        ("r_dangle_react_shared", (2, 10, 12), "pre", (0.4, 0.3, 0.4)),
    ],
)
def test_presets_are_the_scripts(preset, layers, norm, dropouts):
    model = load_preset(preset).model
    assert (model.mixed_layers, model.encoder_layers, model.decoder_layers) == layers
    assert (model.norm, model.dropout, model.attention_dropout, model.activation_dropout) == (norm, *dropouts)
    assert model.max_relative_position == 16
    assert (model.mixed_attention_heads, model.attention_heads) == (8, 4)

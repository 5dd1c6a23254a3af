"""The Evolved Transformer: sizes by hand from the authors' shapes, and how far its convolutions
see.
"""

import pytest
import torch
from architecture_table import TENSOR2TENSOR, row

from cgbench.models.architectures.evolved import (
    EvolvedDecoderLayer,
    EvolvedEncoderLayer,
    on_grids,
)
from cgbench.models.parts.ragged import Layout


def config_of(width, heads):
    return row(
        "evolved", **TENSOR2TENSOR, width=width, attention_heads=heads, joint_heads=heads
    ).values[0]


@pytest.mark.parametrize(
    ("width", "encoder", "decoder"),
    [(4, 600, 706), (128, 360_448, 474_944), (512, 5_668_864, 7_503_104)],
)
def test_layers_have_as_many_parameters_as_theirs(width, encoder, decoder):
    counts = [
        sum(parameter.numel() for parameter in layer(config_of(width, 2)).parameters())
        for layer in (EvolvedEncoderLayer, EvolvedDecoderLayer)
    ]
    assert counts == [encoder, decoder]


def test_the_decoders_branches_see_sixteen_positions_back_and_none_ahead():
    torch.manual_seed(0)
    layer, layout = EvolvedDecoderLayer(config_of(8, 2)).double(), Layout([40])
    x = torch.randn(40, 8, dtype=torch.double, requires_grad=True)
    left = on_grids(layer.left, x, layout, 10, 0)
    both = left + torch.nn.functional.pad(on_grids(layer.right, x, layout, 6, 0), (0, 12))
    on_grids(layer.separable, both, layout, 6, 0)[30].sum().backward()
    seen = x.grad.abs().sum(1).nonzero().ravel().tolist()
    assert seen == list(range(14, 31))


def test_the_encoders_branches_see_five_positions_on_both_sides_and_no_neighbours():
    torch.manual_seed(0)
    layer, layout = EvolvedEncoderLayer(config_of(8, 2)).double(), Layout([20, 7])
    x = torch.randn(27, 8, dtype=torch.double, requires_grad=True)
    right = on_grids(layer.right, x, layout, 1, 1)
    wide = torch.nn.functional.pad(right, (0, 28))
    on_grids(layer.separable, wide, layout, 4, 4)[10].sum().backward()
    assert x.grad.abs().sum(1).nonzero().ravel().tolist() == list(range(5, 16))
    x.grad = None
    on_grids(layer.separable, torch.nn.functional.pad(x, (0, 24)), layout, 4, 4)[
        18
    ].sum().backward()
    assert x.grad.abs().sum(1).nonzero().ravel().tolist() == list(range(14, 20))

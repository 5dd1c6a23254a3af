"""Products with weights of eight bits: near, the same for any batch, of what is named and for as long as is said."""

import pytest
import torch
import torch.nn.functional as F

from cgbench.errors import InputError
from cgbench.models.ensemble import Ensemble
from cgbench.models.parts.cpu.eight_bit import eight_bit, eight_bit_linear
from cgbench.models.parts.linear import Linear, linear


@pytest.fixture
def layer():
    torch.manual_seed(0)
    return Linear(256, 768)


def off(found, wanted):
    return ((found - wanted).norm() / wanted.norm()).item()


def test_products_are_near_and_only_within(layer):
    x = torch.randn(2, 9, 256) * torch.tensor([1.0, 30.0]).view(2, 1, 1)  # a large row does not spoil a small one
    with torch.inference_mode():
        exact = layer(x)
        with eight_bit([layer]):
            found = layer(x)
        again = layer(x)
    for one, wanted in zip(found, F.linear(x, layer.weight, layer.bias), strict=True):
        assert 1e-4 < off(one, wanted) < 0.02
    assert torch.equal(exact, again)


def test_parts_of_rows(layer):
    x = torch.randn(5, 256)
    with torch.inference_mode(), eight_bit([layer]):
        whole = layer(x)
        parts = [linear(x, layer.weight[part], layer.bias[part]) for part in (slice(0, 256), slice(256, None))]
        assert torch.equal(torch.cat(parts, 1), whole)
        assert eight_bit_linear(x[:, :128], layer.weight[:, :128], None) is None  # columns: exact


def test_a_row_does_not_depend_on_its_neighbours(layer):
    x = torch.randn(100, 256)
    with torch.inference_mode(), eight_bit([layer]):
        assert torch.equal(torch.cat([layer(x[:1]), layer(x[1:10]), layer(x[10:])]), layer(x))


def test_training_is_exact(layer):
    x = torch.randn(5, 256)
    with eight_bit([layer]):
        assert torch.allclose(layer(x), x @ layer.weight.T + layer.bias, atol=1e-5)


def test_zeros_and_nothing(layer):
    with torch.inference_mode(), eight_bit([layer]):
        assert torch.equal(layer(torch.zeros(1, 256))[0], layer.bias)
        assert layer(torch.zeros(0, 256)).shape == (0, 768)


def test_it_is_for_a_cpu_and_ends_with_an_error():
    ensemble = Ensemble((torch.nn.Linear(1, 1),), None, torch.device("cuda"), 8)
    with pytest.raises(InputError, match="is for a CPU"):
        ensemble._products("int8")
    with pytest.raises(InputError, match="not one of float32, int8"):
        ensemble._products("int4")


def test_after_an_error_products_are_exact(layer):
    with pytest.raises(KeyError), eight_bit([layer]):
        raise KeyError
    with torch.inference_mode():
        assert eight_bit_linear(torch.randn(5, 256), layer.weight, None) is None

import pytest
import torch
import torch.nn.functional as F

from cgbench.models.parts.linear import Linear, linear


@pytest.mark.parametrize("rows", [1, 100, 128, 129, 256, 300])
@pytest.mark.parametrize("bias", [False, True])
def test_under_autocast_values_and_gradients_are_those_of_torch(rows, bias):
    torch.manual_seed(0)
    layer = Linear(6, 5, bias=bias)
    x = torch.randn(rows, 6, requires_grad=True)
    inputs = [x, *layer.parameters()]
    weights = torch.randn(rows, 5)
    expected = F.linear(x, layer.weight, layer.bias)
    wanted = torch.autograd.grad((expected * weights).sum(), inputs)
    with torch.autocast("cpu", torch.bfloat16):
        result = layer(x)
    assert result.dtype == torch.bfloat16
    found = torch.autograd.grad((result.float() * weights).sum(), inputs)
    # bfloat16 has 8 bits; sums over rows are relative to what is summed.
    assert torch.allclose(result.float(), expected, atol=0.03)
    for ours, theirs in zip(found, wanted, strict=True):
        assert ours.dtype == theirs.dtype
        assert (ours - theirs).norm() < 0.02 * theirs.norm()


@pytest.mark.parametrize("shape", [(7, 6), (2, 7, 6)])
@pytest.mark.parametrize("bias", [False, True])
def test_in_full_precision_values_and_gradients_are_those_of_torch(shape, bias):
    torch.manual_seed(0)
    layer = Linear(6, 5, bias=bias).double()
    x = torch.randn(shape, dtype=torch.float64, requires_grad=True)
    inputs = [x, *layer.parameters()]
    result, expected = layer(x), F.linear(x, layer.weight, layer.bias)
    assert torch.allclose(result, expected, atol=1e-14)
    weights = torch.randn_like(expected)
    for ours, theirs in zip(
        torch.autograd.grad(result, inputs, weights), torch.autograd.grad(expected, inputs, weights), strict=True
    ):
        assert torch.allclose(ours, theirs, atol=1e-13)


def test_leading_dimensions_are_kept_and_full_precision_is_left_alone():
    x, weight = torch.randn(2, 3, 4), torch.randn(5, 4)
    assert torch.equal(linear(x, weight), F.linear(x, weight))
    with torch.autocast("cpu", torch.bfloat16):
        assert linear(x, weight).shape == (2, 3, 5)

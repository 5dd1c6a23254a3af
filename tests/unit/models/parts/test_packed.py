"""Products by oneDNN are those of torch, with gradients and with packed weights, for any batch."""

import contextlib
import copy

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from cgbench.models.parts.cpu import packed, plain_definitions
from cgbench.models.parts.linear import Linear, linear

needs_onednn = pytest.mark.skipif(
    not hasattr(torch.ops.mkldnn, "_linear_pointwise"),
    reason="this build of torch has no packed products",
)
pytestmark = needs_onednn


@pytest.fixture(autouse=True)
def anywhere(monkeypatch):
    monkeypatch.setattr(packed, "onednn_is_faster", lambda: True)


@pytest.fixture
def layer():
    torch.manual_seed(0)
    return Linear(256, 768)


def near(found, wanted):
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("shape", [(1, 256), (3, 256), (17, 256), (2, 5, 256), (1030, 256)])
def test_the_products_are_those_of_torch(layer, shape):
    x = torch.randn(shape)
    with torch.inference_mode():
        near(layer(x), F.linear(x, layer.weight, layer.bias))
        near(linear(x, layer.weight), F.linear(x, layer.weight))
    assert layer.weight.packed


@pytest.mark.parametrize("shape", [(1, 256), (2, 5, 256), (530, 256)])
@pytest.mark.parametrize("bias", [True, False])
def test_gradients_are_those_of_torch(shape, bias):
    torch.manual_seed(0)
    layer = Linear(256, 768, bias=bias)
    outputs = []
    for plain in (False, True):
        x = torch.randn(shape, generator=torch.Generator().manual_seed(1), requires_grad=True)
        with plain_definitions() if plain else contextlib.nullcontext():
            y = layer(x * 1)
            assert (type(y.grad_fn.next_functions[0][0]).__name__ == "_LinearBackward") is not plain
            (y * torch.linspace(-1, 1, 768)).mean().backward()
        outputs.append([y, x.grad, *(parameter.grad.clone() for parameter in layer.parameters())])
        layer.zero_grad()
    for fast, reference in zip(*outputs, strict=True):
        torch.testing.assert_close(fast, reference, rtol=1e-5, atol=1e-5)
    layer(torch.randn(3, 256)).sum().backward()  # a gradient that is one number, repeated
    torch.testing.assert_close(layer.weight.grad[0], layer.weight.grad[-1])


def test_rows_that_are_apart_are_copied(layer, monkeypatch):
    dense = []
    multiply = packed.multiply

    def watched(rows, weight, *bias):
        dense.extend(
            factor.is_contiguous() or factor.T.is_contiguous() for factor in (rows, weight)
        )
        return multiply(rows, weight, *bias)

    monkeypatch.setattr(packed, "multiply", watched)
    x, weight = torch.randn(3, 256, requires_grad=True), layer.weight[:, 128:]
    product = linear(x[:, :128], weight)
    near(product, F.linear(x[:, :128], weight))
    product.sum().backward()
    near(x.grad[:, :128], weight.sum(0).expand(3, -1))
    assert dense == [True] * 6


@pytest.mark.parametrize("shape", [(17, 256), (16, 256), (3, 7, 256), (0, 256)])
def test_rows_are_padded_in_bfloat16(layer, shape, monkeypatch):
    rows, multiply, outputs = [], F.linear, []
    monkeypatch.setattr(
        packed.F, "linear", lambda x, *rest: rows.append(len(x)) or multiply(x, *rest)
    )
    for plain in (False, True):
        x = torch.randn(shape, generator=torch.Generator().manual_seed(1), requires_grad=True)
        with (
            plain_definitions() if plain else contextlib.nullcontext(),
            torch.autocast("cpu", torch.bfloat16),
        ):
            y = layer(x)
        assert y.dtype == torch.bfloat16
        (y * torch.linspace(-1, 1, 768)).sum().backward()
        outputs.append([y, x.grad, *(parameter.grad.clone() for parameter in layer.parameters())])
        layer.zero_grad()
    assert rows[0] == {17: 18, 16: 16, 3: 22, 0: 0}[shape[0]]
    for fast, reference in zip(*outputs, strict=True):
        torch.testing.assert_close(fast, reference, rtol=2e-2, atol=2e-2)


def test_parts_of_a_parameter_are_told_apart(layer):
    x = torch.randn(7, 256)
    parts = [
        layer.weight[:256],
        layer.weight[256:],
        *layer.weight.chunk(2),
        layer.weight.view(256, 768)[:, :256],
    ]
    with torch.inference_mode():
        for part in parts:
            near(linear(x, part), F.linear(x, part))
    assert len(layer.weight.packed[1]) == len(parts)


def test_a_parameter_that_has_changed_is_packed_anew(layer):
    x = torch.randn(5, 256)
    with torch.inference_mode():
        before = layer(x)
    with torch.no_grad():
        layer.weight.mul_(2)
    with torch.inference_mode():
        near(layer(x), F.linear(x, layer.weight, layer.bias))
        assert not torch.allclose(layer(x), before)
    layer.weight.data = torch.randn(768, 256)  # what does not count as a change to torch
    with torch.inference_mode():
        near(layer(x), F.linear(x, layer.weight, layer.bias))


def test_a_row_does_not_depend_on_its_neighbours(layer):
    x = torch.randn(100, 256)
    with torch.inference_mode():
        alone = torch.cat([layer(x[:1]), layer(x[1:10]), layer(x[10:])])
        assert torch.equal(alone, layer(x))


def test_what_is_not_packed(layer, monkeypatch):
    x = torch.randn(5, 256)
    small, temporary = nn.Parameter(torch.randn(100, 256)), torch.randn(768, 256)
    assert packed.packed_linear(x, small, None) is None
    assert packed.packed_linear(x, temporary, None) is None
    assert packed.packed_linear(x.double(), layer.weight, None) is None
    assert packed.packed_linear(x[:0], layer.weight, None) is None
    layer(x).sum().backward()  # training
    assert not hasattr(layer.weight, "packed")
    monkeypatch.setattr(packed, "onednn_is_faster", lambda: False)
    assert packed.packed_linear(x, layer.weight, None) is None


def test_a_copy_of_a_model_has_its_own(layer):
    with torch.inference_mode():
        layer(torch.randn(5, 256))
    assert not hasattr(copy.deepcopy(layer).weight, "packed")
    assert set(layer.state_dict()) == {"weight", "bias"}


def test_few_numbers_of_rows_become_kernels():
    sizes = [packed.round_rows(count) for count in range(1, 5000)]
    assert all(count <= size <= 1.125 * count for count, size in enumerate(sizes, start=1))
    assert len(set(sizes)) < 100

import contextlib

import pytest
import torch

from cgbench.models.parts.cpu import fast_form, plain_definitions
from cgbench.models.parts.dropout import Dropout, dropout


@pytest.mark.parametrize("p", [0.1, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("form", [contextlib.nullcontext, plain_definitions])
def test_elements_are_dropped_at_the_rate_and_the_rest_scaled(p, dtype, form):
    torch.manual_seed(0)
    x = torch.ones(200_000, dtype=dtype)
    with form():
        y = dropout(x, p)
    assert y.dtype == dtype
    kept = y != 0
    # Five standard deviations of the mean of 200,000 draws.
    assert abs(1 - kept.float().mean().item() - p) < 5 * (p * (1 - p) / 200_000) ** 0.5
    assert torch.equal(y[kept], torch.full_like(y[kept], 1 / (1 - p)))


def test_neighbours_are_independent():
    torch.manual_seed(0)
    kept = (dropout(torch.ones(400_000), 0.5) != 0).float() * 2 - 1
    for distance in (1, 2, 3, 4, 8):
        assert abs((kept[distance:] * kept[:-distance]).mean().item()) < 5 / 400_000**0.5


def test_the_seed_decides_and_evaluation_drops_nothing():
    x = torch.randn(3, 5, 7)
    torch.manual_seed(1)
    first = dropout(x, 0.4)
    torch.manual_seed(1)
    assert torch.equal(dropout(x, 0.4), first)
    module = Dropout(0.4)
    assert not torch.equal(module(x), module(x))
    assert torch.equal(module.eval()(x), x)


def test_the_gradient_passes_where_the_element_did():
    torch.manual_seed(0)
    x = torch.ones(1000, requires_grad=True)
    y = dropout(x, 0.25)
    y.sum().backward()
    assert torch.equal(x.grad, y.detach())


def test_one_switch_turns_all_of_them_off():
    x = torch.zeros(1)
    assert fast_form(x) and not fast_form(x.to("meta"))
    with plain_definitions():
        assert not fast_form(x)
        with plain_definitions():
            pass
        assert not fast_form(x)
    assert fast_form(x)

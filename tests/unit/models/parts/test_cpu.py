"""Forms for a CPU against their plain definitions."""

import torch
from torch.autograd import gradcheck

from cgbench.models.parts.cpu import fast_form, plain_definitions
from cgbench.models.parts.recurrent import step_linear

torch.set_num_threads(1)


def randn(*shape):
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


def test_one_switch_turns_all_of_them_off():
    x = torch.zeros(1)
    assert fast_form(x) and not fast_form(x.to("meta"))
    with plain_definitions():
        assert not fast_form(x)
        with plain_definitions():
            pass
        assert not fast_form(x)
    assert fast_form(x)


def test_the_gradient_of_all_steps_at_once_is_that_of_the_steps():
    torch.manual_seed(0)
    inputs = [randn(5, 6), randn(3, 6), randn(2, 6), randn(1, 6)]

    def outputs(weight, *steps):
        step = step_linear(weight)
        return torch.cat([step(x) for x in steps])

    found = outputs(*inputs)
    with plain_definitions():
        expected = outputs(*inputs)
    assert torch.equal(found, expected)
    weights = torch.randn_like(expected)
    for ours, plain in zip(*(torch.autograd.grad(x, inputs, weights) for x in (found, expected)), strict=True):
        assert torch.allclose(ours, plain, rtol=0, atol=1e-12)
    assert gradcheck(outputs, inputs)

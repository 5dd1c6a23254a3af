"""A linear map of a recurrence: gradients of the ordinary form, the weight's as one product."""

import torch
from torch import nn

from cgbench.models.parts.linear import StepLinear

SIZES = [4, 3, 3, 1]


def recurrence(linear, start):
    x, outputs = start, []
    for rows in SIZES:
        x = linear(x[:rows]).tanh()
        outputs.append(x)
    return torch.cat(outputs)


def contributions(output, parameter):
    """How many nodes of the graph add to the gradient of a parameter."""
    seen, nodes, count = set(), [output.grad_fn], 0
    while nodes:
        node = nodes.pop()
        for following, _ in node.next_functions:
            if following is None:
                continue
            count += getattr(following, "variable", None) is parameter
            if following not in seen:
                seen.add(following)
                nodes.append(following)
    return count


def test_gradients_are_those_of_the_ordinary_form():
    torch.manual_seed(0)
    layer, start = nn.Linear(5, 5), torch.randn(4, 5)
    together = recurrence(StepLinear(layer.weight, layer.bias, SIZES), start)
    assert contributions(together, layer.weight) == 1
    together.square().sum().backward()
    gradients = [parameter.grad.clone() for parameter in layer.parameters()]
    layer.zero_grad()
    ordinary = recurrence(layer, start)
    assert contributions(ordinary, layer.weight) == len(SIZES)
    ordinary.square().sum().backward()
    torch.testing.assert_close(together, ordinary)
    for gradient, parameter in zip(gradients, layer.parameters(), strict=True):
        torch.testing.assert_close(gradient, parameter.grad)

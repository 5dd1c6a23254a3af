"""Weights by a rule, so that the outputs of another program for them can be stored without them."""

import numpy as np
import torch


def wave(shape, index):
    """The numbers of the ``index``-th parameter."""
    numbers = 0.5 * np.sin(1.7 * index + 0.37 * np.arange(np.prod(shape)))
    return torch.from_numpy(numbers.reshape(shape).astype(np.float32))


def fill(network):
    """Give all parameters of a network, in their order, the numbers of the rule."""
    with torch.no_grad():
        for index, parameter in enumerate(network.parameters()):
            parameter.copy_(wave(tuple(parameter.shape), index))
    return network.eval()

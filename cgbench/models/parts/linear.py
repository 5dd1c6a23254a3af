"""Linear maps."""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from cgbench.models.parts.cpu import fast_form
from cgbench.models.parts.cpu.packed import bfloat16_linear, onednn_linear, packed_linear


class Linear(nn.Linear):
    """torch's linear map, by the fastest library of the processor."""

    def forward(self, input: Tensor) -> Tensor:
        """Map [..., in] to [..., out]."""
        return linear(input, self.weight, self.bias)


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return x·weightᵀ + bias, [..., out], of x [..., in]."""
    product = None
    if fast_form(x) and torch.is_grad_enabled():
        product = (bfloat16_linear if torch.is_autocast_enabled("cpu") else onednn_linear)(
            x, weight, bias
        )
    elif fast_form(x):
        product = packed_linear(x, weight, bias)
    return F.linear(x, weight, bias) if product is None else product


class StepLinear:
    """A linear map that a recurrence applies step by step.

    For single rows, the gradient of the weight would be one outer product per step, each as large
    as the weight. Here it is one product of all steps.

    :param weight: [out, in]; ``bias``: [out].
    :param sizes: number of rows of each step, in order; empty if no gradient is needed.
    """

    def __init__(self, weight: Tensor, bias: Tensor, sizes: Sequence[int] = ()) -> None:
        self._weight, self._bias = weight, bias
        self._inputs: list[Tensor] = []
        self._offsets: Iterator[Tensor] | None = None
        if sizes and torch.is_grad_enabled():
            offsets = _GradientOfSteps.apply(weight, bias, self._inputs, sum(sizes))
            self._weight, self._offsets = weight.detach(), iter(offsets.split(list(sizes)))

    def __call__(self, x: Tensor) -> Tensor:
        """Map the rows of the next step, [rows, in], to [rows, out]."""
        if self._offsets is None:
            return F.linear(x, self._weight, self._bias)
        self._inputs.append(x.detach())
        return torch.addmm(next(self._offsets), x, self._weight.T)


class _GradientOfSteps(torch.autograd.Function):
    """The bias, once per row; its gradient is also that of the weight.

    ``inputs`` is filled by the steps, before the gradient is computed.
    """

    @staticmethod
    def forward(ctx: Any, weight: Tensor, bias: Tensor, inputs: list[Tensor], rows: int) -> Tensor:
        ctx.inputs = inputs
        return bias.repeat(rows, 1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None, None]:
        inputs = torch.cat(ctx.inputs).to(gradient.dtype)
        return gradient.T @ inputs, gradient.sum(0), None, None

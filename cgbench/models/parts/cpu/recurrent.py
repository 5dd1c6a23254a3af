"""A linear map in a recurrence, with the weight's gradient computed once for all steps.

torch computes and adds the gradient of the weight at each step, which for few rows mostly reads and writes memory. One
product for all steps saves 14% of a training step of ``lstm_lexicon_cogs``, and 26% of ``syntactic_attention_scan``
with one sentence (docs/lab/performance.md).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

Tape = list[tuple[Tensor, Tensor]]


class StepLinear:
    """See :func:`cgbench.models.parts.recurrent.step_linear`."""

    def __init__(self, weight: Tensor) -> None:
        self.weight = weight.detach()
        self.tape: Tape = []
        # Every step depends on it, so its backward pass comes last.
        self.anchor = _Anchor.apply(weight, self.tape)

    def __call__(self, x: Tensor) -> Tensor:
        """Map the rows [rows, in] of one step."""
        result: Tensor = _Step.apply(x, self.anchor, self.weight, self.tape)
        return result


class _Anchor(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, weight: Tensor, tape: Tape) -> Tensor:
        ctx.tape = tape
        return weight.new_zeros(())

    @staticmethod
    def backward(ctx: Any, _: Tensor) -> tuple[Tensor, None]:
        inputs, gradients = (torch.cat(steps) for steps in zip(*ctx.tape, strict=True))
        ctx.tape.clear()
        return gradients.T @ inputs.to(gradients.dtype), None


class _Step(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, anchor: Tensor, weight: Tensor, tape: Tape) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.tape = tape
        return x @ weight.T

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None, None]:
        x, weight = ctx.saved_tensors
        gradient = gradient.to(weight.dtype)
        ctx.tape.append((x, gradient))
        return (gradient @ weight).to(x.dtype), gradient.new_zeros(()), None, None

"""Tokens to grids and back, each way one gather, in the gradient, too.

torch's gradient of a gather adds rows up one by one. Here every token has one place in the grids that counts, as
nothing depends on what stands at padding: the gradient is the gather the other way.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def gather_grids(x: Tensor, index: Tensor, inverse: Tensor) -> Tensor:
    """See :func:`cgbench.models.parts.ragged.gather_grids`."""
    result: Tensor = _GatherGrids.apply(x, index, inverse)
    return result


def gather_tokens(x: Tensor, inverse: Tensor) -> Tensor:
    """See :func:`cgbench.models.parts.ragged.gather_tokens`."""
    result: Tensor = _GatherTokens.apply(x, inverse)
    return result


class _GatherGrids(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, index: Tensor, inverse: Tensor) -> Tensor:
        ctx.save_for_backward(inverse)
        return x.index_select(0, index)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        (inverse,) = ctx.saved_tensors
        return gradient.index_select(0, inverse), None, None


class _GatherTokens(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, inverse: Tensor) -> Tensor:
        ctx.save_for_backward(inverse)
        ctx.rows = len(x)
        return x.index_select(0, inverse)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (inverse,) = ctx.saved_tensors
        result = gradient.new_zeros(ctx.rows, *gradient.shape[1:])
        return result.index_copy_(0, inverse, gradient), None

"""Tokens to the heads of grids and back, each way one gather (see :mod:`cgbench.models.parts.cpu.ragged`).

Attention multiplies in float32, so what is gathered in bfloat16 is widened on the way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

if TYPE_CHECKING:
    from cgbench.models.parts.heads import HeadGrids


def head_indices(
    tokens: Tensor, grids: Sequence[tuple[np.ndarray, np.ndarray]], parts: int, heads: int
) -> tuple[Tensor, Tensor, Tensor | None]:
    """See :func:`cgbench.models.parts.heads.head_indices`."""
    offset = np.arange(parts)[:, None, None, None] * heads + np.arange(heads)[:, None]  # [parts, 1, heads, 1]
    indices = [index[:, None] * (parts * heads) + offset for index, _ in grids]
    reals = [np.broadcast_to(real[:, None], index.shape) for index, (_, real) in zip(indices, grids, strict=True)]
    index, real = (np.concatenate([part.ravel() for part in arrays]) for arrays in (indices, reals))
    inverse = np.empty(int(real.sum()), np.int64)
    inverse[index[real]] = np.flatnonzero(real)
    padding = None if real.all() else torch.from_numpy(np.flatnonzero(~real))
    return torch.from_numpy(index), torch.from_numpy(inverse), padding


def gather_heads(x: Tensor, grids: HeadGrids) -> tuple[Tensor, ...]:
    """See :func:`cgbench.models.parts.heads.gather_heads`."""
    pieces: tuple[Tensor, ...] = _GatherHeads.apply(x, grids)
    return pieces


def gather_tokens(flat: Tensor, grids: HeadGrids) -> Tensor:
    """See :func:`cgbench.models.parts.heads.gather_tokens`."""
    result: Tensor = _GatherTokens.apply(flat, grids)
    return result


def split_heads(x: Tensor, heads: int, parts: int) -> tuple[Tensor, ...]:
    """See :func:`cgbench.models.parts.heads.split_heads`."""
    if x.dtype == torch.bfloat16:
        pieces: tuple[Tensor, ...] = _SplitToFloat.apply(x, heads, parts)
        return pieces
    return _split(x, heads, parts).unbind(0)


class _GatherHeads(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, grids: HeadGrids) -> tuple[Tensor, ...]:
        ctx.grids, ctx.type, ctx.shape = grids, x.dtype, x.shape
        flat = x.reshape(-1, x.shape[1] // (grids.parts * grids.heads)).index_select(0, grids.index)
        return grids.cut(flat.float() if flat.dtype == torch.bfloat16 else flat)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        joined = torch.cat([gradient.flatten(0, 2) for gradient in gradients]).to(ctx.type)
        return joined.index_select(0, ctx.grids.inverse).view(ctx.shape), None


class _GatherTokens(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, flat: Tensor, grids: HeadGrids) -> Tensor:
        ctx.grids = grids
        return flat.index_select(0, grids.inverse).view(-1, grids.heads * flat.shape[1])

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        grids = ctx.grids
        result = gradient.reshape(-1, gradient.shape[1] // grids.heads).index_select(0, grids.index)
        return result if grids.padding is None else result.index_fill_(0, grids.padding, 0), None


class _SplitToFloat(torch.autograd.Function):
    """The split and a cast to float32 in one pass, and one back."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, heads: int, parts: int) -> tuple[Tensor, ...]:
        ctx.shape = x.shape
        return _split(x, heads, parts).to(torch.float32, memory_format=torch.contiguous_format).unbind(0)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        rows, heads, length, width = gradients[0].shape
        joined = torch.empty(rows, length, len(gradients), heads, width, dtype=torch.bfloat16)
        for part, gradient in enumerate(gradients):
            joined[:, :, part] = gradient.transpose(1, 2)
        return joined.view(ctx.shape), None, None


def _split(x: Tensor, heads: int, parts: int) -> Tensor:
    """Cut [rows, length, parts x width] into [parts, rows, heads, length, d_head]."""
    return x.unflatten(-1, (parts, heads, -1)).permute(2, 0, 3, 1, 4)

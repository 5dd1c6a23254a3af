"""Tokens to grids in which the heads lie apart, and back.

What attention multiplies is one matrix for each sequence and head. Taken from the tokens [N, width] in one gather, the
matrices are contiguous, whole rows of d_head numbers are moved, and no product has to copy its operands again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True)
class HeadGrids:
    """Where the heads of N tokens stand in the grids of their buckets.

    :param index: of tokens seen as [N x parts x heads, d_head], the row at each place; ``inverse``: the place of each.
    :param padding: places that no token has, or None.
    :param shapes: R and columns of the grid of each bucket.
    """

    index: Tensor
    inverse: Tensor
    padding: Tensor | None
    shapes: tuple[tuple[int, int], ...]
    parts: int
    heads: int

    @classmethod
    def of(
        cls, grids: Sequence[tuple[np.ndarray, np.ndarray]], parts: int, heads: int, device: torch.device
    ) -> HeadGrids:
        """Build the indices.

        :param grids: for each bucket the token at each place and whether it is one, both [R, columns].
        """
        offset = np.arange(parts)[:, None, None, None] * heads + np.arange(heads)[:, None]  # [parts, 1, heads, 1]
        indices = [index[:, None] * (parts * heads) + offset for index, _ in grids]
        reals = [np.broadcast_to(real[:, None], index.shape) for index, (_, real) in zip(indices, grids, strict=True)]
        index, real = (np.concatenate([part.ravel() for part in arrays]) for arrays in (indices, reals))
        inverse = np.empty(int(real.sum()), np.int64)
        inverse[index[real]] = np.flatnonzero(real)
        padding = None if real.all() else _tensor(np.flatnonzero(~real), device)
        shapes = tuple(index.shape for index, _ in grids)
        return cls(_tensor(index, device), _tensor(inverse, device), padding, shapes, parts, heads)

    def take(self, x: Tensor) -> list[tuple[Tensor, ...]]:
        """Cut tokens [N, parts x width] into ``parts`` tensors [R, heads, columns, d_head] a bucket.

        What stands at padding is finite. On a CPU bfloat16 becomes float32.
        """
        pieces = _ToHeads.apply(x, self)
        return [pieces[first : first + self.parts] for first in range(0, len(pieces), self.parts)]

    def give_back(self, grids: Sequence[Tensor]) -> Tensor:
        """Undo :meth:`take` for one part: [R, heads, columns, d_head] a bucket to [N, width]."""
        flat = [grid.flatten(0, 2) for grid in grids]
        x: Tensor = _FromHeads.apply(torch.cat(flat) if len(flat) > 1 else flat[0], self)
        return x


class _ToHeads(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, grids: HeadGrids) -> tuple[Tensor, ...]:
        ctx.grids, ctx.type, ctx.shape = grids, x.dtype, x.shape
        flat = x.reshape(-1, x.shape[1] // (grids.parts * grids.heads)).index_select(0, grids.index)
        if flat.dtype == torch.bfloat16 and flat.device.type == "cpu":
            flat = flat.float()
        pieces = flat.split(
            [rows * grids.heads * columns for rows, columns in grids.shapes for _ in range(grids.parts)]
        )
        shapes = [(rows, grids.heads, columns, -1) for rows, columns in grids.shapes for _ in range(grids.parts)]
        return tuple(piece.view(shape) for piece, shape in zip(pieces, shapes, strict=True))

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        # Every token has one place that counts: nothing depends on what stands at padding.
        joined = torch.cat([gradient.flatten(0, 2) for gradient in gradients]).to(ctx.type)
        return joined.index_select(0, ctx.grids.inverse).view(ctx.shape), None


class _FromHeads(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, flat: Tensor, grids: HeadGrids) -> Tensor:
        ctx.grids = grids
        return flat.index_select(0, grids.inverse).view(-1, grids.heads * flat.shape[1])

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        grids = ctx.grids
        result = gradient.reshape(-1, gradient.shape[1] // grids.heads).index_select(0, grids.index)
        return result if grids.padding is None else result.index_fill_(0, grids.padding, 0), None


def split_heads(x: Tensor, heads: int, parts: int) -> tuple[Tensor, ...]:
    """Cut [rows, length, parts x width] into ``parts`` tensors [rows, heads, length, d_head]."""
    if x.dtype == torch.bfloat16 and x.device.type == "cpu":
        pieces: tuple[Tensor, ...] = _SplitToFloat.apply(x, heads, parts)
        return pieces
    return x.unflatten(-1, (parts, heads, -1)).permute(2, 0, 3, 1, 4).unbind(0)


class _SplitToFloat(torch.autograd.Function):
    """:func:`split_heads` and a cast to float32 in one pass, and one back."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, heads: int, parts: int) -> tuple[Tensor, ...]:
        ctx.shape = x.shape
        split = x.unflatten(-1, (parts, heads, -1)).permute(2, 0, 3, 1, 4)
        return split.to(torch.float32, memory_format=torch.contiguous_format).unbind(0)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        rows, heads, length, width = gradients[0].shape
        joined = torch.empty(rows, length, len(gradients), heads, width, dtype=torch.bfloat16)
        for part, gradient in enumerate(gradients):
            joined[:, :, part] = gradient.transpose(1, 2)
        return joined.view(ctx.shape), None, None


def _tensor(values: np.ndarray, device: torch.device) -> Tensor:
    return torch.from_numpy(values).to(device, non_blocking=True)

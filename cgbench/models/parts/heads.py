"""Tokens to grids in which the heads lie apart, and back.

What attention multiplies is one matrix for each sequence and head. Taken from the tokens [N, width] in one gather, the
matrices are contiguous, whole rows of d_head numbers are moved, and no product has to copy its operands again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from cgbench.models.parts.cpu import heads as cpu
from cgbench.models.parts.forms import faster


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
        """Build the indices, where they are used.

        :param grids: for each bucket the token at each place and whether it is one, both [R, columns].
        """
        tokens = _tensor(np.concatenate([index.ravel() for index, _ in grids]), device)
        index, inverse, padding = head_indices(tokens, grids, parts, heads)
        return cls(index, inverse, padding, tuple(index.shape for index, _ in grids), parts, heads)

    def take(self, x: Tensor) -> list[tuple[Tensor, ...]]:
        """Cut tokens [N, parts x width] into ``parts`` tensors [R, heads, columns, d_head] per bucket.

        What stands at padding is finite. On a CPU bfloat16 becomes float32.
        """
        pieces = gather_heads(x, self)
        return [pieces[first : first + self.parts] for first in range(0, len(pieces), self.parts)]

    def give_back(self, grids: Sequence[Tensor]) -> Tensor:
        """Undo :meth:`take` for one part: [R, heads, columns, d_head] per bucket to [N, width]."""
        flat = [grid.flatten(0, 2) for grid in grids]
        return gather_tokens(torch.cat(flat) if len(flat) > 1 else flat[0], self)

    def cut(self, flat: Tensor) -> tuple[Tensor, ...]:
        """Cut what stands in the grids, [rows of all grids, d_head], into the tensors of :meth:`take`, one by one."""
        shapes = [(rows, self.heads, columns) for rows, columns in self.shapes for _ in range(self.parts)]
        pieces = flat.split([math.prod(shape) for shape in shapes])
        return tuple(piece.view(*shape, -1) for piece, shape in zip(pieces, shapes, strict=True))


@faster(cpu=cpu.head_indices)
def head_indices(
    tokens: Tensor, grids: Sequence[tuple[np.ndarray, np.ndarray]], parts: int, heads: int
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Index, inverse and padding of :class:`HeadGrids`.

    A GPU is sent four numbers a place of the grids, and multiplies them by parts and heads itself: at each batch, the
    host would take longer to make and to send those.

    :param tokens: the token at each place of all grids, [places], on the device; ``grids``: the same on the host, with
        what is real.
    """
    real = np.concatenate([part.ravel() for _, part in grids])
    # Of each place of a grid [R, C]: where it is for the first part and head, and how far away for the next head and
    # for the next part.
    first, next_head, next_part = (np.empty(len(real), np.int64) for _ in range(3))
    begin = done = 0
    for rows, columns in (index.shape for index, _ in grids):
        here = slice(done, done + rows * columns)
        first[here] = (begin + np.arange(rows)[:, None] * (heads * columns) + np.arange(columns)).ravel()
        next_head[here], next_part[here] = columns, rows * heads * columns
        begin, done = begin + parts * rows * heads * columns, here.stop
    device = tokens.device
    firsts, by_head, by_part = _tensor(np.stack((first, next_head, next_part)), device)[:, :, None, None]
    part, head = torch.arange(parts, device=device)[:, None], torch.arange(heads, device=device)
    place = firsts + part * by_part + head * by_head  # [places, parts, heads]
    row = tokens[:, None, None] * (parts * heads) + part * heads + head
    index = torch.empty_like(row).flatten()
    index[place.flatten()] = row.flatten()
    if real.all():
        inverse = torch.empty_like(index)
        inverse[row.flatten()] = place.flatten()
        return index, inverse, None
    # Sizes are known here, so that nobody asks the device for any.
    token = np.concatenate([each.ravel() for each, _ in grids])
    placed = np.flatnonzero(real)
    order = _tensor(placed[np.argsort(token[placed], kind="stable")], device)
    return index, place[order].flatten(), place[_tensor(np.flatnonzero(~real), device)].flatten()


@faster(cpu=cpu.gather_heads)
def gather_heads(x: Tensor, grids: HeadGrids) -> tuple[Tensor, ...]:
    """Gather the heads of tokens [N, parts x width] into the grids, one after another as :meth:`HeadGrids.cut` cuts."""
    return grids.cut(x.reshape(-1, x.shape[1] // (grids.parts * grids.heads)).index_select(0, grids.index))


@faster(cpu=cpu.gather_tokens)
def gather_tokens(flat: Tensor, grids: HeadGrids) -> Tensor:
    """Gather the tokens [N, heads x d_head] from what stands in the grids, [rows of all grids, d_head]."""
    return flat.index_select(0, grids.inverse).view(-1, grids.heads * flat.shape[1])


@faster(cpu=cpu.split_heads)
def split_heads(x: Tensor, heads: int, parts: int) -> tuple[Tensor, ...]:
    """Cut [rows, length, parts x width] into ``parts`` tensors [rows, heads, length, d_head].

    On a CPU bfloat16 becomes float32.
    """
    return x.unflatten(-1, (parts, heads, -1)).permute(2, 0, 3, 1, 4).unbind(0)


def _tensor(values: np.ndarray, device: torch.device) -> Tensor:
    return torch.from_numpy(values).to(device, non_blocking=True)

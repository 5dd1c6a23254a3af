"""Multi-head attention: one core for every architecture, over ragged batches, with caches for decoding step by step.

Scaled dot products follow Vaswani et al. (2017), section 3.2; how distances enter the logits is in
:mod:`cgbench.models.positions`.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cgbench.models.dropout import dropout
from cgbench.models.linear import Linear, linear
from cgbench.models.positions import RelativeLogits
from cgbench.models.ragged import Layout, Pairing


@dataclass
class KeysValues:
    """Keys and values of one attention sublayer, each [rows, heads, length, d_head]."""

    keys: Tensor
    values: Tensor

    def append(self, keys: Tensor, values: Tensor) -> None:
        """Add positions at the end."""
        self.keys = torch.cat((self.keys, keys), dim=2)
        self.values = torch.cat((self.values, values), dim=2)

    def select(self, index: Tensor) -> None:
        """Keep the rows ``index``, in that order."""
        self.keys = self.keys.index_select(0, index)
        self.values = self.values.index_select(0, index)


def attend(query: Tensor, memory: KeysValues, bias: Tensor | None, p: float) -> Tensor:
    """Softmax attention; returns [rows, queries, heads x d_head].

    :param query: [rows, heads, queries, d_head].
    :param bias: added to the scaled logits (0 and -inf for a mask), broadcast to [rows, heads, queries, keys].
    :param p: probability to drop an attention weight.
    """
    if query.device.type == "cpu":
        mixed = _attend_on_cpu(query, memory, bias, p)
    else:
        bias = None if bias is None else bias.to(query.dtype)
        mixed = F.scaled_dot_product_attention(query, memory.keys, memory.values, attn_mask=bias, dropout_p=p)
    return mixed.transpose(1, 2).flatten(2)


def _attend_on_cpu(query: Tensor, memory: KeysValues, bias: Tensor | None, p: float) -> Tensor:
    # Sentences are short: plain products are several times faster than torch's blocked kernel for training on a CPU.
    logits = query @ memory.keys.transpose(-1, -2)
    weights = _Softmax.apply(logits, bias, 1 / math.sqrt(query.shape[-1]))
    return dropout(weights, p) @ memory.values


class _Softmax(torch.autograd.Function):
    """Softmax of scale·logits + bias, spelt out: torch's own takes a slow path for rows below 16 elements."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, bias: Tensor | None, scale: float) -> Tensor:
        weights = logits * scale if bias is None else torch.add(bias, logits, alpha=scale)
        weights.sub_(weights.amax(-1, keepdim=True)).exp_()
        weights.div_(weights.sum(-1, keepdim=True))
        ctx.save_for_backward(weights)
        ctx.scale = scale
        return weights

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor | None, None]:
        (weights,) = ctx.saved_tensors
        result = gradient * weights
        result.sub_(weights * result.sum(-1, keepdim=True))
        return result * ctx.scale, result if ctx.needs_input_grad[1] else None, None


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


def full_precision_on_cpu(device: torch.device) -> contextlib.AbstractContextManager[Any]:
    """Within, a CPU multiplies in float32: products of attention are small, of ever new shapes, and gain nothing."""
    return torch.autocast("cpu", enabled=False) if device.type == "cpu" else contextlib.nullcontext()


class SelfAttention(nn.Module):
    """Self-attention with fused query, key and value projections.

    :param relative: what distances add to the logits (:mod:`cgbench.models.positions`), or None.
    :param bias: whether the four projections have one.
    """

    def __init__(
        self, width: int, heads: int, dropout: float, relative: RelativeLogits | None = None, bias: bool = True
    ) -> None:
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.project_in = Linear(width, 3 * width, bias=bias)
        self.project_out = Linear(width, width, bias=bias)
        self.scale = 1 / math.sqrt(width // heads)
        self.relative = relative

    def forward(self, x: Tensor, layout: Layout, causal: bool = False) -> Tensor:
        """Attend within each sequence of the tokens ``x`` [N, width]; ``causal``: to no later position."""
        return self.mix(self.project_in(x), layout, causal)

    def mix(self, projected: Tensor, layout: Layout, causal: bool = False) -> Tensor:
        """The same from the output of ``project_in``, [N, 3 width]."""
        return self.project_out(self.mixed(projected, layout, causal))

    def mixed(self, projected: Tensor, layout: Layout, causal: bool = False) -> Tensor:
        """Return the weighted values before the output projection, [N, width]."""
        grids = []
        for bucket, grid in zip(layout.buckets, layout.to_grids(projected), strict=True):
            query, keys, values = split_heads(grid, self.heads, 3)
            with full_precision_on_cpu(grid.device):
                # Padding is on the right, where a causal query never looks.
                bias = causal_mask(bucket.columns, query) if causal else bucket.mask
                if self.relative is not None:
                    logits = self.relative.logits(query, keys, bucket.widths) * self.scale
                    bias = logits if bias is None else logits + bias
                grids.append(attend(query, KeysValues(keys, values), bias, self.dropout if self.training else 0.0))
        return layout.from_grids(grids)

    def step(self, x: Tensor, memory: KeysValues) -> Tensor:
        """Append the position ``x`` [rows, width] to ``memory`` and attend from it to all before it."""
        query, keys, values = split_heads(self.project_in(x).unsqueeze(1), self.heads, 3)
        memory.append(keys, values)
        bias = None if self.relative is None else self.relative.last_logits(query, memory.keys) * self.scale
        return self.project_out(attend(query, memory, bias, 0.0).squeeze(1))

    def empty(self, rows: int, like: Tensor) -> KeysValues:
        """Return a memory without positions, of the type and device of ``like``."""
        width = self.project_out.in_features
        nothing = like.new_empty(rows, self.heads, 0, width // self.heads)
        return KeysValues(nothing, nothing)


class CrossAttention(nn.Module):
    """Attention from the decoder to the encoder's states, without positions."""

    def __init__(self, width: int, heads: int, dropout: float, bias: bool = True) -> None:
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.project_query = Linear(width, width, bias=bias)
        self.project_memory = Linear(width, 2 * width, bias=bias)
        self.project_out = Linear(width, width, bias=bias)

    def project_keys(self, states: Tensor) -> Tensor:
        """Project states [M, width] to keys alone, [M, width]."""
        return self._project_part(states, 0)

    def project_values(self, states: Tensor) -> Tensor:
        """Project states [M, width] to values alone, [M, width]."""
        return self._project_part(states, 1)

    def _project_part(self, states: Tensor, part: int) -> Tensor:
        weight, bias = self.project_memory.weight, self.project_memory.bias
        return linear(states, weight.chunk(2)[part], None if bias is None else bias.chunk(2)[part])

    def remember(self, states: Tensor, pairing: Pairing) -> list[KeysValues]:
        """Project states [M, width] to keys and values, as a grid for each bucket of the pairing's layout."""
        grids = pairing.grids(self.project_memory(states))
        return [KeysValues(*split_heads(grid, self.heads, 2)) for grid in grids]

    def join(self, keys: Sequence[Tensor], values: Sequence[Tensor]) -> list[KeysValues]:
        """The same from grids of keys and grids of values, each [R, columns, width]."""
        return [
            KeysValues(*split_heads(key, self.heads, 1), *split_heads(value, self.heads, 1))
            for key, value in zip(keys, values, strict=True)
        ]

    def forward(
        self, x: Tensor, layout: Layout, memory: Sequence[KeysValues], masks: Sequence[Tensor | None]
    ) -> Tensor:
        """Attend from the tokens ``x`` [N, width] to ``memory``: keys, values and mask of each bucket of the layout."""
        grids = []
        for grid, remembered, mask in zip(layout.to_grids(self.project_query(x)), memory, masks, strict=True):
            (query,) = split_heads(grid, self.heads, 1)
            with full_precision_on_cpu(x.device):
                grids.append(attend(query, remembered, mask, self.dropout if self.training else 0.0))
        return self.project_out(layout.from_grids(grids))

    def step(self, x: Tensor, memory: KeysValues, mask: Tensor | None) -> Tensor:
        """Attend from one position a row, [rows, width]; ``mask`` as :func:`attend`'s bias."""
        (query,) = split_heads(self.project_query(x).unsqueeze(1), self.heads, 1)
        return self.project_out(attend(query, memory, mask, 0.0).squeeze(1))


def causal_mask(length: int, like: Tensor) -> Tensor:
    """Return a mask that hides later positions, [length, length]: 0 and -inf, of the type and device of ``like``."""
    return torch.full((length, length), -math.inf, dtype=like.dtype, device=like.device).triu_(1)

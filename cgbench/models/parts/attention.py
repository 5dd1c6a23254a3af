"""Multi-head attention: one core for every architecture, over ragged batches, with caches for decoding step by step.

Scaled dot products follow Vaswani et al. (2017), section 3.2; how distances enter the logits is in
:mod:`cgbench.models.parts.positions`.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cgbench.models.parts.dropout import keep_mask
from cgbench.models.parts.heads import split_heads
from cgbench.models.parts.linear import Linear, linear
from cgbench.models.parts.positions import RelativeLogits
from cgbench.models.parts.ragged import Copies, Layout, Pairing


class KeysValues:
    """Keys and values of one attention sublayer, each [rows, heads, length, d_head]; they can grow."""

    def __init__(self, keys: Tensor, values: Tensor) -> None:
        self._stored = keys, values  # with room for more at the end
        self.length = keys.shape[2]

    def __len__(self) -> int:
        return len(self._stored[0])

    @property
    def keys(self) -> Tensor:
        """Keys [rows, heads, length, d_head]."""
        return self._stored[0].narrow(2, 0, self.length)

    @property
    def values(self) -> Tensor:
        """Values [rows, heads, length, d_head]."""
        return self._stored[1].narrow(2, 0, self.length)

    def append(self, keys: Tensor, values: Tensor) -> None:
        """Add positions at the end."""
        end = self.length + keys.shape[2]
        if end > self._stored[0].shape[2]:
            self._stored = self._copy(self.keys, 2 * end), self._copy(self.values, 2 * end)
        for stored, new in zip(self._stored, (keys, values), strict=True):
            stored[:, :, self.length : end] = new
        self.length = end

    def select(self, index: Tensor) -> None:
        """Keep the rows ``index``, in that order."""
        self._stored = self.keys.index_select(0, index), self.values.index_select(0, index)

    def _copy(self, x: Tensor, room: int) -> Tensor:
        larger = x.new_empty(*x.shape[:2], room, x.shape[3])
        larger[:, :, : self.length] = x
        return larger


def attend(query: Tensor, memory: KeysValues, bias: Tensor | None, p: float) -> Tensor:
    """Softmax attention; returns [rows, heads, queries, d_head].

    :param query: [rows, heads, queries, d_head].
    :param bias: added to the scaled logits (0 and -inf for a mask), broadcast to [rows, heads, queries, keys].
    :param p: probability to drop an attention weight.
    """
    if query.device.type != "cpu":
        bias = None if bias is None else bias.to(query.dtype)
        return F.scaled_dot_product_attention(query, memory.keys, memory.values, attn_mask=bias, dropout_p=p)
    mixed: Tensor = _Attend.apply(query, memory.keys, memory.values, bias, p)
    return mixed


class _Attend(torch.autograd.Function):
    """Attention by plain products, on a CPU.

    Sentences are short, and torch's blocked kernel takes several times as long there. Spelt out, gradients of keys and
    values come out in the order in which these are stored.
    """

    @staticmethod
    def forward(ctx: Any, query: Tensor, keys: Tensor, values: Tensor, bias: Tensor | None, p: float) -> Tensor:
        weights = _softmax(query @ keys.transpose(-1, -2), bias, 1 / math.sqrt(query.shape[-1]))
        kept = keep_mask(weights.shape, p, weights.dtype) if p else None
        ctx.save_for_backward(query, keys, values, bias, weights, kept)
        return (weights if kept is None else weights * kept) @ values

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor | None, None]:
        query, keys, values, bias, weights, kept = ctx.saved_tensors
        by_weights = gradient @ values.transpose(-1, -2)
        by_values = (weights if kept is None else weights * kept).transpose(-1, -2) @ gradient
        by_logits = _softmax_gradient(weights, by_weights if kept is None else by_weights.mul_(kept))
        by_bias = by_logits.sum_to_size(bias.shape).clone() if ctx.needs_input_grad[3] else None
        by_logits.mul_(1 / math.sqrt(query.shape[-1]))
        return by_logits @ keys, by_logits.transpose(-1, -2) @ query, by_values, by_bias, None


def softmax(logits: Tensor, bias: Tensor | None, scale: float) -> Tensor:
    """Return the softmax of scale·logits + bias over the last dimension."""
    if logits.device.type == "cpu":
        weights: Tensor = _Softmax.apply(logits, bias, scale)
        return weights
    return torch.softmax(logits * scale if bias is None else torch.add(bias, logits, alpha=scale), -1)


class _Softmax(torch.autograd.Function):
    """Softmax of scale·logits + bias, on a CPU."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, bias: Tensor | None, scale: float) -> Tensor:
        weights = _softmax(logits, bias, scale)
        ctx.save_for_backward(weights)
        ctx.scale = scale
        return weights

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor | None, None]:
        (weights,) = ctx.saved_tensors
        result = _softmax_gradient(weights, gradient)
        return result * ctx.scale, result if ctx.needs_input_grad[1] else None, None


def _softmax(logits: Tensor, bias: Tensor | None, scale: float) -> Tensor:
    weights = logits * scale if bias is None else torch.add(bias, logits, alpha=scale)
    if weights.shape[-1] >= 16:
        return torch.softmax(weights, -1)
    # torch's softmax is slow for short rows, and its exp, unlike exp2, where something is masked.
    weights.sub_(weights.amax(-1, keepdim=True)).mul_(1 / math.log(2)).exp2_()
    return weights.div_(weights.sum(-1, keepdim=True))


def _softmax_gradient(weights: Tensor, gradient: Tensor) -> Tensor:
    result = gradient * weights
    return result.sub_(weights * result.sum(-1, keepdim=True))


def full_precision_on_cpu(device: torch.device) -> contextlib.AbstractContextManager[Any]:
    """Within, a CPU multiplies in float32: products of attention are small, of ever new shapes, and gain nothing."""
    return torch.autocast("cpu", enabled=False) if device.type == "cpu" else contextlib.nullcontext()


def widen_on_cpu(x: Tensor) -> Tensor:
    """Return bfloat16 on a CPU as float32, for products in full precision there."""
    return x.float() if x.dtype == torch.bfloat16 and x.device.type == "cpu" else x


class SelfAttention(nn.Module):
    """Self-attention with fused query, key and value projections.

    :param relative: what distances add to the logits (:mod:`cgbench.models.parts.positions`), or None.
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
        taken = layout.to_heads(projected, 3, self.heads)
        for bucket, (query, keys, values) in zip(layout.buckets, taken, strict=True):
            with full_precision_on_cpu(query.device):
                # Padding is on the right, where a causal query never looks.
                bias = causal_mask(bucket.columns, query) if causal else bucket.mask
                if self.relative is not None:
                    logits = self.relative.logits(query, keys, bucket.widths) * self.scale
                    bias = logits if bias is None else logits + bias
                grids.append(attend(query, KeysValues(keys, values), bias, self.dropout if self.training else 0.0))
        return layout.from_heads(grids)

    def project_query(self, x: Tensor) -> Tensor:
        """Project [N, width] to queries alone, [N, width]."""
        return self._project(x, slice(None, self.project_in.in_features))

    def project_memory(self, x: Tensor) -> Tensor:
        """Project [N, width] to keys and values alone, [N, 2 width]."""
        return self._project(x, slice(self.project_in.in_features, None))

    def _project(self, x: Tensor, part: slice) -> Tensor:
        weight, bias = self.project_in.weight, self.project_in.bias
        return linear(x, weight[part], None if bias is None else bias[part])

    def mix_ends(self, x: Tensor, memory: Tensor, layout: Layout, ends: Copies, causal: bool = False) -> Tensor:
        """Attend from the last tokens of each part alone, [queries, width].

        :param x: the tokens of ``layout``, or the table that they are copies of; ``memory``: keys and values of these.
        :param ends: which tokens: what :meth:`Layout.ends` returned.
        """
        if ends.tokens < len(x):
            query, queries = self.project_query(ends.spread(x)), ends.plain
        else:
            query, queries = self.project_query(x), ends
        grids = []
        taken = zip(queries.to_heads(query, 1, self.heads), layout.to_heads(memory, 2, self.heads), strict=True)
        for bucket, given, ((asked,), (keys, values)) in zip(layout.buckets, ends.buckets, taken, strict=True):
            with full_precision_on_cpu(x.device):
                bias = causal_end_mask(bucket.mask, given.columns, keys) if causal else bucket.mask
                if self.relative is not None:
                    logits = self.relative.end_logits(asked, keys, given.widths, bucket.widths) * self.scale
                    bias = logits if bias is None else logits + bias
                grids.append(attend(asked, KeysValues(keys, values), bias, self.dropout if self.training else 0.0))
        return self.project_out(ends.from_heads(grids))

    def step(self, x: Tensor, memory: KeysValues, seen: Tensor | None = None, ages: Tensor | None = None) -> Tensor:
        """Append the position ``x`` [rows, width] to ``memory`` and attend from it to all before it.

        :param memory: has as many rows as ``x``, or fewer: then ``len(x) / len(memory)`` neighbours share one.
        :param seen: what a row that shares may attend to, as :func:`attend`'s bias, [len(memory), 1, sharing, length]
            with the new positions.
        :param ages: how many positions ago each of the length was, those of the new 0; none was twice if not given.
        """
        query, keys, values = split_heads(self.project_in(x).unflatten(0, (len(memory), -1)), self.heads, 3)
        memory.append(keys, values)
        with full_precision_on_cpu(x.device):
            if self.relative is not None:
                if ages is None:
                    ages = torch.arange(memory.length - 1, -1, -1, device=x.device)
                logits = self.relative.last_logits(query, memory.keys, ages) * self.scale
                seen = logits if seen is None else logits + seen
            mixed = attend(query, memory, seen, 0.0)
        return self.project_out(join_heads(mixed))

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
        return [KeysValues(*taken) for taken in pairing.heads(self.project_memory(states), 2, self.heads)]

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
        taken = layout.to_heads(self.project_query(x), 1, self.heads)
        for (query,), remembered, mask in zip(taken, memory, masks, strict=True):
            with full_precision_on_cpu(x.device):
                grids.append(attend(query, remembered, mask, self.dropout if self.training else 0.0))
        return self.project_out(layout.from_heads(grids))

    def step(self, x: Tensor, memory: KeysValues, mask: Tensor | None) -> Tensor:
        """Attend from one position a row, [rows, width]; ``mask`` as :func:`attend`'s bias.

        :param memory: has as many rows as ``x``, or fewer: then ``len(x) / len(memory)`` neighbours share one.
        """
        (query,) = split_heads(self.project_query(x).unflatten(0, (len(memory), -1)), self.heads, 1)
        with full_precision_on_cpu(x.device):
            mixed = attend(query, memory, mask, 0.0)
        return self.project_out(join_heads(mixed))


def join_heads(x: Tensor) -> Tensor:
    """Turn [rows, heads, length, d_head] into [rows x length, width]."""
    return x.transpose(1, 2).flatten(2).flatten(0, 1)


def causal_mask(length: int, like: Tensor) -> Tensor:
    """Return a mask that hides later positions, [length, length]: 0 and -inf, of the type and device of ``like``."""
    return torch.full((length, length), -math.inf, dtype=like.dtype, device=like.device).triu_(1)


def causal_end_mask(mask: Tensor | None, queries: int, keys: Tensor) -> Tensor:
    """Return a mask that hides later positions from the last ``queries`` columns, and what ``mask`` hides from all.

    A column of padding sees itself, so that no row of logits is without an end.

    :param mask: 0 and -inf, [rows, 1, 1, length], or None; ``keys``: [rows, heads, length, d_head].
    """
    length = keys.shape[2]
    hidden = causal_mask(length, keys)[length - queries :]
    if mask is None:
        return hidden
    itself = torch.eye(length, dtype=torch.bool, device=keys.device)[length - queries :]
    return (mask.to(keys.dtype) + hidden).masked_fill(itself, 0.0)

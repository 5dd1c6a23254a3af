"""Multi-head attention: one core for every architecture, over ragged batches, with caches for decoding step by step.

Scaled dot products follow Vaswani et al. (2017), section 3.2; how distances enter the logits is in
:mod:`cgbench.models.parts.positions`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cgbench.models.parts.cpu import attention as cpu
from cgbench.models.parts.forms import faster
from cgbench.models.parts.heads import split_heads
from cgbench.models.parts.linear import Linear, linear
from cgbench.models.parts.positions import RelativeLogits
from cgbench.models.parts.precision import attention_autocast
from cgbench.models.parts.ragged import GatherLayout, Layout, Pairing


class KVCache:
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


@faster(cpu=cpu.scaled_dot_product_attention)
def scaled_dot_product_attention(
    query: Tensor, keys: Tensor, values: Tensor, attn_mask: Tensor | None, dropout_p: float
) -> Tensor:
    """Softmax attention; returns [rows, heads, queries, d_head].

    :param query: [rows, heads, queries, d_head]; ``keys`` and ``values``: [rows, heads, keys, d_head].
    :param attn_mask: added to the scaled logits (0 and -inf, what distances add, or both), broadcast to [rows, heads,
        queries, keys]. The result of a query from which all keys are hidden is 0.
    :param dropout_p: probability to drop an attention weight.
    """
    attn_mask = None if attn_mask is None else attn_mask.to(query.dtype)
    return F.scaled_dot_product_attention(query, keys, values, attn_mask=attn_mask, dropout_p=dropout_p)


@faster(cpu=cpu.softmax)
def softmax(logits: Tensor, mask: Tensor | None, scale: float) -> Tensor:
    """Return the softmax of scale·logits + mask over the last dimension."""
    return torch.softmax(logits * scale if mask is None else torch.add(mask, logits, alpha=scale), -1)


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
        return self.attend(self.project_in(x), layout, causal)

    def attend(self, projected: Tensor, layout: Layout, causal: bool = False) -> Tensor:
        """The same from the output of ``project_in``, [N, 3 width]."""
        grids, p = [], self.dropout if self.training else 0.0
        taken = layout.to_heads(projected, 3, self.heads)
        for bucket, (query, keys, values) in zip(layout.buckets, taken, strict=True):
            with attention_autocast(query):
                # Padding is on the right, where a causal query never looks.
                mask = causal_mask(bucket.columns, query) if causal else bucket.mask
                if self.relative is not None:
                    logits = self.relative.logits(query, keys, bucket.widths) * self.scale
                    mask = logits if mask is None else logits + mask
                grids.append(scaled_dot_product_attention(query, keys, values, mask, p))
        return self.project_out(layout.from_heads(grids))

    def project_query(self, x: Tensor) -> Tensor:
        """Project [N, width] to queries alone, [N, width]."""
        return self._project(x, slice(None, self.project_in.in_features))

    def project_memory(self, x: Tensor) -> Tensor:
        """Project [N, width] to keys and values alone, [N, 2 width]."""
        return self._project(x, slice(self.project_in.in_features, None))

    def _project(self, x: Tensor, part: slice) -> Tensor:
        weight, bias = self.project_in.weight, self.project_in.bias
        return linear(x, weight[part], None if bias is None else bias[part])

    def attend_ends(
        self, x: Tensor, memory: Tensor, layout: Layout, ends: GatherLayout, causal: bool = False
    ) -> Tensor:
        """Attend from the last tokens of each part alone, [queries, width].

        :param x: the tokens of ``layout``, or the table that they are gathered from; ``memory``: their keys and values.
        :param ends: which tokens: what :meth:`Layout.ends` returned.
        """
        if ends.tokens < len(x):
            query, queries = self.project_query(ends.gather(x)), ends.gathered
        else:
            query, queries = self.project_query(x), ends
        grids, p = [], self.dropout if self.training else 0.0
        taken = zip(queries.to_heads(query, 1, self.heads), layout.to_heads(memory, 2, self.heads), strict=True)
        for bucket, given, ((asked,), (keys, values)) in zip(layout.buckets, ends.buckets, taken, strict=True):
            with attention_autocast(x):
                mask = causal_end_mask(bucket.mask, given.columns, keys) if causal else bucket.mask
                if self.relative is not None:
                    logits = self.relative.end_logits(asked, keys, given.widths, bucket.widths) * self.scale
                    mask = logits if mask is None else logits + mask
                grids.append(scaled_dot_product_attention(asked, keys, values, mask, p))
        return self.project_out(ends.from_heads(grids))

    def step(self, x: Tensor, cache: KVCache, mask: Tensor | None = None, distances: Tensor | None = None) -> Tensor:
        """Append the position ``x`` [rows, width] to ``cache`` and attend from it to all before it.

        :param cache: has as many rows as ``x``, or fewer: then ``len(x) / len(cache)`` neighbours share one.
        :param mask: what a row that shares may attend to, with the new positions, [len(cache), 1, sharing, length].
        :param distances: how many positions before it each of the length is, the new one 0; none is twice if not given.
        """
        query, keys, values = split_heads(self.project_in(x).unflatten(0, (len(cache), -1)), self.heads, 3)
        cache.append(keys, values)
        with attention_autocast(x):
            if self.relative is not None:
                if distances is None:
                    distances = torch.arange(cache.length - 1, -1, -1, device=x.device)
                logits = self.relative.last_logits(query, cache.keys, distances) * self.scale
                mask = logits if mask is None else logits + mask
            attended = scaled_dot_product_attention(query, cache.keys, cache.values, mask, 0.0)
        return self.project_out(join_heads(attended))

    def empty(self, rows: int, like: Tensor) -> KVCache:
        """Return a cache without positions, of the type and device of ``like``."""
        width = self.project_out.in_features
        nothing = like.new_empty(rows, self.heads, 0, width // self.heads)
        return KVCache(nothing, nothing)


class CrossAttention(nn.Module):
    """Attention from the decoder to the encoder's states, without positions."""

    def __init__(
        self, width: int, heads: int, dropout: float, bias: bool = True, memory_width: int | None = None
    ) -> None:
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.project_query = Linear(width, width, bias=bias)
        self.project_memory = Linear(memory_width or width, 2 * width, bias=bias)
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

    def kv_cache(self, states: Tensor, pairing: Pairing) -> list[KVCache]:
        """Project states [M, width] to keys and values, as a grid for each bucket of the pairing's layout."""
        return [KVCache(*taken) for taken in pairing.heads(self.project_memory(states), 2, self.heads)]

    def kv_cache_of_grids(self, keys: Sequence[Tensor], values: Sequence[Tensor]) -> list[KVCache]:
        """The same from grids of keys and grids of values, each [R, columns, width]."""
        return [
            KVCache(*split_heads(key, self.heads, 1), *split_heads(value, self.heads, 1))
            for key, value in zip(keys, values, strict=True)
        ]

    def forward(self, x: Tensor, layout: Layout, caches: Sequence[KVCache], masks: Sequence[Tensor | None]) -> Tensor:
        """Attend from the tokens ``x`` [N, width] to the caches of the buckets of the layout, under their masks."""
        grids, p = [], self.dropout if self.training else 0.0
        taken = layout.to_heads(self.project_query(x), 1, self.heads)
        for (query,), cache, mask in zip(taken, caches, masks, strict=True):
            with attention_autocast(x):
                grids.append(scaled_dot_product_attention(query, cache.keys, cache.values, mask, p))
        return self.project_out(layout.from_heads(grids))

    def step(self, x: Tensor, cache: KVCache, mask: Tensor | None) -> Tensor:
        """Attend from one position per row, [rows, width]; ``mask`` as ``attn_mask`` there.

        :param cache: has as many rows as ``x``, or fewer: then ``len(x) / len(cache)`` neighbours share one.
        """
        (query,) = split_heads(self.project_query(x).unflatten(0, (len(cache), -1)), self.heads, 1)
        with attention_autocast(x):
            attended = scaled_dot_product_attention(query, cache.keys, cache.values, mask, 0.0)
        return self.project_out(join_heads(attended))


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

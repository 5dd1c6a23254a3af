"""Multi-head attention over ragged batches, and step by step with a cache.

Scaled dot products follow Vaswani et al. (2017), section 3.2; relative positions are in
:mod:`cgbench.models.parts.positions`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cgbench.models.parts.cpu import fast_form
from cgbench.models.parts.dropout import dropout
from cgbench.models.parts.linear import Linear, linear
from cgbench.models.parts.positions import DistanceTable, RelativeLogits
from cgbench.models.parts.ragged import GatherLayout, Layout, Pairing


def attend(
    query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None = None, p: float = 0.0
) -> Tensor:
    """Return softmax(q kᵀ / sqrt(d_head) + mask) v, [rows, heads, queries, d_head].

    :param query: [rows, heads, queries, d_head]; ``keys`` and ``values``: [rows, heads, keys,
        d_head].
    :param mask: added to the scaled logits, broadcast to [rows, heads, queries, keys]: 0 and -inf,
        relative logits, or both.
    :param p: probability to drop an attention weight.
    """
    mask = None if mask is None else mask.to(query.dtype)
    if query.is_cuda or not torch.is_grad_enabled():
        return F.scaled_dot_product_attention(query, keys, values, attn_mask=mask, dropout_p=p)
    # Without the fused kernel, training on a CPU is faster, because sentences are short
    # (docs/lab/performance.md).
    weights = attention_weights(query, keys, mask)
    return (dropout(weights, p) if p else weights) @ values


def attention_weights(query: Tensor, keys: Tensor, mask: Tensor | None) -> Tensor:
    """The weights of :func:`attend`, [rows, heads, queries, keys]."""
    logits = query @ keys.transpose(-1, -2) / math.sqrt(query.shape[-1])
    return torch.softmax(logits if mask is None else logits + mask.to(query.dtype), -1)


class SelfAttention(nn.Module):
    """Self-attention with fused query, key and value projections.

    :param relative: relative positions (:mod:`cgbench.models.parts.positions`), or None.
    :param bias: whether the four projections have a bias.
    """

    def __init__(
        self,
        width: int,
        heads: int,
        dropout: float,
        relative: RelativeLogits | None = None,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.project_in = Linear(width, 3 * width, bias=bias)
        self.project_out = Linear(width, width, bias=bias)
        self.scale = 1 / math.sqrt(width // heads)
        self.relative = relative

    def forward(self, x: Tensor, layout: Layout, causal: bool = False) -> Tensor:
        """Attend within each sequence of the tokens ``x`` [N, width]; ``causal``: not to later
        positions.
        """
        return self.attend(self.project_in(x), layout, causal)

    def attend(self, projected: Tensor, layout: Layout, causal: bool = False) -> Tensor:
        """As :meth:`forward`, from the output of ``project_in``, [N, 3 width]."""
        attended, p = [], self.dropout if self.training else 0.0
        for bucket, grid in zip(layout.buckets, layout.to_grids(projected), strict=True):
            query, keys, values = split_heads(grid, self.heads, 3)
            # Padding is on the right, where causal attention never reaches.
            mask = causal_mask(bucket.columns, query) if causal else bucket.mask
            if self.relative is not None:
                mask = _plus(
                    self.relative.logits(query, keys, bucket.widths, bucket.widths) * self.scale,
                    mask,
                )
            attended.append(join_heads(attend(query, keys, values, mask, p)))
        return self.project_out(layout.from_grids(attended))

    def project_query(self, x: Tensor) -> Tensor:
        """Project [N, width] only to queries, [N, width]."""
        return _project(self.project_in, x, slice(None, self.project_in.in_features))

    def project_memory(self, x: Tensor) -> Tensor:
        """Project [N, width] only to keys and values, [N, 2 width]."""
        return _project(self.project_in, x, slice(self.project_in.in_features, None))

    def attend_ends(
        self, x: Tensor, memory: Tensor, layout: Layout, ends: GatherLayout, causal: bool = False
    ) -> Tensor:
        """Attend only from the last tokens of each part, [queries, width].

        :param x: the tokens of ``layout``, or the table that it indexes; ``memory``: their keys and
            values.
        :param ends: the tokens, from :meth:`Layout.ends`.
        """
        if ends.tokens < len(x):
            queries = ends.gathered.to_grids(self.project_query(ends.gather(x)))
        else:
            queries = ends.to_grids(self.project_query(x))
        attended, p = [], self.dropout if self.training else 0.0
        for bucket, end, query_grid, grid in zip(
            layout.buckets, ends.buckets, queries, layout.to_grids(memory), strict=True
        ):
            (query,), (keys, values) = (
                split_heads(query_grid, self.heads, 1),
                split_heads(grid, self.heads, 2),
            )
            mask = causal_end_mask(bucket.mask, end.columns, keys) if causal else bucket.mask
            if self.relative is not None:
                mask = _plus(
                    self.relative.logits(query, keys, end.widths, bucket.widths) * self.scale, mask
                )
            attended.append(join_heads(attend(query, keys, values, mask, p)))
        return self.project_out(ends.from_grids(attended))

    def step(
        self, x: Tensor, cache: KVCache, mask: Tensor | None = None, distances: Tensor | None = None
    ) -> Tensor:
        """Append the position ``x`` [rows, width] to ``cache`` and attend from it to all stored
        positions.

        :param cache: has as many rows as ``x``, or fewer: then ``len(x) / len(cache)`` adjacent
            rows share one.
        :param mask: of rows that share, including the new positions, [len(cache), 1, sharing,
            length].
        :param distances: from each stored position to the new one, whose distance is 0 (default:
            consecutive).
        """
        projected = self.project_in(x)
        query, keys, values = split_heads(projected.unflatten(0, (len(cache), -1)), self.heads, 3)
        cache.append(keys, values)
        if distances is None:
            distances = torch.arange(cache.length - 1, -1, -1, device=x.device)
        attended = _attend_stored(projected, cache, mask, self.relative, distances)
        if attended is None:
            if self.relative is not None:
                relative = self.relative.last_logits(query, cache.keys, distances)
                mask = _plus(relative * self.scale, mask)
            attended = join_heads(attend(query, cache.keys, cache.values, mask)).flatten(0, 1)
        return self.project_out(attended)

    def empty(self, rows: int, like: Tensor) -> KVCache:
        """Return an empty cache, with the type and device of ``like``."""
        width = self.project_out.in_features
        empty = like.new_empty(rows, self.heads, 0, width // self.heads)
        return KVCache(empty, empty)


class CrossAttention(nn.Module):
    """Attention from the decoder to the encoder's states, without positions."""

    def __init__(
        self,
        width: int,
        heads: int,
        dropout: float,
        bias: bool = True,
        memory_width: int | None = None,
    ) -> None:
        super().__init__()
        self.heads, self.dropout = heads, dropout
        # A list that each bucket's weights are added to, [rows, queries, columns], or None.
        self.shown: list[Tensor] | None = None
        self.project_query = Linear(width, width, bias=bias)
        self.project_memory = Linear(memory_width or width, 2 * width, bias=bias)
        self.project_out = Linear(width, width, bias=bias)

    def project_keys(self, states: Tensor) -> Tensor:
        """Project states [M, width] only to keys, [M, width]."""
        return _project(
            self.project_memory, states, slice(None, self.project_memory.out_features // 2)
        )

    def project_values(self, states: Tensor) -> Tensor:
        """Project states [M, width] only to values, [M, width]."""
        return _project(
            self.project_memory, states, slice(self.project_memory.out_features // 2, None)
        )

    def kv_cache(self, states: Tensor, pairing: Pairing) -> list[KVCache]:
        """Project states [M, width] to keys and values, with one grid per bucket of the pairing's
        layout.
        """
        grids = pairing.grids(self.project_memory(states))
        return [KVCache(*split_heads(grid, self.heads, 2)) for grid in grids]

    def kv_cache_of_grids(self, keys: Sequence[Tensor], values: Sequence[Tensor]) -> list[KVCache]:
        """As :meth:`kv_cache`, from grids of projected keys and values, each [R, columns,
        width].
        """
        return [
            KVCache(*split_heads(key, self.heads, 1), *split_heads(value, self.heads, 1))
            for key, value in zip(keys, values, strict=True)
        ]

    def forward(
        self, x: Tensor, layout: Layout, caches: Sequence[KVCache], masks: Sequence[Tensor | None]
    ) -> Tensor:
        """Attend from the tokens ``x`` [N, width] to the caches and masks of the layout's
        buckets.
        """
        attended, p = [], self.dropout if self.training else 0.0
        for grid, cache, mask in zip(
            layout.to_grids(self.project_query(x)), caches, masks, strict=True
        ):
            (query,) = split_heads(grid, self.heads, 1)
            attended.append(join_heads(attend(query, cache.keys, cache.values, mask, p)))
            if self.shown is not None:
                self.shown.append(attention_weights(query, cache.keys, mask).mean(1))
        return self.project_out(layout.from_grids(attended))

    def step(self, x: Tensor, cache: KVCache, mask: Tensor | None) -> Tensor:
        """Attend from one position per row, [rows, width]; ``mask`` as in :func:`attend`.

        :param cache: has as many rows as ``x``, or fewer: then ``len(x) / len(cache)`` adjacent
            rows share one.
        """
        projected = self.project_query(x)
        attended = _attend_stored(projected, cache, mask)
        if attended is None:
            (query,) = split_heads(projected.unflatten(0, (len(cache), -1)), self.heads, 1)
            attended = join_heads(attend(query, cache.keys, cache.values, mask)).flatten(0, 1)
        return self.project_out(attended)


class KVCache:
    """Keys and values of one attention sublayer, each [rows, heads, length, d_head]; they can
    grow.
    """

    def __init__(self, keys: Tensor, values: Tensor) -> None:
        self._stored = keys, values  # with spare capacity
        self.length = keys.shape[2]

    def __len__(self) -> int:
        return len(self._stored[0])

    @property
    def stored(self) -> tuple[Tensor, Tensor]:
        """Keys and values, with spare capacity behind ``length``."""
        return self._stored

    @property
    def capacity(self) -> int:
        """The length that fits without a copy."""
        return self._stored[0].shape[2]

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
        if end > self.capacity:
            self._stored = self._copy(self.keys, 2 * end), self._copy(self.values, 2 * end)
        for stored, new in zip(self._stored, (keys, values), strict=True):
            stored[:, :, self.length : end] = new
        self.length = end

    def select(self, index: Tensor) -> None:
        """Select the rows ``index``, without gradients.

        The spare capacity stays, so that the next position needs no copy.
        """
        shape = len(index), *self._stored[0].shape[1:]
        selected = self._stored[0].new_empty(shape), self._stored[1].new_empty(shape)
        for tensor, new in zip((self.keys, self.values), selected, strict=True):
            torch.index_select(tensor.detach(), 0, index, out=new.narrow(2, 0, self.length))
        self._stored = selected

    def _copy(self, x: Tensor, capacity: int) -> Tensor:
        larger = x.new_empty(*x.shape[:2], capacity, x.shape[3])
        larger[:, :, : self.length] = x
        return larger


def _attend_stored(
    queries: Tensor,
    cache: KVCache,
    mask: Tensor | None,
    relative: RelativeLogits | None = None,
    distances: Tensor | None = None,
) -> Tensor | None:
    """Attend from one position of each hypothesis in a compiled loop, [hypotheses, width]; None if
    there is none for this device, type or form of positions, or with gradients.

    :param queries: [hypotheses, at least width], the queries first; the rest as for
        :meth:`SelfAttention.step`.
    """
    if not (relative is None or isinstance(relative, DistanceTable)):
        return None
    if not fast_form(queries) or queries.dtype != torch.float32 or torch.is_grad_enabled():
        return None
    from cgbench.models.parts.cpu.attention import attend_stored

    table, by_key = (None, False) if relative is None else (relative.table, relative.by_key)
    return attend_stored(queries, cache.stored, cache.length, mask, table, by_key, distances)


def split_heads(x: Tensor, heads: int, count: int) -> tuple[Tensor, ...]:
    """Split [rows, length, count x width] into ``count`` contiguous tensors [rows, heads, length,
    d_head].
    """
    return x.unflatten(-1, (count, heads, -1)).permute(2, 0, 3, 1, 4).contiguous().unbind(0)


def join_heads(x: Tensor) -> Tensor:
    """Turn [rows, heads, length, d_head] into [rows, length, width]."""
    return x.transpose(1, 2).flatten(2)


def causal_mask(length: int, like: Tensor) -> Tensor:
    """Return a mask that hides later positions, [length, length]: 0 and -inf, with type and device
    of ``like``.
    """
    return torch.full((length, length), -math.inf, dtype=like.dtype, device=like.device).triu_(1)


def causal_end_mask(mask: Tensor | None, queries: int, keys: Tensor) -> Tensor:
    """Return a causal mask for the last ``queries`` columns, combined with ``mask``.

    A column of padding attends to itself, so that no row is entirely -inf.

    :param mask: 0 and -inf, [rows, 1, 1, length], or None; ``keys``: [rows, heads, length, d_head].
    """
    length = keys.shape[2]
    hidden = causal_mask(length, keys)[length - queries :]
    if mask is None:
        return hidden
    itself = torch.eye(length, dtype=torch.bool, device=keys.device)[length - queries :]
    return (mask.to(keys.dtype) + hidden).masked_fill(itself, 0.0)


def _plus(logits: Tensor, mask: Tensor | None) -> Tensor:
    return logits if mask is None else logits + mask


def _project(projection: nn.Linear, x: Tensor, rows: slice) -> Tensor:
    return linear(
        x, projection.weight[rows], None if projection.bias is None else projection.bias[rows]
    )

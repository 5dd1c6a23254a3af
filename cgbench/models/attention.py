"""Multi-head attention: one core for every position variant, with caches for decoding step by step.

Scaled dot products follow Vaswani et al. (2017), section 3.2. The relative form is that of Huang et al. (2020), method
4, as Dangle (Zheng and Lapata, 2022) uses it: with one table ``a`` for both terms and no value term, the logit of query
i and key j is (q_i·k_j + q_i·a_{i-j} + k_j·a_{i-j}) / sqrt(d_head), distances clipped to ±(P-1). Both added terms
depend on i-j alone, so q·aᵀ and k·aᵀ are computed once for every distance and skewed into place (Huang et al., Music
Transformer, 2018): no [length, length, d_head] tensor is built.
"""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cgbench.models.dropout import dropout
from cgbench.models.linear import Linear


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


class RelativePositions(nn.Module):
    """The table a of one layer, shared by its heads and by the query and the key term; it starts at zero."""

    def __init__(self, max_relative_position: int, head_width: int) -> None:
        super().__init__()
        self.limit = max_relative_position - 1
        self.table = nn.Parameter(torch.zeros(2 * max_relative_position - 1, head_width))

    def rows(self, first: int, last: int) -> Tensor:
        """Return the vectors of the distances i-j = first..last, [last - first + 1, d_head]."""
        distances = torch.arange(first, last + 1, device=self.table.device).clamp(-self.limit, self.limit)
        return self.table[distances + self.limit]

    def logits(self, query: Tensor, keys: Tensor) -> Tensor:
        """Return q_i·a_{i-j} + k_j·a_{i-j} for equally many queries and keys, [rows, heads, length, length]."""
        length = keys.shape[2]
        rows = self.rows(1 - length, length - 1)
        by_query = skew(query @ rows.flip(0).T)
        by_key = skew(keys @ rows.T).transpose(-1, -2)
        return by_query + by_key

    def last_logits(self, query: Tensor, keys: Tensor) -> Tensor:
        """The same for the query at the last position alone: [rows, heads, 1, length]."""
        rows = self.rows(0, keys.shape[2] - 1).flip(0)
        return ((query + keys) * rows).sum(-1).unsqueeze(-2)


def skew(x: Tensor) -> Tensor:
    """Turn [..., n, 2n-1] into [..., n, n], row i starting at column n-1-i: result[i, j] = x[i, j-i+n-1]."""
    n = x.shape[-2]
    if n == 1:
        return x
    flat = x.flatten(-2)[..., n - 1 : n - 1 + n * (2 * n - 2)]
    return flat.unflatten(-1, (n, 2 * n - 2))[..., :n]


class SelfAttention(nn.Module):
    """Self-attention with fused query, key and value projections, plain or relative.

    :param max_relative_position: P, or None for no relative term.
    """

    def __init__(self, width: int, heads: int, dropout: float, max_relative_position: int | None = None) -> None:
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.project_in = Linear(width, 3 * width)
        self.project_out = Linear(width, width)
        self.scale = 1 / math.sqrt(width // heads)
        self.relative = RelativePositions(max_relative_position, width // heads) if max_relative_position else None
        initialize_projections(self.project_in, self.project_out)

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """Attend within ``x`` [rows, length, width]; ``mask`` as :func:`attend`'s bias."""
        query, keys, values = split_heads(self.project_in(x), self.heads, 3)
        with full_precision_on_cpu(x.device):
            if self.relative is not None:
                relative = self.relative.logits(query, keys) * self.scale
                mask = relative if mask is None else relative + mask
            mixed = attend(query, KeysValues(keys, values), mask, self.dropout if self.training else 0.0)
        return self.project_out(mixed)

    def step(self, x: Tensor, memory: KeysValues) -> Tensor:
        """Append the position ``x`` [rows, 1, width] to ``memory`` and attend from it to all before it."""
        query, keys, values = split_heads(self.project_in(x), self.heads, 3)
        memory.append(keys, values)
        bias = None if self.relative is None else self.relative.last_logits(query, memory.keys) * self.scale
        return self.project_out(attend(query, memory, bias, 0.0))

    def empty(self, rows: int, like: Tensor) -> KeysValues:
        """Return a memory without positions, of the type and device of ``like``."""
        width = self.project_out.in_features
        nothing = like.new_empty(rows, self.heads, 0, width // self.heads)
        return KeysValues(nothing, nothing)


class CrossAttention(nn.Module):
    """Attention from the decoder to the encoder's states, without positions."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.project_query = Linear(width, width)
        self.project_memory = Linear(width, 2 * width)
        self.project_out = Linear(width, width)
        initialize_projections(self.project_query, self.project_out)
        initialize_projections(self.project_memory, self.project_out)

    def remember(self, states: Tensor) -> KeysValues:
        """Project the encoder's states [rows, length, width] to keys and values."""
        return KeysValues(*split_heads(self.project_memory(states), self.heads, 2))

    def forward(self, x: Tensor, memory: KeysValues, mask: Tensor | None) -> Tensor:
        """Attend from ``x`` [rows, length, width] to ``memory``; ``mask`` as :func:`attend`'s bias."""
        (query,) = split_heads(self.project_query(x), self.heads, 1)
        with full_precision_on_cpu(x.device):
            mixed = attend(query, memory, mask, self.dropout if self.training else 0.0)
        return self.project_out(mixed)


def initialize_projections(project_in: nn.Linear, project_out: nn.Linear) -> None:
    """Initialise as fairseq: queries, keys and values Xavier uniform with gain 1/sqrt(2), each a matrix of its own."""
    width = project_in.in_features
    for part in project_in.weight.detach().split(width):
        nn.init.xavier_uniform_(part, gain=1 / math.sqrt(2))
    nn.init.xavier_uniform_(project_out.weight)
    nn.init.zeros_(project_out.bias)


def padding_mask(real: Tensor, dtype: torch.dtype) -> Tensor | None:
    """Return 0 where ``real`` [rows, length] and -inf elsewhere, [rows, 1, 1, length]; None where none is needed."""
    # On a GPU the question alone would make the host wait for the device.
    if real.device.type == "cpu" and bool(real.all()):
        return None
    return torch.zeros(real.shape, dtype=dtype, device=real.device).masked_fill_(~real, -math.inf)[:, None, None, :]


def causal_mask(length: int, like: Tensor) -> Tensor:
    """Return a mask that hides later positions, [length, length]: 0 and -inf, of the type and device of ``like``."""
    return torch.full((length, length), -math.inf, dtype=like.dtype, device=like.device).triu_(1)

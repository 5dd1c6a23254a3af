"""Attention by plain products and a softmax for short rows.

Sentences are short, and torch's blocked kernel takes several times as long there. Spelt out, gradients of keys and
values come out in the order in which these are stored.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from cgbench.models.parts.cpu.dropout import keep_mask


def scaled_dot_product_attention(
    query: Tensor, keys: Tensor, values: Tensor, attn_mask: Tensor | None, dropout_p: float
) -> Tensor:
    """See :func:`cgbench.models.parts.attention.scaled_dot_product_attention`."""
    result: Tensor = _Attention.apply(query, keys, values, attn_mask, dropout_p)
    return result


def softmax(logits: Tensor, mask: Tensor | None, scale: float) -> Tensor:
    """See :func:`cgbench.models.parts.attention.softmax`."""
    weights: Tensor = _Softmax.apply(logits, mask, scale)
    return weights


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, p: float) -> Tensor:
        weights = _softmax(query @ keys.transpose(-1, -2), mask, 1 / math.sqrt(query.shape[-1]))
        # Nothing to attend to: NaN here, and 0 in torch, with no gradient. One number per row of weights shows it.
        if mask is not None and math.isnan(weights[..., 0].sum()):
            weights.masked_fill_((mask == -math.inf).all(-1, keepdim=True), 0)
        kept = keep_mask(weights.shape, p, weights.dtype) if p else None
        ctx.save_for_backward(query, keys, values, mask, weights, kept)
        return (weights if kept is None else weights * kept) @ values

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor | None, None]:
        query, keys, values, mask, weights, kept = ctx.saved_tensors
        by_weights = gradient @ values.transpose(-1, -2)
        by_values = (weights if kept is None else weights * kept).transpose(-1, -2) @ gradient
        by_logits = _softmax_gradient(weights, by_weights if kept is None else by_weights.mul_(kept))
        by_mask = by_logits.sum_to_size(mask.shape).clone() if ctx.needs_input_grad[3] else None
        by_logits.mul_(1 / math.sqrt(query.shape[-1]))
        return by_logits @ keys, by_logits.transpose(-1, -2) @ query, by_values, by_mask, None


class _Softmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: Tensor, mask: Tensor | None, scale: float) -> Tensor:
        weights = _softmax(logits, mask, scale)
        ctx.save_for_backward(weights)
        ctx.scale = scale
        return weights

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor | None, None]:
        (weights,) = ctx.saved_tensors
        result = _softmax_gradient(weights, gradient)
        return result * ctx.scale, result if ctx.needs_input_grad[1] else None, None


def _softmax(logits: Tensor, mask: Tensor | None, scale: float) -> Tensor:
    weights = logits * scale if mask is None else torch.add(mask, logits, alpha=scale)
    if weights.shape[-1] >= 16:
        return torch.softmax(weights, -1)
    # torch's softmax is slow for short rows, and its exp, unlike exp2, where something is masked.
    weights.sub_(weights.amax(-1, keepdim=True)).mul_(1 / math.log(2)).exp2_()
    return weights.div_(weights.sum(-1, keepdim=True))


def _softmax_gradient(weights: Tensor, gradient: Tensor) -> Tensor:
    result = gradient * weights
    return result.sub_(weights * result.sum(-1, keepdim=True))

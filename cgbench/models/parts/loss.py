"""Label-smoothed cross entropy (Szegedy et al., 2016), a few rows at a time.

Logits are the largest tensor of a training step. Float32 intermediates of a slice of them stay in the cache; full-size
ones would go through memory several times.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

SLICE_ELEMENTS = 1 << 18


class _SmoothedCrossEntropy(torch.autograd.Function):
    """Sum over tokens of (1 - e)·(-log p(target)) + e/V·sum over v of (-log p(v)), and of -log p(target)."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, target: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
        ones = torch.full((logits.shape[1],), 1 / logits.shape[1], device=logits.device)
        chosen, mean = (torch.empty(len(logits), dtype=torch.float32, device=logits.device) for _ in range(2))
        for part in _slices(logits):
            log_p = torch.log_softmax(logits[part], 1, dtype=torch.float32)
            chosen[part] = log_p.gather(1, target[part, None]).squeeze(1)
            mean[part] = log_p @ ones
        log_total = logits.gather(1, target[:, None]).squeeze(1).float() - chosen
        ctx.save_for_backward(logits, target, log_total)
        ctx.smoothing = smoothing
        plain = -chosen.sum()
        ctx.mark_non_differentiable(plain)
        return plain * (1 - smoothing) - mean.sum() * smoothing, plain

    @staticmethod
    def backward(ctx: Any, gradient: Tensor, _: Any) -> tuple[Tensor, None, None]:
        logits, target, log_total = ctx.saved_tensors
        result = torch.empty_like(logits)
        for part in _slices(logits):
            x = result[part] if result.dtype == torch.float32 else torch.empty_like(result[part], dtype=torch.float32)
            torch.sub(logits[part], log_total[part, None], out=x).exp_().sub_(ctx.smoothing / logits.shape[1])
            hot = x.new_full((len(x), 1), ctx.smoothing - 1)
            x.scatter_add_(1, target[part, None], hot).mul_(gradient)
            if x.dtype != result.dtype:
                result[part] = x
        return result, None, None


def smoothed_cross_entropy(logits: Tensor, target: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
    """Return the label-smoothed and the plain cross entropy in nats, each summed over tokens, in float32.

    Only the first carries a gradient.

    :param logits: [tokens, vocabulary]; ``target``: ids [tokens].
    """
    smoothed, plain = _SmoothedCrossEntropy.apply(logits, target, smoothing)
    return smoothed, plain


def _slices(logits: Tensor) -> Iterator[slice]:
    rows = max(1, SLICE_ELEMENTS // logits.shape[1]) if logits.device.type == "cpu" else max(1, len(logits))
    for first in range(0, len(logits), rows):
        yield slice(first, first + rows)

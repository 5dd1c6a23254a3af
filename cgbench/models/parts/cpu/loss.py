"""Label-smoothed cross entropy, a few rows at a time.

Logits are the largest tensor of a training step. Float32 intermediates of a slice of them stay in the cache; full-size
ones would go through memory several times.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

SLICE_ELEMENTS = 1 << 18


def label_smoothed_nll_loss(logits: Tensor, target: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
    """See :func:`cgbench.models.parts.loss.label_smoothed_nll_loss`."""
    loss, nll_loss = _LabelSmoothedNLLLoss.apply(logits, target, smoothing)
    return loss, nll_loss


class _LabelSmoothedNLLLoss(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: Tensor, target: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
        ones = torch.full((logits.shape[1],), 1 / logits.shape[1])
        chosen, mean = (torch.empty(len(logits), dtype=torch.float32) for _ in range(2))
        for part in _slices(logits):
            log_p = torch.log_softmax(logits[part], 1, dtype=torch.float32)
            chosen[part] = log_p.gather(1, target[part, None]).squeeze(1)
            mean[part] = log_p @ ones
        log_total = logits.gather(1, target[:, None]).squeeze(1).float() - chosen
        ctx.save_for_backward(logits, target, log_total)
        ctx.smoothing = smoothing
        nll_loss = -chosen.sum()
        ctx.mark_non_differentiable(nll_loss)
        return nll_loss * (1 - smoothing) - mean.sum() * smoothing, nll_loss

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


def _slices(logits: Tensor) -> Iterator[slice]:
    rows = max(1, SLICE_ELEMENTS // logits.shape[1])
    for first in range(0, len(logits), rows):
        yield slice(first, first + rows)

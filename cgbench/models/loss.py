"""Label-smoothed cross entropy (Szegedy et al., 2016), with no more full-size intermediates than it needs."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


class _SmoothedCrossEntropy(torch.autograd.Function):
    """Sum over tokens of (1 - e)·(-log p(target)) + e/V·sum over v of (-log p(v)), and the first term with e = 0."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, target: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
        probabilities = logits.float()
        if probabilities is logits:
            probabilities = logits.clone()
        highest = probabilities.amax(1, keepdim=True)
        probabilities.sub_(highest)
        chosen = probabilities.gather(1, target[:, None]).squeeze(1)
        mean = probabilities.mean(1)
        total = probabilities.exp_().sum(1)
        log_total = total.log()
        ctx.save_for_backward(probabilities, target, total)
        ctx.smoothing, ctx.type = smoothing, logits.dtype
        loss = log_total - (1 - smoothing) * chosen - smoothing * mean
        plain = (log_total - chosen).sum()
        ctx.mark_non_differentiable(plain)
        return loss.sum(), plain

    @staticmethod
    def backward(ctx: Any, gradient: Tensor, _: Any) -> tuple[Tensor, None, None]:
        probabilities, target, total = ctx.saved_tensors
        # In place: a second backward through this loss is not supported, as no caller has one.
        result = probabilities.mul_((gradient / total)[:, None])
        result.sub_(gradient * ctx.smoothing / result.shape[1])
        hot = (gradient * (ctx.smoothing - 1)).expand(len(target), 1)
        result.scatter_add_(1, target[:, None], hot)
        return result.to(ctx.type), None, None


def smoothed_cross_entropy(logits: Tensor, target: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
    """Return the label-smoothed and the plain cross entropy in nats, each summed over tokens, in float32.

    Only the first carries a gradient, and only once.

    :param logits: [tokens, vocabulary]; ``target``: ids [tokens].
    """
    smoothed, plain = _SmoothedCrossEntropy.apply(logits, target, smoothing)
    return smoothed, plain

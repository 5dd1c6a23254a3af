"""Label-smoothed cross entropy (Szegedy et al., 2016)."""

from __future__ import annotations

import torch
from torch import Tensor


def label_smoothed_nll_loss(logits: Tensor, target: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
    """Return the label-smoothed loss and the negative log-likelihood in nats, each summed over tokens, in float32.

    The loss is the sum of (1 - e)·(-log p(target)) + e/V·(sum over v of -log p(v)), with smoothing e and vocabulary
    size V. Only the loss has a gradient.

    :param logits: [tokens, vocabulary]; ``target``: ids [tokens].
    """
    log_p = torch.log_softmax(logits, 1, dtype=torch.float32)
    nll_loss = -log_p.gather(1, target[:, None]).sum()
    return (1 - smoothing) * nll_loss - smoothing * log_p.mean(1).sum(), nll_loss.detach()

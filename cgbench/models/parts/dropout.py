"""Dropout (Srivastava et al., 2014)."""

import torch.nn.functional as F
from torch import Tensor, nn

from cgbench.models.parts.cpu import fast_form
from cgbench.models.parts.cpu.dropout import keep_mask


class Dropout(nn.Module):
    """Set elements to zero with probability ``p`` while training, and scale the rest by 1 / (1 -
    p).
    """

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        """Apply dropout in training."""
        return dropout(x, self.p) if self.training and self.p else x


def dropout(x: Tensor, p: float) -> Tensor:
    """Drop with probability ``p``, using torch's default generator of the device."""
    return x * keep_mask(x.shape, p, x.dtype) if fast_form(x) else F.dropout(x, p)

"""Dropout (Srivastava et al., 2014)."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from cgbench.models.parts.cpu import dropout as cpu
from cgbench.models.parts.forms import faster


class Dropout(nn.Module):
    """Set elements to zero with probability ``p`` while training, and scale the rest by 1 / (1 - p)."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        """Keep the shape and the type."""
        return dropout(x, self.p) if self.training else x

    def extra_repr(self) -> str:
        """Say p when the model is printed."""
        return f"p={self.p}"


@faster(cpu=cpu.dropout)
def dropout(x: Tensor, p: float) -> Tensor:
    """Drop with probability ``p``, by torch's default generator of the device."""
    return F.dropout(x, p) if p else x

"""Dropout (Srivastava et al., 2014) whose random bits are cheap on a CPU.

torch draws one uniform number an element there, one after another, which takes a tenth and more of a training step of a
small model. Here 64 random bits serve four elements, compared in integer arithmetic that the processor vectorises.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


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


def dropout(x: Tensor, p: float) -> Tensor:
    """Drop with probability ``p`` (to the nearest 1/32768 on a CPU), by torch's default generator of the device."""
    if p == 0:
        return x
    if x.device.type != "cpu":
        return F.dropout(x, p)
    return x * keep_mask(x.shape, p, x.dtype)


def keep_mask(shape: torch.Size, p: float, dtype: torch.dtype) -> Tensor:
    """Return 0 with probability ``p`` (to the nearest 1/32768) and 1 / (1 - p) otherwise."""
    count = shape.numel()
    words = torch.empty((count + 3) // 4, dtype=torch.int64).random_(-(2**63), None)
    bits = words.view(torch.int16)[:count].view(shape)
    # Uniform on -2^14 .. 2^14-1; minus the threshold it is negative, all ones after the shift, where to drop.
    dropped = (bits >> 1).sub_(round(p * 32768) - 16384).bitwise_right_shift_(15)
    return dropped.to(dtype).add_(1).mul_(1 / (1 - p))

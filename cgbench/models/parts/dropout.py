"""Dropout (Srivastava et al., 2014) whose random bits are cheap on a CPU.

torch draws one uniform number an element there, one after another, which takes a tenth and more of a training step of a
small model. Here torch gives a seed, and 64 bits of a faster generator (SFC64) serve four elements.
"""

from __future__ import annotations

import numpy as np
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
    """Drop with probability ``p`` (to the nearest 1/65536 on a CPU), by torch's default generator of the device."""
    if p == 0:
        return x
    if x.device.type != "cpu":
        return F.dropout(x, p)
    return x * keep_mask(x.shape, p, x.dtype)


def keep_mask(shape: torch.Size, p: float, dtype: torch.dtype) -> Tensor:
    """Return 0 with probability ``p`` (to the nearest 1/65536) and 1 / (1 - p) otherwise."""
    count = shape.numel()
    seed = int(torch.empty((), dtype=torch.int64).random_())
    words = np.random.SFC64(seed).random_raw((count + 3) // 4)
    kept = words.view(np.uint16)[:count] >= round(p * 65536)
    return torch.from_numpy(kept.view(np.uint8)).view(shape).to(dtype).mul_(1 / (1 - p))

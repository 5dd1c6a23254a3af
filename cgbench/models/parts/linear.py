"""Linear maps."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cgbench.models.parts.cpu import fast_form
from cgbench.models.parts.cpu.packed import packed_linear


class Linear(nn.Linear):
    """torch's linear map, with packed weights if these are faster."""

    def forward(self, input: Tensor) -> Tensor:
        """Map [..., in] to [..., out]."""
        if torch.is_grad_enabled():
            return F.linear(input, self.weight, self.bias)
        return linear(input, self.weight, self.bias)


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return x·weightᵀ + bias, [..., out], of x [..., in]."""
    packed = None if torch.is_grad_enabled() or not fast_form(x) else packed_linear(x, weight, bias)
    return F.linear(x, weight, bias) if packed is None else packed

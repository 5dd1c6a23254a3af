"""The linear map of every layer."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from cgbench.models.parts.cpu import linear as cpu
from cgbench.models.parts.forms import faster


class Linear(nn.Linear):
    """torch's linear map, in the form that is fastest on the device."""

    def forward(self, input: Tensor) -> Tensor:
        """Map [..., in] to [..., out]."""
        return linear(input, self.weight, self.bias)


@faster(cpu=cpu.linear)
def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return x·weightᵀ + bias, [..., out], of x [..., in]."""
    return F.linear(x, weight, bias)

"""Linear maps."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cgbench.models.parts.cpu import fast_form
from cgbench.models.parts.cpu.packed import bfloat16_linear, onednn_linear, packed_linear


class Linear(nn.Linear):
    """torch's linear map, by the fastest library of the processor."""

    def forward(self, input: Tensor) -> Tensor:
        """Map [..., in] to [..., out]."""
        return linear(input, self.weight, self.bias)


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return x·weightᵀ + bias, [..., out], of x [..., in]."""
    product = None
    if fast_form(x) and torch.is_grad_enabled():
        product = (bfloat16_linear if torch.is_autocast_enabled("cpu") else onednn_linear)(
            x, weight, bias
        )
    elif fast_form(x):
        product = packed_linear(x, weight, bias)
    return F.linear(x, weight, bias) if product is None else product

"""Linear maps of recurrences."""

from __future__ import annotations

from collections.abc import Callable

import torch.nn.functional as F
from torch import Tensor

from cgbench.models.parts.cpu import fast_form
from cgbench.models.parts.cpu.recurrent import StepLinear


def step_linear(weight: Tensor) -> Callable[[Tensor], Tensor]:
    """Return the linear map x·Wᵀ of [rows, in] to [rows, out] for the steps of one forward and one backward pass.

    :param weight: W, [out, in].
    """
    return StepLinear(weight) if fast_form(weight) else lambda x: F.linear(x, weight)

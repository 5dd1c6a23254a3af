"""What the steps of a recurrence share."""

from __future__ import annotations

from collections.abc import Callable

import torch.nn.functional as F
from torch import Tensor

from cgbench.models.parts.cpu import recurrent as cpu
from cgbench.models.parts.forms import faster


@faster(cpu=cpu.step_linear)
def step_linear(weight: Tensor) -> Callable[[Tensor], Tensor]:
    """Return the linear map x·Wᵀ of [rows, in] to [rows, out] for the steps of one forward and one backward pass.

    :param weight: W, [out, in].
    """
    return lambda x: F.linear(x, weight)

"""Steps of recurrences: linear maps, and the LSTM cell."""

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


def lstm_cell(gates: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
    """Return h and c of an LSTM's next step, [rows, width].

    :param gates: the gates before their activation, [rows, 4 width], in torch's order; ``c``: of the last step.
    """
    into, forget, new, out = gates.chunk(4, 1)
    c = forget.sigmoid() * c + into.sigmoid() * new.tanh()
    return out.sigmoid() * c.tanh(), c

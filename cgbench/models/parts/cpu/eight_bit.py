"""Products with weights of eight bits: faster on a CPU with instructions for them, and not exact.

A weight is rounded to 255 steps an output, the input to 255 steps a row as it comes, so that a row's result does not
depend on its neighbours; sums are exact, in 32 bits. For hypotheses alone: uncertainty is never made with it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cgbench.models.parts.cpu.packed import LEAST, rounded

STEPS = 127


@contextlib.contextmanager
def eight_bit(models: Sequence[nn.Module]) -> Iterator[None]:
    """Within, :func:`cgbench.models.parts.linear.linear` multiplies by the larger matrices of ``models`` in eight bits
    where they are on a CPU and no gradients are wanted."""
    matrices = [
        parameter
        for model in models
        for parameter in model.parameters()
        if parameter.dim() == 2 and parameter.numel() >= LEAST and parameter.device.type == "cpu"
    ]
    for parameter in matrices:
        parameter.steps = _quantised(parameter.detach())  # type: ignore[attr-defined]
    try:
        yield
    finally:
        for parameter in matrices:
            del parameter.steps  # type: ignore[attr-defined]


def eight_bit_linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor | None:
    """Return x·weightᵀ + bias, [..., out], or None outside of :func:`eight_bit`.

    :param x: [..., in], float32; ``weight``: a parameter, or rows of one, [out, in].
    """
    parameter = weight if weight._base is None else weight._base
    steps, sizes = getattr(parameter, "steps", (None, None))
    if steps is None or sizes is None or not x.numel() or weight.shape[1:] != parameter.shape[1:]:
        return None
    first = weight.storage_offset() // weight.shape[1]
    part = slice(first, first + len(weight))
    rows = x.flatten(0, -2)
    count = len(rows)
    if missing := rounded(count) - count:
        rows = F.pad(rows, (0, 0, 0, missing))
    values, size = _quantised(rows)
    result = torch._int_mm(values, steps[part].T).float().mul_(size).mul_(sizes[part].T)
    if bias is not None:
        result.add_(bias)
    return result[:count].unflatten(0, x.shape[:-1])


def _quantised(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """``matrix`` [rows, columns] as int8, and what a step of each row is worth, [rows, 1]."""
    size = matrix.abs().amax(1, keepdim=True).clamp_min_(torch.finfo(torch.float32).tiny).div_(STEPS)
    return (matrix / size).round_().to(torch.int8), size

"""Float32 products without gradients, with weights packed in the processor's preferred layout.

torch multiplies float32 matrices with MKL, which packs the weights again for every product and is the slower library on
AMD processors. oneDNN accepts packed weights: beam search is 1.17 times as fast on an AMD EPYC, and within noise on an
Intel Xeon, where nothing is packed (docs/lab/performance.md). The packed copy is an attribute of the parameter. It
takes the same memory, and is made again after the parameter has changed.
"""

from __future__ import annotations

import functools
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

LEAST = 1 << 16  # minimum size of a weight; packing a smaller one does not pay
STEPS = 8  # different numbers of rows between two powers of two


def packed_linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor | None:
    """Return x·weightᵀ + bias, [..., out], without gradients; None if packing is unsuitable.

    :param x: [..., in]; ``weight``: a parameter or a part of one, [out, in].
    """
    if weight.numel() < LEAST or x.dtype != torch.float32 or weight.dtype != torch.float32 or not worth_packing():
        return None
    parameter = weight if weight._base is None else weight._base
    if not isinstance(parameter, nn.Parameter) or parameter.is_inference() or not x.numel():
        return None
    rows = x.flatten(0, -2)
    count = len(rows)
    # oneDNN compiles a kernel for each number of rows, so limit the different numbers.
    if missing := rounded(count) - count:
        rows = F.pad(rows, (0, 0, 0, missing))
    result: Tensor = torch.ops.mkldnn._linear_pointwise(rows, _packed(parameter, weight), bias, "none", [], "")
    return result[:count].unflatten(0, x.shape[:-1])


def rounded(count: int) -> int:
    """Round ``count`` up to one of :data:`STEPS` numbers between 2^k and 2^(k+1)."""
    step = max(1, (1 << count.bit_length()) // (2 * STEPS))
    return -(-count // step) * step


@functools.cache
def worth_packing() -> bool:
    """Whether packing was measured to pay on this processor, and torch supports it."""
    if not (torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")):
        return False
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return False
    return any(line.startswith("vendor_id") and "AuthenticAMD" in line for line in lines)


def _packed(parameter: nn.Parameter, weight: Tensor) -> Tensor:
    """The packed copy of ``weight``, which is the parameter or a part of it."""
    current = (parameter._version, parameter.data_ptr())
    version, copies = getattr(parameter, "packed", (None, None))
    if copies is None or version != current:
        copies = {}
        parameter.packed = (current, copies)  # type: ignore[attr-defined]
    part = (weight.storage_offset(), *weight.shape, *weight.stride())
    if part not in copies:
        copies[part] = torch.ops.mkldnn._reorder_linear_weight(weight.detach().contiguous(), 1024)
    found: Tensor = copies[part]
    return found

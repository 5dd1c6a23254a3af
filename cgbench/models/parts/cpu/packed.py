"""Float32 products without gradients, with weights in the order in which the processor reads them.

torch multiplies float32 matrices by MKL, which lays out the weights anew for every product and is the slower library on
AMD's processors. oneDNN takes weights that were laid out once: beam search is 1.17 times as fast on an AMD EPYC, and
within noise on an Intel Xeon, where nothing is packed (docs/lab/performance.md). The second copy is an attribute of the
parameter: it lives as long, takes as much memory, and is made again where the parameter has changed.
"""

from __future__ import annotations

import functools
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

LEAST = 1 << 16  # numbers in a weight; a smaller one is multiplied in less time than all this saves
STEPS = 8  # numbers of rows between a power of two and the next


def packed_linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor | None:
    """Return x·weightᵀ + bias, [..., out], or None where this is not the way to make it.

    :param x: [..., in]; ``weight``: a parameter or a part of one, [out, in]; no gradients are wanted.
    """
    if weight.numel() < LEAST or x.dtype != torch.float32 or weight.dtype != torch.float32 or not worth_packing():
        return None
    parameter = weight if weight._base is None else weight._base
    if not isinstance(parameter, nn.Parameter) or parameter.is_inference() or not x.numel():
        return None
    rows = x.flatten(0, -2)
    count = len(rows)
    # oneDNN compiles a kernel for each number of rows that it meets, and batches have ever new ones.
    if missing := rounded(count) - count:
        rows = F.pad(rows, (0, 0, 0, missing))
    result: Tensor = torch.ops.mkldnn._linear_pointwise(rows, _packed(parameter, weight), bias, "none", [], "")
    return result[:count].unflatten(0, x.shape[:-1])


def rounded(count: int) -> int:
    """``count`` or a little more: the numbers from 2^k to 2^(k+1) become :data:`STEPS` different ones."""
    step = max(1, (1 << count.bit_length()) // (2 * STEPS))
    return -(-count // step) * step


@functools.cache
def worth_packing() -> bool:
    """Whether this is a processor on which packing was measured to pay, and torch has what it needs."""
    if not (torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")):
        return False
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return False
    return any(line.startswith("vendor_id") and "AuthenticAMD" in line for line in lines)


def _packed(parameter: nn.Parameter, weight: Tensor) -> Tensor:
    """The copy of ``weight``, which is all of the parameter or a part of it."""
    now = (parameter._version, parameter.data_ptr())
    version, copies = getattr(parameter, "packed", (None, None))
    if copies is None or version != now:
        copies = {}
        parameter.packed = (now, copies)  # type: ignore[attr-defined]
    part = (weight.storage_offset(), *weight.shape, *weight.stride())
    if part not in copies:
        copies[part] = torch.ops.mkldnn._reorder_linear_weight(weight.detach().contiguous(), 1024)
    found: Tensor = copies[part]
    return found

"""Products by oneDNN, which is faster in float32 than torch's choice, MKL, on AMD processors and
slower on Intel's.

:func:`onednn_linear` is for training: 1.8 to 2.9 times as fast as MKL on an AMD EPYC, 0.7 to 1.0
times on an Intel Xeon. :func:`bfloat16_linear` is for training in bfloat16, where torch uses oneDNN
and compiles kernels for each number of rows: with fewer numbers, a step of 2,048 tokens is 1.13 to
1.21 times as fast. :func:`packed_linear` is for decoding, with weights packed in the processor's
preferred layout, which MKL packs again for every product: beam search is 1.17 to 1.84 times as fast
(docs/lab/performance.md). The packed copy is an attribute of the parameter. It takes the same
memory, and is made again after the parameter has changed.
"""

import functools
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

LEAST = 1 << 16  # minimum size of a weight; packing a smaller one does not pay
STEPS = 8  # different numbers of rows between two powers of two


def packed_linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor | None:
    """Return x·weightᵀ + bias, [..., out], without gradients; None if packing is unsuitable.

    :param x: [..., in]; ``weight``: a parameter or a part of one, [out, in].
    """
    if (
        weight.numel() < LEAST
        or x.dtype != torch.float32
        or weight.dtype != torch.float32
        or not onednn_is_faster()
    ):
        return None
    parameter = weight if weight._base is None else weight._base
    if not isinstance(parameter, nn.Parameter) or parameter.is_inference() or not x.numel():
        return None
    return _like(multiply(_padded(x), _packed(parameter, weight), bias), x)


def bfloat16_linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor | None:
    """Return x·weightᵀ + bias, [..., out], with gradients, under autocast; None if padding is
    unsuitable.

    :param x: [..., in]; ``weight``: [out, in].
    """
    if weight.numel() < LEAST or not x.numel():
        return None
    return _like(F.linear(_padded(x.to(torch.bfloat16)), weight, bias), x)


def _padded(x: Tensor) -> Tensor:
    """Rows of ``x`` [rows, in], and empty ones: oneDNN compiles a kernel for each number of
    rows.
    """
    rows = x.flatten(0, -2)
    missing = round_rows(len(rows)) - len(rows)
    return F.pad(rows, (0, 0, 0, missing)) if missing else rows


def _like(result: Tensor, x: Tensor) -> Tensor:
    """Bring rows of the padded ``result`` into the shape of ``x``."""
    return result[: x.shape[:-1].numel()].unflatten(0, x.shape[:-1])


def round_rows(count: int) -> int:
    """Round ``count`` up to one of :data:`STEPS` numbers between 2^k and 2^(k+1)."""
    step = max(1, (1 << count.bit_length()) // (2 * STEPS))
    return -(-count // step) * step


def onednn_linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor | None:
    """Return x·weightᵀ + bias, [..., out], with gradients by oneDNN; None if it is unsuitable.

    :param x: [..., in]; ``weight``: [out, in].
    """
    if not (onednn_is_faster() and weight.numel() >= LEAST and x.numel()):
        return None
    if x.dtype != torch.float32 or weight.dtype != torch.float32:
        return None
    # A part whose rows are apart is copied: on a processor with AVX2 only, it makes oneDNN 100
    # times as slow.
    return _Linear.apply(x.flatten(0, -2).contiguous(), weight.contiguous(), bias).unflatten(
        0, x.shape[:-1]
    )


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        return multiply(x, weight, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        gradient = gradient.contiguous()
        of_x, of_weight, of_bias = ctx.needs_input_grad
        return (
            multiply(gradient, weight.T) if of_x else None,
            multiply(gradient.T, x.T) if of_weight else None,
            gradient.sum(0) if of_bias else None,
        )


def multiply(rows: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return rows·weightᵀ + bias, [rows, out], by oneDNN, without gradients.

    :param rows: [rows, in]; ``weight``: [out, in].
    """
    return torch.ops.mkldnn._linear_pointwise(rows, weight, bias, "none", [], "")


@functools.cache
def is_amd() -> bool:
    """Whether this is an AMD processor, by ``/proc/cpuinfo``; false where there is no such file.

    The maker decides what is fastest. A measurement at the start would choose differently under
    other load, and an interrupted run would end in other bytes.
    """
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return False
    return any(line.startswith("vendor_id") and "AuthenticAMD" in line for line in lines)


@functools.cache
def onednn_is_faster() -> bool:
    """Whether oneDNN was measured to be faster on this processor, and torch supports it."""
    return (
        torch.backends.mkldnn.is_available()
        and hasattr(torch.ops.mkldnn, "_linear_pointwise")
        and is_amd()
    )


def _packed(parameter: nn.Parameter, weight: Tensor) -> Tensor:
    """The packed copy of ``weight``, which is the parameter or a part of it."""
    current = (parameter._version, parameter.data_ptr())
    version, copies = getattr(parameter, "packed", (None, None))
    if copies is None or version != current:
        copies = {}
        parameter.packed = (current, copies)  # type: ignore[attr-defined]
    slice_ = (weight.storage_offset(), *weight.shape, *weight.stride())
    if slice_ not in copies:
        copies[slice_] = torch.ops.mkldnn._reorder_linear_weight(weight.detach().contiguous(), 1024)
    return copies[slice_]

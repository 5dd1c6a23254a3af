"""The linear map of every layer: sums of gradients as products, bfloat16 in a few shapes, packed weights.

oneDNN, which multiplies bfloat16 matrices for torch on a CPU, compiles a kernel for each shape it meets, at several
times the cost of the product. Batches of text hardly ever have the same number of tokens, so the rows are cut at a
multiple of 128, and the few beyond are filled up to it.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from cgbench.models.parts.cpu.packed import packed_linear

ROWS = 128


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """See :func:`cgbench.models.parts.linear.linear`."""
    if torch.is_autocast_enabled("cpu"):
        result: Tensor = _FilledProduct.apply(x.flatten(0, -2), weight, bias, torch.get_autocast_dtype("cpu"))
        return result.unflatten(0, x.shape[:-1])
    if not torch.is_grad_enabled():
        made = packed_linear(x, weight, bias)
        return F.linear(x, weight, bias) if made is None else made
    if bias is None:
        return F.linear(x, weight, bias)
    result = _Product.apply(x, weight, bias)
    return result


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        # torch would lay the bias out as large as the result first, and read it again in the product.
        return (x @ weight.T).add_(bias)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        x, weight = ctx.saved_tensors
        by_input, by_weight, by_bias = ctx.needs_input_grad
        rows = gradient.flatten(0, -2)
        return (
            gradient @ weight if by_input else None,
            rows.T @ x.flatten(0, -2) if by_weight else None,
            _sum_of_rows(rows) if by_bias else None,
        )


class _FilledProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None, dtype: torch.dtype) -> Tensor:
        rows, rest = _cut(x.to(dtype))
        weight = weight.to(dtype)
        ctx.save_for_backward(rows, rest, weight)
        ctx.type, ctx.bias = x.dtype, bias is not None
        return _product(rows, rest, weight.T, len(x), None if bias is None else bias.to(dtype))

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor | None, None]:
        rows, rest, weight = ctx.saved_tensors
        by_rows, by_rest = _cut(gradient)
        by_input = _product(by_rows, by_rest, weight, len(gradient), None).to(ctx.type)
        by_weight = (by_rows.T @ rows).float().add_(by_rest.T @ rest)
        by_bias = None
        if ctx.bias:
            by_bias = _sum_of_rows(by_rows).float().add_(_sum_of_rows(by_rest))
        return by_input, by_weight, by_bias, None


def _sum_of_rows(x: Tensor) -> Tensor:
    """Return the sum [C] of the rows of ``x`` [N, C] as a product with ones: a plain sum takes torch twice as long."""
    return (x.new_ones(1, len(x)) @ x).squeeze(0)


def _cut(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return as many rows of ``x`` as make a multiple of ``ROWS``, and the rest with rows of zeros up to ``ROWS``."""
    whole = len(x) // ROWS * ROWS
    rest = x.new_zeros(ROWS, x.shape[1])
    rest[: len(x) - whole] = x[whole:]
    return x[:whole], rest


def _product(rows: Tensor, rest: Tensor, weight: Tensor, count: int, bias: Tensor | None) -> Tensor:
    """Return the first ``count`` rows of [rows; rest]·weight + bias."""
    result = rows.new_empty(count, weight.shape[1])
    for part, first in ((rows, 0), (rest, len(rows))):
        into = result[first : first + len(part)]
        if len(into) == len(part):
            torch.mm(part, weight, out=into) if bias is None else torch.addmm(bias, part, weight, out=into)
        elif len(into):
            into.copy_((part @ weight if bias is None else torch.addmm(bias, part, weight))[: len(into)])
    return result

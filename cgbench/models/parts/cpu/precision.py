"""Which numbers bfloat16 is worth its while for on a CPU."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import Tensor


def attention_autocast(x: Tensor) -> AbstractContextManager[Any]:
    """See :func:`cgbench.models.parts.precision.attention_autocast`.

    Products of attention are small, of ever new shapes, and gain nothing: they are made in float32.
    """
    return torch.autocast("cpu", enabled=False)


def attention_operand(x: Tensor) -> Tensor:
    """See :func:`cgbench.models.parts.precision.attention_operand`; float32, as the products are."""
    return x.float() if x.dtype == torch.bfloat16 else x


def activations(x: Tensor) -> Tensor:
    """See :func:`cgbench.models.parts.precision.activations`.

    Whole activations are kept in the type of the products: casts would cost more than they save.
    """
    return x.to(torch.get_autocast_dtype("cpu")) if torch.is_autocast_enabled("cpu") else x

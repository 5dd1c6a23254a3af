"""What autocast leaves open: plainly, nothing."""

from __future__ import annotations

import contextlib
from contextlib import AbstractContextManager
from typing import Any

from torch import Tensor

from cgbench.models.parts.cpu import precision as cpu
from cgbench.models.parts.forms import faster


@faster(cpu=cpu.attention_autocast)
def attention_autocast(x: Tensor) -> AbstractContextManager[Any]:
    """Within, the products of attention are made, on the device of ``x``: as outside."""
    return contextlib.nullcontext()


@faster(cpu=cpu.attention_operand)
def attention_operand(x: Tensor) -> Tensor:
    """Return ``x`` in the type that products under :func:`attention_autocast` take: its own."""
    return x


@faster(cpu=cpu.activations)
def activations(x: Tensor) -> Tensor:
    """Return embeddings ``x`` in the type in which the layers pass activations on: their own."""
    return x

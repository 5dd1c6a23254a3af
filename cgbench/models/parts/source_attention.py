"""Attention to the source with a bilinear score, q·e with q = W h + b (as in Akyürek and Andreas, 2021)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from cgbench.models.parts.linear import Linear
from cgbench.models.parts.ragged import grid_index, on_device


@dataclass
class RowTensors:
    """Tensors with one row per sentence or hypothesis."""

    def select(self, index: Tensor) -> Self:
        """Return the rows ``index``."""
        return type(self)(*(tensor.index_select(0, index) for tensor in vars(self).values()))

    def first(self, rows: int) -> Self:
        """Return the first rows."""
        return type(self)(*(tensor[:rows] for tensor in vars(self).values()))


@dataclass
class Memory(RowTensors):
    """The memory of attention, one row per sentence or hypothesis.

    :param values: states of the source, [rows, columns, width]; ``keys``: their products with W.
    :param offset: their products with b, -inf at padding, [rows, columns].
    :param words: source ids, [rows, columns].
    """

    values: Tensor
    keys: Tensor
    offset: Tensor
    words: Tensor


class SourceAttention(Linear):
    """The projection of the query; keys and values are the states themselves."""

    def __init__(self, width: int) -> None:
        super().__init__(width, width)

    def build_memory(self, encoded: Any, order: np.ndarray) -> Memory:
        """Return the memory of the sentences ``order``.

        :param encoded: ``states`` [M, width], their ``ids`` [M] and ``layout``.
        """
        layout = encoded.layout
        table, real = grid_index(layout.starts[order], layout.lengths[order, None])
        index = on_device(table, encoded.states)
        values = encoded.states[index]
        # q·e = (W h + b)·e: the products with e are computed once for all steps.
        keys = values @ self.weight
        offset = (values @ self.bias).masked_fill(~on_device(real, values), -torch.inf)
        return Memory(values, keys, offset, encoded.ids[index])

    def weights(self, memory: Memory, h: Tensor) -> Tensor:
        """Return the weights of the source words, [rows, columns], for the state of one step, [rows, width]."""
        return torch.softmax(torch.bmm(memory.keys, h.unsqueeze(2)).squeeze(2) + memory.offset, 1)

"""An LSTM over the sequences of a ragged batch, with its gradient, as compiled loops.

torch takes about 15 small operations per position, in each direction. Here a sequence is one loop,
which suits narrow LSTMs: their weights stay in the processor's nearest cache. The gradient of the
weights is one product of all positions.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from cgbench.engines.compiled import inlined, sums_in_lanes
from cgbench.models.uncertainty_kernels import exponential

_f = np.float32


@inlined
def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x)) in float32."""
    small = exponential(-abs(x))
    return (_f(1) if x >= _f(0) else small) / (_f(1) + small)


@inlined
def tanh(x: Any) -> Any:
    """The hyperbolic tangent in float32."""
    return _f(2) * sigmoid(_f(2) * x) - _f(1)


@inlined
def update_cell(gate: Any, last: Any, c: Any, h: Any) -> None:
    """Activate the gates [4 width], and write c and h, from the last c."""
    width = len(c)
    into, forget = gate[:width], gate[width : 2 * width]
    new, out = gate[2 * width : 3 * width], gate[3 * width :]
    for j in range(width):
        new[j] *= _f(2)  # tanh(x) = 2 sigmoid(2x) - 1
    for j in range(len(gate)):
        gate[j] = sigmoid(gate[j])
    for j in range(width):
        new[j] = _f(2) * new[j] - _f(1)
    for j in range(width):
        c[j] = forget[j] * last[j] + into[j] * new[j]
        h[j] = out[j] * tanh(c[j])


class Workspace:
    """Large tables of a recurrence, which its next batch uses again.

    New memory costs as much as what is computed in it. A forward pass takes tables, and its
    backward pass returns them.
    """

    def __init__(self) -> None:
        self._free: list[dict[str, Tensor]] = []

    def take(self, rows: int, columns: dict[str, int]) -> dict[str, Tensor]:
        """Return tables of float32, [rows, columns], with any content."""
        tables = self._free.pop() if self._free else {}
        for name, count in columns.items():
            table = tables.get(name)
            if table is None or len(table) < rows or table.shape[1] != count:
                tables[name] = torch.empty(rows + rows // 8, count)
        return tables

    def give_back(self, tables: dict[str, Tensor]) -> None:
        """Allow the next batch to use tables."""
        self._free.append(tables)


class SequenceLSTM(torch.autograd.Function):
    """The states of an LSTM at each token, [M, width], and its last c, [S, width]."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor,
        bias: Tensor,
        lengths: np.ndarray,
        backwards: bool,
        workspace: Workspace,
    ) -> tuple[Tensor, Tensor]:
        """Run the recurrence from zeros.

        :param x: inputs, [M, input width].
        :param weight: of [input; last h], for the gates in torch's order, [4 width, input width +
            width]; ``bias``: [4 width].
        :param lengths: of the sequences, [S]; ``backwards``: whether to start at their ends.
        """
        tokens, width = len(x), len(bias) // 4
        columns = {"inputs": weight.shape[1], "gates": 4 * width, "cells": width}
        tables = workspace.take(tokens, columns)
        states, last_c = x.new_empty(tokens, width), x.new_zeros(len(lengths), width)
        transposed = weight.detach().T.contiguous()
        read = (tensor.detach().contiguous().numpy() for tensor in (x, transposed, bias))
        written = (tensor.numpy() for tensor in (*tables.values(), states, last_c))
        _run(lengths, backwards, *read, *written)
        ctx.save_for_backward(weight)
        ctx.tables, ctx.lengths, ctx.backwards = tables, lengths, backwards
        ctx.workspace, ctx.tokens = workspace, tokens
        return states, last_c

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_states: Tensor, of_last_c: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of the inputs, the weight and the bias."""
        (weight,) = ctx.saved_tensors
        inputs, gates, cells = ctx.tables.values()
        width = of_states.shape[1]
        recurrent = weight[:, -width:].T.contiguous()
        read = (recurrent, of_states.contiguous(), of_last_c.contiguous(), cells)
        arrays = (tensor.numpy() for tensor in (*read, gates))
        _run_back(ctx.lengths, ctx.backwards, *arrays)
        of_gates, inputs = gates[: ctx.tokens], inputs[: ctx.tokens]
        of_x, of_weight = of_gates @ weight[:, :-width], of_gates.T @ inputs
        of_bias = of_gates.sum(0)
        ctx.workspace.give_back(ctx.tables)
        ctx.tables = None
        return of_x, of_weight, of_bias, None, None, None


@sums_in_lanes
def _run(
    lengths: Any,
    backwards: bool,
    x: Any,
    weight: Any,
    bias: Any,
    inputs: Any,
    gates: Any,
    cells: Any,
    states: Any,
    last_c: Any,
) -> None:
    """Write [x; last h], the activated gates, c and h of each token.

    :param weight: [input width + width, 4 width].
    """
    width, wide, start = states.shape[1], x.shape[1], 0
    for sequence in range(len(lengths)):
        last = last_c[sequence]
        for position in range(lengths[sequence]):
            token = start + (lengths[sequence] - 1 - position if backwards else position)
            gate, h, c, read = gates[token], states[token], cells[token], inputs[token]
            last_h = read[wide:]
            for k in range(wide):
                read[k] = x[token, k]
            previous = states[token + 1 if backwards else token - 1] if position else last
            for k in range(width):
                last_h[k] = previous[k]
            for j in range(len(gate)):
                gate[j] = bias[j]
            for k in range(len(read) if position else wide):
                of_input, scale = weight[k], read[k]
                for j in range(len(gate)):
                    gate[j] += scale * of_input[j]
            update_cell(gate, last, c, h)
            for j in range(width):
                last[j] = c[j]
        start += lengths[sequence]


@sums_in_lanes
def _run_back(
    lengths: Any,
    backwards: bool,
    recurrent: Any,
    of_states: Any,
    of_last_c: Any,
    cells: Any,
    gates: Any,
) -> None:
    """Replace the activated gates by the gradient of the gates before, from the last position to
    the first.

    :param recurrent: the weights of the last h, [width, 4 width].
    """
    width, start = len(recurrent), 0
    of_h, of_c = np.zeros(width, np.float32), np.zeros(width, np.float32)
    nothing = np.zeros(width, np.float32)
    for sequence in range(len(lengths)):
        for j in range(width):
            of_h[j], of_c[j] = _f(0), of_last_c[sequence, j]
        for position in range(lengths[sequence] - 1, -1, -1):
            token = start + (lengths[sequence] - 1 - position if backwards else position)
            gate, c, of_state = gates[token], cells[token], of_states[token]
            last = cells[token + 1 if backwards else token - 1] if position else nothing
            for j in range(width):
                into, forget = gate[j], gate[width + j]
                new, out = gate[2 * width + j], gate[3 * width + j]
                squashed, of_out = tanh(c[j]), of_h[j] + of_state[j]
                of_cell = of_c[j] + of_out * out * (_f(1) - squashed * squashed)
                gate[j] = of_cell * new * into * (_f(1) - into)
                gate[width + j] = of_cell * last[j] * forget * (_f(1) - forget)
                gate[2 * width + j] = of_cell * into * (_f(1) - new * new)
                gate[3 * width + j] = of_out * squashed * out * (_f(1) - out)
                of_c[j] = of_cell * forget
            for k in range(width):
                weight, total = recurrent[k], _f(0)
                for j in range(len(gate)):
                    total += weight[j] * gate[j]
                of_h[k] = total
        start += lengths[sequence]

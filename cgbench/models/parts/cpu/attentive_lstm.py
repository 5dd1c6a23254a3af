"""The decoder of CGPS, whose LSTM reads what it attended to in its last step, with its gradient.

torch takes 20 small operations per time step, and adds up the gradient of each weight step by step.
Here a step of 128 sentences of similar length is one product and one compiled loop, which keeps
what it reads in the processor's cache, and the gradient of the weights is one product of all steps.
With :mod:`.lstm`, an update of ``cgps_scan`` takes half the time (docs/lab/reproduction.md).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from cgbench.engines.compiled import inlined
from cgbench.models.parts.cpu.lstm import Workspace, sigmoid, sums_in_lanes, tanh
from cgbench.models.parts.cpu.packed import multiply, onednn_is_faster
from cgbench.models.uncertainty_kernels import exponential

BLOCK = 128  # sentences per step
PIECE = 2048  # rows per product of the gradient of the weights
TABLES = "inputs", "gates", "cells", "weights", "states"
_f = np.float32


@dataclass(frozen=True)
class Step:
    """The sentences of a block that have a token at one position.

    Tables [N, ...] of a batch have a row for each token, ordered by block, position and sentence.

    :param first: the block's first sentence, in the order of length; ``rows``: number of sentences.
    :param at: the first row of the tables; ``before``: that of the last position.
    :param following: number of sentences at the next position.
    """

    first: int
    rows: int
    position: int
    at: int
    before: int
    following: int

    @property
    def numbers(self) -> tuple[int, ...]:
        """The fields, in order."""
        return self.first, self.rows, self.position, self.at, self.before, self.following


def blocks_of(lengths: np.ndarray) -> list[list[Step]]:
    """Return the steps of each block of :data:`BLOCK` sentences.

    :param lengths: of the sentences, longest first.
    """
    blocks, at = [], 0
    for first in range(0, len(lengths), BLOCK):
        in_block = lengths[first : first + BLOCK]
        longest = in_block.max(initial=0)
        counts = [int((in_block > position).sum()) for position in range(longest + 1)]
        steps, before = [], 0
        for position in range(longest):
            rows, following = counts[position : position + 2]
            steps.append(Step(first, rows, position, at, before, following))
            at, before = at + rows, at
        blocks.append(steps)
    return blocks


class AttentiveLSTM(torch.autograd.Function):
    """A linear map of h and the vector that attention reads, [N, out], at each target token."""

    @staticmethod
    def forward(
        ctx: Any,
        first: Tensor,
        c: Tensor,
        weight: Tensor,
        bias: Tensor,
        keys: Tensor,
        values: Tensor,
        out_weight: Tensor,
        out_bias: Tensor,
        source_lengths: np.ndarray,
        target_lengths: np.ndarray,
        workspace: Workspace,
    ) -> Tensor:
        """Run the recurrence.

        :param first: the gates of the first step, [S, 4 width]; ``c``: before it, [S, width].
        :param weight: of h and the vector read, for the gates of the other steps, [4 width, 2
            width]; ``bias``: [4 width].
        :param keys: of attention, of all source tokens, [M, width]; ``values``: the same shape.
        :param out_weight: of the linear map, [out, 2 width]; ``out_bias``: [out].
        :param out_weight: of the linear map, [out, 2 width]; ``out_bias``: [out].
        :param source_lengths: [S]; ``target_lengths``: [S].
        """
        width, tokens = c.shape[1], int(target_lengths.sum())
        order = np.argsort(-target_lengths, kind="stable")
        starts = np.cumsum(target_lengths) - target_lengths
        blocks = blocks_of(target_lengths[order])
        source_starts = np.cumsum(source_lengths) - source_lengths
        sentences = order, starts, source_starts, source_lengths
        columns = {"inputs": 2 * width, "gates": 4 * width, "cells": width}
        columns |= {"weights": int(source_lengths.max(initial=0)), "states": 2 * width}
        tables = workspace.take(tokens, columns | {"of_states": 2 * width})
        inputs, gates, states = (tables[name] for name in ("inputs", "gates", "states"))
        tensors = tuple(tensor.detach().contiguous() for tensor in (first, c, keys, values))
        read = tuple(tensor.numpy() for tensor in tensors)
        written = tuple(tables[name].numpy() for name in TABLES)
        for steps in blocks:
            for step in steps:
                if step.position:
                    rows = slice(step.at, step.at + step.rows)
                    gates[rows] = _product(inputs[rows], weight, bias)
                _advance(*step.numbers, *sentences, *read, *written)
        ctx.save_for_backward(weight, out_weight, *tensors)
        ctx.tables, ctx.sentences, ctx.blocks = tables, sentences, blocks
        ctx.workspace = workspace
        return F.linear(states[:tokens], out_weight, out_bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of the tensors."""
        weight, out_weight, first, c, keys, values = ctx.saved_tensors
        names = ("inputs", "gates", "states", "of_states")
        inputs, gates, states, of_states = (ctx.tables[name][: len(gradient)] for name in names)
        torch.mm(gradient, out_weight, out=of_states)
        of_first, of_c = torch.empty_like(first), torch.zeros_like(c)
        of_keys, of_values = torch.zeros_like(keys), torch.zeros_like(values)
        transposed = weight.T.contiguous()
        read = tuple(tensor.numpy() for tensor in (c, keys, values, of_states))
        tables = tuple(ctx.tables[name].numpy() for name in TABLES)
        written = tuple(tensor.numpy() for tensor in (of_first, of_c, of_keys, of_values))
        for steps in ctx.blocks:
            of_inputs = transposed.new_empty(0, len(transposed))
            for step in reversed(steps):
                _retreat(*step.numbers, *ctx.sentences, *read, of_inputs.numpy(), *tables, *written)
                if step.position:
                    of_inputs = _product(gates[step.at : step.at + step.rows], transposed)
        of_weight, of_bias = _sum_of_products(gates, inputs), gates.sum(0) - of_first.sum(0)
        of_out = _sum_of_products(gradient, states), gradient.sum(0)
        ctx.workspace.give_back(ctx.tables)
        ctx.tables = None
        return of_first, of_c, of_weight, of_bias, of_keys, of_values, *of_out, None, None, None


def _product(rows: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    return (multiply if onednn_is_faster() else F.linear)(rows, weight, bias)


def _sum_of_products(left: Tensor, right: Tensor) -> Tensor:
    """Return leftᵀ·right; of many rows, oneDNN is faster in pieces."""
    if not onednn_is_faster():
        return left.T @ right
    total = left.new_zeros(left.shape[1], right.shape[1])
    for first in range(0, len(left), PIECE):
        rows = slice(first, first + PIECE)
        total += multiply(left[rows].T, right[rows].T)
    return total


@inlined
def _softmax(scores: Any, weights: Any) -> None:
    """Fill ``weights`` [columns]; ``scores`` may be the same array."""
    top, total = scores[0], _f(0)
    for column in range(1, len(weights)):
        top = max(top, scores[column])
    for column in range(len(weights)):
        weights[column] = exponential(scores[column] - top)
        total += weights[column]
    for column in range(len(weights)):
        weights[column] /= total


@sums_in_lanes
def _advance(
    first: int,
    rows: int,
    position: int,
    at: int,
    before: int,
    following: int,
    order: Any,
    starts: Any,
    source_starts: Any,
    source_lengths: Any,
    first_gates: Any,
    first_c: Any,
    keys: Any,
    values: Any,
    inputs: Any,
    gates: Any,
    cells: Any,
    weights: Any,
    states: Any,
) -> None:
    """One step: from gates before their activation to h, c and what attention reads."""
    width = first_c.shape[1]
    for row in range(rows):
        sentence = order[first + row]
        gate, c, weight = gates[at + row], cells[at + row], weights[at + row]
        state = states[starts[sentence] + position]
        h, attended = state[:width], state[width:]
        last = cells[before + row]
        if position == 0:
            last = first_c[sentence]
            gate[:], inputs[at + row] = first_gates[sentence], _f(0)
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
            attended[j] = _f(0)
        # attention
        columns, begin = source_lengths[sentence], source_starts[sentence]
        for column in range(columns):
            key, score = keys[begin + column], _f(0)
            for j in range(width):
                score += key[j] * h[j]
            weight[column] = score
        _softmax(weight[:columns], weight[:columns])
        for column in range(columns):
            value = values[begin + column]
            for j in range(width):
                attended[j] += weight[column] * value[j]
        if row < following:
            following_input = inputs[at + rows + row]
            for j in range(len(state)):
                following_input[j] = state[j]


@sums_in_lanes
def _retreat(
    first: int,
    rows: int,
    position: int,
    at: int,
    before: int,
    following: int,
    order: Any,
    starts: Any,
    source_starts: Any,
    source_lengths: Any,
    first_c: Any,
    keys: Any,
    values: Any,
    of_states: Any,
    of_inputs: Any,
    inputs: Any,
    gates: Any,
    cells: Any,
    weights: Any,
    states: Any,
    of_first: Any,
    of_c: Any,
    of_keys: Any,
    of_values: Any,
) -> None:
    """The gradient of one step: that of the gates before their activation, which replaces
    ``gates``, and of c before the step, which ``of_c`` holds from step to step.

    :param of_inputs: the gradient of the next step's rows of ``inputs``.
    """
    width = first_c.shape[1]
    of_state, of_scores = np.empty(2 * width, np.float32), np.empty(weights.shape[1], np.float32)
    for row in range(rows):
        sentence = order[first + row]
        token = starts[sentence] + position
        gate, c, weight, state = gates[at + row], cells[at + row], weights[at + row], states[token]
        for j in range(2 * width):
            of_state[j] = of_states[token, j]
        if row < following:
            for j in range(2 * width):
                of_state[j] += of_inputs[row, j]
        # attention
        columns, begin = source_lengths[sentence], source_starts[sentence]
        mean = _f(0)
        for column in range(columns):
            value, of_value, of_weight = values[begin + column], of_values[begin + column], _f(0)
            for j in range(width):
                of_weight += of_state[width + j] * value[j]
                of_value[j] += weight[column] * of_state[width + j]
            of_scores[column] = of_weight
            mean += weight[column] * of_weight
        for column in range(columns):
            key, of_key = keys[begin + column], of_keys[begin + column]
            of_score = weight[column] * (of_scores[column] - mean)
            for j in range(width):
                of_key[j] += of_score * state[j]
                of_state[j] += of_score * key[j]
        # the cell
        last, of_last = cells[before + row], of_c[sentence]
        if position == 0:
            last = first_c[sentence]
        for j in range(width):
            into, forget = gate[j], gate[width + j]
            new, out = gate[2 * width + j], gate[3 * width + j]
            squashed = tanh(c[j])
            of_cell = of_last[j] + of_state[j] * out * (_f(1) - squashed * squashed)
            gate[j] = of_cell * new * into * (_f(1) - into)
            gate[width + j] = of_cell * last[j] * forget * (_f(1) - forget)
            gate[2 * width + j] = of_cell * into * (_f(1) - new * new)
            gate[3 * width + j] = of_state[j] * squashed * out * (_f(1) - out)
            of_last[j] = of_cell * forget
        if position == 0:
            for j in range(4 * width):
                of_first[sentence, j] = gate[j]


class ReadPositions(torch.autograd.Function):
    """The second attention, over the positions of the source: what it reads at each target token,
    [N, width], and its weights, [N, columns].
    """

    @staticmethod
    def forward(
        ctx: Any,
        scores: Tensor,
        values: Tensor,
        source_lengths: np.ndarray,
        target_lengths: np.ndarray,
    ) -> tuple[Tensor, Tensor]:
        """Read.

        :param scores: of positions, [N, at least columns]; ``values``: of all source tokens, [M,
            width].
        :param source_lengths: [S]; ``target_lengths``: [S].
        """
        columns = int(source_lengths.max(initial=0))
        read = values.new_zeros(len(scores), values.shape[1])
        weights = scores.new_zeros(len(scores), columns)
        tensors = (scores.detach().contiguous(), values.detach().contiguous(), read, weights)
        _read(source_lengths, target_lengths, *(tensor.numpy() for tensor in tensors))
        ctx.save_for_backward(scores, values, weights)
        ctx.lengths = source_lengths, target_lengths
        return read, weights

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_read: Tensor, of_weights: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of scores and values."""
        scores, values, weights = ctx.saved_tensors
        of_scores, of_values = torch.zeros_like(scores), torch.zeros_like(values)
        read = (values.contiguous(), weights, of_read.contiguous(), of_weights.contiguous())
        _read_back(*ctx.lengths, *(tensor.numpy() for tensor in (*read, of_scores, of_values)))
        return of_scores, of_values, None, None


@sums_in_lanes
def _read(
    source_lengths: Any, target_lengths: Any, scores: Any, values: Any, read: Any, weights: Any
) -> None:
    begin = first = 0
    for sentence in range(len(source_lengths)):
        columns, steps = source_lengths[sentence], target_lengths[sentence]
        for token in range(first, first + steps):
            row, weight = read[token], weights[token, :columns]
            _softmax(scores[token], weight)
            for column in range(columns):
                value = values[begin + column]
                for j in range(len(row)):
                    row[j] += weight[column] * value[j]
        begin, first = begin + columns, first + steps


@sums_in_lanes
def _read_back(
    source_lengths: Any,
    target_lengths: Any,
    values: Any,
    weights: Any,
    of_read: Any,
    of_weights: Any,
    of_scores: Any,
    of_values: Any,
) -> None:
    begin = first = 0
    for sentence in range(len(source_lengths)):
        columns, steps = source_lengths[sentence], target_lengths[sentence]
        for token in range(first, first + steps):
            row, weight, of_score = of_read[token], weights[token], of_scores[token]
            mean = _f(0)
            for column in range(columns):
                value, of_value = values[begin + column], of_values[begin + column]
                of_weight = of_weights[token, column]
                for j in range(len(row)):
                    of_weight += row[j] * value[j]
                    of_value[j] += weight[column] * row[j]
                of_score[column] = of_weight
                mean += weight[column] * of_weight
            for column in range(columns):
                of_score[column] = weight[column] * (of_score[column] - mean)
        begin, first = begin + columns, first + steps

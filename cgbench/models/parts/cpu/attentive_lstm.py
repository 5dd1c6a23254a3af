"""The decoder of CGPS, whose LSTM reads what it attended to in its last step, with its gradient.

torch takes 20 small operations per time step, and adds up the gradient of each weight step by step.
Here a step of 128 sentences of similar length is one product and one compiled loop, which keeps
what it reads in the processor's cache, and the gradient of the weights is one product of all steps.
With :mod:`.lstm`, an update of ``cgps_scan`` takes half the time (docs/lab/reproduction.md).
"""

from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from cgbench.engines.compiled import inlined, sums_in_lanes
from cgbench.models.parts.cpu.lstm import Workspace, tanh, update_cell
from cgbench.models.parts.cpu.packed import multiply, onednn_is_faster
from cgbench.models.uncertainty_kernels import exponential

BLOCK = 128  # sentences per step
PIECE = 2048  # rows per product of the gradient of the weights
_f = np.float32


class Step(NamedTuple):
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


class Sentences(NamedTuple):
    """Where each sentence of a batch is: its first target token and its source, [S].

    :param order: the sentences by length, longest first.
    """

    order: Any
    starts: Any
    source_starts: Any
    source_lengths: Any


class Memory(NamedTuple):
    """What the recurrence reads; :class:`AttentiveLSTM` says what they are. Also its gradient."""

    first: Any
    c: Any
    keys: Any
    values: Any


class Tables(NamedTuple):
    """What the recurrence writes: a row for each token, [N, ...].

    :param inputs: [h; what attention read] of the last step; ``gates``: after their activation;
        ``cells``: c; ``weights``: of attention.
    :param states: [h; what attention reads], ordered as the target tokens are.
    """

    inputs: Any
    gates: Any
    cells: Any
    weights: Any
    states: Any


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
        :param source_lengths: [S]; ``target_lengths``: [S].
        """
        width, tokens = c.shape[1], int(target_lengths.sum())
        order = np.argsort(-target_lengths, kind="stable")
        starts = np.cumsum(target_lengths) - target_lengths
        blocks = blocks_of(target_lengths[order])
        source_starts = np.cumsum(source_lengths) - source_lengths
        sentences = Sentences(order, starts, source_starts, source_lengths)
        columns = {"inputs": 2 * width, "gates": 4 * width, "cells": width}
        columns |= {"weights": int(source_lengths.max(initial=0)), "states": 2 * width}
        tables = workspace.take(tokens, columns | {"of_states": 2 * width})
        inputs, gates, states = (tables[name] for name in ("inputs", "gates", "states"))
        tensors = tuple(tensor.detach().contiguous() for tensor in (first, c, keys, values))
        memory = Memory(*(tensor.numpy() for tensor in tensors))
        written = Tables(*(tables[name].numpy() for name in Tables._fields))
        for steps in blocks:
            for step in steps:
                if step.position:
                    rows = slice(step.at, step.at + step.rows)
                    gates[rows] = _product(inputs[rows], weight, bias)
                _advance(step, sentences, memory, written)
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
        memory = Memory(*(tensor.numpy() for tensor in (first, c, keys, values)))
        tables = Tables(*(ctx.tables[name].numpy() for name in Tables._fields))
        of_memory = Memory(*(tensor.numpy() for tensor in (of_first, of_c, of_keys, of_values)))
        for steps in ctx.blocks:
            of_inputs = transposed.new_empty(0, len(transposed))
            for step in reversed(steps):
                gradients = of_states.numpy(), of_inputs.numpy(), of_memory
                _retreat(step, ctx.sentences, memory, tables, *gradients)
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
    for column in range(len(weights)):
        total += weights[column]
    for column in range(len(weights)):
        weights[column] /= total


@sums_in_lanes
def _advance(step: Step, sentences: Sentences, memory: Memory, tables: Tables) -> None:
    """One step: from gates before their activation to h, c and what attention reads."""
    width = memory.c.shape[1]
    for row in range(step.rows):
        sentence, at = sentences.order[step.first + row], step.at + row
        gate, c = tables.gates[at], tables.cells[at]
        state = tables.states[sentences.starts[sentence] + step.position]
        last = tables.cells[step.before + row]
        if step.position == 0:
            last = memory.c[sentence]
            gate[:], tables.inputs[at] = memory.first[sentence], _f(0)
        update_cell(gate, last, c, state[:width])
        begin, columns = sentences.source_starts[sentence], sentences.source_lengths[sentence]
        _attend(memory.keys, memory.values, begin, columns, tables.weights[at], state)
        if row < step.following:
            following_input = tables.inputs[at + step.rows]
            for j in range(len(state)):
                following_input[j] = state[j]


@inlined
def _attend(keys: Any, values: Any, begin: int, columns: int, weights: Any, state: Any) -> None:
    """Write the weights of the source, and what they read.

    :param begin: the first row of the source in keys and values; ``columns``: number of rows.
    """
    width = keys.shape[1]
    h, attended = state[:width], state[width:]
    for column in range(columns):
        key, score = keys[begin + column], _f(0)
        for j in range(width):
            score += key[j] * h[j]
        weights[column] = score
    _softmax(weights[:columns], weights[:columns])
    for j in range(width):
        attended[j] = _f(0)
    for column in range(columns):
        value = values[begin + column]
        for j in range(width):
            attended[j] += weights[column] * value[j]


@sums_in_lanes
def _retreat(
    step: Step,
    sentences: Sentences,
    memory: Memory,
    tables: Tables,
    of_states: Any,
    of_inputs: Any,
    of_memory: Memory,
) -> None:
    """The gradient of one step: that of the gates before their activation, which replaces
    ``tables.gates``, and of c before the step, which ``of_memory.c`` holds from step to step.

    :param of_inputs: the gradient of the next step's rows of ``tables.inputs``.
    """
    width, most = memory.c.shape[1], tables.weights.shape[1]
    of_state, of_scores = np.empty(2 * width, np.float32), np.empty(most, np.float32)
    for row in range(step.rows):
        sentence, at = sentences.order[step.first + row], step.at + row
        token = sentences.starts[sentence] + step.position
        for j in range(2 * width):
            of_state[j] = of_states[token, j]
        if row < step.following:
            for j in range(2 * width):
                of_state[j] += of_inputs[row, j]
        begin, columns = sentences.source_starts[sentence], sentences.source_lengths[sentence]
        source = slice(begin, begin + columns)
        values, of_values = memory.values[source], of_memory.values[source]
        weights, of_attended = tables.weights[at, :columns], of_state[width:]
        _from_attended(values, weights, of_attended, of_values, of_scores)
        keys, of_keys = memory.keys[source], of_memory.keys[source]
        _from_scores(keys, tables.states[token, :width], of_scores, of_keys, of_state)
        last = tables.cells[step.before + row]
        if step.position == 0:
            last = memory.c[sentence]
        gate = tables.gates[at]
        _from_cell(gate, tables.cells[at], last, of_state, of_memory.c[sentence])
        if step.position == 0:
            for j in range(4 * width):
                of_memory.first[sentence, j] = gate[j]


@inlined
def _from_attended(
    values: Any, weights: Any, of_attended: Any, of_values: Any, of_scores: Any
) -> None:
    """From the gradient of what attention read to that of values, added, and of scores."""
    mean = _f(0)
    for column in range(len(values)):
        value, of_value, of_weight = values[column], of_values[column], _f(0)
        for j in range(len(of_attended)):
            of_weight += of_attended[j] * value[j]
        for j in range(len(of_attended)):
            of_value[j] += weights[column] * of_attended[j]
        of_scores[column] = of_weight
        mean += weights[column] * of_weight
    for column in range(len(values)):
        of_scores[column] = weights[column] * (of_scores[column] - mean)


@inlined
def _from_scores(keys: Any, h: Any, of_scores: Any, of_keys: Any, of_h: Any) -> None:
    """From the gradient of scores to those of keys and of h, added."""
    for column in range(len(keys)):
        key, of_key, of_score = keys[column], of_keys[column], of_scores[column]
        for j in range(len(h)):
            of_key[j] += of_score * h[j]
            of_h[j] += of_score * key[j]


@inlined
def _from_cell(gate: Any, c: Any, last: Any, of_h: Any, of_last: Any) -> None:
    """From the gradients of h and of c (``of_last``) to those of the gates before their activation,
    which replace the gates, and of the last c.
    """
    width = len(c)
    for j in range(width):
        into, forget = gate[j], gate[width + j]
        new, out = gate[2 * width + j], gate[3 * width + j]
        squashed = tanh(c[j])
        of_cell = of_last[j] + of_h[j] * out * (_f(1) - squashed * squashed)
        gate[j] = of_cell * new * into * (_f(1) - into)
        gate[width + j] = of_cell * last[j] * forget * (_f(1) - forget)
        gate[2 * width + j] = of_cell * into * (_f(1) - new * new)
        gate[3 * width + j] = of_h[j] * squashed * out * (_f(1) - out)
        of_last[j] = of_cell * forget


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
                for j in range(len(row)):
                    of_value[j] += weight[column] * row[j]
                of_score[column] = of_weight
                mean += weight[column] * of_weight
            for column in range(columns):
                of_score[column] = weight[column] * (of_score[column] - mean)
        begin, first = begin + columns, first + steps

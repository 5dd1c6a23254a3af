"""CGPS (Li et al., 2019): two embeddings of each source word; one decides where attention points,
the other what it reads.

As in the authors' code (github.com/yli1/CGPS @ 76dd1b1, model ``rand_reg`` without its switch), an
LSTM encoder-decoder with Luong attention reads only the *functional* embeddings. Each of its states
gives a second attention, over positions of the source that are counted from 0, and a prediction is
a linear map of the *primitive* embeddings which that attention reads. In training, both embeddings
have noise and a penalty on their size (the paper's entropy regularisation), so that they hold no
more than they must.

No prediction is fed back, so training and decoding are the same computation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cgbench.errors import InputError
from cgbench.models.architectures.lstm_lexicon import (
    Hidden,
    RecurrentState,
    RowTensors,
    lstm_cell,
    time_major,
)
from cgbench.models.config.architectures import CGPSConfig
from cgbench.models.parts.linear import Linear
from cgbench.models.parts.ragged import Layout, Ragged, grid_index, to_device

FULL = 0.8  # share of unfinished rows below which decoding leaves the others


@dataclass
class SourceMemory(RowTensors):
    """What both attentions read, one row per sentence or hypothesis.

    :param values: states of the encoder, [rows, columns, width]; ``keys``: linear maps of them.
    :param primitive: primitive embeddings, [rows, columns, primitive width].
    :param offset: -inf at padding, else 0, [rows, columns].
    """

    values: Tensor
    keys: Tensor
    primitive: Tensor
    offset: Tensor


@dataclass
class EncodedCGPS:
    """A batch's memory, and the decoder's first h and c, [S, width]."""

    memory: SourceMemory
    h: Tensor
    c: Tensor
    layout: Layout

    @property
    def states(self) -> Tensor:
        """The encoder's states, padded."""
        return self.memory.values


class LSTMStep(Linear):
    """The gates of an LSTM cell; the bias of the forget gate starts at 1, as in TensorFlow."""

    def __init__(self, input_width: int, width: int) -> None:
        super().__init__(input_width + width, 4 * width)
        nn.init.xavier_uniform_(self.weight)
        nn.init.zeros_(self.bias)
        nn.init.ones_(self.bias[width : 2 * width])
        self.input_width = input_width

    def gates_of_inputs(self, x: Tensor) -> Tensor:
        """Return what inputs [..., input width] add to the gates, with the bias."""
        return F.linear(x, self.weight[:, : self.input_width], self.bias)

    @property
    def recurrent(self) -> Tensor:
        """The weights of the last h."""
        return self.weight[:, self.input_width :]


class CGPS(nn.Module):
    """The model, with the interface of
    :class:`~cgbench.models.architectures.transformer.Transformer`.

    Sources may have at most ``input_slots`` words, with the end of the sentence.
    """

    def __init__(self, config: CGPSConfig, source_size: int, target_size: int) -> None:
        super().__init__()
        self.config = config
        width = config.width
        self.primitive = nn.Embedding(source_size, config.primitive_width)
        self.function = nn.Embedding(source_size, config.function_width)
        self.forward_cell = LSTMStep(config.function_width, width // 2)
        self.backward_cell = LSTMStep(config.function_width, width // 2)
        self.key = Linear(width, width, bias=False)
        self.cell = LSTMStep(width, width)
        self.mix = Linear(2 * width, width, bias=False)
        self.slots = Linear(width, config.input_slots)
        self.output = Linear(config.primitive_width, target_size)
        for embedding in (self.primitive, self.function):
            nn.init.uniform_(embedding.weight, -1, 1)
        for linear in (self.key, self.mix, self.slots, self.output):
            nn.init.xavier_uniform_(linear.weight)
        for linear in (self.slots, self.output):
            nn.init.zeros_(linear.bias)

    def source_penalty(self, source: Ragged) -> Tensor:
        """Return the penalty on the embeddings of a batch, summed over its words (and the ends of
        its sentences), without noise.
        """
        vectors = (self.primitive(source.ids), self.function(source.ids))
        return self.config.penalty * torch.stack([(x**2).mean(1).sum() for x in vectors]).sum()

    def encode(self, source: Ragged) -> EncodedCGPS:
        """Encode source ids.

        :raises InputError: a source has more words than ``input_slots``.
        """
        layout, slots = source.layout, self.config.input_slots
        if (longest := int(layout.lengths.max(initial=0))) > slots:
            raise InputError(
                f"a source has {longest} words, with the end of the sentence, but"
                f" model.input_slots={slots}; train with more"
            )
        primitive, function = self._noisy(source.ids)
        table, real = grid_index(layout.starts, layout.lengths[:, None])
        index, mask = (to_device(array, primitive.device) for array in (table, real))
        words = function[index]
        forward, forward_h, forward_c = _run(self.forward_cell, words, mask, reverse=False)
        backward, backward_h, backward_c = _run(self.backward_cell, words, mask, reverse=True)
        values = torch.cat((forward, backward), 2)
        offset = values.new_zeros(mask.shape).masked_fill(~mask, -torch.inf)
        memory = SourceMemory(values, self.key(values), primitive[index], offset)
        # The authors' code exchanges the two states of the encoder: its h starts the decoder's c.
        h = torch.cat((forward_c, backward_c), 1)
        c = torch.cat((forward_h, backward_h), 1)
        return EncodedCGPS(memory, h, c, layout)

    def decode(self, encoded: EncodedCGPS, target: Ragged) -> Tensor:
        """Return the primitive embeddings read at each target position, [N, primitive width]; only
        the target's lengths are used.
        """
        return self.decode_attending(encoded, target)[0]

    def decode_attending(self, encoded: EncodedCGPS, target: Ragged) -> tuple[Tensor, Tensor]:
        """As :meth:`decode`, with the attention that reads, [N, columns]."""
        order, sizes, index = time_major(target.layout.lengths)
        state = self._start(encoded, order)
        rows = len(order)
        feeds = []
        for count in sizes.tolist():
            # The gradient of a slice is as large as the whole, so a few finished rows stay.
            if count <= FULL * rows:
                state.shorten(count)
                rows = count
            feeds.append(self._advance(state)[:count])
        feed = torch.cat(feeds)[to_device(np.argsort(index), encoded.h.device)]
        memory, sequence = encoded.memory, target.layout.sequence
        return self._read(feed, memory.primitive[sequence], memory.offset[sequence])

    def project(self, states: Tensor) -> Tensor:
        """Return logits [N, target vocabulary]."""
        return self.output(states)

    def forward(self, source: Ragged, target: Ragged) -> Tensor:
        """Return logits [N, target vocabulary]; only the lengths of ``target`` are used."""
        return self.project(self.decode(self.encode(source), target))

    def start(self, encoded: EncodedCGPS) -> RecurrentState:
        """Return the state before the first step, with one row for each sentence."""
        return self._start(encoded, np.arange(len(encoded.layout)))

    def step(self, tokens: Tensor, state: RecurrentState) -> Tensor:
        """Return the logits of the next id [rows, target vocabulary]; ``tokens`` [rows] is
        ignored.
        """
        feed = self._advance(state)
        return self.project(self._read(feed, state.memory.primitive, state.memory.offset)[0])

    def _noisy(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        primitive, function = self.primitive(ids), self.function(ids)
        if self.training and self.config.noise:
            primitive = primitive + self.config.noise * torch.randn_like(primitive)
            function = function + self.config.noise * torch.randn_like(function)
        return primitive, function

    def _start(self, encoded: EncodedCGPS, order: np.ndarray) -> RecurrentState:
        rows = to_device(order, encoded.h.device)
        h, c = encoded.h[rows], encoded.c[rows]
        linears = (self.cell.weight, self.cell.bias)
        return RecurrentState(
            Hidden([h], [c], torch.zeros_like(h)), encoded.memory.select(rows), linears
        )

    def _advance(self, state: RecurrentState) -> Tensor:
        """One step of the recurrence, whose attention reads the encoder's states; returns the
        vector that is fed to the next step, [rows, width].
        """
        memory, hidden = state.memory, state.hidden
        weight, bias = state.linears
        gates = F.linear(torch.cat((hidden.feed, hidden.h[0]), 1), weight, bias)
        h, c = lstm_cell(gates, hidden.c[0])
        # Twice as fast on a CPU as a batch of products of a matrix and a vector.
        scores = (memory.keys * h.unsqueeze(1)).sum(2) + memory.offset
        context = torch.bmm(torch.softmax(scores, 1).unsqueeze(1), memory.values).squeeze(1)
        feed = self.mix(torch.cat((h, context), 1))
        state.hidden = Hidden([h], [c], feed)
        return feed

    def _read(self, feed: Tensor, primitive: Tensor, offset: Tensor) -> tuple[Tensor, Tensor]:
        """The second attention, over the positions of the source: what it reads, [rows, primitive
        width], and its weights [rows, columns].

        :param feed: [rows, width]; ``primitive``: [rows, columns, primitive width]; ``offset``:
            [rows, columns].
        """
        scores = self.slots(feed)[:, : offset.shape[1]] + offset
        weights = torch.softmax(scores, 1)
        return torch.bmm(weights.unsqueeze(1), primitive).squeeze(1), weights


def _run(cell: LSTMStep, x: Tensor, real: Tensor, reverse: bool) -> tuple[Tensor, Tensor, Tensor]:
    """Run a cell over the real columns: its states [S, columns, width], and the last h and c.

    :param x: inputs, [S, columns, input width]; ``real``: [S, columns].
    """
    gates, recurrent = cell.gates_of_inputs(x).unbind(1), cell.recurrent
    h = c = x.new_zeros(len(x), recurrent.shape[1])
    states = [h] * len(gates)
    columns = range(len(gates))
    for column in reversed(columns) if reverse else columns:
        next_h, next_c = lstm_cell(gates[column] + F.linear(h, recurrent), c)
        inside = real[:, column, None]
        h, c = torch.where(inside, next_h, h), torch.where(inside, next_c, c)
        states[column] = h
    return torch.stack(states, 1), h, c

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
from cgbench.models.config.cgps import CGPSConfig
from cgbench.models.parts.cpu import fast_form
from cgbench.models.parts.cpu.attentive_lstm import AttentiveLSTM, ReadPositions
from cgbench.models.parts.cpu.lstm import SequenceLSTM, Workspace
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
    """What attention reads of each source token: the encoder's states [M, width], their keys, and
    primitive embeddings [M, primitive width]; the decoder's first h and c, [S, width].
    """

    states: Tensor
    keys: Tensor
    primitive: Tensor
    layout: Layout
    h: Tensor
    c: Tensor


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
        return F.linear(x, self.of_input, self.bias)

    @property
    def of_input(self) -> Tensor:
        """The weights of the input."""
        return self.weight[:, : self.input_width]

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
        self.of_encoder, self.of_decoder = Workspace(), Workspace()
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
        tables = self.primitive.weight, self.function.weight
        ones = torch.ones_like(source.ids, dtype=tables[0].dtype)
        counts = ones.new_zeros(len(tables[0])).index_add(0, source.ids, ones)
        per_word = torch.stack([(table**2).mean(1) for table in tables]).sum(0)
        return self.config.penalty * (counts * per_word).sum()

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
        forward, forward_h, forward_c = self._run(self.forward_cell, function, layout, False)
        backward, backward_h, backward_c = self._run(self.backward_cell, function, layout, True)
        states = torch.cat((forward, backward), 1)
        # The authors' code exchanges the two states of the encoder: its h starts the decoder's c.
        h = torch.cat((forward_c, backward_c), 1)
        c = torch.cat((forward_h, backward_h), 1)
        return EncodedCGPS(states, self.key(states), primitive, layout, h, c)

    def decode(self, encoded: EncodedCGPS, target: Ragged) -> Tensor:
        """Return the primitive embeddings read at each target position, [N, primitive width]; only
        the target's lengths are used.
        """
        return self.decode_attending(encoded, target)[0]

    def decode_attending(self, encoded: EncodedCGPS, target: Ragged) -> tuple[Tensor, Tensor]:
        """As :meth:`decode`, with the attention that reads, [N, columns]."""
        if _compiled(encoded.h):
            return self._decode_on_cpu(encoded, target.layout)
        order, sizes, index = time_major(target.layout.lengths)
        state = self._start(encoded, order)
        rows = len(order)
        steps = []
        for count in sizes.tolist():
            # The gradient of a slice is as large as the whole, so a few finished rows stay.
            if count <= FULL * rows:
                state.shorten(count)
                rows = count
            read, weights = self._advance(state)
            steps.append((read[:count], weights[:count]))
        back = to_device(np.argsort(index), encoded.h.device)
        read, weights = (torch.cat(tensors)[back] for tensors in zip(*steps, strict=True))
        return read, weights

    def _decode_on_cpu(self, encoded: EncodedCGPS, target: Layout) -> tuple[Tensor, Tensor]:
        """As :meth:`decode_attending`.

        What is fed to the next step is a linear map of h and of what attention reads, so its
        weights are multiplied with those of the next gates, and of the scores of positions.
        """
        of_feed, recurrent = self.cell.of_input, self.cell.recurrent
        weight = of_feed @ self.mix.weight + F.pad(recurrent, (0, len(of_feed.T)))
        first = F.linear(encoded.h, recurrent, self.cell.bias)
        lengths = encoded.layout.lengths, target.lengths
        of_scores = self.slots.weight @ self.mix.weight
        scores = AttentiveLSTM.apply(
            *(first, encoded.c, weight, self.cell.bias, encoded.keys, encoded.states),
            *(of_scores, self.slots.bias, *lengths, self.of_decoder),
        )
        read, weights = ReadPositions.apply(scores, encoded.primitive, *lengths)
        return read, weights

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
        return self.project(self._advance(state)[0])

    def _noisy(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        primitive, function = self.primitive(ids), self.function(ids)
        if self.training and self.config.noise:
            primitive = primitive + self.config.noise * torch.randn_like(primitive)
            function = function + self.config.noise * torch.randn_like(function)
        return primitive, function

    def _run(
        self, cell: LSTMStep, x: Tensor, layout: Layout, backwards: bool
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Run a cell over the tokens: its states [M, width], and the last h and c, [S, width].

        :param x: inputs, [M, input width]; ``backwards``: whether to start at the ends.
        """
        if not _compiled(x):
            return _run(cell, x, layout, backwards)
        states, c = SequenceLSTM.apply(
            *(x, cell.weight, cell.bias, layout.lengths, backwards, self.of_encoder)
        )
        last = to_device(layout.starts, x.device) if backwards else layout.last
        return states, states[last], c

    def _start(self, encoded: EncodedCGPS, order: np.ndarray) -> RecurrentState:
        device = encoded.h.device
        table, real = grid_index(encoded.layout.starts[order], encoded.layout.lengths[order, None])
        index, rows = to_device(table, device), to_device(order, device)
        offset = encoded.states.new_zeros(table.shape)
        offset = offset.masked_fill(~to_device(real, device), -torch.inf)
        memory = SourceMemory(
            *(encoded.states[index], encoded.keys[index]), encoded.primitive[index], offset
        )
        h, c = encoded.h[rows], encoded.c[rows]
        linears = (self.cell.weight, self.cell.bias)
        return RecurrentState(Hidden([h], [c], torch.zeros_like(h)), memory, linears)

    def _advance(self, state: RecurrentState) -> tuple[Tensor, Tensor]:
        """One step of all rows: the primitive embeddings read, [rows, primitive width], and the
        attention that reads them, [rows, columns].
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
        # the second attention, over the positions of the source
        scores = self.slots(feed)[:, : memory.offset.shape[1]] + memory.offset
        weights = torch.softmax(scores, 1)
        return torch.bmm(weights.unsqueeze(1), memory.primitive).squeeze(1), weights


def _compiled(x: Tensor) -> bool:
    return fast_form(x) and x.dtype == torch.float32 and not torch.is_autocast_enabled("cpu")


def _run(
    cell: LSTMStep, x: Tensor, layout: Layout, backwards: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """The plain form of :meth:`CGPS._run`."""
    table, real = grid_index(layout.starts, layout.lengths[:, None])
    index, inside = (to_device(array, x.device) for array in (table, real))
    gates, recurrent = cell.gates_of_inputs(x)[index].unbind(1), cell.recurrent
    h = c = x.new_zeros(len(layout), recurrent.shape[1])
    states = [h] * len(gates)
    columns = range(len(gates))
    for column in reversed(columns) if backwards else columns:
        next_h, next_c = lstm_cell(gates[column] + F.linear(h, recurrent), c)
        is_token = inside[:, column, None]
        h, c = torch.where(is_token, next_h, h), torch.where(is_token, next_c, c)
        states[column] = h
    tokens = to_device(np.flatnonzero(real), x.device)
    return torch.stack(states, 1).flatten(0, 1)[tokens], h, c

"""The LSTM with attention of tensor2tensor (models/lstm.py, ``lstm_seq2seq_attention``).

The encoder reads the source backwards, and its last states start the decoder. The decoder reads the
last word and its last attentional vector (Luong et al., 2015), which is a linear map of the state
and of the source as attended to with the score of Bahdanau et al. (2015). The logits come from
another linear map of it. The first word that the decoder reads is a zero vector.

tensor2tensor's "heads" are one attention: it passes the same object to every head, so heads differ
only in their slices of the linear map. Unlike there, padding is not attended to, since otherwise an
output would depend on the other sentences of its batch.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cgbench.models.architectures.lstm_lexicon import (
    Hidden,
    RecurrentState,
    RowTensors,
    lstm_cell,
    run_lstm,
    time_major,
)
from cgbench.models.config.lstm_attention import LSTMAttentionConfig
from cgbench.models.parts.dropout import Dropout
from cgbench.models.parts.layers import initialize_uniformly
from cgbench.models.parts.linear import Linear
from cgbench.models.parts.ragged import Layout, Ragged, grid_index, to_device
from cgbench.models.special_ids import PAD


@dataclass
class AttendedSource(RowTensors):
    """The memory of attention, one row per sentence or hypothesis.

    :param values: states of the source, [rows, columns, width]; ``keys``: their projections.
    :param offset: -inf at padding, else 0, [rows, columns].
    """

    values: Tensor
    keys: Tensor
    offset: Tensor


@dataclass
class EncodedBackwards:
    """States [M, width] of the reversed sources, their layout, and the last h and c, [layers, S,
    width].
    """

    states: Tensor
    layout: Layout
    last: tuple[Tensor, Tensor]


@dataclass
class AttentionState(RecurrentState):
    """The state of decoding, and whether the first word, a zero vector, has been read."""

    started: bool = False


class LSTMAttention(nn.Module):
    """The model, with the interface of
    :class:`~cgbench.models.architectures.transformer.Transformer`.
    """

    def __init__(self, config: LSTMAttentionConfig, source_size: int, target_size: int) -> None:
        super().__init__()
        self.config = config
        width, layers = config.width, config.encoder_layers
        self.source_embedding = nn.Embedding(source_size, width, padding_idx=PAD)
        self.target_embedding = nn.Embedding(target_size, width, padding_idx=PAD)
        self.dropout = Dropout(config.dropout)
        self.encoder = nn.LSTM(width, width, layers, dropout=config.dropout if layers > 1 else 0.0)
        self.cells = nn.ModuleList(
            nn.LSTMCell(width if k else 2 * width, width) for k in range(layers)
        )
        self.project_memory = Linear(width, width, bias=False)
        self.project_query = Linear(width, width, bias=False)
        self.score = nn.Parameter(torch.empty(width))
        self.attentional = Linear(2 * width, width, bias=False)
        self.features = Linear(width, width)
        self.output = Linear(width, target_size, bias=False)
        self.initialize()

    def initialize(self) -> None:
        """Initialise as tensor2tensor does; forget gates start with bias 1."""
        width = self.config.width
        for linear in (
            *(self.project_memory, self.project_query, self.attentional, self.features),
            *(self.encoder, self.cells),
        ):
            initialize_uniformly(linear)
        with torch.no_grad():
            for module in (self.encoder, *self.cells):
                for name, parameter in module.named_parameters():
                    if name.startswith("bias_ih"):
                        parameter[width : 2 * width] = 1.0
            # A vector has as many inputs as outputs here.
            self.score.uniform_(-math.sqrt(3 / width), math.sqrt(3 / width))
            for embedding in (self.source_embedding, self.target_embedding):
                embedding.weight.normal_(std=width**-0.5)
                embedding.weight[PAD] = 0
            self.output.weight.normal_(std=width**-0.5)

    def read_source(self, source: Ragged) -> Ragged:
        """Return the encoder's input ids: the source backwards."""
        layout = source.layout
        ends = np.repeat(2 * layout.starts + layout.lengths - 1, layout.lengths)
        backwards = to_device(ends - np.arange(layout.tokens), source.ids.device)
        return Ragged(source.ids[backwards], layout)

    def encode(self, source: Ragged) -> EncodedBackwards:
        """Encode source ids, backwards."""
        layout = source.layout
        x = self.source_embedding(self.read_source(source).ids) * math.sqrt(self.config.width)
        states, last = run_lstm(self.encoder, self.dropout(x), layout)
        return EncodedBackwards(states, layout, last)

    def decode(self, encoded: EncodedBackwards, target: Ragged) -> Tensor:
        """Return the features [N, width] at the ids that the decoder reads."""
        return self.decode_attending(encoded, target)[0]

    def decode_attending(self, encoded: EncodedBackwards, target: Ragged) -> tuple[Tensor, Tensor]:
        """As :meth:`decode`, with the attention of target tokens to the source, [N, columns], in
        the order of the source.
        """
        layout = target.layout
        order, sizes, index = time_major(layout.lengths)
        words = self.words(target.ids)
        words[to_device(layout.starts, words.device)] = 0.0
        words = words[to_device(index, words.device)]
        state, steps = self._start(encoded, order), []
        for read in words.split(sizes.tolist()):
            state.shorten(len(read))
            steps.append(self._advance(read, state))
        back = to_device(np.argsort(index), words.device)
        features, weights = (torch.cat(tensors)[back] for tensors in zip(*steps, strict=True))
        # The encoder reads backwards; columns after the source have weight 0.
        columns = np.arange(weights.shape[1])
        lengths = np.repeat(encoded.layout.lengths, layout.lengths)
        forwards = lengths[:, None] - 1 - columns
        forwards = np.where(forwards < 0, columns, forwards)
        return features, weights.gather(1, to_device(forwards, weights.device))

    def words(self, ids: Tensor) -> Tensor:
        """Return the vectors of target ids, [N, width]."""
        return self.target_embedding(ids) * math.sqrt(self.config.width)

    def project(self, states: Tensor) -> Tensor:
        """Return logits [N, target vocabulary]."""
        return cast("Tensor", self.output(states))

    def forward(self, source: Ragged, target: Ragged) -> Tensor:
        """Return logits [N, target vocabulary] under teacher forcing; ``target``: the ids that the
        decoder reads.
        """
        return self.project(self.decode(self.encode(source), target))

    def start(self, encoded: EncodedBackwards) -> AttentionState:
        """Return the state before the first step, with one row for each sentence."""
        return self._start(encoded, np.arange(len(encoded.layout)))

    def step(self, tokens: Tensor, state: AttentionState) -> Tensor:
        """Consume one id per row [rows] and return the logits of the next [rows, target
        vocabulary].
        """
        words = self.words(tokens)
        if not state.started:
            words, state.started = torch.zeros_like(words), True
        return self.project(self._advance(words, state)[0])

    def _start(self, encoded: EncodedBackwards, order: np.ndarray) -> AttentionState:
        device = encoded.states.device
        table, real = grid_index(encoded.layout.starts[order], encoded.layout.lengths[order, None])
        values = encoded.states[to_device(table, device)]
        offset = values.new_zeros(table.shape).masked_fill(~to_device(real, device), -torch.inf)
        memory = AttendedSource(values, self.project_memory(values), offset)
        h, c = (states.index_select(1, to_device(order, device)) for states in encoded.last)
        hidden = Hidden(list(h.unbind(0)), list(c.unbind(0)), torch.zeros_like(h[0]))
        return AttentionState(hidden, memory, None)

    def _advance(self, words: Tensor, state: RecurrentState) -> tuple[Tensor, Tensor]:
        """One step of all rows: return the features [rows, width] and the attention [rows,
        columns].
        """
        hidden, memory = state.hidden, state.memory
        x, states = torch.cat((words, hidden.feed), 1), []
        for cell, h, c in zip(self.cells, hidden.h, hidden.c, strict=True):
            cell = cast("nn.LSTMCell", cell)
            bias = cell.bias_ih + cell.bias_hh
            gates = F.linear(self.dropout(x), cell.weight_ih) + F.linear(h, cell.weight_hh) + bias
            states.append(lstm_cell(gates, c))
            x = states[-1][0]
        query = self.project_query(x).unsqueeze(1)
        scores = torch.tanh(memory.keys + query) @ self.score + memory.offset
        weights = torch.softmax(scores, 1)
        context = torch.bmm(weights.unsqueeze(1), memory.values).squeeze(1)
        feed = self.attentional(torch.cat((x, context), 1))
        state.hidden = Hidden([h for h, _ in states], [c for _, c in states], feed)
        return self.features(feed), weights

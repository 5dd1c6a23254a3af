"""Syntactic attention (Russin et al., 2019): attention uses only syntax, predictions use only word
meanings.

As in the authors' code, the attention state of a source word depends on the words around it but not
on the word itself, and a prediction is a linear map of the context-free vectors of the attended
words. Predictions are not fed back, so training and decoding are the same computation. Unlike the
authors' code, this one has masks for batches of more than one sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
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
from cgbench.models.config.syntactic_attention import SyntacticAttentionConfig
from cgbench.models.parts.dropout import Dropout
from cgbench.models.parts.linear import Linear, StepLinear, linear
from cgbench.models.parts.ragged import Layout, Ragged, grid_index, to_device
from cgbench.models.special_ids import BOS


@dataclass
class Meanings(RowTensors):
    """The memory of attention, one row per sentence or hypothesis.

    :param syntax: keys, [rows, columns, syntax]; ``meaning``: values, [rows, columns, meaning].
    :param gates: what each source word contributes to the decoder's gates if it is attended to,
        [rows, columns, 4 width].
    :param offset: -inf at padding, else 0, [rows, columns].
    """

    syntax: Tensor
    meaning: Tensor
    gates: Tensor
    offset: Tensor


@dataclass
class EncodedSyntax:
    """Syntax states [M, width] and meanings [M, meaning] of a batch; the first attention query, [S,
    width].
    """

    states: Tensor
    meaning: Tensor
    layout: Layout
    query: Tensor


class SyntacticAttention(nn.Module):
    """The model, with the interface of
    :class:`~cgbench.models.architectures.transformer.Transformer`.

    The authors' code only supports ``width`` = 4 · ``syntax_width``. ``read_syntax`` (their
    ``syn_act``) lets predictions also read the attended syntax states. Each of the three LSTMs has
    ``encoder_layers`` layers (their ``n_layers``), with dropout between them.
    """

    def __init__(
        self, config: SyntacticAttentionConfig, source_size: int, target_size: int
    ) -> None:
        super().__init__()
        self.config = config
        syntax, width = config.syntax_width, config.width
        self.meaning = nn.Embedding(source_size, config.meaning_width)
        self.syntax = nn.Embedding(source_size, syntax)
        self.dropout = Dropout(config.dropout)
        depth, between = config.encoder_layers, config.dropout if config.encoder_layers > 1 else 0.0
        self.around = nn.LSTM(syntax, syntax, depth, dropout=between, bidirectional=True)
        self.ends = nn.Parameter(
            torch.zeros(2, 2 * syntax)
        )  # context before the first and after the last word
        self.encoder = nn.LSTM(2 * syntax, width // 2, depth, dropout=between, bidirectional=True)
        self.begin = Linear(width, width)
        self.cell = nn.LSTMCell(width, width)
        self.upper = nn.ModuleList(nn.LSTMCell(width, width) for _ in range(depth - 1))
        self.output = Linear(
            config.meaning_width + (width if config.read_syntax else 0), target_size
        )
        nn.init.normal_(self.ends)

    def encode(self, source: Ragged) -> EncodedSyntax:
        """Encode source ids, with <s> before each."""
        source = source.preceded(BOS)
        layout = source.layout
        meaning = self.dropout(self.meaning(source.ids))
        around, _ = run_lstm(self.around, self.dropout(self.syntax(source.ids)), layout)
        forward, backward = around.chunk(2, 1)
        # The left and right context of each word.
        context = torch.cat((forward.roll(1, 0), backward.roll(-1, 0)), 1)
        outermost = torch.cat((to_device(layout.starts, around.device), layout.last))
        context = context.index_copy(0, outermost, self.ends.repeat_interleave(len(layout), 0))
        states, (h, _) = run_lstm(self.encoder, context, layout)
        last = torch.cat(list(h[-2:]), 1)  # both directions of the top layer
        return EncodedSyntax(states, meaning, layout, F.relu(self.begin(last)))

    def decode(self, encoded: EncodedSyntax, target: Ragged) -> Tensor:
        """Return the output layer's input at each target position, [N, ...]; only the target's
        lengths are used.
        """
        return self.decode_attending(encoded, target)[0]

    def decode_attending(self, encoded: EncodedSyntax, target: Ragged) -> tuple[Tensor, Tensor]:
        """As :meth:`decode`, with the attention of target tokens to the source, [N, columns]."""
        order, sizes, index = time_major(target.layout.lengths)
        state = self._start(encoded, order, sizes.tolist())
        steps = []
        for count in sizes.tolist():
            state.shorten(count)
            steps.append(self._advance(state))
        back = to_device(np.argsort(index), encoded.states.device)
        features, weights = (torch.cat(tensors)[back] for tensors in zip(*steps, strict=True))
        return features, weights

    def project(self, states: Tensor) -> Tensor:
        """Return logits [N, target vocabulary]."""
        return self.output(states)

    def forward(self, source: Ragged, target: Ragged) -> Tensor:
        """Return logits [N, target vocabulary]; only the lengths of ``target`` are used."""
        return self.project(self.decode(self.encode(source), target))

    def start(self, encoded: EncodedSyntax) -> RecurrentState:
        """Return the state before the first step, with one row for each sentence."""
        return self._start(encoded, np.arange(len(encoded.layout)))

    def step(self, tokens: Tensor, state: RecurrentState) -> Tensor:
        """Return the logits of the next id [rows, target vocabulary]; ``tokens`` [rows] is
        ignored.
        """
        return self.project(self._advance(state)[0])

    def _start(
        self, encoded: EncodedSyntax, order: np.ndarray, sizes: Sequence[int] = ()
    ) -> RecurrentState:
        """The state before the first step.

        :param order: the sentence of each row; ``sizes``: number of rows of each step, in training.
        """
        table, real = grid_index(encoded.layout.starts[order], encoded.layout.lengths[order, None])
        index = to_device(table, encoded.states.device)
        offset = encoded.states.new_zeros(table.shape).masked_fill(
            ~to_device(real, encoded.states.device), -torch.inf
        )
        query = encoded.query[to_device(order, encoded.states.device)]
        # The first query does not enter the recurrence, which starts from zeros.
        # The cell reads a mixture of syntax states, so these are multiplied with its weights once,
        # not in every step.
        of_words = linear(encoded.states, self.cell.weight_ih)
        memory = Meanings(encoded.states[index], encoded.meaning[index], of_words[index], offset)
        upper = cast("list[nn.LSTMCell]", list(self.upper))
        zeros = [torch.zeros_like(query)] * (1 + len(upper))
        # The gates of each layer: a linear map of its last h, and in upper layers of its input.
        weights = [
            self.cell.weight_hh,
            *(torch.cat((cell.weight_hh, cell.weight_ih), 1) for cell in upper),
        ]
        gates = [
            StepLinear(weight, cell.bias_ih + cell.bias_hh, sizes)
            for weight, cell in zip(weights, (self.cell, *upper), strict=True)
        ]
        return RecurrentState(Hidden(zeros, zeros, query), memory, gates)

    def _advance(self, state: RecurrentState) -> tuple[Tensor, Tensor]:
        """One step of all rows: the output layer's input, and the attention [rows, columns]."""
        memory, hidden = state.memory, state.hidden
        scores = torch.bmm(memory.syntax, hidden.feed.unsqueeze(2)).squeeze(2) + memory.offset
        weights = torch.softmax(scores, 1)
        values = [memory.meaning, memory.gates, *[memory.syntax] * self.config.read_syntax]
        read, of_context, *context = (
            torch.bmm(weights.unsqueeze(1), table).squeeze(1) for table in values
        )
        lowest, *upper = state.linears
        states = [lstm_cell(lowest(hidden.h[0]) + of_context, hidden.c[0])]
        for gates, h, c in zip(upper, hidden.h[1:], hidden.c[1:], strict=True):
            x = self.dropout(states[-1][0])
            states.append(lstm_cell(gates(torch.cat((h, x), 1)), c))
        state.hidden = Hidden([h for h, _ in states], [c for _, c in states], states[-1][0])
        return torch.cat((read, *context), 1), weights

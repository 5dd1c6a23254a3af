"""Syntactic attention (Russin et al., 2019): attention sees syntax alone, outputs are read from word meanings alone.

As the authors' code: the state of a source word used by attention is computed from the words around it, without the
word itself; a prediction is a linear map of the context-free vectors of the attended words. What was predicted is never
fed back, so training and decoding are one computation. Written for batches with the masks that the authors' code, made
for a batch of one, leaves out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from cgbench.models.architectures.lstm_lexicon import time_major
from cgbench.models.config.architectures import SyntacticAttentionConfig
from cgbench.models.parts.dropout import Dropout
from cgbench.models.parts.linear import Linear
from cgbench.models.parts.ragged import Layout, Ragged, grid_index, on_device
from cgbench.models.special_ids import BOS


@dataclass
class Meanings:
    """What is attended to, a row per sentence or hypothesis.

    :param syntax: states of attention, [rows, columns, syntax]; ``meaning``: what is read, [rows, columns, meaning].
    :param offset: -inf at padding, else 0, [rows, columns].
    """

    syntax: Tensor
    meaning: Tensor
    offset: Tensor

    def select(self, index: Tensor) -> Meanings:
        """Return the rows ``index``, in that order."""
        return Meanings(*(part.index_select(0, index) for part in (self.syntax, self.meaning, self.offset)))

    def first(self, rows: int) -> Meanings:
        """Return the first rows."""
        return Meanings(self.syntax[:rows], self.meaning[:rows], self.offset[:rows])


@dataclass
class SyntaxState:
    """Where the decoder is: what steers the next attention, [rows, width], and what it attends to.

    ``h`` and ``c`` are the decoder's states, [rows, width] per layer.
    """

    steer: Tensor
    h: list[Tensor]
    c: list[Tensor]
    memory: Meanings

    def reorder(self, index: np.ndarray) -> None:
        """Keep the rows ``index``, in that order."""
        kept = on_device(index, self.steer)
        self.steer = self.steer.index_select(0, kept)
        self.h, self.c = ([part.index_select(0, kept) for part in parts] for parts in (self.h, self.c))
        self.memory = self.memory.select(kept)

    def first(self, rows: int) -> SyntaxState:
        """Return the first rows."""
        h, c = ([part[:rows] for part in parts] for parts in (self.h, self.c))
        return SyntaxState(self.steer[:rows], h, c, self.memory.first(rows))


@dataclass
class EncodedSyntax:
    """Syntax states [M, width] and meanings [M, meaning] of a batch; what steers the first attention, [S, width]."""

    states: Tensor
    meaning: Tensor
    layout: Layout
    steer: Tensor


class SyntacticAttention(nn.Module):
    """Used like :class:`~cgbench.models.architectures.transformer.Transformer`.

    Widths by ``config``: ``meaning_width`` (120), ``syntax_width`` (100) of embeddings, ``width`` (400) of states; the
    authors' code can only build models with ``width`` = 4 · ``syntax_width``. ``read_syntax`` (their ``syn_act``) lets
    predictions read the attended syntax states, too. Each of the three LSTMs has ``encoder_layers`` layers (their
    ``n_layers``), with dropout between them.
    """

    def __init__(self, config: SyntacticAttentionConfig, source_size: int, target_size: int) -> None:
        super().__init__()
        self.config = config
        syntax, width = config.syntax_width, config.width
        self.meaning = nn.Embedding(source_size, config.meaning_width)
        self.syntax = nn.Embedding(source_size, syntax)
        self.dropout = Dropout(config.dropout)
        depth, between = config.encoder_layers, config.dropout if config.encoder_layers > 1 else 0.0
        self.around = nn.LSTM(syntax, syntax, depth, dropout=between, bidirectional=True)
        self.ends = nn.Parameter(torch.zeros(2, 2 * syntax))  # in place of the first and the last word's surroundings
        self.encoder = nn.LSTM(2 * syntax, width // 2, depth, dropout=between, bidirectional=True)
        self.begin = Linear(width, width)
        self.cell = nn.LSTMCell(width, width)
        self.upper = nn.ModuleList(nn.LSTMCell(width, width) for _ in range(depth - 1))
        self.output = Linear(config.meaning_width + (width if config.read_syntax else 0), target_size)
        nn.init.normal_(self.ends)

    def encode(self, source: Ragged) -> EncodedSyntax:
        """Encode source ids, with <s> before each."""
        source = source.preceded(BOS)
        layout = source.layout
        meaning = self.dropout(self.meaning(source.ids))
        around = self._run(self.around, self.dropout(self.syntax(source.ids)), layout)[0]
        forward, backward = around.chunk(2, 1)
        # Of each word, what is left of it and what is right of it.
        surroundings = torch.cat((forward.roll(1, 0), backward.roll(-1, 0)), 1)
        place = torch.cat((on_device(layout.starts, around), layout.last))
        surroundings = surroundings.index_copy(0, place, self.ends.repeat_interleave(len(layout), 0))
        states, last = self._run(self.encoder, surroundings, layout)
        return EncodedSyntax(states, meaning, layout, F.relu(self.begin(last)))

    def decode(self, encoded: EncodedSyntax, target: Ragged) -> Tensor:
        """Return what is read at each target position, [N, ...]; of the target only the lengths are used."""
        order, sizes, index = time_major(target.layout.lengths)
        state = self._start(encoded, order)
        found = []
        for count in sizes.tolist():
            if count < len(state.steer):
                state = state.first(count)
            found.append(self._advance(state))
        inverse = np.empty_like(index)
        inverse[index] = np.arange(len(index))
        return torch.cat(found)[on_device(inverse, encoded.states)]

    def project(self, states: Tensor) -> Tensor:
        """Return logits [N, target vocabulary]."""
        logits: Tensor = self.output(states)
        return logits

    def forward(self, source: Ragged, target: Ragged) -> Tensor:
        """Return logits [N, target vocabulary]; ``target``: as for other models, used for its lengths alone."""
        return self.project(self.decode(self.encode(source), target))

    def start(self, encoded: EncodedSyntax, beam: int = 1) -> SyntaxState:
        """Return the state before the first step, with ``beam`` adjacent rows for each sentence."""
        return self._start(encoded, np.repeat(np.arange(len(encoded.layout)), beam))

    def step(self, tokens: Tensor, state: SyntaxState) -> Tensor:
        """Return the logits of the next id [rows, target vocabulary]; ``tokens`` [rows] is not looked at."""
        return self.project(self._advance(state))

    def _start(self, encoded: EncodedSyntax, order: np.ndarray) -> SyntaxState:
        table, real = grid_index(encoded.layout.starts[order], encoded.layout.lengths[order, None])
        index = on_device(table, encoded.states)
        offset = encoded.states.new_zeros(table.shape).masked_fill(~on_device(real, encoded.states), -torch.inf)
        steer = encoded.steer[on_device(order, encoded.states)]
        # The first steering state does not enter the recurrence, which starts from nothing.
        memory = Meanings(encoded.states[index], encoded.meaning[index], offset)
        nothing = [torch.zeros_like(steer)] * (1 + len(self.upper))
        return SyntaxState(steer, nothing, nothing, memory)

    def _advance(self, state: SyntaxState) -> Tensor:
        memory = state.memory
        scores = torch.bmm(memory.syntax, state.steer.unsqueeze(2)).squeeze(2) + memory.offset
        weights = torch.softmax(scores, 1).unsqueeze(1)
        read, context = (torch.bmm(weights, part).squeeze(1) for part in (memory.meaning, memory.syntax))
        x, states = context, []
        for layer, cell in enumerate([self.cell, *self.upper]):
            states.append(cell(self.dropout(x) if layer else x, (state.h[layer], state.c[layer])))
            x = states[-1][0]
        state.h, state.c = [h for h, _ in states], [c for _, c in states]
        state.steer = x
        return torch.cat((read, context), 1) if self.config.read_syntax else read

    def _run(self, lstm: nn.LSTM, x: Tensor, layout: Layout) -> tuple[Tensor, Tensor]:
        """Run a bidirectional LSTM over tokens: outputs [M, ...] and last states of both directions [S, ...]."""
        order, sizes, index = time_major(layout.lengths)
        inverse = np.empty_like(index)
        inverse[index] = np.arange(len(index))
        output, (h, _) = lstm(PackedSequence(x[on_device(index, x)], torch.from_numpy(sizes)))
        last = torch.cat(list(h[-2:]), 1)[on_device(np.argsort(order), x)]  # of the top layer
        return output.data[on_device(inverse, x)], last

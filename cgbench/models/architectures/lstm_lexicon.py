"""LSTM encoder-decoder with input feeding and attention; plain, copying, or with a lexicon (Akyürek
and Andreas, 2021).

As in the authors' code, the last states of a unidirectional encoder initialise the decoder. At each
step the decoder reads the last word and the last feature vector (input feeding), attends to the
encoder's outputs with a bilinear score, and combines all of these linearly, without a nonlinearity,
to the next feature vector.

With input feeding only the products with the word embeddings can be computed for all positions
together; these come first. Rows are sorted by length, so that a step only computes unfinished rows.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self, cast

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from cgbench.models.architectures.lexical_output import LexicalOutput, LexicalStates
from cgbench.models.config.lstm_lexicon import LSTMLexiconConfig
from cgbench.models.parts.dropout import Dropout
from cgbench.models.parts.linear import Linear, linear
from cgbench.models.parts.ragged import Layout, Ragged, grid_index, to_device
from cgbench.models.special_ids import BOS, PAD


@dataclass
class RowTensors:
    """Tensors, or lists of them, with one row per sentence or hypothesis."""

    def select(self, index: Tensor) -> Self:
        """Return the rows ``index``."""
        return self._of_each(lambda tensor: tensor.index_select(0, index))

    def first(self, rows: int) -> Self:
        """Return the first rows."""
        return self._of_each(lambda tensor: tensor[:rows])

    def _of_each(self, change: Callable[[Tensor], Tensor]) -> Self:
        fields = vars(self).values()
        return type(self)(
            *(
                list(map(change, field)) if isinstance(field, list) else change(field)
                for field in fields
            )
        )


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
    """The projection of a bilinear score, q·e with q = W h + b; keys and values are the states
    themselves.
    """

    def __init__(self, width: int) -> None:
        super().__init__(width, width)

    def build_memory(self, encoded: Any, order: np.ndarray) -> Memory:
        """Return the memory of the sentences ``order``.

        :param encoded: ``states`` [M, width], their ``ids`` [M] and ``layout``.
        """
        layout = encoded.layout
        table, real = grid_index(layout.starts[order], layout.lengths[order, None])
        index = to_device(table, encoded.states.device)
        values = encoded.states[index]
        # q·e = (W h + b)·e: the products with e are computed once for all steps.
        keys = values @ self.weight
        offset = (values @ self.bias).masked_fill(~to_device(real, values.device), -torch.inf)
        return Memory(values, keys, offset, encoded.ids[index])

    def weights(self, memory: Memory, h: Tensor) -> Tensor:
        """Return the weights of the source words, [rows, columns], for the state of one step,
        [rows, width].
        """
        return torch.softmax(torch.bmm(memory.keys, h.unsqueeze(2)).squeeze(2) + memory.offset, 1)


@dataclass
class Hidden(RowTensors):
    """The decoder's recurrent state: h and c of each layer, and the vector fed to the next step,
    each [rows, width].
    """

    h: list[Tensor]
    c: list[Tensor]
    feed: Tensor


@dataclass
class RecurrentState:
    """The state of decoding: that of the recurrence, the memory of attention, and the linear maps
    of a step.
    """

    hidden: Hidden
    memory: Any
    linears: Any

    def reorder(self, index: np.ndarray) -> None:
        """Keep the rows ``index``, in that order."""
        rows = to_device(index, self.hidden.feed.device)
        self.hidden, self.memory = self.hidden.select(rows), self.memory.select(rows)

    def shorten(self, rows: int) -> None:
        """Keep the first rows."""
        if rows < len(self.hidden.feed):
            self.hidden, self.memory = self.hidden.first(rows), self.memory.first(rows)


@dataclass
class EncodedLSTM:
    """Outputs of the top layer [M, width], their layout and ids; the last h and c of each layer
    [layers, S, width].
    """

    states: Tensor
    layout: Layout
    ids: Tensor
    last: tuple[Tensor, Tensor]


class LSTMLexicon(nn.Module):
    """Encoder and decoder of LSTMs; used like
    :class:`~cgbench.models.architectures.transformer.Transformer`.
    """

    def __init__(self, config: LSTMLexiconConfig, source_size: int, target_size: int) -> None:
        super().__init__()
        self.config = config
        width, layers = config.width, config.encoder_layers
        self.source_embedding = nn.Embedding(source_size, width, padding_idx=PAD)
        self.target_embedding = nn.Embedding(target_size, width, padding_idx=PAD)
        self.dropout, self.feature_dropout = (
            Dropout(config.dropout),
            Dropout(config.feature_dropout),
        )
        self.encoder = nn.LSTM(width, width, layers, dropout=config.dropout if layers > 1 else 0.0)
        self.cells = nn.ModuleList(
            nn.LSTMCell(width * (1 if k else 2), width) for k in range(layers)
        )
        self.attention = SourceAttention(width)
        self.mix = Linear(4 * width, width)
        self.output = Linear(width, target_size)
        self.lexical = (
            None
            if config.lexicon == "none"
            else LexicalOutput(width, source_size, target_size, config)
        )

    def encode(self, source: Ragged) -> EncodedLSTM:
        """Encode source ids, with <s> before each."""
        source = source.preceded(BOS)
        layout, x = source.layout, self.dropout(self.source_embedding(source.ids))
        states, last = run_lstm(self.encoder, x, layout)
        return EncodedLSTM(states, layout, source.ids, last)

    def decode(self, encoded: EncodedLSTM, target: Ragged) -> Any:
        """Return the features at the ids that the decoder reads, or the input of
        :class:`LexicalOutput`.
        """
        return self.decode_attending(encoded, target)[0]

    def decode_attending(self, encoded: EncodedLSTM, target: Ragged) -> tuple[Any, Tensor]:
        """As :meth:`decode`, with the attention of target tokens to the source, [N, columns]."""
        layout = target.layout
        order, sizes, index = time_major(layout.lengths)
        y = self.dropout(self.target_embedding(target.ids[to_device(index, encoded.states.device)]))
        # Split once: the gradient of a slice is as large as the whole tensor.
        first, mixed = (products.split(sizes.tolist()) for products in self._of_words(y))
        state = self._start(encoded, order)
        features, attention = [], []
        for gates, mixture in zip(first, mixed, strict=True):
            state.shorten(len(gates))
            attention.append(self._advance(gates, mixture, state))
            features.append(state.hidden.feed)
        back = to_device(np.argsort(index), y.device)
        read, weights = torch.cat(features)[back], torch.cat(attention)[back]
        if self.lexical is None:
            return read, weights
        columns = to_device(
            grid_index(encoded.layout.starts, encoded.layout.lengths[:, None])[0], y.device
        )
        words = encoded.ids[columns][layout.sequence]
        return LexicalStates(read, weights, words), weights

    def project(self, states: Any) -> Tensor:
        """Return logits, or log-probabilities, [N, target vocabulary]."""
        if self.lexical is None:
            return cast("Tensor", self.output(states))
        return cast("Tensor", self.lexical(self.output(states.features), states))

    def forward(self, source: Ragged, target: Ragged) -> Tensor:
        """Return logits [N, target vocabulary] under teacher forcing; ``target``: the ids that the
        decoder reads.
        """
        return self.project(self.decode(self.encode(source), target))

    def start(self, encoded: EncodedLSTM) -> RecurrentState:
        """Return the state before the first step, with one row for each sentence."""
        return self._start(encoded, np.arange(len(encoded.layout)))

    def step(self, tokens: Tensor, state: RecurrentState) -> Tensor:
        """Consume one id per row [rows] and return the logits of the next [rows, target
        vocabulary].
        """
        y = self.dropout(self.target_embedding(tokens))
        weights = self._advance(*self._of_words(y), state)
        if self.lexical is None:
            return self.project(state.hidden.feed)
        return self.project(LexicalStates(state.hidden.feed, weights, state.memory.words))

    def _start(self, encoded: EncodedLSTM, order: np.ndarray) -> RecurrentState:
        linears, memory = self._step_linears(), self.attention.build_memory(encoded, order)
        h, c = (states.index_select(1, to_device(order, states.device)) for states in encoded.last)
        return RecurrentState(
            Hidden(list(h.unbind(0)), list(c.unbind(0)), torch.zeros_like(h[0])), memory, linears
        )

    def _cells(self) -> list[nn.LSTMCell]:
        return cast("list[nn.LSTMCell]", list(self.cells))

    def _of_words(self, y: Tensor) -> tuple[Tensor, Tensor]:
        """The contribution of words to the gates of the lowest cell and to the features, for all
        tokens together.
        """
        cell, width = self._cells()[0], y.shape[-1]
        gates = linear(y, cell.weight_ih[:, :width], cell.bias_ih + cell.bias_hh)
        return gates, linear(y, self.mix.weight[:, :width], self.mix.bias)

    def _step_linears(self) -> tuple[list[Tensor], list[Tensor], Tensor]:
        """The linear maps of a step: of [input; h] in each cell, with biases of the upper ones, and
        of [feature; h; context]."""
        lowest, *upper = self._cells()
        width = self.config.width
        inputs = [lowest.weight_ih[:, width:], *(cell.weight_ih for cell in upper)]
        weights = [
            torch.cat((weight, cell.weight_hh), 1)
            for weight, cell in zip(inputs, self._cells(), strict=True)
        ]
        biases = [cell.bias_ih + cell.bias_hh for cell in upper]
        return weights, biases, self.mix.weight[:, width:]

    def _advance(self, gates: Tensor, mixed: Tensor, state: RecurrentState) -> Tensor:
        """One step of all rows; returns the attention weights [rows, columns].

        :param gates: contribution of the words to the lowest cell, [rows, 4 width]; ``mixed``: to
            the features.
        """
        hidden, memory = state.hidden, state.memory
        cells, biases, mix = state.linears
        x = feed = self.dropout(hidden.feed)
        states = []
        for weight, bias, last_h, last_c in zip(
            cells, [gates, *biases], hidden.h, hidden.c, strict=True
        ):
            states.append(lstm_cell(F.linear(torch.cat((x, last_h), 1), weight) + bias, last_c))
            x = self.dropout(states[-1][0])
        h, c = [h for h, _ in states], [c for _, c in states]
        weights = self.attention.weights(memory, h[-1])
        context = torch.bmm(weights.unsqueeze(1), memory.values).squeeze(1)
        mixture = mixed + F.linear(torch.cat((feed, h[-1], context), 1), mix)
        state.hidden = Hidden(h, c, self.feature_dropout(self.dropout(mixture)))
        return weights


def lstm_cell(gates: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
    """Return h and c of an LSTM's next step, [rows, width].

    :param gates: the gates before their activation, [rows, 4 width], in torch's order; ``c``: of
        the last step.
    """
    into, forget, new, out = gates.chunk(4, 1)
    c = forget.sigmoid() * c + into.sigmoid() * new.tanh()
    return out.sigmoid() * c.tanh(), c


def run_lstm(lstm: nn.LSTM, x: Tensor, layout: Layout) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """Run an LSTM over tokens [M, width]: outputs [M, ...], and the last h and c, [layers and
    directions, S, ...].
    """
    order, sizes, index = time_major(layout.lengths)
    output, (h, c) = lstm(PackedSequence(x[to_device(index, x.device)], torch.from_numpy(sizes)))
    back = to_device(np.argsort(order), x.device)
    return output.data[to_device(np.argsort(index), x.device)], (
        h.index_select(1, back),
        c.index_select(1, back),
    )


def time_major(lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Order sequences by length, longest first, and their tokens by position.

    :returns: the order of the sequences, [S]; the number of tokens at each position, [longest]; the
        tokens ordered by position, [N].
    """
    order = np.argsort(-lengths, kind="stable")
    table, real = grid_index((np.cumsum(lengths) - lengths)[order], lengths[order, None])
    return order, real.sum(0), table.T[real.T]

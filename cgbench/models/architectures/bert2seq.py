"""BERT2SEQ (Yin et al., 2021): an LSTM decoder with attention over BERT that copies source pieces.

As in the authors' code, the state of <s> ([CLS]) initialises the decoder's lowest layer. At each
step the decoder reads the last symbol and the last attentional vector (input feeding), attends to
the source with a bilinear score, and combines state and context to the next attentional vector. One
softmax covers all symbols, which are generated, and all source positions, which are copied. The
probability of a target is the sum of generating it and of copying it from every position that has
it.

The target ids are those of :mod:`cgbench.models.text.programs`: n symbols, then the source's
pieces. A piece that is no symbol can only be copied, and is read as one symbol that stands for all
of these; a piece that is not in the source either counts as ``<unk>``.
"""

from dataclasses import dataclass
from typing import Any, Self, cast

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cgbench.models.architectures.lstm_lexicon import (
    Hidden,
    RecurrentState,
    RowTensors,
    lstm_cell,
    time_major,
)
from cgbench.models.architectures.pretrained.transformer import PretrainedTransformer
from cgbench.models.config.bert2seq import Bert2SeqConfig
from cgbench.models.parts.linear import Linear, StepLinear
from cgbench.models.parts.ragged import Layout, Ragged, grid_index, to_device
from cgbench.models.special_ids import SPECIALS, UNK


@dataclass
class EncodedPieces:
    """Source states [M, source width], their layout and ids."""

    states: Tensor
    layout: Layout
    ids: Tensor


@dataclass
class SourceColumns(RowTensors):
    """The memory of attention, one row per sentence or hypothesis.

    :param values: source states, [rows, columns, source width].
    :param keys: their products for the attention score, [rows, columns, width]; ``copy_keys``: for
        the copy score.
    :param offset: -inf at padding, else 0, [rows, columns].
    :param targets: the target id that a copy of each column is, [rows, columns].
    """

    values: Tensor
    keys: Tensor
    copy_keys: Tensor
    offset: Tensor
    targets: Tensor


@dataclass
class CopyStates:
    """What predicts each token; can be sliced like a tensor of tokens.

    :param features: attentional vectors, [N, width].
    :param copies: scores of copying each column, -inf for padding, [N, columns].
    :param targets: target ids of these columns, [N, columns].
    :param attention: weights of the columns, 0 for padding, [N, columns].
    """

    features: Tensor
    copies: Tensor
    targets: Tensor
    attention: Tensor

    def __getitem__(self, rows: slice) -> Self:
        return type(self)(*(tensor[rows] for tensor in vars(self).values()))


class BilinearScore(nn.Module):
    """The score h·W·x + b of a state h and a source state x."""

    def __init__(self, width: int, memory_width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(width, memory_width))
        self.bias = nn.Parameter(torch.zeros(1))
        nn.init.xavier_uniform_(self.weight)

    def keys(self, memory: Tensor) -> Tensor:
        """W·x for source states [..., memory width]; computed once for all steps."""
        return F.linear(memory, self.weight)

    def forward(self, h: Tensor, keys: Tensor) -> Tensor:
        """Scores [rows, columns] of states [rows, width] with keys [rows, columns, width]."""
        return torch.bmm(keys, h.unsqueeze(2)).squeeze(2) + self.bias


class Bert2Seq(PretrainedTransformer):
    """The model; ``model.encoder=own`` replaces BERT by the layers of a Transformer."""

    config: Bert2SeqConfig
    piece_targets: Tensor

    def __init__(self, config: Bert2SeqConfig, source_size: int, target_size: int) -> None:
        self.pieces = source_size if config.copies else 0
        self.symbols = target_size - self.pieces
        super().__init__(config, source_size, target_size)
        width, source_width = config.width, config.source_width
        self.decoder_norm = nn.Identity()
        self.target_size = target_size
        self.begin = Linear(source_width, width)
        self.attention = BilinearScore(width, source_width)
        self.mix = Linear(width + source_width, width, bias=False)
        self.copy = BilinearScore(width, source_width)
        self.generate = Linear(width, self.symbols + bool(self.pieces))
        # Until :meth:`connect`, no piece is spelt like a symbol.
        self.register_buffer("piece_targets", self.symbols + torch.arange(self.pieces))

    # Construction

    def build_embeddings(self, source_size: int, target_size: int) -> tuple[Any, Any]:
        """See :class:`Transformer`."""
        source, _ = super().build_embeddings(source_size, len(SPECIALS))
        # The last row is read for every piece that was copied.
        rows = self.symbols + bool(self.pieces)
        target = nn.Embedding(rows, self.config.target_width)
        nn.init.xavier_uniform_(target.weight)
        return source, target

    def build_decoder_layer(self, layer: int) -> nn.Module:
        """See :class:`Transformer`."""
        width, below = self.config.width, self.config.target_width + self.config.width
        return nn.LSTMCell(width if layer else below, width)

    @torch.no_grad()
    def connect(self, subwords: Any) -> None:
        """Learn which pieces are spelt like symbols."""
        if self.pieces:
            self.piece_targets.copy_(torch.from_numpy(subwords.targets_of_pieces()))

    def pretrained_parameters(self) -> set[str]:
        """Names of the parameters that a pre-trained encoder initialised."""
        if self.pretrained is None:
            return set()
        prefixes = ("source_embedding.", "encoder.")
        return {name for name, _ in self.named_parameters() if name.startswith(prefixes)}

    def undecayed_parameters(self) -> set[str]:
        """Names of parameters without weight decay: biases and norms of the pre-trained encoder."""
        return {
            name
            for name in self.pretrained_parameters()
            if name.endswith("bias") or "norm" in name.split(".")[-2]
        }

    # Teacher forcing

    def encode(self, source: Ragged) -> EncodedPieces:  # type: ignore[override]
        """Encode source ids."""
        read = self.read_source(source)
        x = self.embed(self.source_embedding, read.ids, read.layout.positions)
        return EncodedPieces(self.encode_embedded(x, read.layout).states, read.layout, read.ids)

    def decode(self, encoded: EncodedPieces, target: Ragged) -> Any:
        """Return what predicts the token after each of the ids that the decoder reads."""
        order, sizes, index = time_major(target.layout.lengths)
        state = self.begin_decoding(encoded, order, sizes.tolist())
        return self.run(state, target.ids, sizes, index)[0]

    def decode_attending(self, encoded: EncodedPieces, target: Ragged) -> tuple[Any, Tensor]:
        """See :class:`Transformer`."""
        states = self.decode(encoded, target)
        return states, states.attention

    def run(
        self,
        state: RecurrentState,
        ids: Tensor,
        sizes: np.ndarray,
        index: np.ndarray,
    ) -> tuple[CopyStates, list[Hidden]]:
        """Decode sequences; ``sizes`` and ``index`` are those of :func:`time_major`.

        :param state: before the first step; its rows are the sequences, the longest first.
        :param ids: that the decoder reads, [N].
        :returns: what predicts each token, and the recurrent state after each step.
        """
        y = self.read_target(ids[to_device(index, ids.device)])
        steps, hidden = [], []
        for words in y.split(sizes.tolist()):
            state.shorten(len(words))
            steps.append(self.advance(words, state))
            hidden.append(state.hidden)
        back = to_device(np.argsort(index), y.device)
        columns = zip(*(vars(step).values() for step in steps), strict=True)
        return CopyStates(*(torch.cat(tensors)[back] for tensors in columns)), hidden

    def project(self, states: Any) -> Tensor:
        """Return log-probabilities, or logits if nothing is copied, [N, target vocabulary]."""
        generated = self.generate(states.features)
        if not self.pieces:
            return cast("Tensor", generated)
        p = torch.softmax(torch.cat((generated, states.copies), 1), 1, dtype=torch.float32)
        generated, copied = p.split((generated.shape[1], states.copies.shape[1]), 1)
        rest = generated.new_zeros(len(p), self.target_size - generated.shape[1])
        p = torch.cat((generated, rest), 1).scatter_add(1, states.targets, copied)
        return p.clamp_min(torch.finfo(p.dtype).tiny).log()

    def predictable(self, source: Ragged, target: Ragged) -> Ragged:
        """Replace the target ids that neither are symbols nor can be copied by ``<unk>``."""
        if not self.pieces:
            return target
        read = self.read_source(source)
        table, real = grid_index(read.layout.starts, read.layout.lengths[:, None])
        columns = self.piece_targets[read.ids][to_device(table, target.ids.device)]
        columns = columns.masked_fill(~to_device(real, target.ids.device), -1)
        copyable = (columns[target.layout.sequence] == target.ids[:, None]).any(1)
        ids = torch.where((target.ids < self.symbols) | copyable, target.ids, UNK)
        return Ragged(ids, target.layout)

    # Search

    def start(self, encoded: EncodedPieces) -> RecurrentState:
        """Return the state before the first step, with one row for each sentence."""
        return self.begin_decoding(encoded, np.arange(len(encoded.layout)))

    def step_states(self, tokens: Tensor, state: RecurrentState) -> Any:
        """Consume one id per row [rows] and return what predicts the next."""
        return self.advance(self.read_target(tokens), state)

    # The recurrence

    def begin_decoding(
        self,
        encoded: EncodedPieces,
        order: np.ndarray,
        sizes: Any = (),
        memory: SourceColumns | None = None,
    ) -> RecurrentState:
        """Return the state before the first step.

        :param order: the sentence of each row; ``sizes``: number of rows of each step, if known.
        :param memory: of all sentences, if it is built already.
        """
        device = encoded.states.device
        first = encoded.states[to_device(encoded.layout.starts[order], device)]
        h = torch.tanh(self.begin(first))
        zeros = [torch.zeros_like(h)] * len(self.decoder)
        if memory is None:
            columns = self.build_memory(encoded, order)
        else:
            columns = memory.select(to_device(order, device))
        return RecurrentState(Hidden([h, *zeros[1:]], zeros, zeros[0]), columns, self.maps(sizes))

    def build_memory(self, encoded: EncodedPieces, order: np.ndarray) -> SourceColumns:
        """Return the memory of the sentences ``order``."""
        layout, device = encoded.layout, encoded.states.device
        table, real = grid_index(layout.starts[order], layout.lengths[order, None])
        index = to_device(table, device)
        values = encoded.states[index]
        offset = values.new_zeros(table.shape).masked_fill(~to_device(real, device), -torch.inf)
        targets = self.piece_targets[encoded.ids] if self.pieces else encoded.ids
        copy_keys = self.copy.keys(values)
        return SourceColumns(values, self.attention.keys(values), copy_keys, offset, targets[index])

    def maps(self, sizes: Any) -> list[StepLinear]:
        """The linear maps of a step: the gates of each layer from its input and its last h, and
        the attentional vector.
        """
        gates = [
            StepLinear(
                torch.cat((cell.weight_ih, cell.weight_hh), 1), cell.bias_ih + cell.bias_hh, sizes
            )
            for cell in cast("list[nn.LSTMCell]", list(self.decoder))
        ]
        no_bias = self.mix.weight.new_zeros(len(self.mix.weight))
        return [*gates, StepLinear(self.mix.weight, no_bias, sizes)]

    def read_target(self, ids: Tensor) -> Tensor:
        """Embed target ids; all copied pieces are the last symbol."""
        return cast(
            "Tensor", self.target_embedding(ids.clamp_max(len(self.target_embedding.weight) - 1))
        )

    def advance(self, y: Tensor, state: RecurrentState) -> CopyStates:
        """One step of all rows; ``y``: the embedded symbols that they read."""
        hidden, memory = state.hidden, state.memory
        *gates, mix = state.linears
        x, states = torch.cat((y, hidden.feed), 1), []
        for layer, (gate, h, c) in enumerate(zip(gates, hidden.h, hidden.c, strict=True)):
            below = self.dropout(x) if layer else x
            states.append(lstm_cell(gate(torch.cat((below, h), 1)), c))
            x = states[-1][0]
        weights = torch.softmax(self.attention(x, memory.keys) + memory.offset, 1)
        context = torch.bmm(weights.unsqueeze(1), memory.values).squeeze(1)
        feed = self.dropout(torch.tanh(mix(torch.cat((x, context), 1))))
        state.hidden = Hidden([h for h, _ in states], [c for _, c in states], feed)
        copies = self.copy(feed, memory.copy_keys) + memory.offset
        return CopyStates(feed, copies, memory.targets, weights)

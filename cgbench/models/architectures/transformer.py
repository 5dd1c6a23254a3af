"""The Transformer (Vaswani et al., 2017), base of most architectures.

By default it is fairseq's ``transformer_iwslt_de_en``: separate source and target embeddings, the
target's tied to the output projection, ReLU, pre-norm or post-norm layers. With relative positions
both stacks use relative self-attention, there are no absolute positions, and cross-attention is
ordinary.

The interface of a model is ``encode``, ``decode`` and ``project`` (teacher forcing), and ``start``
and ``step`` (search). Other architectures override parts of these; both ways must give the same
logits.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cgbench.errors import InputError
from cgbench.models.config.common import TransformerConfig
from cgbench.models.parts.attention import KVCache
from cgbench.models.parts.dropout import Dropout
from cgbench.models.parts.layers import DecoderLayer, EncoderLayer, Layer, layer_norm
from cgbench.models.parts.linear import linear
from cgbench.models.parts.positions import interleaved_sinusoids, sinusoids, timing_sinusoids
from cgbench.models.parts.ragged import Layout, Pairing, Ragged, to_device
from cgbench.models.special_ids import BOS, PAD


@dataclass
class Encoded:
    """The encoder's output for a batch: ``states`` of its tokens [M, width], and their layout."""

    states: Tensor
    layout: Layout


@dataclass
class DecoderState:
    """The state of step-by-step decoding, one row per sentence.

    The ``beam`` adjacent hypotheses of a sentence share its row. Each step stores the keys and
    values of all of them, and ``target_mask`` selects those in the past of each hypothesis. So
    reordering a beam moves no data.

    :param source: one fixed cache per decoder layer; ``source_mask``: their mask, [rows, 1, 1,
        source length], or None without padding.
    :param target: one growing cache per decoder layer; ``positions``: the position of each of its
        columns, [stored].
    :param target_mask: of ``target``, [rows, 1, beam, stored], or None if all hypotheses share all
        columns.
    :param length: number of positions so far.
    """

    source: list[KVCache]
    source_mask: Tensor | None
    target: list[KVCache]
    positions: Tensor
    beam: int = 1
    target_mask: Tensor | None = None
    length: int = 0

    def advance(self) -> None:
        """Extend the mask and the positions for the next position of every hypothesis."""
        if self.beam > 1:
            rows = len(self.source[0])
            new = torch.full(
                (self.beam, self.beam), -math.inf, device=self.positions.device
            ).fill_diagonal_(0)
            before = self.target_mask
            if before is None:
                before = new.new_zeros(rows, 1, self.beam, len(self.positions))
            self.target_mask = torch.cat((before, new.expand(rows, 1, -1, -1)), 3)
        elif self.target_mask is not None:
            self.target_mask = F.pad(self.target_mask, (0, 1))
        self.positions = torch.cat(
            (self.positions, self.positions.new_full((self.beam,), self.length))
        )
        self.length += 1

    def reorder(self, index: np.ndarray) -> None:
        """Select the hypotheses ``index`` [new hypotheses]; indices are computed on the host,
        without GPU waits.
        """
        sentence = index // self.beam
        first = np.flatnonzero(np.diff(sentence, prepend=-1))
        counts = np.unique(np.diff(first, append=len(sentence)))
        if self.target_mask is not None:
            self.target_mask = self.target_mask.view(-1, 1, 1, self.target_mask.shape[3])
            self.target_mask = self.target_mask.index_select(
                0, to_device(index, self.positions.device)
            )
        # If sentences have different numbers of hypotheses, each hypothesis gets its own row.
        self.beam, rows = (int(counts[0]), sentence[first]) if len(counts) == 1 else (1, sentence)
        if self.target_mask is not None:
            self.target_mask = self.target_mask.view(-1, 1, self.beam, self.target_mask.shape[3])
        if len(rows) == len(self.source[0]) and bool((rows == np.arange(len(rows))).all()):
            return
        selected = to_device(rows, self.positions.device)
        for memory in (*self.source, *self.target):
            memory.select(selected)
        if self.source_mask is not None:
            self.source_mask = self.source_mask.index_select(0, selected)


class Transformer(nn.Module):
    """Encoder and decoder over subword ids; the decoder's input begins with </s>."""

    def __init__(self, config: TransformerConfig, source_size: int, target_size: int) -> None:
        super().__init__()
        self.config = config
        self.scale, self.position_scale = embedding_scales(config)
        source, target = self.build_embeddings(source_size, target_size)
        # The source first: the norm of all gradients adds them in this order, so another order
        # trains another model in the last digits.
        if source is target:
            # Not a second submodule, so that a checkpoint has the table only once.
            object.__setattr__(self, "source_embedding", source)
        else:
            self.source_embedding = source
        self.target_embedding = target
        self.dropout = Dropout(config.dropout if config.embedding_dropout else 0.0)
        self.encoder = nn.ModuleList(
            self.build_encoder_layer(index) for index in range(config.encoder_layers)
        )
        self.decoder = nn.ModuleList(
            self.build_decoder_layer(index) for index in range(config.decoder_layers)
        )
        pre = config.norm == "pre"
        self.encoder_norm = layer_norm(config) if pre else nn.Identity()
        self.decoder_norm = layer_norm(config) if pre else nn.Identity()
        self.output_bias = nn.Parameter(torch.zeros(target_size)) if config.output_bias else None

    # Construction

    def build_embeddings(self, source_size: int, target_size: int) -> tuple[Any, Any]:
        """Build the source and target embeddings; with ``config.share_embeddings``, one for both.

        :raises InputError: they cannot be shared, because the vocabularies differ.
        """
        if not self.config.share_embeddings:
            return self.build_embedding(source_size), self.build_embedding(target_size)
        if source_size != target_size:
            raise InputError(
                f"model.share_embeddings: the vocabularies have {source_size:,} and"
                f" {target_size:,} entries; set text.joint_dictionary to true"
            )
        embedding = self.build_embedding(source_size)
        return embedding, embedding

    def build_embedding(self, words: int) -> nn.Embedding:
        """Build ``words`` word embeddings, initialised according to ``config.embedding``; padding's
        row is 0.
        """
        config = self.config
        embedding = nn.Embedding(words, config.width, padding_idx=PAD)
        with torch.no_grad():
            if config.embedding in ("teu", "xavier"):
                nn.init.xavier_uniform_(embedding.weight)
            else:
                deviation = {"none": 1.0, "ped": math.sqrt(2 / config.width)}.get(
                    config.embedding, config.width**-0.5
                )
                embedding.weight.normal_(std=deviation)
            if config.embedding == "unit":
                embedding.weight.div_(embedding.weight.norm(dim=1, keepdim=True))
            embedding.weight[PAD] = 0
        return embedding

    def build_encoder_layer(self, layer: int) -> nn.Module:
        """Build encoder layer 0, 1, ..., from the bottom."""
        return EncoderLayer(self.config)

    def build_decoder_layer(self, layer: int) -> nn.Module:
        """Build decoder layer 0, 1, ..., from the bottom."""
        return DecoderLayer(self.config)

    def encoder_stack(self) -> list[EncoderLayer]:
        """The encoder layers in the order of application."""
        return cast("list[EncoderLayer]", list(self.encoder))

    def decoder_stack(self) -> list[DecoderLayer]:
        """The decoder layers in the order of application."""
        return cast("list[DecoderLayer]", list(self.decoder))

    def stack(self, side: str) -> Sequence[Layer]:
        """The layers of a stack, ``encoder`` or ``decoder``."""
        return self.encoder_stack() if side == "encoder" else self.decoder_stack()

    def through(self, side: str, x: Tensor, attend: Callable[[int, Tensor], Tensor]) -> Tensor:
        """Apply a stack, ``encoder`` or ``decoder``.

        Both teacher forcing and search use this method, so an architecture defines its connections
        once.

        :param attend: applies all attention sublayers of a layer, given its number from 0 and its
            input.
        """
        for index, layer in enumerate(self.stack(side)):
            x = layer.feed(attend(index, x))
        return x

    def enter(self, side: str, layer: int, x: Tensor, positions: Tensor) -> Tensor:
        """Return the input of a layer for the output of the one below; the same by default.

        :param side: ``encoder`` or ``decoder``; ``positions``: of the rows of ``x``, or one for
            all.
        """
        return x

    # Teacher forcing: all positions together

    def encode(self, source: Ragged) -> Encoded:
        """Encode source ids."""
        return self.encode_embedded(*self.embed_source(source))

    def embed_source(self, source: Ragged) -> tuple[Tensor, Layout]:
        """Return the encoder's input vectors for source ids, [M, width], and their layout."""
        source = self.read_source(source)
        return self.embed(self.source_embedding, source.ids, source.layout.positions), source.layout

    def read_source(self, source: Ragged) -> Ragged:
        """Return the encoder's input ids for source ids that end with </s>."""
        return source.preceded(BOS) if self.config.begin_source else source

    def encode_embedded(self, x: Tensor, layout: Layout) -> Encoded:
        """Encode source vectors [M, width]."""
        layers = self.encoder_stack()

        def attend(index: int, x: Tensor) -> Tensor:
            return layers[index].attend(self.enter("encoder", index, x, layout.positions), layout)

        x = self.through("encoder", x, attend)
        return Encoded(self.encoder_norm(x), layout)

    def decode(self, encoded: Any, target: Ragged) -> Tensor:
        """Return the decoder's last states [N, width] at the ids that it reads (</s>, then all but
        the last).
        """
        return self.decode_embedded(encoded, self.embed_target(target), target.layout)

    def decode_attending(self, encoded: Any, target: Ragged) -> tuple[Any, Tensor]:
        """As :meth:`decode`, with the attention of each target token to the source, [N, columns]:
        the mean over the heads of the last layer.
        """
        cross = self.decoder_stack()[-1].cross
        cross.shown = []
        states = self.decode(encoded, target)
        # A layer that is applied several times shows each of them.
        shown, cross.shown = cross.shown[-len(target.layout.buckets) :], None
        return states, target.layout.from_grids(_same_columns(shown))

    def embed_target(self, target: Ragged) -> Tensor:
        """Return the decoder's input vectors [N, width]."""
        ids, layout = target.ids, target.layout
        if self.config.begin_target == "zeros":  # the vector of padding
            ids = ids.index_fill(0, to_device(layout.starts, ids.device), PAD)
        return self.embed(self.target_embedding, ids, layout.positions)

    def decode_embedded(self, encoded: Any, y: Tensor, layout: Layout) -> Tensor:
        """Return the decoder's last states [N, width] for target vectors [N, width]."""
        layers, pairing = self.decoder_stack(), Pairing(layout, encoded.layout)

        def attend(index: int, y: Tensor) -> Tensor:
            memory = self.source_cache(index, encoded, pairing)
            y = self.enter("decoder", index, y, layout.positions)
            y = layers[index].attend(y, layout, causal=True)
            return layers[index].attend_source(y, layout, memory, pairing.masks)

        return self.decoder_norm(self.through("decoder", y, attend))

    def source_cache(self, layer: int, encoded: Any, pairing: Pairing) -> list[KVCache]:
        """Return the keys and values of the cross-attention of decoder layer ``layer``."""
        return self.decoder_stack()[layer].cross.kv_cache(encoded.states, pairing)

    def project(self, states: Tensor) -> Tensor:
        """Return logits [..., target vocabulary] of states [..., width]."""
        return linear(states, self.target_embedding.weight, self.output_bias)

    def forward(self, source: Ragged, target: Ragged) -> Tensor:
        """Return logits [N, target vocabulary] under teacher forcing; ``target``: the ids that the
        decoder reads.
        """
        return self.project(self.decode(self.encode(source), target))

    # Search: one position per row at a time

    def start(self, encoded: Any) -> Any:
        """Return the state before the first step, with one row for each sentence."""
        rows, device = len(encoded.layout), encoded.states.device
        # With one token per sentence, the layout is a single grid in the order of the batch.
        pairing = Pairing(Layout([1] * rows, device), encoded.layout)
        source = [
            self.source_cache(index, encoded, pairing)[0]
            for index in range(len(self.decoder_stack()))
        ]
        target = [layer.attention.empty(rows, source[0].keys) for layer in self.decoder_stack()]
        return DecoderState(
            source, pairing.masks[0], target, torch.empty(0, dtype=torch.int64, device=device)
        )

    def step(self, tokens: Tensor, state: Any) -> Tensor:
        """Consume one id per row [rows] and return the logits of the next [rows, target
        vocabulary].
        """
        return self.project(self.step_states(tokens, state))

    def step_states(self, tokens: Tensor, state: Any) -> Tensor:
        """Consume one id per row [rows] and return the decoder's last states [rows, width]."""
        y = self.embed_step(tokens, state.length)
        state.advance()
        layers, distances = self.decoder_stack(), state.length - 1 - state.positions
        position = torch.tensor([state.length - 1], device=tokens.device)

        def attend(index: int, y: Tensor) -> Tensor:
            y = self.enter("decoder", index, y, position)
            y = layers[index].step_attention(y, state.target[index], state.target_mask, distances)
            return layers[index].step_cross(y, state.source[index], state.source_mask)

        return self.decoder_norm(self.through("decoder", y, attend))

    def embed_step(self, tokens: Tensor, position: int) -> Tensor:
        """Return the vectors [rows, width] of the ids [rows] at one position."""
        if position == 0 and self.config.begin_target == "zeros":
            tokens = torch.full_like(tokens, PAD)
        return self.embed(
            self.target_embedding, tokens, torch.tensor([position], device=tokens.device)
        )

    def embed(self, embedding: Any, ids: Tensor, positions: Tensor) -> Tensor:
        """Return scaled embeddings with absolute positions, if the architecture has these, after
        dropout.
        """
        return self.dropout(self.vectors(embedding, ids, positions))

    def vectors(self, embedding: nn.Embedding, ids: Tensor, positions: Tensor) -> Tensor:
        """As :meth:`embed`, before dropout."""
        x = embedding(ids) * self.scale
        forms = {
            "sinusoidal": sinusoids,
            "interleaved": interleaved_sinusoids,
            "timing": timing_sinusoids,
        }
        if form := forms.get(self.config.positions):
            x = x + (form(positions, self.config.width) * self.position_scale).to(x.dtype)
        return x


def _same_columns(grids: Sequence[Tensor]) -> list[Tensor]:
    """Grids [..., columns] padded with zeros to the same number of columns."""
    columns = max(grid.shape[-1] for grid in grids)
    return [F.pad(grid, (0, columns - grid.shape[-1])) for grid in grids]


def embedding_scales(config: TransformerConfig) -> tuple[float, float]:
    """Return the factors of word embeddings and of positions."""
    up = math.sqrt(config.width)
    scales = {"fairseq": (up, 1.0), "unit": (up, 1.0), "teu": (up, 1.0), "ped": (1.0, 1 / up)}
    return scales.get(config.embedding, (1.0, 1.0))

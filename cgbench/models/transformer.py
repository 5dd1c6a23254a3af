"""The Transformer (Vaswani et al., 2017), and what every architecture of this package shares with it.

By default it is fairseq's ``transformer_iwslt_de_en``: separate source and target embeddings, the target's tied to the
output projection, ReLU, layers with the norm before or after each sublayer. With relative positions both stacks use
relative self-attention, there are no absolute positions, and cross-attention is plain.

A model is used through ``encode``, ``decode`` and ``project`` (teacher forcing) and ``start`` and ``step`` (search).
Other architectures override parts of these; both ways must give the same logits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn

from cgbench.models.attention import KeysValues
from cgbench.models.config import ModelConfig
from cgbench.models.dropout import Dropout
from cgbench.models.layers import DecoderLayer, EncoderLayer
from cgbench.models.linear import linear
from cgbench.models.positions import interleaved_sinusoids, sinusoids
from cgbench.models.ragged import Layout, Pairing, Ragged

BOS, PAD = 0, 1


@dataclass
class Encoded:
    """What the encoder says of a batch: ``states`` of its tokens [M, width], and their layout."""

    states: Tensor
    layout: Layout


@dataclass
class State:
    """Everything that decoding step by step remembers; rows are hypotheses.

    :param sentence: which encoded sentence each row translates, [rows].
    :param source_mask: bias of cross-attention, [rows, 1, 1, source length], or None without padding.
    :param target: one growing memory a decoder layer; ``source``: one fixed memory a decoder layer.
    :param length: number of positions consumed.
    """

    sentence: Tensor
    source_mask: Tensor | None
    target: list[KeysValues]
    source: list[KeysValues]
    length: int = 0

    def reorder(self, index: Tensor) -> None:
        """Keep the rows ``index`` [new rows], in that order, of all state."""
        for memory in self.target:
            memory.select(index)
        sentence = self.sentence.index_select(0, index)
        # What is remembered of the source depends on the sentence alone: swapping hypotheses of one sentence, which
        # is what a beam does at most steps, leaves it as it is.
        if not torch.equal(sentence, self.sentence):
            for memory in self.source:
                memory.select(index)
            if self.source_mask is not None:
                self.source_mask = self.source_mask.index_select(0, index)
        self.sentence = sentence


class Transformer(nn.Module):
    """Encoder and decoder over subword ids; the decoder's input begins with </s>."""

    def __init__(self, config: ModelConfig, source_size: int, target_size: int) -> None:
        super().__init__()
        self.config = config
        self.scale, self.position_scale = embedding_scales(config)
        self.source_embedding = build_embedding(source_size, config)
        self.target_embedding = build_embedding(target_size, config)
        self.dropout = Dropout(config.dropout if config.embedding_dropout else 0.0)
        self.encoder = nn.ModuleList(self.build_encoder_layer(number) for number in range(self.distinct_encoder_layers))
        self.decoder = nn.ModuleList(self.build_decoder_layer(number) for number in range(self.distinct_decoder_layers))
        pre = config.norm == "pre"
        self.encoder_norm = nn.LayerNorm(config.width) if pre else nn.Identity()
        self.decoder_norm = nn.LayerNorm(config.width) if pre else nn.Identity()
        self.output_bias = nn.Parameter(torch.zeros(target_size)) if config.output_bias else None

    # What the stacks are made of.

    @property
    def distinct_encoder_layers(self) -> int:
        """Number of encoder layers with parameters of their own."""
        return self.config.encoder_layers

    @property
    def distinct_decoder_layers(self) -> int:
        """Number of decoder layers with parameters of their own."""
        return self.config.decoder_layers

    def build_encoder_layer(self, number: int) -> nn.Module:
        """Build encoder layer 0, 1, ..., from the bottom."""
        return EncoderLayer(self.config)

    def build_decoder_layer(self, number: int) -> nn.Module:
        """Build decoder layer 0, 1, ..., from the bottom."""
        return DecoderLayer(self.config)

    def encoder_stack(self) -> list[EncoderLayer]:
        """The encoder layers in the order in which they are applied."""
        return cast("list[EncoderLayer]", list(self.encoder))

    def decoder_stack(self) -> list[DecoderLayer]:
        """The decoder layers in the order in which they are applied."""
        return cast("list[DecoderLayer]", list(self.decoder))

    # Teacher forcing: all positions at once.

    def encode(self, source: Ragged) -> Encoded:
        """Encode source ids."""
        return self.encode_embedded(*self.embed_source(source))

    def embed_source(self, source: Ragged) -> tuple[Tensor, Layout]:
        """Return the vectors of source ids that the encoder reads, [M, width], and their layout."""
        if self.config.begin_source:
            source = source.preceded(BOS)
        return self.embed(self.source_embedding, source.ids, source.layout.positions), source.layout

    def encode_embedded(self, x: Tensor, layout: Layout) -> Encoded:
        """Encode source vectors [M, width]."""
        for layer in self.encoder_stack():
            x = layer(x, layout)
        return Encoded(self.encoder_norm(x), layout)

    def decode(self, encoded: Any, target: Ragged) -> Tensor:
        """Return the decoder's last states [N, width] at the ids that it reads (</s>, then all but the last)."""
        return self.decode_embedded(encoded, self.embed_target(target), target.layout)

    def embed_target(self, target: Ragged) -> Tensor:
        """Return the vectors [N, width] of the ids that the decoder reads."""
        return self.embed(self.target_embedding, target.ids, target.layout.positions)

    def decode_embedded(self, encoded: Any, y: Tensor, layout: Layout) -> Tensor:
        """Return the decoder's last states [N, width] for target vectors [N, width]."""
        pairing = Pairing(layout, encoded.layout)
        for number, layer in enumerate(self.decoder_stack()):
            y = layer(y, layout, self.remember(number, encoded, pairing), pairing.masks)
        return self.decoder_norm(y)

    def remember(self, number: int, encoded: Any, pairing: Pairing) -> list[KeysValues]:
        """Return the keys and values that decoder layer ``number`` attends to."""
        return self.decoder_stack()[number].cross.remember(encoded.states, pairing)

    def project(self, states: Tensor) -> Tensor:
        """Return logits [..., target vocabulary] of states [..., width]."""
        return linear(states, self.target_embedding.weight, self.output_bias)

    def forward(self, source: Ragged, target: Ragged) -> Tensor:
        """Return logits [N, target vocabulary] under teacher forcing; ``target``: the ids that the decoder reads."""
        return self.project(self.decode(self.encode(source), target))

    # Search: one position a row at a time.

    def start(self, encoded: Any, copies: int = 1) -> Any:
        """Return the state before the first step, with ``copies`` adjacent rows for each sentence."""
        rows = len(encoded.layout)
        device = encoded.states.device
        # A layout of one token a sentence, so that the sentences of the batch are one grid in their order.
        pairing = Pairing(Layout([1] * rows, device), encoded.layout)
        source = [self.remember(number, encoded, pairing)[0] for number in range(len(self.decoder_stack()))]
        target = [layer.attention.empty(rows * copies, source[0].keys) for layer in self.decoder_stack()]
        sentence = torch.arange(rows, device=device).repeat_interleave(copies)
        (mask,) = pairing.masks
        if copies > 1:
            for memory in source:
                memory.select(sentence)
            mask = None if mask is None else mask.index_select(0, sentence)
        return State(sentence, mask, target, source)

    def step(self, tokens: Tensor, state: Any) -> Tensor:
        """Consume one id a row [rows] and return the logits of the next [rows, target vocabulary]."""
        y = self.embed_step(tokens, state.length)
        for layer, target, source in zip(self.decoder_stack(), state.target, state.source, strict=True):
            y = layer.step(y, target, source, state.source_mask)
        state.length += 1
        return self.project(self.decoder_norm(y))

    def embed_step(self, tokens: Tensor, position: int) -> Tensor:
        """Return the vectors [rows, width] of the ids [rows] at one position."""
        return self.embed(self.target_embedding, tokens, torch.tensor([position], device=tokens.device))

    def embed(self, embedding: nn.Embedding, ids: Tensor, positions: Tensor) -> Tensor:
        """Return scaled embeddings with absolute positions, where the architecture has them, after dropout."""
        x = embedding(ids) * self.scale
        # On a CPU whole activations are kept in the type of the products: casts would cost more than they save.
        if x.device.type == "cpu" and torch.is_autocast_enabled("cpu"):
            x = x.to(torch.get_autocast_dtype("cpu"))
        if self.config.positions == "sinusoidal":
            x = x + sinusoids(positions, self.config.width).to(x.dtype)
        elif self.config.positions == "interleaved":
            x = x + (interleaved_sinusoids(positions, self.config.width) * self.position_scale).to(x.dtype)
        return self.dropout(x)


def embedding_scales(config: ModelConfig) -> tuple[float, float]:
    """Return the factors of word embeddings and of positions."""
    up = math.sqrt(config.width)
    return {"fairseq": (up, 1.0), "unit": (up, 1.0), "teu": (up, 1.0), "ped": (1.0, 1 / up)}.get(
        config.embedding, (1.0, 1.0)
    )


def build_embedding(size: int, config: ModelConfig) -> nn.Embedding:
    """Build a table of ``size`` word embeddings, started as ``config.embedding`` says; padding's row is 0."""
    embedding = nn.Embedding(size, config.width, padding_idx=PAD)
    with torch.no_grad():
        if config.embedding in ("teu", "xavier"):
            nn.init.xavier_uniform_(embedding.weight)
        else:
            deviation = {"none": 1.0, "ped": math.sqrt(2 / config.width)}.get(config.embedding, config.width**-0.5)
            embedding.weight.normal_(std=deviation)
        if config.embedding == "unit":
            embedding.weight.div_(embedding.weight.norm(dim=1, keepdim=True))
        embedding.weight[PAD] = 0
    return embedding

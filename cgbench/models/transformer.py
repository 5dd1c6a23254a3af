"""The Transformer (Vaswani et al., 2017) as fairseq's ``transformer_iwslt_de_en`` builds it, absolute or relative.

Separate source and target embeddings, the target's tied to the output projection (no output bias), ReLU, layers with
the norm before or after each sublayer. With relative positions both stacks use relative self-attention, there are no
absolute positions, and cross-attention is plain (the baseline of Zheng and Lapata, 2023).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cgbench.models.attention import CrossAttention, KeysValues, SelfAttention, causal_mask, padding_mask
from cgbench.models.config import ModelConfig
from cgbench.models.dropout import Dropout
from cgbench.models.linear import Linear, linear

PAD = 1


@dataclass
class Encoded:
    """What the encoder says of a batch: ``states`` [rows, length, width]; ``mask`` [rows, length], True for words."""

    states: Tensor
    mask: Tensor


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


class FeedForward(nn.Module):
    """Two linear maps with a ReLU between."""

    def __init__(self, width: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.expand = Linear(width, hidden)
        self.contract = Linear(hidden, width)
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Map [..., width] to [..., width]."""
        return self.contract(self.dropout(F.relu(self.expand(x))))


class Layer(nn.Module):
    """What encoder and decoder layers share: residual sublayers with the norm before or after."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        width, heads = config.width, config.attention_heads
        distance = config.max_relative_position if config.positions == "relative" else None
        self.pre = config.norm == "pre"
        self.dropout = Dropout(config.dropout)
        self.attention = SelfAttention(width, heads, config.attention_dropout, distance)
        self.attention_norm = nn.LayerNorm(width)
        self.feed_forward = FeedForward(width, config.feedforward_width, config.activation_dropout)
        self.feed_forward_norm = nn.LayerNorm(width)

    def before(self, norm: nn.LayerNorm, x: Tensor) -> Tensor:
        """Return the input of a sublayer."""
        return norm(x) if self.pre else x

    def after(self, norm: nn.LayerNorm, x: Tensor, change: Tensor) -> Tensor:
        """Add what a sublayer computed to its input."""
        x = x + self.dropout(change)
        return x if self.pre else norm(x)

    def feed(self, x: Tensor) -> Tensor:
        """Apply the feed-forward sublayer."""
        return self.after(self.feed_forward_norm, x, self.feed_forward(self.before(self.feed_forward_norm, x)))


class EncoderLayer(Layer):
    """Self-attention, feed-forward."""

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """Map [rows, length, width] to the same shape; ``mask`` hides padding."""
        x = self.after(self.attention_norm, x, self.attention(self.before(self.attention_norm, x), mask))
        return self.feed(x)


class DecoderLayer(Layer):
    """Causal self-attention, cross-attention, feed-forward."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.cross = CrossAttention(config.width, config.attention_heads, config.attention_dropout)
        self.cross_norm = nn.LayerNorm(config.width)

    def forward(self, x: Tensor, mask: Tensor, source: KeysValues, source_mask: Tensor | None) -> Tensor:
        """Map [rows, length, width] to the same shape, all positions at once."""
        x = self.after(self.attention_norm, x, self.attention(self.before(self.attention_norm, x), mask))
        return self._rest(x, source, source_mask)

    def step(self, x: Tensor, target: KeysValues, source: KeysValues, source_mask: Tensor | None) -> Tensor:
        """Map one position [rows, 1, width], appending it to ``target``."""
        x = self.after(self.attention_norm, x, self.attention.step(self.before(self.attention_norm, x), target))
        return self._rest(x, source, source_mask)

    def _rest(self, x: Tensor, source: KeysValues, source_mask: Tensor | None) -> Tensor:
        x = self.after(self.cross_norm, x, self.cross(self.before(self.cross_norm, x), source, source_mask))
        return self.feed(x)


class Transformer(nn.Module):
    """Encoder and decoder over subword ids; id 1 is padding, the decoder's input begins with </s>."""

    def __init__(self, config: ModelConfig, source_size: int, target_size: int) -> None:
        super().__init__()
        self.config = config
        self.scale = math.sqrt(config.width) if config.scale_embeddings else 1.0
        self.source_embedding = _embedding(source_size, config)
        self.target_embedding = _embedding(target_size, config)
        self.dropout = Dropout(config.dropout)
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(config.encoder_layers))
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(config.decoder_layers))
        pre = config.norm == "pre"
        self.encoder_norm = nn.LayerNorm(config.width) if pre else nn.Identity()
        self.decoder_norm = nn.LayerNorm(config.width) if pre else nn.Identity()

    def encode(self, source: Tensor) -> Encoded:
        """Encode ids [rows, length], padded on either side."""
        real = source != PAD
        x = self._embed(self.source_embedding, source, (real.cumsum(1) - 1).clamp_(min=0))
        mask = padding_mask(real, x.dtype)
        for layer in self.encoder:
            x = layer(x, mask)
        return Encoded(self.encoder_norm(x), real)

    def decode(self, encoded: Encoded, decoder_input: Tensor) -> Tensor:
        """Return the decoder's last states [rows, length, width] for ids [rows, length], padded on the right."""
        positions = torch.arange(decoder_input.shape[1], device=decoder_input.device)
        x = self._embed(self.target_embedding, decoder_input, positions)
        mask = causal_mask(decoder_input.shape[1], x)
        source_mask = padding_mask(encoded.mask, x.dtype)
        for layer in self._decoder_layers():
            x = layer(x, mask, layer.cross.remember(encoded.states), source_mask)
        return self.decoder_norm(x)

    def project(self, states: Tensor) -> Tensor:
        """Return logits [..., target vocabulary] of states [..., width]."""
        return linear(states, self.target_embedding.weight)

    def forward(self, source: Tensor, decoder_input: Tensor) -> Tensor:
        """Return logits [rows, target length, target vocabulary] under teacher forcing.

        :param source: ids [rows, source length]; ``decoder_input``: ids [rows, target length] that begin with </s>.
        """
        return self.project(self.decode(self.encode(source), decoder_input))

    def start(self, encoded: Encoded, copies: int = 1) -> State:
        """Return the state before the first step, with ``copies`` adjacent rows for each sentence."""
        rows = encoded.states.shape[0]
        sentence = torch.arange(rows, device=encoded.states.device).repeat_interleave(copies)
        mask = padding_mask(encoded.mask, encoded.states.dtype)
        source = [layer.cross.remember(encoded.states) for layer in self._decoder_layers()]
        target = [layer.attention.empty(rows * copies, source[0].keys) for layer in self._decoder_layers()]
        if copies > 1:
            for memory in source:
                memory.select(sentence)
            mask = None if mask is None else mask.index_select(0, sentence)
        return State(sentence, mask, target, source)

    def step(self, tokens: Tensor, state: State) -> Tensor:
        """Consume one id a row [rows] and return the logits of the next [rows, target vocabulary]."""
        position = torch.tensor([state.length], device=tokens.device)
        x = self._embed(self.target_embedding, tokens.unsqueeze(1), position)
        for layer, target, source in zip(self._decoder_layers(), state.target, state.source, strict=True):
            x = layer.step(x, target, source, state.source_mask)
        state.length += 1
        return self.project(self.decoder_norm(x)).squeeze(1)

    def _decoder_layers(self) -> list[DecoderLayer]:
        return cast("list[DecoderLayer]", self.decoder)

    def _embed(self, embedding: nn.Embedding, ids: Tensor, positions: Tensor) -> Tensor:
        x = embedding(ids) * self.scale
        # On a CPU whole activations are kept in the type of the products: casts would cost more than they save.
        if x.device.type == "cpu" and torch.is_autocast_enabled("cpu"):
            x = x.to(torch.get_autocast_dtype("cpu"))
        if self.config.positions == "sinusoidal":
            x = x + sinusoids(positions, self.config.width).to(x.dtype)
        return self.dropout(x)


def sinusoids(positions: Tensor, width: int) -> Tensor:
    """Return position vectors [..., width] as fairseq: sines, then cosines; the first word has place PAD + 1."""
    half = width // 2
    steps = torch.arange(half, dtype=torch.float32, device=positions.device)
    frequencies = torch.exp(steps * (-math.log(10000.0) / (half - 1)))
    angles = (positions + PAD + 1).unsqueeze(-1) * frequencies
    return torch.cat((angles.sin(), angles.cos()), dim=-1)


def _embedding(size: int, config: ModelConfig) -> nn.Embedding:
    embedding = nn.Embedding(size, config.width, padding_idx=PAD)
    with torch.no_grad():
        embedding.weight.normal_(std=config.width**-0.5)
        if config.normalize_embeddings:
            embedding.weight.div_(embedding.weight.norm(dim=1, keepdim=True))
        embedding.weight[PAD] = 0
    return embedding

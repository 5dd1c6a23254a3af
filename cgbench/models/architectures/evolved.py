"""The Evolved Transformer (So et al., 2019), as in tensor2tensor/models/evolved_transformer.py.

An encoder layer has four residual sublayers: a gated linear unit, two branches of convolutions,
self-attention and feed-forward. A decoder layer has five: self-attention and attention to the
source in parallel, two branches of causal convolutions, self-attention, attention to the source and
feed-forward. All are pre-norm. Narrow branches are padded with zeros on the last channels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cgbench.models.architectures.transformer import Encoded, Transformer
from cgbench.models.config.evolved import EvolvedConfig
from cgbench.models.parts.attention import KVCache
from cgbench.models.parts.dropout import Dropout
from cgbench.models.parts.layers import (
    build_cross_attention,
    build_self_attention,
    initialize_uniformly,
    layer_norm,
)
from cgbench.models.parts.linear import Linear
from cgbench.models.parts.ragged import Layout, Pairing, to_device

LEFT, RIGHT, FINAL = 11, 7, 7  # widths of the decoder's causal convolutions


class SeparableConvolution(nn.Module):
    """A convolution of each channel by itself, without bias, then a linear map of the channels.

    :param width: number of positions that it reads.
    """

    def __init__(self, channels: int, out_channels: int, width: int) -> None:
        super().__init__()
        self.depthwise = nn.Conv1d(channels, channels, width, groups=channels, bias=False)
        self.pointwise = Linear(channels, out_channels)

    def forward(self, grid: Tensor) -> Tensor:
        """Map [rows, columns, channels] to [rows, columns - width + 1, out channels]."""
        return cast("Tensor", self.pointwise(convolve(self.depthwise, grid)))


def convolve(convolution: nn.Conv1d, grid: Tensor) -> Tensor:
    """Apply a convolution to [rows, columns, channels], without padding."""
    return cast("Tensor", convolution(grid.transpose(1, 2))).transpose(1, 2)


def on_grids(convolution: nn.Module, x: Tensor, layout: Layout, left: int, right: int) -> Tensor:
    """Apply a convolution to the sequences of tokens [N, channels].

    :param left: zeros before each sequence; ``right``: after it.
    """
    grids = []
    for bucket, grid in zip(layout.buckets, layout.to_grids(x), strict=True):
        if bucket.mask is not None:
            grid = grid.masked_fill(bucket.mask[:, 0, 0, :, None] < 0, 0.0)
        padded = F.pad(grid, (0, 0, left, right))
        if isinstance(convolution, nn.Conv1d):
            grids.append(convolve(convolution, padded))
        else:
            grids.append(convolution(padded))
    return layout.from_grids(grids)


def widen(x: Tensor, width: int) -> Tensor:
    """Pad the channels [..., channels] with zeros to ``width``."""
    return F.pad(x, (0, width - x.shape[-1]))


class EvolvedEncoderLayer(nn.Module):
    """Gated linear unit, branched convolutions, self-attention, feed-forward."""

    def __init__(self, config: EvolvedConfig) -> None:
        super().__init__()
        width = config.width
        self.dropout = Dropout(config.dropout)
        self.gate_norm = layer_norm(config)
        self.values, self.gates = Linear(width, width), Linear(width, width)
        self.branch_norm = layer_norm(config)
        self.left = Linear(width, 4 * width)
        self.right = nn.Conv1d(width, width // 2, 3)
        self.sum_norm = layer_norm(config, 4 * width)
        self.separable = SeparableConvolution(4 * width, width // 2, 9)
        self.attention_norm = layer_norm(config)
        self.attention = build_self_attention(config)
        self.feed_forward_norm = layer_norm(config)
        self.expand, self.contract = Linear(width, 4 * width), Linear(4 * width, width)
        for module in (
            *(self.values, self.gates, self.left, self.right, self.separable),
            *(self.expand, self.contract),
        ):
            initialize_uniformly(module)

    def attend(self, x: Tensor, layout: Layout) -> Tensor:
        """Apply all sublayers below the feed-forward one to tokens [N, width]."""
        normed = self.gate_norm(x)
        x = x + self.dropout(self.values(normed) * torch.sigmoid(self.gates(normed)))
        # The two branches, then the convolution of their sum.
        normed = self.branch_norm(x)
        left = self.dropout(F.relu(self.left(normed)))
        right = self.dropout(F.relu(on_grids(self.right, normed, layout, 1, 1)))
        both = self.sum_norm(left + widen(right, left.shape[-1]))
        change = on_grids(self.separable, both, layout, 4, 4)
        x = x + self.dropout(widen(change, x.shape[-1]))
        return x + self.dropout(self.attention(self.attention_norm(x), layout))

    def feed(self, x: Tensor) -> Tensor:
        """Apply the feed-forward sublayer."""
        hidden = self.dropout(F.relu(self.expand(self.feed_forward_norm(x))))
        return x + self.dropout(self.contract(hidden))


class EvolvedDecoderLayer(nn.Module):
    """Two parallel attentions, branched convolutions, self-attention, cross-attention,
    feed-forward.
    """

    def __init__(self, config: EvolvedConfig) -> None:
        super().__init__()
        width = config.width
        self.dropout = Dropout(config.dropout)
        self.joint_norm = layer_norm(config)
        self.joint_attention = build_self_attention(config, config.joint_heads)
        self.joint_cross = build_cross_attention(config)
        self.branch_norm = layer_norm(config)
        self.left = SeparableConvolution(width, 2 * width, LEFT)
        self.right = SeparableConvolution(width, width // 2, RIGHT)
        self.sum_norm = layer_norm(config, 2 * width)
        self.separable = SeparableConvolution(2 * width, width, FINAL)
        self.attention_norm = layer_norm(config)
        self.attention = build_self_attention(config)
        self.cross_norm = layer_norm(config)
        self.cross = build_cross_attention(config)
        self.feed_forward_norm = layer_norm(config)
        self.expand, self.contract = Linear(width, 4 * width), Linear(4 * width, width)
        self.hidden_norm = layer_norm(config, 4 * width)
        for module in (self.left, self.right, self.separable, self.expand, self.contract):
            initialize_uniformly(module)

    def forward(self, y: Tensor, layout: Layout, encoded: Encoded, pairing: Pairing) -> Tensor:
        """Map target tokens [N, width] to the same shape."""
        normed = self.joint_norm(y)
        memory = self.joint_cross.kv_cache(encoded.states, pairing)
        y = y + self.dropout(self.joint_attention(normed, layout, causal=True))
        y = y + self.dropout(self.joint_cross(normed, layout, memory, pairing.masks))
        # The two branches, then the convolution of their sum.
        normed = self.branch_norm(y)
        left = self.dropout(F.relu(on_grids(self.left, normed, layout, LEFT - 1, 0)))
        right = self.dropout(on_grids(self.right, normed, layout, RIGHT - 1, 0))
        both = self.sum_norm(left + widen(right, left.shape[-1]))
        y = y + self.dropout(on_grids(self.separable, both, layout, FINAL - 1, 0))
        # As in a Transformer, but for the last sublayer.
        y = y + self.dropout(self.attention(self.attention_norm(y), layout, causal=True))
        memory = self.cross.kv_cache(encoded.states, pairing)
        y = y + self.dropout(self.cross(self.cross_norm(y), layout, memory, pairing.masks))
        return self.feed(y)

    def feed(self, y: Tensor) -> Tensor:
        """Apply the feed-forward sublayer, whose hidden layer is also normalised."""
        hidden = self.dropout(F.silu(self.expand(self.feed_forward_norm(y))))
        return y + self.dropout(self.contract(self.hidden_norm(hidden)))

    def start(self, encoded: Encoded, pairing: Pairing) -> LayerState:
        """Return the state of this layer before the first step."""
        joint_source = self.joint_cross.kv_cache(encoded.states, pairing)[0]
        source = self.cross.kv_cache(encoded.states, pairing)[0]
        rows, width = len(encoded.layout), encoded.states.shape[1]
        return LayerState(
            joint=self.joint_attention.empty(rows, joint_source.keys),
            joint_source=joint_source,
            target=self.attention.empty(rows, source.keys),
            source=source,
            read=encoded.states.new_zeros(rows, LEFT - 1, width),
            sums=encoded.states.new_zeros(rows, FINAL - 1, 2 * width),
        )

    def step(self, y: Tensor, state: LayerState, mask: Tensor | None) -> Tensor:
        """Map one position per row [rows, width]; ``mask``: of the source."""
        normed = self.joint_norm(y)
        y = y + self.joint_attention.step(normed, state.joint)
        y = y + self.joint_cross.step(normed, state.joint_source, mask)
        window = torch.cat((state.read, self.branch_norm(y).unsqueeze(1)), 1)
        left, right = F.relu(self.left(window)), self.right(window[:, -RIGHT:])
        sums = self.sum_norm(left + widen(right, left.shape[-1]))
        sums_window = torch.cat((state.sums, sums), 1)
        state.read, state.sums = window[:, 1:], sums_window[:, 1:]
        y = y + self.separable(sums_window).squeeze(1)
        y = y + self.attention.step(self.attention_norm(y), state.target)
        y = y + self.cross.step(self.cross_norm(y), state.source, mask)
        return self.feed(y)


@dataclass
class LayerState:
    """What a decoder layer keeps of the past, one row per hypothesis.

    :param joint: keys and values of the first self-attention, ``joint_source`` of the attention
        beside it; ``target`` and ``source`` of the later ones.
    :param read: the last inputs of the branches, [rows, 10, width]; ``sums``: of the convolution
        above them, [rows, 6, 2 width].
    """

    joint: KVCache
    joint_source: KVCache
    target: KVCache
    source: KVCache
    read: Tensor
    sums: Tensor

    def select(self, rows: Tensor) -> None:
        """Select rows."""
        for cache in (self.joint, self.joint_source, self.target, self.source):
            cache.select(rows)
        self.read = self.read.index_select(0, rows)
        self.sums = self.sums.index_select(0, rows)


@dataclass
class EvolvedState:
    """The state of step-by-step decoding: of each layer, and the source's mask [rows, 1, 1,
    columns].
    """

    layers: list[LayerState]
    source_mask: Tensor | None
    length: int = 0

    def reorder(self, index: np.ndarray) -> None:
        """Select the hypotheses ``index``."""
        rows = to_device(index, self.layers[0].read.device)
        for layer in self.layers:
            layer.select(rows)
        if self.source_mask is not None:
            self.source_mask = self.source_mask.index_select(0, rows)


class EvolvedTransformer(Transformer):
    """A Transformer of evolved layers."""

    config: EvolvedConfig

    def build_encoder_layer(self, layer: int) -> nn.Module:
        """See :class:`Transformer`."""
        return EvolvedEncoderLayer(self.config)

    def build_decoder_layer(self, layer: int) -> nn.Module:
        """See :class:`Transformer`."""
        return EvolvedDecoderLayer(self.config)

    def decoder_layers(self) -> list[EvolvedDecoderLayer]:
        """The decoder layers, from the bottom."""
        return cast("list[EvolvedDecoderLayer]", list(self.decoder))

    def decode_embedded(self, encoded: Encoded, y: Tensor, layout: Layout) -> Tensor:
        """See :class:`Transformer`."""
        pairing = Pairing(layout, encoded.layout)
        for layer in self.decoder_layers():
            y = layer(y, layout, encoded, pairing)
        return cast("Tensor", self.decoder_norm(y))

    def start(self, encoded: Encoded) -> EvolvedState:
        """See :class:`Transformer`."""
        pairing = Pairing(Layout([1] * len(encoded.layout), encoded.states.device), encoded.layout)
        layers = [layer.start(encoded, pairing) for layer in self.decoder_layers()]
        return EvolvedState(layers, pairing.masks[0])

    def step_states(self, tokens: Tensor, state: EvolvedState) -> Tensor:
        """See :class:`Transformer`."""
        y = self.embed_step(tokens, state.length)
        state.length += 1
        for layer, layer_state in zip(self.decoder_layers(), state.layers, strict=True):
            y = layer.step(y, layer_state, state.source_mask)
        return cast("Tensor", self.decoder_norm(y))

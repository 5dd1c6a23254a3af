"""Encoder and decoder layers, and the initialisation of their parameters."""

import math
from collections.abc import Sequence

import torch.nn.functional as F
from torch import Tensor, nn

from cgbench.models.config.common import TransformerConfig
from cgbench.models.parts.attention import CrossAttention, KVCache, SelfAttention
from cgbench.models.parts.dropout import Dropout
from cgbench.models.parts.linear import Linear
from cgbench.models.parts.positions import DistanceTable, RelativeLogits, SinusoidalDistance
from cgbench.models.parts.ragged import Layout


class FeedForward(nn.Module):
    """Two linear maps with ReLU or GELU between them."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.expand = Linear(config.width, config.feedforward_width)
        self.contract = Linear(config.feedforward_width, config.width)
        self.dropout = Dropout(config.activation_dropout)
        self.gelu = config.activation == "gelu"
        if config.initialization == "csordas":
            nn.init.xavier_uniform_(self.expand.weight, gain=math.sqrt(2))
            nn.init.xavier_uniform_(self.contract.weight)
        if config.initialization == "tensor2tensor":
            initialize_uniformly(self)

    def forward(self, x: Tensor) -> Tensor:
        """Map [..., width] to [..., width]."""
        x = self.expand(x)
        return self.contract(self.dropout(F.gelu(x) if self.gelu else F.relu(x, inplace=True)))


class Layer(nn.Module):
    """Base of encoder and decoder layers: residual sublayers, pre-norm or post-norm.

    :param attention: the layer's self-attention (default: built from ``config``).
    """

    def __init__(self, config: TransformerConfig, attention: SelfAttention | None = None) -> None:
        super().__init__()
        self.pre = config.norm == "pre"
        self.dropout = Dropout(config.dropout)
        self.attention = attention or build_self_attention(config)
        self.attention_norm = layer_norm(config)
        self.feed_forward = FeedForward(config)
        self.feed_forward_norm = layer_norm(config)

    def before(self, norm: nn.Module, x: Tensor) -> Tensor:
        """Return the input of a sublayer, normalised in pre-norm layers."""
        return norm(x) if self.pre else x

    def after(self, norm: nn.Module, x: Tensor, change: Tensor) -> Tensor:
        """Add the output of a sublayer to its input; normalise in post-norm layers."""
        x = x + self.dropout(change)
        return x if self.pre else norm(x)

    def attend(self, x: Tensor, layout: Layout, causal: bool = False) -> Tensor:
        """Apply the self-attention sublayer to tokens [N, width], or to the table that the layout
        indexes.
        """
        change = self.attention(self.before(self.attention_norm, x), layout, causal)
        return self.after(self.attention_norm, layout.gather(x), change)

    def feed(self, x: Tensor) -> Tensor:
        """Apply the feed-forward sublayer."""
        return self.after(
            self.feed_forward_norm, x, self.feed_forward(self.before(self.feed_forward_norm, x))
        )


class EncoderLayer(Layer):
    """Self-attention, feed-forward."""

    def forward(self, x: Tensor, layout: Layout) -> Tensor:
        """Map tokens [N, width] to the same shape."""
        return self.feed(self.attend(x, layout))


class DecoderLayer(Layer):
    """Causal self-attention, cross-attention, feed-forward."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(config)
        self.cross = build_cross_attention(config, config.source_width)
        self.cross_norm = layer_norm(config)

    def consult(
        self, x: Tensor, layout: Layout, memory: Sequence[KVCache], masks: Sequence[Tensor | None]
    ) -> Tensor:
        """Apply the cross-attention and feed-forward sublayers to tokens [N, width].

        :param memory: keys and values of the source, and their ``masks``, for each bucket of
            ``layout``.
        """
        return self.feed(self.attend_source(x, layout, memory, masks))

    def attend_source(
        self, x: Tensor, layout: Layout, memory: Sequence[KVCache], masks: Sequence[Tensor | None]
    ) -> Tensor:
        """Apply the cross-attention sublayer to tokens [N, width]."""
        change = self.cross(self.before(self.cross_norm, x), layout, memory, masks)
        return self.after(self.cross_norm, x, change)

    def step(self, x: Tensor, target: KVCache, source: KVCache, mask: Tensor | None) -> Tensor:
        """Map one position per row [rows, width], appending it to ``target``."""
        return self.feed(self.step_cross(self.step_attention(x, target), source, mask))

    def step_attention(
        self,
        x: Tensor,
        target: KVCache,
        mask: Tensor | None = None,
        distances: Tensor | None = None,
    ) -> Tensor:
        """The self-attention sublayer of :meth:`step`; see :meth:`SelfAttention.step`."""
        change = self.attention.step(self.before(self.attention_norm, x), target, mask, distances)
        return self.after(self.attention_norm, x, change)

    def step_cross(self, x: Tensor, source: KVCache, mask: Tensor | None) -> Tensor:
        """The cross-attention sublayer of :meth:`step`."""
        return self.after(
            self.cross_norm, x, self.cross.step(self.before(self.cross_norm, x), source, mask)
        )


def build_self_attention(
    config: TransformerConfig, heads: int | None = None, relative: RelativeLogits | None = None
) -> SelfAttention:
    """Build the self-attention of a configuration.

    :param heads: overrides the number of heads; ``relative``: overrides the relative positions.
    """
    heads = heads or config.attention_heads
    relative = relative or _relative(config, heads)
    attention = SelfAttention(
        config.width, heads, config.attention_dropout, relative, config.attention_bias
    )
    # The code of Csordás et al. never calls the initialisation of its relative attention, so
    # torch's default applies.
    if not (config.initialization == "csordas" and config.positions == "transformer_xl"):
        initialize_projection(attention.project_in, _attention_gain(config))
        initialize_projection(attention.project_out, 1.0, zero_bias=True)
    return attention


def build_cross_attention(config: TransformerConfig, memory: int | None = None) -> CrossAttention:
    """Build the cross-attention of a configuration.

    :param memory: width of the encoder's states (default: of the layer).
    """
    heads, bias = config.attention_heads, config.attention_bias
    cross = CrossAttention(config.width, heads, config.attention_dropout, bias, memory)
    gain = _attention_gain(config)
    initialize_projection(cross.project_query, gain)
    initialize_projection(cross.project_memory, gain, width=config.width)
    initialize_projection(cross.project_out, 1.0, zero_bias=True)
    return cross


def layer_norm(config: TransformerConfig, width: int | None = None) -> nn.LayerNorm:
    """Build the layer normalisation of a configuration, of ``width`` (default: that of a layer)."""
    return nn.LayerNorm(width or config.width, config.norm_epsilon)


def initialize_uniformly(module: nn.Module) -> None:
    """Initialise every matrix and kernel with Xavier uniform, and all biases with zeros."""
    for parameter in module.parameters():
        if parameter.dim() > 1:
            nn.init.xavier_uniform_(parameter)
        else:
            nn.init.zeros_(parameter)


def _attention_gain(config: TransformerConfig) -> float:
    """The gain of the initial query, key and value projections: fairseq treats the three as one."""
    return 1 / math.sqrt(2) if config.initialization == "fairseq" else 1.0


def initialize_projection(
    projection: nn.Linear, gain: float, zero_bias: bool = False, width: int | None = None
) -> None:
    """Initialise each part of a fused projection with Xavier uniform."""
    for weight in projection.weight.detach().split(width or projection.in_features):
        nn.init.xavier_uniform_(weight, gain=gain)
    if zero_bias and projection.bias is not None:
        nn.init.zeros_(projection.bias)


def _relative(config: TransformerConfig, heads: int) -> RelativeLogits | None:
    if config.positions in ("relative", "shaw"):
        return DistanceTable(
            config.max_relative_position, config.width // heads, config.positions == "relative"
        )
    if config.positions == "transformer_xl":
        return SinusoidalDistance(config.width, heads)
    return None

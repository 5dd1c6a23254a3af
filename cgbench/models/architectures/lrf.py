"""LRF: each position attends to its states in the lower layers (Zheng et al., 2023, Layer-wise
Representation Fusion).

Before the feed-forward sublayer of layer l a token attends to its own vectors H^0, ..., H^{l-1},
the embedding and the outputs of the lower layers, by multi-head attention with separate weights
(equations 9 and 10). Like other sublayers it is residual with a norm; the paper omits both in all
its equations "for brevity". Only the current position is read, so search needs no cache. In a
pre-norm model, query and keys share one norm.
"""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from cgbench.models.architectures.pretrained.transformer import PretrainedTransformer
from cgbench.models.config.common import TransformerConfig
from cgbench.models.config.lrf import LRFConfig
from cgbench.models.parts.dropout import dropout
from cgbench.models.parts.layers import DecoderLayer, EncoderLayer, build_cross_attention
from cgbench.models.parts.linear import linear


class FuseAttention(nn.Module):
    """Multi-head attention from each token to a few vectors of its own, such as those in the lower
    layers.

    A query has few keys, so it is cheaper to project the query into the space of the layers, and to
    mix layers before their projection, than to project every layer: q·(W h) = (Wᵀ q)·h.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.heads, self.dropout = config.attention_heads, config.attention_dropout
        self.projections = build_cross_attention(config)

    def forward(self, x: Tensor, below: Tensor) -> Tensor:
        """Attend from tokens ``x`` [N, width] to their vectors ``below`` [N, layers, width]."""
        weights = self.weights(x, below)
        if self.training and self.dropout:
            weights = dropout(weights, self.dropout)
        mixed = weights @ below.to(weights.dtype)
        projection = self.projections.project_memory
        _, values = projection.weight.chunk(2)
        projected = self._by_head(mixed, values.unflatten(0, (self.heads, -1)))
        if projection.bias is not None:
            bias = projection.bias.chunk(2)[1].view(self.heads, -1)
            projected = projected + weights.sum(-1, keepdim=True) * bias
        return self.projections.project_out(projected.flatten(1))

    def weights(self, x: Tensor, below: Tensor) -> Tensor:
        """Return the attention weights of each token and head over the lower layers, [N, heads,
        layers].
        """
        query = self.projections.project_query(x).unflatten(-1, (self.heads, -1))
        keys, _ = self.projections.project_memory.weight.chunk(2)
        carried = self._by_head(query, keys.unflatten(0, (self.heads, -1)).transpose(1, 2))
        # The keys' bias would add a constant to all logits of a query, which the softmax cancels.
        logits = carried @ below.to(carried.dtype).transpose(1, 2)
        return torch.softmax(logits / math.sqrt(query.shape[-1]), -1)

    @staticmethod
    def _by_head(x: Tensor, weights: Tensor) -> Tensor:
        """Map [N, heads, in] to [N, heads, out] with one matrix per head, [heads, out, in]."""
        return torch.stack(
            [linear(head, weight) for head, weight in zip(x.unbind(1), weights, strict=True)], 1
        )


class Fuse(nn.Module):
    """The sublayer with :class:`FuseAttention`, in an encoder or a decoder layer.

    :param encoder: configuration of a pre-trained encoder, in whose layers the sublayer has no norm
        and starts at zero, so that the initial encoder is unchanged. (The paper does not describe
        this.)
    """

    def __init__(self, config: LRFConfig, encoder: TransformerConfig | None = None) -> None:
        super().__init__()
        self.attention = FuseAttention(encoder or config)
        self.added = encoder is not None
        self.norm = nn.Identity() if self.added else nn.LayerNorm(config.width)
        if self.added:
            nn.init.zeros_(self.attention.projections.project_out.weight)

    def forward(
        self, layer: EncoderLayer | DecoderLayer, x: Tensor, below: Sequence[Tensor]
    ) -> Tensor:
        """Fuse tokens [N, width] of ``layer`` with their vectors in the lower layers."""
        layers = torch.stack(list(below), 1)
        if self.added:
            return x + layer.dropout(self.attention(x, layers))
        return layer.after(
            self.norm,
            x,
            self.attention(layer.before(self.norm, x), layer.before(self.norm, layers)),
        )


class LRF(PretrainedTransformer):
    """A Transformer whose layers attend to the lower layers."""

    config: LRFConfig

    def __init__(self, config: LRFConfig, source_size: int, target_size: int) -> None:
        super().__init__(config, source_size, target_size)
        self.encoder_fuse = self._build(
            config.encoder_layers if config.fuse != "target" else 0, self.pretrained
        )
        self.decoder_fuse = self._build(config.decoder_layers if config.fuse != "source" else 0)

    def _build(self, layers: int, encoder: TransformerConfig | None = None) -> nn.ModuleDict:
        first = max(layers - 1, 0) if self.config.fuse_layers == "top" else 0
        return nn.ModuleDict(
            {str(layer): Fuse(self.config, encoder) for layer in range(first, layers)}
        )

    def through(self, side: str, x: Tensor, attend: Callable[[int, Tensor], Tensor]) -> Tensor:
        """See :class:`Transformer`."""
        sublayers, below = self.encoder_fuse if side == "encoder" else self.decoder_fuse, [x]
        for index, layer in enumerate(self.stack(side)):
            x = attend(index, x)
            if str(index) in sublayers:
                x = sublayers[str(index)](layer, x, below)
            x = layer.feed(x)
            below.append(x)
        return x

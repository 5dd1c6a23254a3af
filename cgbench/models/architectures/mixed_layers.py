"""Mixed layers: encoder layers over a source and a target prefix (Zheng and Lapata, 2022).

Attention is bidirectional over both. With relative positions, source and target have separate distance tables, and each
direction between them has one vector (:class:`SegmentedDistanceTable`); with absolute positions attention is ordinary.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from torch import Tensor

from cgbench.models.config.architectures import PrefixConfig
from cgbench.models.parts.layers import EncoderLayer, build_self_attention
from cgbench.models.parts.positions import SegmentedDistanceTable
from cgbench.models.parts.ragged import Layout


class MixedLayer(EncoderLayer):
    """An encoder layer over two parts, with its own number of heads."""

    def __init__(self, config: PrefixConfig) -> None:
        if config.pretrained_encoder:
            return super().__init__(config.encoder_as_layers())
        heads = config.mixed_attention_heads
        relative = None
        if config.positions == "relative":
            relative = SegmentedDistanceTable(config.max_relative_position, config.width // heads)
        super().__init__(config, build_self_attention(config, heads, relative))

    def ends(self, x: Tensor, layout: Layout, counts: np.ndarray) -> Tensor:
        """Compute only the last tokens of each part, [queries, width]; the others provide keys and values.

        :param x: the tokens of ``layout``, or the table that it indexes.
        :param counts: number of tokens of each part of each sequence, [S, 2].
        """
        return self.feed(self.attend_from(x, layout, layout.ends(counts)))


def run_mixed(layers: Sequence[MixedLayer], x: Tensor, layout: Layout, counts: np.ndarray) -> Tensor:
    """Apply the layers; arguments and result as in :meth:`MixedLayer.ends`."""
    for layer in layers[:-1]:
        x = layer(x, layout)
        layout = layout.gathered
    return layers[-1].ends(x, layout, counts)

"""Transformer-accu: sums of layers without learned weights, a baseline of two papers, which define
it differently.

* ``inputs`` (Zheng et al., 2023, LRF, "Transformer-accu"): layer i of either stack reads y_0 + ...
  + y_{i-1}, the embedding and the outputs of all lower layers.
* ``all`` (Lin et al., 2023, COMPOSITION, the text): every decoder layer reads the sum of all
  encoder sublayers.
* ``prefix`` (its footnote): decoder layer i reads y_0 + ... + y_{i-1} of the encoder.

In a pre-norm model, the encoder's final norm is applied to the summands for the decoder.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from torch import Tensor

from cgbench.models.architectures.composition import sublayer_outputs
from cgbench.models.architectures.transformer import Encoded, Transformer
from cgbench.models.config.transformer_accu import AccuConfig
from cgbench.models.parts.attention import KVCache
from cgbench.models.parts.ragged import Layout, Pairing


@dataclass
class EncodedSums(Encoded):
    """The encoder's output; ``memories`` [M, width]: the cross-attention input of each decoder
    layer.
    """

    memories: list[Tensor]


class TransformerAccu(Transformer):
    """A Transformer whose layers read sums of layers."""

    config: AccuConfig

    def through(self, side: str, x: Tensor, attend: Callable[[int, Tensor], Tensor]) -> Tensor:
        """See :class:`Transformer`."""
        if self.config.form != "inputs":
            return super().through(side, x, attend)
        total = x
        for index, layer in enumerate(self.stack(side)):
            x = layer.feed(attend(index, total))
            total = total + x
        return x

    def encode_embedded(self, x: Tensor, layout: Layout) -> Encoded:
        """See :class:`Transformer`."""
        if self.config.form == "inputs":
            return super().encode_embedded(x, layout)
        count = self.config.decoder_layers
        outputs = list(sublayer_outputs(self, x, layout))
        top = outputs[-1][1]
        if self.config.form == "all":
            *_, total = accumulate(output for layer in outputs for output in layer)
            return EncodedSums(top, layout, [total] * count)
        sums = accumulate([self.encoder_norm(x), *(output for _, output in outputs)])
        return EncodedSums(top, layout, list(sums)[:count])

    def source_cache(self, layer: int, encoded: Any, pairing: Pairing) -> list[KVCache]:
        """See :class:`Transformer`."""
        if self.config.form == "inputs":
            return super().source_cache(layer, encoded, pairing)
        return self.decoder_stack()[layer].cross.kv_cache(encoded.memories[layer], pairing)

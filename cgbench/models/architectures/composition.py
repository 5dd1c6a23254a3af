"""COMPOSITION: decoder layers read learned mixtures of all encoder sublayers (Lin et al., 2023,
section 3.2).

C_1 .. C_2M are the outputs of the encoder's 2M sublayers (self-attention and feed-forward of layer
1, of layer 2, ...). Every decoder layer has a mixture for its keys, K_l = W^K_l sum_i wk_{l,i} C_i,
and one for its values, V_l = W^V_l sum_i wv_{l,i} C_i, with free weights w (equations 7 and 8). The
embedding is not included. In a pre-norm model the encoder's final norm is applied to each C_i
first.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from cgbench.models.architectures.pretrained.transformer import PretrainedTransformer
from cgbench.models.architectures.transformer import Encoded, Transformer
from cgbench.models.config.composition import CompositionConfig
from cgbench.models.parts.attention import KVCache
from cgbench.models.parts.ragged import Layout, Pairing


@dataclass
class Mixed(Encoded):
    """The encoder's output, and its mixtures for the keys and values of each decoder layer,
    [layers, M, width].
    """

    keys: Tensor
    values: Tensor


class Composition(PretrainedTransformer):
    """A Transformer whose decoder layers read mixtures of the encoder's sublayers.

    ``mixture`` has the weights [2, decoder layers, sublayers], for keys and values, or [1, 1,
    sublayers] for a single mixture.
    """

    config: CompositionConfig

    def __init__(self, config: CompositionConfig, source_size: int, target_size: int) -> None:
        super().__init__(config, source_size, target_size)
        mixtures = (2, config.decoder_layers) if config.mixtures == "keys_values" else (1, 1)
        count = len(mixed_sublayers(config))
        weights = torch.full((*mixtures, count), 1 / count)
        if config.initial == "top":
            weights.zero_()[..., -1] = 1
        self.mixture = nn.Parameter(weights)

    def undecayed_parameters(self) -> set[str]:
        """Return the names of the parameters without weight decay."""
        return {"mixture"}

    def encode_embedded(self, x: Tensor, layout: Layout) -> Mixed:
        """See :class:`Transformer`."""
        outputs = list(sublayer_outputs(self, x, layout))
        collected = torch.stack(
            [outputs[layer][sublayer] for layer, sublayer in mixed_sublayers(self.config)]
        )
        mixtures = torch.einsum("pli,ind->plnd", self.mixture, collected.to(self.mixture.dtype))
        keys, values = mixtures.expand(2, self.config.decoder_layers, -1, -1)
        return Mixed(outputs[-1][1], layout, keys, values)

    def source_cache(self, layer: int, encoded: Any, pairing: Pairing) -> list[KVCache]:
        """See :class:`Transformer`."""
        cross = self.decoder_stack()[layer].cross
        keys = cross.project_keys(encoded.keys[layer])
        values = cross.project_values(encoded.values[layer])
        return cross.kv_cache_of_grids(pairing.grids(keys), pairing.grids(values))


def sublayer_outputs(
    model: Transformer, x: Tensor, layout: Layout
) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield the outputs of the self-attention and feed-forward sublayers of each encoder layer, for
    a decoder.
    """
    for layer in model.encoder_stack():
        attended = layer.attend(x, layout)
        x = layer.feed(attended)
        yield model.encoder_norm(attended), model.encoder_norm(x)


def mixed_sublayers(config: CompositionConfig) -> list[tuple[int, int]]:
    """Return the mixed sublayers from the bottom: (encoder layer, 0 for self-attention or 1 for
    feed-forward).
    """
    types = {"both": (0, 1), "self_attention": (0,), "feed_forward": (1,)}[config.sublayers]
    layers = range(config.encoder_layers)[-config.top_layers :]  # 0: all
    return [(layer, sublayer) for layer in layers for sublayer in types]

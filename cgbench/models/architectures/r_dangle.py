"""R-Dangle (Zheng and Lapata, 2023): the source is re-encoded at intervals, only for the keys of
cross-attention.

At the target positions 0, o, 2o, ... the source is encoded together with the prefix, as in Dangle
at every position, and the decoder reads the whole prefix again with the new encodings; in between
it runs as an ordinary decoder. With ``values=separate`` the values of cross-attention come from an
encoder over the source only.

Some details are only in the authors' code: the norms after both encoders, that the lowest layers of
the value encoder are mixed layers over the source and one learned vector, and that its upper layers
are shared with the keys.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from cgbench.models.architectures.dangle import (
    EncoderDecoderDangle,
    MixedLayer,
    PrefixState,
    learned_vector,
)
from cgbench.models.architectures.prefixes import Prefixes
from cgbench.models.architectures.transformer import Encoded
from cgbench.models.config.r_dangle import RDangleConfig
from cgbench.models.parts.attention import KVCache
from cgbench.models.parts.ragged import Layout, Pairing, Ragged


@dataclass
class EncodedSources(Encoded):
    """Everything that depends only on the sources.

    :param states: the mixed layers' input, [M, width].
    :param once: of each decoder layer the cross-attention values, [M, width]; empty if they are
        re-encoded.
    """

    once: list[Tensor]


class RDangle(EncoderDecoderDangle):
    """Dangle with intervals, and optionally separate values."""

    config: RDangleConfig

    def __init__(self, config: RDangleConfig, source_size: int, target_size: int) -> None:
        super().__init__(config, source_size, target_size)
        pre = config.norm == "pre"
        self.encoder_norm = nn.LayerNorm(config.width) if pre else nn.Identity()
        if config.values != "shared":
            self.value_encoder = nn.ModuleList(
                MixedLayer(config) for _ in range(config.mixed_layers)
            )
            self.value_norm = nn.LayerNorm(config.width) if pre else nn.Identity()
            self.source_end = learned_vector(config.width)

    def encode_embedded(self, x: Tensor, layout: Layout) -> EncodedSources:
        """Run the encoder over the source only, if there is one."""
        once = []
        if self.config.values == "separate":
            # A learned vector takes the place of a target.
            sources = Prefixes.whole(layout, np.arange(len(layout)), 0)
            states = self.value_norm(
                self.encode_by(self.value_encoder, x, x[:0], self.source_end, sources)
            )
            once = [layer.cross.project_values(states) for layer in self.decoder_stack()]
        return EncodedSources(x, layout, once)

    def decode(self, encoded: Any, target: Ragged) -> Tensor:
        """See :class:`Transformer`.

        All prefixes of a target share the dropout of its embeddings.
        """
        y = self.embed_target(target)
        read = self.read_target(target.ids, target.layout.positions, y)
        return self.decode_embedded(encoded, y, target.layout, read)

    def decode_embedded(
        self, encoded: Any, y: Tensor, layout: Layout, read: Tensor | None = None
    ) -> Tensor:
        """See :class:`Transformer`; ``read``: the mixed layers' input for the target (default:
        ``y``).
        """
        prefixes = Prefixes.at_intervals(encoded.layout, layout, self.config.interval)
        read = y if read is None else read
        return self.decode_prefixes(encoded, self.encode_anew(encoded, read, prefixes), y, prefixes)

    def encode_anew(self, encoded: Any, y: Tensor, prefixes: Prefixes) -> Tensor:
        """See :class:`EncoderDecoderDangle`."""
        return self.encoder_norm(super().encode_anew(encoded, y, prefixes))

    def pair(self, encoded: Any, prefixes: Prefixes, layout: Layout) -> list[Pairing]:
        """See :class:`EncoderDecoderDangle`."""
        pairings = super().pair(encoded, prefixes, layout)
        return (
            [*pairings, Pairing(layout, encoded.layout, prefixes.sentence)]
            if encoded.once
            else pairings
        )

    def source_cache_anew(
        self, layer: int, encoded: Any, states: Tensor, pairings: Sequence[Pairing]
    ) -> list[KVCache]:
        """See :class:`EncoderDecoderDangle`."""
        if self.config.values == "shared":
            return super().source_cache_anew(layer, encoded, states, pairings)
        cross = self.decoder_stack()[layer].cross
        keys, values = (
            pairings[0].grids(cross.project_keys(states)),
            pairings[1].grids(encoded.once[layer]),
        )
        return cross.kv_cache_of_grids(keys, values)

    def step_states(self, tokens: Tensor, state: PrefixState) -> Tensor:
        """See :class:`Transformer`."""
        length = state.prefix.shape[1]
        state.prefix = torch.cat((state.prefix, tokens[:, None]), 1)
        if length % self.config.interval == 0:
            prefixes = Prefixes.whole(state.encoded.layout, state.sentence, length + 1)
            y = self.embed(self.target_embedding, state.prefix.flatten(), prefixes.target.positions)
            read = self.read_target(state.prefix.flatten(), prefixes.target.positions, y)
            states = self.encode_anew(state.encoded, read, prefixes)
            state.target, state.source = [], []
            caches = state if self.config.interval > 1 else None
            return self.decode_prefixes(state.encoded, states, y, prefixes, caches)
        y = self.embed_step(tokens, length)
        for layer, target, source in zip(
            self.decoder_stack(), state.target, state.source, strict=True
        ):
            y = layer.step(y, target, source, state.mask)
        return cast("Tensor", self.decoder_norm(y))

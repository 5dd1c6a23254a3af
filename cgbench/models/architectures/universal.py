"""A Transformer that shares weights between layers (Dehghani et al., 2019, in the form of Csordás
et al., 2021).

One encoder layer is applied ``encoder_layers`` times and one decoder layer ``decoder_layers``
times. There is no adaptive halting and no step embedding. Absolute positions are added once, at the
bottom; relative ones act in every self-attention. In search each application has its own cache.
"""

from dataclasses import replace

from cgbench.models.architectures.transformer import Transformer
from cgbench.models.config.common import TransformerConfig
from cgbench.models.parts.layers import DecoderLayer, EncoderLayer


class Universal(Transformer):
    """A Transformer of one encoder layer and one decoder layer."""

    def __init__(self, config: TransformerConfig, source_size: int, target_size: int) -> None:
        super().__init__(
            replace(config, encoder_layers=1, decoder_layers=1), source_size, target_size
        )
        self.config = config

    def encoder_stack(self) -> list[EncoderLayer]:
        """See :class:`Transformer`."""
        return super().encoder_stack() * self.config.encoder_layers

    def decoder_stack(self) -> list[DecoderLayer]:
        """See :class:`Transformer`."""
        return super().decoder_stack() * self.config.decoder_layers

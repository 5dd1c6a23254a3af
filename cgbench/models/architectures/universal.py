"""A Transformer that shares weights between layers (Dehghani et al., 2019, in the form of Csordás
et al., 2021).

One encoder layer is applied ``encoder_layers`` times and one decoder layer ``decoder_layers``
times, without adaptive halting. Absolute positions are added once, at the bottom; relative ones act
in every self-attention. In search each application has its own cache.

With ``step_signals``, it is tensor2tensor's ``basic`` recurrence instead: positions and a learned
vector of the step are added before every application
(tensor2tensor/models/research/universal_transformer_util.py, ``step_preprocess``).
"""

from dataclasses import replace

import torch
from torch import Tensor, nn

from cgbench.models.architectures.transformer import Transformer
from cgbench.models.config.universal import UniversalConfig
from cgbench.models.parts.layers import DecoderLayer, EncoderLayer
from cgbench.models.parts.positions import timing_sinusoids


class Universal(Transformer):
    """A Transformer of one encoder layer and one decoder layer."""

    config: UniversalConfig

    def __init__(self, config: UniversalConfig, source_size: int, target_size: int) -> None:
        super().__init__(
            replace(config, encoder_layers=1, decoder_layers=1), source_size, target_size
        )
        self.config = config
        self.steps = nn.ParameterDict()  # [applications, width] of each side
        if config.step_signals:
            for side, count in (
                ("encoder", config.encoder_layers),
                ("decoder", config.decoder_layers),
            ):
                self.steps[side] = nn.Parameter(torch.randn(count, config.width))

    def enter(self, side: str, layer: int, x: Tensor, positions: Tensor) -> Tensor:
        """See :class:`Transformer`."""
        if not self.config.step_signals:
            return x
        signal = timing_sinusoids(positions, self.config.width) + self.steps[side][layer]
        return x + signal.to(x.dtype)

    def vectors(self, embedding: nn.Embedding, ids: Tensor, positions: Tensor) -> Tensor:
        """See :class:`Transformer`."""
        if self.config.step_signals:
            return embedding(ids) * self.scale
        return super().vectors(embedding, ids, positions)

    def encoder_stack(self) -> list[EncoderLayer]:
        """See :class:`Transformer`."""
        return super().encoder_stack() * self.config.encoder_layers

    def decoder_stack(self) -> list[DecoderLayer]:
        """See :class:`Transformer`."""
        return super().decoder_stack() * self.config.decoder_layers

"""An architecture in a package of your own: the decoder reads the mean of the highest encoder
layers.
"""

from dataclasses import dataclass

import torch

from cgbench.models.architectures.transformer import Encoded, Transformer
from cgbench.models.config.architectures import Architecture
from cgbench.models.config.common import TransformerConfig
from cgbench.settings import option


@dataclass(frozen=True)
class MeanOfLayersConfig(TransformerConfig):
    """A Transformer whose decoder reads the mean of the highest encoder layers."""

    architecture: str = "mean_of_layers"
    top_layers: int = option(2, "encoder layers to average, from the top.")

    def __post_init__(self) -> None:
        super().__post_init__()
        good = 1 <= self.top_layers <= self.encoder_layers
        self._require("top_layers", good, f"from 1 to model.encoder_layers ({self.encoder_layers})")


class MeanOfLayers(Transformer):
    """Encoder layers as ever; their mean in the place of the top one."""

    def encode_embedded(self, x, layout):
        """Encode source vectors [tokens, width]."""
        outputs = []
        for layer in self.encoder_stack():
            x = layer(x, layout)
            outputs.append(x)
        mean = torch.stack(outputs[-self.config.top_layers :]).mean(0)
        return Encoded(self.encoder_norm(mean), layout)


ARCHITECTURE = Architecture(
    MeanOfLayersConfig, __name__, "MeanOfLayers", "the decoder reads a mean of layers", "none"
)

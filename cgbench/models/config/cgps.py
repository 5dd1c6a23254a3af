"""Settings of CGPS."""

from dataclasses import dataclass

from cgbench.models.config.common import ModelConfig
from cgbench.settings import option


@dataclass(frozen=True)
class CGPSConfig(ModelConfig):
    """CGPS (Li et al., 2019): one embedding of a source word decides where attention points, the
    other what it reads. Noise and a penalty on both keep them apart, and a prediction is a linear
    map of the source words that it attends to.
    """

    architecture: str = "cgps"
    has_encoder_states = False  # what a prediction reads is no state
    takes_vectors = False
    projects_states = False  # predictions read words
    encoder_layers: int = option(1, "Number of encoder layers, always 1")
    decoder_layers: int = option(1, "Number of decoder layers, always 1")
    width: int = option(
        64, "Width of both directions of the encoder together, and of the decoder", least=1
    )
    dropout: float = option(0.0, "Dropout probability, always 0: this model has noise instead")
    primitive_width: int = option(16, "Width of the embeddings that are read", least=1)
    function_width: int = option(
        8, "Width of the embeddings that attention is computed from", least=1
    )
    input_slots: int = option(
        10,
        "Maximum number of source words, with the end of the sentence; attention to each position"
        " has its own weights",
        least=1,
    )
    noise: float = option(
        1.0, "Standard deviation of the noise on both embeddings in training", least=0
    )
    penalty: float = option(
        0.1,
        "Weight of the mean square of both embeddings, summed over the words of a source, in the"
        " loss",
        least=0,
    )

    def __post_init__(self) -> None:
        self._require("width", self.width % 2 == 0, "even")
        for name, value in (("encoder_layers", 1), ("decoder_layers", 1), ("dropout", 0)):
            self._require(name, getattr(self, name) == value, str(value))

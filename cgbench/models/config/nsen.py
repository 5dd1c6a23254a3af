"""Settings of Neural Shuffle-Exchange networks."""

from dataclasses import dataclass
from typing import Literal

from cgbench.models.config.common import ModelConfig
from cgbench.settings import option


@dataclass(frozen=True)
class NSENConfig(ModelConfig):
    """Neural Shuffle-Exchange network (Freivalds et al., 2019): switches on pairs of neighbouring
    positions and fixed shuffles connect all positions in O(n log n) steps. The whole target is
    predicted at once, from the source alone.
    """

    architecture: str = "nsen"
    has_encoder_states = False  # source and target share all positions
    shows_attention = False  # it has none
    takes_vectors = False
    projects_states = False  # its loss also counts padding
    encoder_layers: int = option(2, "Number of blocks, each a way there and back", least=1)
    decoder_layers: int = option(2, "The same number: the blocks also write the target", least=1)
    width: int = option(384, "Width of the states, an even number", least=2)
    dropout: float = option(
        0.1, "Dropout probability, divided by the binary logarithm of the length", least=0, below=1
    )
    form: Literal["tensor2tensor", "original"] = option(
        "tensor2tensor",
        "Which of the authors' programs: ``tensor2tensor`` (their port), or ``original``, which has"
        " one switch less in each direction and other residual connections",
    )
    max_length: int = option(
        256,
        "Length, a power of two, to which both sides are padded in evaluation; it limits both",
        least=2,
    )

    def __post_init__(self) -> None:
        self._require("width", self.width % 2 == 0, "even")
        rule = f"model.encoder_layers ({self.encoder_layers})"
        self._require("decoder_layers", self.decoder_layers == self.encoder_layers, rule)
        power = self.max_length & (self.max_length - 1) == 0
        self._require("max_length", power, "a power of two")

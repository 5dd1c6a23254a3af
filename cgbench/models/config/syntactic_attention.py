"""Settings of syntactic attention."""

from dataclasses import dataclass

from cgbench.models.config.common import ModelConfig
from cgbench.settings import option


@dataclass(frozen=True)
class SyntacticAttentionConfig(ModelConfig):
    """Syntactic attention (Russin et al., 2019): attention uses only syntax, predictions only
    meanings.
    """

    architecture: str = "syntactic_attention"
    begin_source = True  # always, as in the authors' code
    has_encoder_states = False  # states and meanings are separate
    takes_vectors = False
    projects_states = False  # predictions read words
    encoder_layers: int = option(
        1, "Number of layers of each of the two encoders and of the decoder"
    )
    decoder_layers: int = option(1, "Number of decoder layers, the same as of the encoders")
    width: int = option(
        400, "Width of both directions of the second encoder together, and of the decoder", least=1
    )
    dropout: float = 0.5
    syntax_width: int = option(
        100, "Width of the embeddings that attention is computed from", least=1
    )
    meaning_width: int = option(120, "Width of the embeddings that are read", least=1)
    read_syntax: bool = option(False, "Whether predictions also read the attended syntax states")

    def __post_init__(self) -> None:
        self._require("width", self.width % 2 == 0, "even")
        rule = f"model.encoder_layers ({self.encoder_layers})"
        self._require("decoder_layers", self.decoder_layers == self.encoder_layers, rule)

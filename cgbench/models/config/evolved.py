"""Settings of the Evolved Transformer."""

from dataclasses import dataclass
from typing import Literal

from cgbench.models.config.common import Norm, TransformerConfig
from cgbench.settings import option


@dataclass(frozen=True)
class EvolvedConfig(TransformerConfig):
    """The Evolved Transformer (So et al., 2019): layers that an architecture search found, with
    gated linear units and branches of convolutions besides attention. One layer is about as deep as
    two of a Transformer.

    They are always pre-norm, and their feed-forward sublayers are four times as wide as the model,
    whatever ``feedforward_width``, ``activation`` and ``activation_dropout`` are.
    """

    architecture: str = "evolved"
    norm: Norm = "pre"
    positions: Literal["timing", "sinusoidal", "interleaved"] = option(
        "timing", "Position encoding, added to the embeddings"
    )
    initialization: Literal["tensor2tensor"] = option(
        "tensor2tensor", "Initialisation of layers: Xavier for every matrix, zeros for biases"
    )
    joint_heads: int = option(
        16,
        "Number of heads of the self-attention beside the attention to the source: 16 at least in"
        " tensor2tensor of 2018 and 2019, later twice ``attention_heads`` and 16 at most",
        least=1,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require("norm", self.norm == "pre", "pre")
        self._divides("joint_heads")
        self._require("width", self.width % 2 == 0, "even")

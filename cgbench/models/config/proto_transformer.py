"""Settings of Proto-Transformer."""

from dataclasses import dataclass

from cgbench.models.config.common import TransformerConfig
from cgbench.settings import option


@dataclass(frozen=True)
class ProtoTransformerConfig(TransformerConfig):
    """Proto-Transformer (Yin et al., 2022): source words attend to centroids of the states of their
    word.

    It is a Transformer until the states are clustered, once, in training. The defaults follow the
    authors' script and code for CoGnition.
    """

    architecture: str = "proto_transformer"
    takes_vectors = False  # prototypes need words
    prototypes: int = option(
        3, "Number of centroids per source word (K); with 1 they are means", least=1
    )
    prototype_epochs: int = option(
        8,
        "Number of epochs without prototypes, after which states are clustered and the centroids"
        " stay constant; 0: cluster the states of the untrained model",
        least=0,
    )
    prototype_layer: int = option(
        5,
        "Encoder layer whose output is clustered, from 1. The authors' code takes the fifth of six,"
        " although its comment says the last",
        least=1,
    )
    prototype_min_count: int = option(
        50,
        "Minimum count of a word in the training text to be clustered; rarer words have no"
        " prototypes",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        rule = f"at most model.encoder_layers ({self.encoder_layers})"
        self._require("prototype_layer", self.prototype_layer <= self.encoder_layers, rule)
        rule = f"at least model.prototypes ({self.prototypes})"
        self._require("prototype_min_count", self.prototype_min_count >= self.prototypes, rule)

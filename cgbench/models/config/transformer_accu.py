"""Settings of Transformer-accu."""

from dataclasses import dataclass
from typing import Literal

from cgbench.models.config.common import TransformerConfig
from cgbench.settings import option


@dataclass(frozen=True)
class AccuConfig(TransformerConfig):
    """Transformer-accu: layers read sums of layers; two papers use the name for different
    architectures (``form``).
    """

    architecture: str = "transformer_accu"
    form: Literal["inputs", "all", "prefix"] = option(
        "inputs",
        "Sums: ``inputs`` (LRF paper: each layer of both stacks reads the sum of the embedding and"
        " all layers before), ``all`` (COMPOSITION paper, text: every decoder layer reads the sum"
        " of all encoder sublayers) or ``prefix`` (its footnote: decoder layer i reads the sum of"
        " the embedding and the encoder layers before i)",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.form == "prefix":
            rule = (
                f"at most model.encoder_layers + 1 ({self.encoder_layers + 1}) with"
                " model.form=prefix"
            )
            self._require("decoder_layers", self.decoder_layers <= self.encoder_layers + 1, rule)

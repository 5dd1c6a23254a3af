"""Settings of COMPOSITION."""

from dataclasses import dataclass
from typing import Literal

from cgbench.models.config.encoders import OverEncoderConfig
from cgbench.settings import option


@dataclass(frozen=True)
class CompositionConfig(OverEncoderConfig):
    """COMPOSITION (Lin et al., 2023): each decoder layer reads its own mixtures of all encoder
    sublayers.
    """

    architecture: str = "composition"
    sublayers: Literal["both", "self_attention", "feed_forward"] = option(
        "both",
        "Sublayers whose outputs are mixed: ``both``, ``self_attention`` or ``feed_forward``",
    )
    mixtures: Literal["keys_values", "encoder"] = option(
        "keys_values",
        "Mixtures: ``keys_values`` (two per decoder layer) or ``encoder`` (one for all)",
    )
    top_layers: int = option(0, "Number of encoder layers to mix, from the top; 0: all", least=0)
    initial: Literal["mean", "top"] = option(
        "mean", "Initial weights: ``mean``, or ``top`` (only the output of the encoder)"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.initial == "top":
            rule = "mean with model.sublayers=self_attention, which excludes the top"
            self._require("initial", self.sublayers != "self_attention", rule)
        rule = f"from 0 to model.encoder_layers ({self.encoder_layers})"
        self._require("top_layers", self.top_layers <= self.encoder_layers, rule)

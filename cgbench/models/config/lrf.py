"""Settings of LRF."""

from dataclasses import dataclass
from typing import Literal

from cgbench.models.config.encoders import OverEncoderConfig
from cgbench.settings import option


@dataclass(frozen=True)
class LRFConfig(OverEncoderConfig):
    """LRF (Zheng et al., 2023, layer-wise representation fusion): positions attend to their states
    in lower layers.
    """

    architecture: str = "lrf"
    fuse: Literal["both", "source", "target"] = option(
        "both", "Stacks with fuse-attention: ``both``, ``source`` or ``target``"
    )
    fuse_layers: Literal["all", "top"] = option(
        "all", "Layers with fuse-attention: ``all``, or ``top`` (only the highest of each stack)"
    )

"""Settings of DLCL."""

from dataclasses import dataclass

from cgbench.models.config.common import TransformerConfig


@dataclass(frozen=True)
class DLCLConfig(TransformerConfig):
    """DLCL (Wang et al., 2019): each layer reads a learned linear combination of the embedding and
    lower layers.
    """

    architecture: str = "dlcl"

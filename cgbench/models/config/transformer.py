"""Settings of the Transformer."""

from dataclasses import dataclass

from cgbench.models.config.encoders import OverEncoderConfig


@dataclass(frozen=True)
class PlainTransformerConfig(OverEncoderConfig):
    """The Transformer."""

    architecture: str = "transformer"
    may_be_decoder = True

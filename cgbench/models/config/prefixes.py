"""Settings of architectures that re-encode the source with target prefixes."""

from dataclasses import dataclass

from cgbench.models.config.encoders import OverEncoderConfig
from cgbench.settings import option


@dataclass(frozen=True)
class PrefixConfig(OverEncoderConfig):
    """Common settings of architectures that re-encode the source with target prefixes in mixed
    lower layers.
    """

    mixed_layers: int = option(
        4, "Number of layers over the source and the target prefix (k1)", least=1
    )
    mixed_attention_heads: int = option(8, "Number of attention heads of the mixed layers", least=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._divides("mixed_attention_heads")
        if self.pretrained_encoder:
            self._require(
                "positions", self.positions == "encoder", "encoder with a pre-trained encoder"
            )
            rule = (
                f"model.encoder_width ({self.encoder_width}): the encoder reads prefixes and"
                " sources"
            )
            self._require("width", self.width == self.encoder_width, rule)

    @property
    def may_read_places(self) -> bool:
        """See :class:`TransformerConfig`: the encoder also reads prefixes."""
        return self.pretrained_encoder

    has_encoder_states = False  # the source encoding depends on the prefix
    shows_attention = False  # source and prefix are read together

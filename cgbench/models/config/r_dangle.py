"""Settings of R-Dangle."""

from dataclasses import dataclass
from typing import Literal

from cgbench.models.config.common import Norm
from cgbench.models.config.prefixes import PrefixConfig
from cgbench.settings import option


@dataclass(frozen=True)
class RDangleConfig(PrefixConfig):
    """R-Dangle (Zheng and Lapata, 2023): the source is re-encoded for every ``interval``-th target
    prefix.
    """

    architecture: str = "r_dangle"
    may_be_decoder = True
    mixed_layers: int = 2
    encoder_layers: int = option(
        8, "Number of source-only layers above the mixed ones (k2)", least=0
    )
    decoder_layers: int = 12
    positions: Literal["relative", "encoder"] = option(
        "relative",
        "Position encoding: ``relative``, or the vectors of a pre-trained ``encoder``, for the"
        " target counted from its beginning",
    )
    norm: Norm = "pre"
    interval: int = option(1, "Number of target tokens between two re-encodings (o)", least=1)
    values: Literal["separate", "shared"] = option(
        "separate",
        "Values of cross-attention: from an encoder over the source only (``separate``), or"
        " re-encoded with the keys by one encoder (``shared``)",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.pretrained_encoder:
            self._require("values", self.values == "shared", "shared with a pre-trained encoder")
            self._require(
                "norm",
                self.norm == "post",
                "post with a pre-trained encoder, whose layers are post-norm",
            )

    @property
    def takes_vectors(self) -> bool:
        """See :class:`ModelConfig`; with BART, target vectors differ between encoder and
        decoder.
        """
        return not self.pretrained_decoder

"""Settings of Dangle."""

from dataclasses import dataclass
from typing import Literal

from cgbench.models.config.prefixes import PrefixConfig
from cgbench.settings import option


@dataclass(frozen=True)
class DangleConfig(PrefixConfig):
    """Dangle (Zheng and Lapata, 2022): the source is re-encoded for every target prefix."""

    architecture: str = "dangle"
    takes_vectors = False  # each prefix has its own vectors
    form: Literal["encoder_decoder", "encoder_only"] = option(
        "encoder_decoder",
        "Parts of the model: ``encoder_decoder``, or ``encoder_only`` (no decoder; the state of the"
        " end vector predicts)",
    )
    encoder_layers: int = option(
        4,
        "Number of source-only layers above the mixed ones (k2); ``encoder_only`` has neither these"
        " nor ``decoder_layers``",
        least=0,
    )
    decoder_layers: int = option(4, "Number of decoder layers", least=0)
    positions: Literal["relative", "sinusoidal", "encoder"] = option(
        "relative",
        "Position encoding: ``relative``; ``sinusoidal``, for the target counted from the end of"
        " each prefix; or ``encoder``, the vectors of RoBERTa, also counted from the end, or of"
        " BART, counted from the beginning",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        rule = "end with model.architecture=dangle, whose prefixes begin with </s>"
        self._require("begin_target", self.begin_target == "end", rule)
        if self.form == "encoder_only":
            for name in ("encoder_layers", "decoder_layers"):
                rule = "0 with model.form=encoder_only, whose layers are model.mixed_layers"
                self._require(name, getattr(self, name) == 0, rule)
        else:
            self._require("decoder_layers", self.decoder_layers >= 1, "at least 1")

    @property
    def may_be_decoder(self) -> bool:
        """See :class:`OverEncoderConfig`."""
        return self.form == "encoder_decoder"

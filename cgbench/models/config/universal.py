"""Settings of Universal Transformers."""

from dataclasses import dataclass

from cgbench.models.config.common import TransformerConfig
from cgbench.settings import option


@dataclass(frozen=True)
class UniversalConfig(TransformerConfig):
    """Transformer with shared weights: one encoder layer is applied ``encoder_layers`` times, and
    one decoder layer.
    """

    architecture: str = "universal"
    step_signals: bool = option(
        False,
        "Whether positions and a learned vector of the step are added before every application of"
        " a layer (the ``basic`` recurrence of tensor2tensor), instead of positions once; needs"
        " ``positions`` ``timing``",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        rule = "timing with model.step_signals"
        self._require("positions", not self.step_signals or self.positions == "timing", rule)

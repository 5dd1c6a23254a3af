"""Settings of the LSTM with attention."""

from dataclasses import dataclass

from cgbench.models.config.common import ModelConfig
from cgbench.settings import option


@dataclass(frozen=True)
class LSTMAttentionConfig(ModelConfig):
    """LSTM encoder-decoder with attention, as in tensor2tensor, where CFQ's authors trained it. It
    reads the source backwards and feeds back a linear map of its state and the attended source.
    """

    architecture: str = "lstm_attention"
    takes_vectors = False
    encoder_layers: int = option(2, "Number of layers of the encoder and of the decoder")
    decoder_layers: int = option(2, "Number of decoder layers, the same as of the encoder")
    dropout: float = option(
        0.4, "Dropout probability of the inputs of all layers", least=0, below=1
    )

    def __post_init__(self) -> None:
        rule = f"model.encoder_layers ({self.encoder_layers})"
        self._require("decoder_layers", self.decoder_layers == self.encoder_layers, rule)

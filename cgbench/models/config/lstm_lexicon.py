"""Settings of LSTMs with a lexicon."""

from dataclasses import dataclass
from typing import Literal

from cgbench.models.config.common import ModelConfig
from cgbench.settings import option

LEXICONS_WITH_FILE = ("hard", "soft", "learned")


@dataclass(frozen=True)
class LSTMLexiconConfig(ModelConfig):
    """LSTM encoder-decoder with a lexicon in its output layer (Akyürek and Andreas, 2021)."""

    architecture: str = "lstm_lexicon"
    begin_source = True  # always, as in the authors' code
    takes_vectors = False
    lexicon: Literal["none", "copy", "hard", "soft", "learned", "uniform"] = option(
        "none",
        "Source of word translations: ``none``; ``copy`` (words of both vocabularies translate to"
        " themselves); from a lexicon file, ``hard`` (one word each), ``soft`` (distributions) or"
        " ``learned`` (distributions trained further with the model); or learned without a file"
        " from a ``uniform`` start",
    )
    lexicon_temperature: float = option(
        0.1,
        "Temperature of the distributions of a soft lexicon; half the ``soft_temp`` of the authors'"
        " code",
        above=0,
    )
    encoder_layers: int = option(
        2,
        "Number of layers of the encoder and of the decoder, which starts from the encoder's last"
        " states",
    )
    decoder_layers: int = option(2, "Number of decoder layers, the same as of the encoder")
    dropout: float = 0.4
    feature_dropout: float = option(
        0.0,
        "Additional dropout of the features that predict (the authors' ``highdrop``: 0.5)",
        least=0,
        below=1,
    )

    def __post_init__(self) -> None:
        rule = f"model.encoder_layers ({self.encoder_layers})"
        self._require("decoder_layers", self.decoder_layers == self.encoder_layers, rule)

    @property
    def lexicon_is_learned(self) -> bool:
        """Whether the lexicon is trained with the model."""
        return self.lexicon in ("learned", "uniform")

    @property
    def projects_states(self) -> bool:
        """See :class:`ModelConfig`."""
        return self.lexicon == "none"

"""Settings of a pre-trained encoder, or encoder and decoder, in an architecture; without torch and
transformers.
"""

from dataclasses import dataclass
from typing import Literal

from cgbench.models.config.common import TransformerConfig
from cgbench.settings import option

OFFSETS = {"roberta": 2, "bart": 2, "bert": 0}  # unused rows in their position tables
BERT_EPSILON = 1e-12  # of BERT's layer normalisation

BART = {  # our settings for its decoder
    "positions": "encoder",
    "norm": "post",
    "activation": "gelu",
    "attention_bias": True,
    "tie_output": True,
    "output_bias": False,
    "begin_target": "end",
}


@dataclass(frozen=True)
class OverEncoderConfig(TransformerConfig):
    """A Transformer whose encoder may be RoBERTa or BERT, or that may be BART; their
    ``config.json`` sets their sizes.
    """

    encoder: Literal["own", "roberta", "bert", "bart"] = option(
        "own",
        "Encoder: the architecture's ``own`` layers; ``roberta`` or ``bert`` from ``--init"
        " hf:...``, with its tokeniser for the source; or ``bart``, with its decoder, and its"
        " tokeniser for both sides",
    )
    encoder_width: int = option(768, "Width of the pre-trained encoder", least=1)
    encoder_feedforward_width: int = option(
        3072, "Width of the hidden layer of its feed-forward sublayers", least=1
    )
    encoder_attention_heads: int = option(12, "Number of its attention heads", least=1)
    encoder_positions: int = option(
        514,
        "Number of its positions, two more than the tokens of its longest sentence",
        least=1,
    )
    encoder_dropout: float = option(
        0.1,
        "Dropout probability of its embeddings, sublayers and attention weights",
        least=0,
        below=1,
    )
    encoder_marks: bool = option(
        False, "Whether it reads <s> before and </s> after a source, as in its own training"
    )
    tie_output: bool = option(
        True, "Whether the output layer shares its weights with the target embeddings"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.pretrained_encoder:
            self._require(
                "encoder_positions",
                self.encoder_positions > self.position_offset,
                f"more than {self.position_offset} with model.encoder={self.encoder}",
            )
            self._divides("encoder_attention_heads", "encoder_width")
            self._require(
                "begin_source",
                not self.begin_source,
                "false with a pre-trained encoder (encoder_marks)",
            )
        if self.pretrained_decoder:
            self._require(
                "encoder",
                self.may_be_decoder,
                f"own or roberta with model.architecture={self.architecture}",
            )
            for name, value in BART.items():
                self._require(
                    name, getattr(self, name) == value, f"{value} with model.encoder=bart"
                )
            rule = (
                f"model.encoder_width ({self.encoder_width}): both sides share the word embeddings"
            )
            self._require("width", self.width == self.encoder_width, rule)

    @property
    def pretrained_encoder(self) -> bool:
        """Whether the encoder is pre-trained."""
        return self.encoder != "own"

    @property
    def pretrained_decoder(self) -> bool:
        """Whether the decoder and the target embeddings are also pre-trained."""
        return self.encoder == "bart"

    @property
    def may_be_decoder(self) -> bool:
        """Whether the architecture has an ordinary decoder, which may be pre-trained."""
        return False

    @property
    def may_read_places(self) -> bool:
        """See :class:`TransformerConfig`."""
        return self.pretrained_decoder

    @property
    def position_offset(self) -> int:
        """Number of unused rows in the pre-trained encoder's table of positions."""
        return OFFSETS.get(self.encoder, 0)

    @property
    def source_width(self) -> int:
        """Width of the encoder's states."""
        return self.encoder_width if self.pretrained_encoder else self.width

    @property
    def longest_source(self) -> int | None:
        """Maximum source tokens, with </s>, by the positions; None: no limit."""
        if not self.pretrained_encoder:
            return None
        return (
            self.encoder_positions - self.position_offset + (-1 if self.encoder_marks else 1)
        )  # both <s> and </s>, or neither

    @property
    def longest_target(self) -> int | None:
        """As :attr:`longest_source`, of the target."""
        return (
            self.encoder_positions - self.position_offset
            if self.pretrained_encoder and self.positions == "encoder"
            else None
        )

    def encoder_as_layers(self) -> TransformerConfig:
        """The pre-trained encoder's layers in our settings."""
        return TransformerConfig(
            width=self.encoder_width,
            feedforward_width=self.encoder_feedforward_width,
            attention_heads=self.encoder_attention_heads,
            dropout=self.encoder_dropout,
            attention_dropout=self.encoder_dropout,
            activation="gelu",
        )

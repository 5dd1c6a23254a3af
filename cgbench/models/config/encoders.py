"""A pre-trained encoder in the place of an architecture's own: what of it is a setting; no torch, no transformers."""

from __future__ import annotations

from dataclasses import dataclass

from cgbench.models.config.common import TransformerConfig
from cgbench.settings import setting

ENCODERS = ("own", "roberta")
OFFSET = 2  # rows of RoBERTa's table of positions that no token has


@dataclass(frozen=True)
class OverEncoderConfig(TransformerConfig):
    """A Transformer whose encoder may be RoBERTa; what describes it is taken from its ``config.json``."""

    encoder: str = setting(
        "own",
        "what encodes: the architecture's ``own`` layers, or ``roberta`` (RoBERTa) from ``--init hf:...``, whose "
        "tokeniser then reads the source.",
        later=True,
    )
    encoder_width: int = setting(768, "width of the pre-trained encoder.", later=True)
    encoder_feedforward_width: int = setting(
        3072, "width of the hidden layer of its feed-forward sublayers.", later=True
    )
    encoder_attention_heads: int = setting(12, "heads of its attention.", later=True)
    encoder_positions: int = setting(
        514, "rows of its table of positions, two more than its longest sentence has tokens.", later=True
    )
    encoder_dropout: float = setting(
        0.1,
        "probability to drop an element of its embeddings and sublayers, or a weight of attention.",
        later=True,
    )
    encoder_marks: bool = setting(
        False,
        "whether the pre-trained encoder reads <s> before and </s> after a source, as in its own training.",
        later=True,
    )
    tie_output: bool = setting(
        True, "whether the output layer's weights are the target's embeddings, or its own.", later=True
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self._choose("encoder", *ENCODERS)
        self._at_least_one("encoder_width", "encoder_feedforward_width", "encoder_attention_heads")
        self._probability("encoder_dropout")
        self._require("encoder_positions", self.encoder_positions > OFFSET, f"above {OFFSET}")
        if self.pretrained_encoder:
            heads = self.encoder_attention_heads
            rule = f"a divisor of model.encoder_width ({self.encoder_width})"
            self._require("encoder_attention_heads", self.encoder_width % heads == 0, rule)
            self._require("begin_source", not self.begin_source, "false with a pre-trained encoder (encoder_marks)")

    @property
    def pretrained_encoder(self) -> bool:
        """Whether the encoder comes from elsewhere."""
        return self.encoder != "own"

    @property
    def source_width(self) -> int:
        """Width of the encoder's states."""
        return self.encoder_width if self.pretrained_encoder else self.width

    def layers_of_encoder(self) -> int:
        """How many layers the pre-trained encoder has."""
        return self.encoder_layers

    def encoder_as_layers(self) -> TransformerConfig:
        """The pre-trained encoder's layers as a configuration of ours."""
        return TransformerConfig(
            width=self.encoder_width,
            feedforward_width=self.encoder_feedforward_width,
            attention_heads=self.encoder_attention_heads,
            dropout=self.encoder_dropout,
            attention_dropout=self.encoder_dropout,
            activation="gelu",
        )

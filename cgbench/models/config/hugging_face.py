"""Settings of fine-tuned models of transformers."""

from dataclasses import dataclass
from typing import Literal

from cgbench.models.config.common import ModelConfig
from cgbench.settings import option


@dataclass(frozen=True)
class HuggingFaceConfig(ModelConfig):
    """A fine-tuned encoder-decoder from transformers (T5, BART, Marian, NLLB ...).

    Its ``config.json`` sets layers and width, whatever is set here.
    """

    architecture: str = "hugging_face"
    has_encoder_states = False
    shows_attention = False  # the words of a text have no place in its tokens
    takes_vectors = False
    projects_states = False
    dropout: float = option(
        0.1, "Dropout probability, if the model's own configuration has a single one"
    )
    freeze: Literal["none", "embeddings", "encoder"] = option(
        "none",
        "Frozen part: ``none``, the word ``embeddings`` (with an output layer tied to them), or the"
        " ``encoder`` with its embeddings",
    )

    adapter_rank: int = option(
        0,
        "Rank of the low-rank matrices added to all linear maps but the last (LoRA, Hu et al.,"
        " 2022), with scale 2; only they are trained and saved. 0: train the model itself",
        least=0,
    )

    def __post_init__(self) -> None:
        rule = "none with model.adapter_rank, which freezes the whole model"
        self._require("freeze", not self.adapter_rank or self.freeze == "none", rule)

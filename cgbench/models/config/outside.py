"""Whole models from outside, to be trained further: what of them is a setting; no torch, no transformers.

They are no architectures of ours: what they are made of stands in their own ``config.json``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cgbench.models.config.architectures import Architecture
from cgbench.models.config.common import ModelConfig
from cgbench.settings import setting


@dataclass(frozen=True)
class HuggingFaceConfig(ModelConfig):
    """A whole encoder-decoder of transformers (T5, BART, Marian, NLLB ...), trained further from its weights.

    Layers and width are the model's own: they are taken from its ``config.json``, whatever is set here.
    """

    architecture: str = "hugging_face"
    dropout: float = setting(0.1, "Dropout probability, if the model's own configuration has a single one")
    freeze: Literal["none", "embeddings", "encoder"] = setting(
        "none",
        "Frozen part: ``none``, the word ``embeddings`` (with an output layer tied to them), or the ``encoder`` with "
        "its embeddings",
    )  # fmt: skip

    adapter_rank: int = setting(
        0,
        "Rank of the low-rank matrices added to all linear maps but the last (LoRA, Hu et al., 2022), with scale 2; "
        "only they are trained and saved. 0: train the model itself", least=0,
    )  # fmt: skip

    def __post_init__(self) -> None:
        rule = "none with model.adapter_rank, which trains nothing of the model itself"
        self._require("freeze", not self.adapter_rank or self.freeze == "none", rule)

    @property
    def has_encoder_states(self) -> bool:
        """See :class:`ModelConfig`: they stay inside the model."""
        return False

    @property
    def takes_vectors(self) -> bool:
        """See :class:`ModelConfig`."""
        return False

    @property
    def projects_states(self) -> bool:
        """See :class:`ModelConfig`."""
        return False


OUTSIDE = {
    "hugging_face": Architecture(
        HuggingFaceConfig,
        "",
        "",
        "a whole pre-trained model, from --init hf:...",
        "Wolf et al. 2020",
    )
}

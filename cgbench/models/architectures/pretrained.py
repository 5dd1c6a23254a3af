"""RoBERTa (Liu et al., 2019) in layers of ours: its block of embeddings, and where its parameters go.

Its layers are post-norm encoder layers with GELU, so that whatever is built of encoder layers (mixtures of their
sublayers, layers over a source and a prefix, fuse-attention) can be built of them, without padding.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from cgbench.models.config.encoders import OFFSET, OverEncoderConfig
from cgbench.models.parts.dropout import Dropout
from cgbench.models.special_ids import PAD


class PretrainedEmbedding(nn.Module):
    """Words, positions and the one token type, added, normalised, with dropout."""

    def __init__(self, config: OverEncoderConfig, size: int) -> None:
        super().__init__()
        width = config.encoder_width
        self.words = nn.Embedding(size, width, padding_idx=PAD)
        self.positions = nn.Embedding(config.encoder_positions, width)
        self.token_type = nn.Parameter(torch.zeros(width))
        self.norm = nn.LayerNorm(width)
        self.dropout = Dropout(config.encoder_dropout)

    def forward(self, ids: Tensor, positions: Tensor) -> Tensor:
        """Vectors [N, width] of ids [N] at positions from 0, [N]."""
        x: Tensor = self.norm(self.words(ids) + self.at(positions) + self.token_type)
        return self.dropout(x)

    def at(self, positions: Tensor) -> Tensor:
        """The vectors of positions from 0."""
        x: Tensor = self.positions(positions + OFFSET)
        return x


_NAMES = (
    ("attention.project_out", "attention.output.dense"),
    ("attention_norm", "attention.output.LayerNorm"),
    ("feed_forward.expand", "intermediate.dense"),
    ("feed_forward.contract", "output.dense"),
    ("feed_forward_norm", "output.LayerNorm"),
)


def load_encoder(model: Any, theirs: Mapping[str, Tensor], mask: int | None) -> None:
    """Give a model of ours, in place, the parameters of a RoBERTa.

    :param theirs: as transformers' ``RobertaModel`` names them; ``mask``: id of its mask token, which stands where
        Dangle has its end vector.
    """
    with torch.no_grad():
        for ours, parts in named_parts(model):
            tensors = [theirs[part] for part in parts]
            ours.copy_(torch.cat(tensors) if len(tensors) > 1 else tensors[0].view_as(ours))
        if mask is not None and hasattr(model, "end"):
            model.end.copy_(theirs["embeddings.word_embeddings.weight"][mask])


def named_parts(model: Any) -> Iterator[tuple[Tensor, list[str]]]:
    """Every parameter of a model of ours that is RoBERTa's, and what it is made of there."""
    block = model.source_embedding
    yield block.words.weight, ["embeddings.word_embeddings.weight"]
    yield block.positions.weight, ["embeddings.position_embeddings.weight"]
    yield block.token_type, ["embeddings.token_type_embeddings.weight"]
    for kind in ("weight", "bias"):
        yield getattr(block.norm, kind), [f"embeddings.LayerNorm.{kind}"]
    layers = [*getattr(model, "mixed", ()), *model.encoder]
    for number, layer in enumerate(layers):
        for kind in ("weight", "bias"):
            fused = [f"encoder.layer.{number}.attention.self.{part}.{kind}" for part in ("query", "key", "value")]
            yield getattr(layer.attention.project_in, kind), fused
            for ours, name in _NAMES:
                yield layer.get_submodule(ours).get_parameter(kind), [f"encoder.layer.{number}.{name}.{kind}"]

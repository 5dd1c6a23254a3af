"""RoBERTa (Liu et al., 2019) or BERT (Devlin et al., 2019) as the encoder of a Transformer, or BART
(Lewis et al., 2020) as encoder and decoder.

Their layers are our post-norm layers with GELU. So anything built from encoder layers (mixtures of
sublayers, layers over a source and a prefix, fuse-attention) also works with them, without padding.
Such architectures extend :class:`PretrainedTransformer`; with ``model.encoder=own`` it is the
Transformer.
"""

from typing import Any, cast

import torch
from torch import Tensor, nn

from cgbench.models.architectures.transformer import Transformer
from cgbench.models.config.common import TransformerConfig
from cgbench.models.config.encoders import BERT_EPSILON, OverEncoderConfig
from cgbench.models.parts.dropout import Dropout
from cgbench.models.parts.layers import EncoderLayer
from cgbench.models.parts.linear import Linear
from cgbench.models.parts.ragged import Ragged
from cgbench.models.special_ids import BOS, PAD


class PretrainedTransformer(Transformer):
    """A Transformer whose encoder may be RoBERTa's or BERT's, or that may be BART."""

    config: OverEncoderConfig

    def __init__(self, config: OverEncoderConfig, source_size: int, target_size: int) -> None:
        # Needed in super().__init__.
        self.pretrained = config.encoder_as_layers() if config.pretrained_encoder else None
        self.decodes_pretrained = config.pretrained_decoder
        super().__init__(config, source_size, target_size)
        if self.pretrained is not None:
            self.encoder_norm = (
                nn.Identity()
            )  # that of a pre-trained encoder belongs to its last layer
        if config.encoder == "bert":
            for part in (self.source_embedding, self.encoder):
                for module in part.modules():
                    if isinstance(module, nn.LayerNorm):
                        module.eps = BERT_EPSILON
        self.longest_source, self.longest_target = config.longest_source, config.longest_target
        self.output = None if config.tie_output else Linear(config.width, target_size, bias=False)
        if self.output is not None:
            nn.init.normal_(self.output.weight, std=config.width**-0.5)

    def build_embeddings(self, source_size: int, target_size: int) -> tuple[Any, Any]:
        """See :class:`Transformer`."""
        if self.pretrained is None:
            return super().build_embeddings(source_size, target_size)
        config = self.config
        source = PretrainedEmbedding(config, source_size, config.encoder_dropout)
        if self.decodes_pretrained:
            return source, PretrainedEmbedding(config, target_size, config.dropout, source.words)
        return source, self.build_embedding(target_size)

    def build_encoder_layer(self, layer: int) -> nn.Module:
        """See :class:`Transformer`."""
        return EncoderLayer(self.pretrained or self.config)

    def read_source(self, source: Ragged) -> Ragged:
        """See :class:`Transformer`."""
        if self.pretrained is None:
            return super().read_source(source)
        return source.preceded(BOS) if self.config.encoder_marks else source.without_ends()

    def embed(self, embedding: Any, ids: Tensor, positions: Tensor) -> Tensor:
        """See :class:`Transformer`."""
        if isinstance(embedding, PretrainedEmbedding):
            return cast("Tensor", embedding(ids, positions))
        return super().embed(embedding, ids, positions)

    def project(self, states: Tensor) -> Tensor:
        """See :class:`Transformer`."""
        if self.output is None:
            return super().project(states)
        logits: Tensor = self.output(states)
        return logits if self.output_bias is None else logits + self.output_bias


def build_transformer(config: TransformerConfig, source_size: int, target_size: int) -> Transformer:
    """Build a Transformer, with pre-trained parts according to the configuration."""
    if isinstance(config, OverEncoderConfig) and (
        config.pretrained_encoder or not config.tie_output
    ):
        return PretrainedTransformer(config, source_size, target_size)
    return Transformer(config, source_size, target_size)


class PretrainedEmbedding(nn.Module):
    """The sum of word, position and (RoBERTa) token type embeddings, with norm and dropout.

    :param words: word embeddings shared with another instance (BART shares them between both
        sides).
    """

    def __init__(
        self, config: OverEncoderConfig, ids: int, dropout: float, words: Any = None
    ) -> None:
        super().__init__()
        width = config.encoder_width
        # In a tuple, the module is not a submodule, so that a checkpoint has it only once.
        self._shared = (words,)
        if words is None:
            self.words = nn.Embedding(ids, width, padding_idx=PAD)
        self.positions = nn.Embedding(config.encoder_positions, width)
        self.offset = config.position_offset
        self.token_type = None if config.pretrained_decoder else nn.Parameter(torch.zeros(width))
        self.norm = nn.LayerNorm(width)
        self.dropout = Dropout(dropout)

    @property
    def weight(self) -> Tensor:
        """The word embeddings, [ids, width]."""
        return (self._shared[0] or self.words).weight

    def forward(self, ids: Tensor, positions: Tensor) -> Tensor:
        """Vectors [N, width] of ids [N] at positions from 0, [N]."""
        x = nn.functional.embedding(ids, self.weight, PAD) + self.at(positions)
        x = self.norm(x if self.token_type is None else x + self.token_type)
        return self.dropout(x)

    def at(self, positions: Tensor) -> Tensor:
        """The vectors of positions from 0."""
        return self.positions(positions + self.offset)

"""Proto-Transformer (Yin et al., 2022): source words attend to prototypes of their own word.

After some epochs of training, the states of each source word over the training data are clustered
(:mod:`cgbench.models.training.prototypes`). From then on, each encoder layer attends from a token
to the K centroids of its word, between self-attention and feed-forward: x2 = LN(x1 + MHA(x1, C_w)).
Centroids are constants; words without centroids skip this sublayer. The decoder is the
Transformer's.

The layer follows the authors' code; the text of the paper was not available.
"""

from typing import Any

import torch
from torch import Tensor, nn

from cgbench.models.architectures.lrf import FuseAttention
from cgbench.models.architectures.transformer import Encoded, Transformer
from cgbench.models.config.proto_transformer import ProtoTransformerConfig
from cgbench.models.parts.dropout import Dropout
from cgbench.models.parts.layers import Layer
from cgbench.models.parts.ragged import Ragged


class PrototypeAttention(nn.Module):
    """The sublayer of one encoder layer, which attends from tokens to the prototypes of their
    words.
    """

    def __init__(self, config: ProtoTransformerConfig) -> None:
        super().__init__()
        self.attention = FuseAttention(config)
        self.norm = nn.LayerNorm(config.width)

    def forward(self, layer: Layer, x: Tensor, prototypes: Tensor, clustered: Tensor) -> Tensor:
        """Map the tokens [N, width] of ``layer`` to the same shape.

        :param prototypes: of each token's word, [N, K, width]; ``clustered``: whether there are
            any, [N, 1].
        """
        change = self.attention(layer.before(self.norm, x), prototypes)
        return torch.where(clustered, layer.after(self.norm, x, change), x)


class ProtoTransformer(Transformer):
    """A Transformer whose encoder reads prototypes, once there are any.

    ``prototypes`` [source vocabulary, K, width] has the centroids; ``clustered`` [source
    vocabulary] marks the words with centroids. Both are buffers, stored with the parameters.
    """

    config: ProtoTransformerConfig
    prototypes: Tensor
    clustered: Tensor

    def __init__(self, config: ProtoTransformerConfig, source_size: int, target_size: int) -> None:
        super().__init__(config, source_size, target_size)
        self.prototype_attention = nn.ModuleList(
            PrototypeAttention(config) for _ in range(config.encoder_layers)
        )
        self.prototype_dropout = Dropout(config.dropout)
        self.register_buffer(
            "prototypes", torch.zeros(source_size, config.prototypes, config.width)
        )
        self.register_buffer("clustered", torch.zeros(source_size, dtype=torch.bool))
        # Stored on the host, so that no pass waits for the GPU.
        self.has_prototypes = False
        self.register_load_state_dict_post_hook(_look_for_prototypes)

    def encode(self, source: Ragged) -> Encoded:
        """See :class:`Transformer`."""
        if not self.has_prototypes:
            return super().encode(source)
        x, layout = self.embed_source(source)
        ids, layers = self.read_source(source).ids, self.encoder_stack()
        # One dropout mask for all layers, as in the authors' code.
        prototypes = self.prototype_dropout(self.prototypes[ids])
        clustered = self.clustered[ids][:, None]

        def attend(index: int, x: Tensor) -> Tensor:
            x = layers[index].attend(x, layout)
            return self.prototype_attention[index](layers[index], x, prototypes, clustered)

        return Encoded(self.encoder_norm(self.through("encoder", x, attend)), layout)

    def word_states(self, source: Ragged) -> tuple[Tensor, Tensor]:
        """Return the ids of all source tokens [M], and their states for clustering, [M, width]."""
        x, layout = self.embed_source(source)
        for layer in self.encoder_stack()[: self.config.prototype_layer]:
            x = layer(x, layout)
        return self.read_source(source).ids, x

    def set_prototypes(self, words: Tensor, centroids: Tensor) -> None:
        """Set the centroids.

        :param words: ids of source words, [words]; ``centroids``: [words, K, width].
        """
        self.prototypes.zero_()[words] = centroids
        self.clustered.zero_()[words] = True
        self.has_prototypes = True


def _look_for_prototypes(model: Any, _: Any) -> None:
    model.has_prototypes = bool(model.clustered.any())

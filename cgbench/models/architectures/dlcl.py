"""DLCL: each layer reads a learned linear combination of the embedding and all lower layers (Wang
et al., 2019).

y_0 is the embedding and y_k the output of layer k. Layer l+1 reads LN_l(sum over k <= l of w_{l,k}
y_k) with post-norm, and the sum over k <= l of w_{l,k} LN_k(y_k) with pre-norm; LN_0 is the
identity. The output of the stack is one more combination, of all layers. Encoder and decoder have
separate weights.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from cgbench.models.architectures.transformer import Transformer
from cgbench.models.config.dlcl import DLCLConfig


class LayerCombinations(nn.Module):
    """The inputs of the layers of a stack: one row of weights for each, and one for the stack's
    output.

    ``weights`` is square, as in the authors' code; entries above its diagonal are never read.
    """

    def __init__(self, layers: int, config: DLCLConfig) -> None:
        super().__init__()
        self.pre = config.norm == "pre"
        rows = torch.ones(layers + 1, layers + 1).tril()
        self.weights = nn.Parameter(rows / rows.sum(1, keepdim=True))
        self.norms = nn.ModuleList(nn.LayerNorm(config.width) for _ in range(layers))

    def forward(self, below: list[Tensor]) -> Tensor:
        """Combine the embedding and the outputs of the lower layers, each [N, width]."""
        count = len(below) - 1
        if self.pre:
            below = [below[0], *(norm(y) for norm, y in zip(self.norms, below[1:], strict=False))]
        total = self.weights[count, 0] * below[0]
        for weight, y in zip(self.weights[count, 1 : count + 1], below[1:], strict=True):
            total = total + weight * y
        return total if self.pre or count == 0 else self.norms[count - 1](total)


class DLCL(Transformer):
    """A Transformer whose layers read combinations of all lower layers."""

    def __init__(self, config: DLCLConfig, source_size: int, target_size: int) -> None:
        super().__init__(config, source_size, target_size)
        layers = {"encoder": config.encoder_layers, "decoder": config.decoder_layers}
        self.combinations = nn.ModuleDict(
            {side: LayerCombinations(count, config) for side, count in layers.items()}
        )

    def through(self, side: str, x: Tensor, attend: Callable[[int, Tensor], Tensor]) -> Tensor:
        """See :class:`Transformer`."""
        combine, below = self.combinations[side], [x]
        for index, layer in enumerate(self.stack(side)):
            below.append(layer.feed(attend(index, combine(below))))
        return combine(below)

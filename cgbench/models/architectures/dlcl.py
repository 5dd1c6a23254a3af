"""DLCL: each layer reads a learned linear combination of the embedding and all layers below (Wang et al., 2019).

y_0 is the embedding and y_k the output of layer k. What layer l+1 reads is, with norms after the sublayers,
LN_l(sum over k <= l of w_{l,k} y_k), and with norms before them the sum over k <= l of w_{l,k} LN_k(y_k); LN_0 is the
identity. One more combination, of all layers, is what the stack gives. Encoder and decoder each have their own.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from cgbench.models.architectures.transformer import Transformer
from cgbench.models.config.architectures import DLCLConfig


class LayerCombinations(nn.Module):
    """What the layers of one stack read: a row of weights for each, and one for the stack's output.

    ``weights`` is square, as in the authors' code; what stands above its diagonal is never read.
    """

    def __init__(self, layers: int, config: DLCLConfig) -> None:
        super().__init__()
        self.pre = config.norm == "pre"
        rows = torch.ones(layers + 1, layers + 1).tril()
        self.weights = nn.Parameter(rows / rows.sum(1, keepdim=True))
        self.norms = nn.ModuleList(nn.LayerNorm(config.width) for _ in range(layers))

    def forward(self, below: list[Tensor]) -> Tensor:
        """Combine the embedding and the outputs of the layers so far, each [N, width]."""
        number = len(below) - 1
        if self.pre:
            below = [below[0], *(norm(y) for norm, y in zip(self.norms, below[1:], strict=False))]
        total = self.weights[number, 0] * below[0]
        for weight, y in zip(self.weights[number, 1 : number + 1], below[1:], strict=True):
            total = total + weight * y
        return total if self.pre or number == 0 else self.norms[number - 1](total)


class DLCL(Transformer):
    """A Transformer whose layers read combinations of all layers below."""

    def __init__(self, config: DLCLConfig, source_size: int, target_size: int) -> None:
        super().__init__(config, source_size, target_size)
        self.combinations = nn.ModuleDict(
            {
                "encoder": LayerCombinations(config.encoder_layers, config),
                "decoder": LayerCombinations(config.decoder_layers, config),
            }
        )

    def through(self, side: str, x: Tensor, attend: Callable[[int, Tensor], Tensor]) -> Tensor:
        """See :class:`Transformer`."""
        combine, below = self.combinations[side], [x]
        for number, layer in enumerate(self.stack(side)):
            below.append(layer.feed(attend(number, combine(below))))
        y: Tensor = combine(below)
        return y

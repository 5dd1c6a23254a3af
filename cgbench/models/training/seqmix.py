"""SeqMix (Guo et al., 2020): train on mixtures of the vectors and targets of two sentences.

As in the authors' code for translation, every sentence gets a random partner from its batch and a
share λ from Beta(α, α), at least one half. Embedded words, with positions and dropout, are mixed λ
: 1-λ. Sources are aligned at their ends (they are padded on the left there), targets at their
starts; a sentence keeps its length. The loss is λ times that of its own target plus 1-λ times that
of the partner's, where the partner has a token.
"""

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cgbench.models.config.methods import SeqMixConfig
from cgbench.models.parts.ragged import Layout, Ragged
from cgbench.models.training.objective import Objective


class SeqMix(Objective):
    """The loss of mixed sentences."""

    def __init__(
        self,
        model: nn.Module,
        smoothing: float,
        in_bfloat16: bool,
        method: SeqMixConfig,
        target_size: int,
    ) -> None:
        super().__init__(model, smoothing, in_bfloat16)
        self.alpha = method.alpha

    def forward(self, source: Ragged, target: Ragged) -> tuple[Tensor, Tensor]:
        """See :class:`Objective`; the second sum is over the same mixtures, without smoothing."""
        rows = len(target.layout)
        partner = torch.randperm(rows).numpy()
        # float64, because the two gamma variables of a share often underflow in float32.
        concentration = torch.tensor(self.alpha, dtype=torch.float64)
        weight = torch.distributions.Beta(concentration, concentration).sample((rows,))
        weight = torch.maximum(weight, 1 - weight).float().to(target.ids.device)
        with self.autocast(source.ids.device):
            x, layout = self.model.embed_source(source)
            encoded = self.model.encode_embedded(
                mix_vectors(x, layout, partner, weight, at_end=True), layout
            )
            y = mix_vectors(
                self.model.embed_target(target.shifted()), target.layout, partner, weight
            )
            logits = self.model.project(self.model.decode_embedded(encoded, y, target.layout))
        partner_token, real = partner_tokens(target.layout, partner)
        weights = weight[target.layout.sequence]
        return mixed_nll_loss(
            logits,
            (target.ids, target.ids[partner_token]),
            (weights, (1 - weights) * real),
            self.smoothing,
        )


def mix_vectors(
    x: Tensor, layout: Layout, partner: np.ndarray, weight: Tensor, at_end: bool = False
) -> Tensor:
    """Mix each sequence with its partner, which gets the rest of the weight.

    :param x: [N, width]; ``partner`` and ``weight``: of each sequence, [S].
    :param at_end: align sequences at their ends instead of their starts.
    """
    partner_token, real = partner_tokens(layout, partner, at_end)
    weights = weight[layout.sequence]
    return (x * weights[:, None] + x[partner_token] * ((1 - weights) * real)[:, None]).to(x.dtype)


def partner_tokens(
    layout: Layout, partner: np.ndarray, at_end: bool = False
) -> tuple[Tensor, Tensor]:
    """Return the partner's token aligned with each token, [N], and whether there is one, 1 or 0,
    [N].
    """
    shift = (
        (layout.lengths[partner] - layout.lengths) if at_end else np.zeros(len(layout), np.int64)
    )
    position = np.arange(layout.tokens) - np.repeat(layout.starts - shift, layout.lengths)
    real = (position >= 0) & (position < np.repeat(layout.lengths[partner], layout.lengths))
    index = np.where(real, np.repeat(layout.starts[partner], layout.lengths) + position, 0)
    device = layout.device
    return torch.from_numpy(index).to(device), torch.from_numpy(real.astype(np.float32)).to(device)


def mixed_nll_loss(
    logits: Tensor, targets: tuple[Tensor, Tensor], weights: tuple[Tensor, Tensor], smoothing: float
) -> tuple[Tensor, Tensor]:
    """Return the weighted sum of two targets' label-smoothed losses, and of their nll losses
    without gradient.

    :param logits: [N, vocabulary]; ``targets``: ids, twice [N]; ``weights``: twice [N].
    """
    log_p = F.log_softmax(logits.float(), -1)
    nll_loss = -sum(
        (weight * log_p.gather(1, target[:, None]).squeeze(1)).sum()
        for target, weight in zip(targets, weights, strict=True)
    )
    smooth_loss = -((weights[0] + weights[1]) * log_p.mean(1)).sum()
    return (1 - smoothing) * nll_loss + smoothing * smooth_loss, torch.as_tensor(nll_loss).detach()

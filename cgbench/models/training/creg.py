"""CReg (Yin et al., 2023): regularise the consistency of representations and of predictions.

Every batch is processed twice in one pass, with two dropout masks. A contrastive loss pulls the
states of equal tokens together; a distance pulls the predictions of the two views together. This
follows the authors' code, which differs from their paper.
"""

import math
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cgbench.models.config.methods import CRegConfig
from cgbench.models.parts.ragged import Layout, Ragged
from cgbench.models.special_ids import BOS, SPECIALS
from cgbench.models.training.loss import label_smoothed_nll_loss
from cgbench.models.training.objective import Objective


class CReg(Objective):
    """Cross entropy of both views (the code's augnum4ce=1) + alpha·contrast of states +
    beta·distance of predictions.

    The contrast is a mean, multiplied by the number of target tokens; the distance is a sum over
    them.
    """

    def __init__(
        self, model: Any, smoothing: float, in_bfloat16: bool, method: CRegConfig, target_size: int
    ) -> None:
        super().__init__(model, smoothing, in_bfloat16)
        self.method = method
        width = model.config.source_width if method.states == "encoder" else model.config.width
        self.project = nn.Sequential(
            nn.Linear(width, width), nn.ReLU(), nn.Linear(width, method.projection_width)
        )

    def forward(self, source: Ragged, target: Ragged) -> tuple[Tensor, Tensor]:
        """See :class:`Objective`; the second sum is the mean of the two views."""
        method, tokens = self.method, target.layout.tokens
        source, target = twice(source), twice(target)
        with self.autocast(source.ids.device):
            encoded = self.model.encode(source)
            states = self.model.decode(encoded, target.shifted())
            logits = self.model.project(states)
        loss, nll_loss = label_smoothed_nll_loss(logits, target.ids, self.smoothing)
        if method.beta:
            loss = loss + method.beta * distance(logits[:tokens], logits[tokens:])
        ramp = min(1.0, self.update / method.ramp_updates) if method.ramp_updates else 1.0
        if (
            alpha := method.alpha
            * ramp
            * (method.temperature if method.scale_by_temperature else 1.0)
        ):
            if method.states == "encoder":
                read = getattr(self.model, "read_source", None)
                begun = read is None and self.model.config.begin_source
                labels = (read(source) if read else source.preceded(BOS) if begun else source).ids
                states = encoded.states
            else:
                labels = target.ids
            loss = loss + alpha * tokens * self.contrast(states, labels)
        return loss, nll_loss / 2

    def contrast(self, states: Tensor, labels: Tensor) -> Tensor:
        """Return the contrastive loss of states [2N, width], second view last, with labels [2N]."""
        # One index for both: a GPU makes the host wait for the number of tokens.
        compared = (labels >= len(SPECIALS)).nonzero()[:, 0]
        z = F.normalize(self.project(states.float()[compared]), dim=-1)
        return contrastive_loss(z, labels[compared], self.method.temperature)


def twice(batch: Ragged) -> Ragged:
    """Return a batch concatenated with itself."""
    layout = Layout(
        np.concatenate((batch.layout.lengths, batch.layout.lengths)), batch.layout.device
    )
    return Ragged(torch.cat((batch.ids, batch.ids)), layout)


def contrastive_loss(z: Tensor, labels: Tensor, temperature: float) -> Tensor:
    """Return the mean over the first view's vectors z, and their positives p (equal labels), of
    -log(e^(z·z_p/τ) / Σ_k e^(z·z_k/τ)), k over all vectors except z.

    :param z: unit vectors, [2N, width], second view last; ``labels``: [2N], the same in both views.
    """
    rows = len(z) // 2
    if not rows:
        return z.sum()  # 0, connected to the graph
    logits = (z[:rows] @ z.T) / temperature
    logits = logits.masked_fill(
        torch.eye(rows, len(z), dtype=torch.bool, device=z.device), -math.inf
    )
    # The other view of the anchor is always a positive.
    positive = labels[:rows, None] == labels
    positive.fill_diagonal_(False)
    log_p = F.log_softmax(logits, -1).masked_fill(~positive, 0).sum(1)
    return -(log_p / positive.sum(1)).mean()


def distance(first: Tensor, second: Tensor) -> Tensor:
    """Return the sum of (KL(p‖q) + KL(q‖p)) / 2 over two predictions' logits [N, vocabulary] of the
    same tokens.
    """
    log_p, log_q = F.log_softmax(first.float(), -1), F.log_softmax(second.float(), -1)
    p, q = log_p.exp(), log_q.exp()
    return ((p - q) * (log_p - log_q)).sum() / 2

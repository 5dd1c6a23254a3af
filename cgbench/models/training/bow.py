"""Bow: pre-train the encoder to predict the target's words without their order (after Raunak et
al., 2019).

:class:`~cgbench.models.config.methods.BowConfig` lists the details that are our choice.
"""

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from cgbench.models.config.methods import BowConfig
from cgbench.models.parts.linear import Linear
from cgbench.models.parts.ragged import Ragged
from cgbench.models.special_ids import EOS
from cgbench.models.training.objective import Objective


class BagOfWords(Objective):
    """Loss per sentence: the mean over target tokens of -log p(token | mean encoder state)."""

    def __init__(
        self, model: Any, smoothing: float, in_bfloat16: bool, method: BowConfig, target_size: int
    ) -> None:
        super().__init__(model, smoothing, in_bfloat16)
        self.epochs = method.epochs
        self.head = Linear(model.config.source_width, target_size)

    def forward(self, source: Ragged, target: Ragged) -> tuple[Tensor, Tensor]:
        """See :class:`Objective`; both sums are over sentences. The end token does not count."""
        with self.autocast(source.ids.device):
            encoded = self.model.encode(source)
            layout = encoded.layout
            lengths = torch.from_numpy(layout.lengths).to(layout.device)
            total = encoded.states.new_zeros(
                len(layout), encoded.states.shape[1], dtype=torch.float32
            )
            total = total.index_add(0, layout.sequence, encoded.states.float())
            logits = self.head(total / lengths[:, None])
        log_p = F.log_softmax(logits.float(), -1)
        sequence = target.layout.sequence
        words = (target.ids != EOS).float()
        count = (
            torch.zeros(len(target.layout), device=words.device)
            .index_add(0, sequence, words)
            .clamp(min=1)
        )
        loss = -(log_p[sequence, target.ids] * words / count[sequence]).sum()
        return loss, loss.detach()

    def count(self, lengths: np.ndarray) -> int:
        """Return the number of sentences."""
        return len(lengths)

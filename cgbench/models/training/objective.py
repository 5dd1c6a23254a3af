"""What training minimises: a batch in, sums of losses out. Other methods build on the cross entropy here.

An objective holds the model and whatever else a method trains beside it, which is saved with a run's state and is no
part of the model. The several processes of a run each see their own rows of a batch; terms that compare the rows of a
batch with each other compare those of one process.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from importlib import import_module
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from cgbench.models.config.common import MethodConfig, TrainingConfig
from cgbench.models.config.methods import METHODS
from cgbench.models.parts.loss import label_smoothed_nll_loss
from cgbench.models.parts.ragged import Ragged


class Objective(nn.Module):
    """Label-smoothed cross entropy under teacher forcing.

    :param model: what is trained.
    :param smoothing: mass of the target distribution that is spread evenly over the vocabulary.
    :param in_bfloat16: whether matrix products are made in bfloat16.
    """

    #: Epochs of a first stage, after which training begins anew; None for as long as ``training.max_updates``.
    epochs: int | None = None
    #: The update that is being made, from 1.
    update: int = 1

    def __init__(self, model: nn.Module, smoothing: float = 0.0, in_bfloat16: bool = False) -> None:
        super().__init__()
        self.model: Any = model
        self.smoothing, self.in_bfloat16 = smoothing, in_bfloat16

    def forward(self, source: Ragged, target: Ragged) -> tuple[Tensor, Tensor]:
        """Return the sum to minimise and the sum that is reported as perplexity, which carries no gradient."""
        with self.autocast(source):
            logits = self.model(source, target.shifted())
        return label_smoothed_nll_loss(logits, target.ids, self.smoothing)

    def count(self, lengths: np.ndarray) -> int:
        """Return what the sums of an update are reported by, from the lengths of its targets, [S]: their tokens."""
        return int(lengths.sum())

    def autocast(self, source: Ragged) -> AbstractContextManager[Any]:
        """Within, matrix products are of the type that the run uses."""
        return self.autocast_on(source.ids.device)

    def autocast_on(self, device: torch.device | str) -> AbstractContextManager[Any]:
        """The same, on a device."""
        return torch.autocast(torch.device(device).type, torch.bfloat16, enabled=self.in_bfloat16)


def build_objectives(
    model: nn.Module, training: TrainingConfig, method: MethodConfig, target_size: int, in_bfloat16: bool
) -> list[Objective]:
    """Return the objectives of a run in the order in which it minimises them; all but the last have ``epochs``.

    What a method adds to the model is initialised here, from torch's global generator.

    :param target_size: number of target tokens, specials included.
    """
    objective = Objective(model, training.label_smoothing, in_bfloat16)
    if method.name == "none":
        return [objective]
    entry = METHODS[method.name]
    kind = getattr(import_module(f"cgbench.models.training.{entry.module}"), entry.objective)
    first: Objective = kind(model, training.label_smoothing, in_bfloat16, method, target_size)
    return [first] if first.epochs is None else [first, objective]

"""Training objectives: a batch in, sums of losses out. Other methods extend the cross entropy here.

An objective holds the model and any additional parameters of a method, which are saved in a run's
state but not in the model. In distributed training, each process sees its own rows of a batch, so
terms that compare rows stay within a process.
"""

from contextlib import AbstractContextManager
from importlib import import_module
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from cgbench.models.config.common import MethodConfig, TrainingConfig
from cgbench.models.config.methods import METHODS
from cgbench.models.parts.ragged import Ragged
from cgbench.models.training.loss import label_smoothed_nll_loss


class Objective(nn.Module):
    """Label-smoothed cross entropy under teacher forcing.

    :param smoothing: share of the target distribution that is spread evenly over the vocabulary.
    :param in_bfloat16: whether to compute matrix products in bfloat16.
    """

    #: Epochs of a first stage, after which training restarts; None: until ``training.max_updates``.
    epochs: int | None = None
    #: The current update, from 1.
    update: int = 1
    #: Whether the loss of an update is divided by its sentences, not by its tokens.
    by_sentences: bool = False

    def __init__(self, model: nn.Module, smoothing: float = 0.0, in_bfloat16: bool = False) -> None:
        super().__init__()
        self.model: Any = model
        self.smoothing, self.in_bfloat16 = smoothing, in_bfloat16

    def forward(self, source: Ragged, target: Ragged) -> tuple[Tensor, Tensor]:
        """Return the sum to minimise, and the sum to report as perplexity, which has no
        gradient.
        """
        target = self.predictable(source, target)
        with self.autocast(source.ids.device):
            if hasattr(self.model, "padded_logits"):
                return self._padded_loss(source, target)
            logits = self.model(source, target.shifted())
        loss, nll_loss = label_smoothed_nll_loss(logits, target.ids, self.smoothing)
        if penalty := getattr(self.model, "source_penalty", None):
            loss = loss + penalty(source)
        return loss, nll_loss

    def _padded_loss(self, source: Ragged, target: Ragged) -> tuple[Tensor, Tensor]:
        """The mean over all positions, padding included, times the number of target tokens, since
        the training loop divides by it.
        """
        logits, ids = self.model.padded_logits(source, target)
        share = len(target.ids) / len(ids)
        loss, nll_loss = label_smoothed_nll_loss(logits, ids, self.smoothing)
        return loss * share, nll_loss * share

    def predictable(self, source: Ragged, target: Ragged) -> Ragged:
        """The targets as the model can predict them: a copying model has not all ids for each
        source.
        """
        if change := getattr(self.model, "predictable", None):
            changed: Ragged = change(source, target)
            return changed
        return target

    def count(self, lengths: np.ndarray) -> int:
        """Return the divisor of an update's sums from the lengths of its targets, [S]: their
        tokens.
        """
        return int(lengths.sum())

    def autocast(self, device: torch.device | str) -> AbstractContextManager[Any]:
        """A context for matrix products in the run's precision."""
        return torch.autocast(torch.device(device).type, torch.bfloat16, enabled=self.in_bfloat16)


def build_objectives(
    model: nn.Module,
    training: TrainingConfig,
    method: MethodConfig,
    target_size: int,
    in_bfloat16: bool,
) -> list[Objective]:
    """Return the objectives of a run's stages, in order; all but the last have ``epochs``.

    Torch's global generator initialises the additional parameters of a method.

    :param target_size: size of the target vocabulary with special tokens.
    """
    objective = Objective(model, training.label_smoothing, in_bfloat16)
    if method.name == "none":
        return [objective]
    entry = METHODS[method.name]
    objective_class = getattr(
        import_module(f"cgbench.models.training.{entry.module}"), entry.objective
    )
    first: Objective = objective_class(
        model, training.label_smoothing, in_bfloat16, method, target_size
    )
    first.by_sentences = training.loss_mean == "sentences"
    return [first] if first.epochs is None else [first, objective]

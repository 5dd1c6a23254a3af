"""Monte-Carlo dropout: one model as many members, each with masks of its own (Gal and Ghahramani 2016).

A sentence's masks follow from the member's seed and the sentence alone. For that a sentence is a batch by itself:
slower than batches, and the same whatever stands beside it.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from cgbench.errors import InputError
from cgbench.models.external.hugging_face import HuggingFaceMember

_LAYERS = ("layerdrop", "encoder_layerdrop", "decoder_layerdrop")


@contextlib.contextmanager
def masks(model: nn.Module, seed: int, sentence: str) -> Iterator[None]:
    """Dropout as in training, with the masks of a member and a sentence; the caller's random numbers stay."""
    digest = hashlib.sha256(f"{seed}\n{sentence}".encode()).digest()
    parameter = next(model.parameters())
    with torch.random.fork_rng([parameter.device] if parameter.is_cuda else []):
        torch.manual_seed(int.from_bytes(digest[:8], "big") >> 1)
        model.train()
        try:
            yield
        finally:
            model.eval()


def check_dropout(model: nn.Module, config: Any, shown: str) -> None:
    """Check that a model has dropout.

    :raises InputError: it has none: all members would be one.
    """
    rates = [module.p for module in model.modules() if isinstance(module, nn.Dropout)]
    rates += [value for name, value in vars(config).items() if "dropout" in name and isinstance(value, float)]
    if not any(rate > 0 for rate in rates):
        raise InputError(f"{shown}: the model has no dropout (its rates are 0), so that all its members would be one")


class DropoutMember(HuggingFaceMember):
    """A Hugging Face model with masks. It translates without them: a search needs one distribution at every step.

    :param seed: of the masks.
    """

    def __init__(self, model: Any, tokenizer: Any, *, seed: int, **given: Any) -> None:
        super().__init__(model, tokenizer, **given)
        self._seed = seed
        check_dropout(model, model.config, self._shown)
        for module in model.modules():
            for name in _LAYERS:  # whole layers left out are no dropout
                if hasattr(module, name):
                    setattr(module, name, 0.0)

    def states(self, lines: Sequence[str], targets: Sequence[np.ndarray]) -> Tensor:
        """As for every member."""
        parts = []
        for line, target in zip(lines, targets, strict=True):
            with masks(self.model, self._seed, line):
                parts.append(super().states([line], [target]))
        return torch.cat(parts) if parts else super().states([], [])

"""Monte-Carlo dropout: one model as several members with different masks (Gal and Ghahramani 2016).

The masks depend only on the member's seed and the sentence. For this, every sentence is its own
batch, which is slower.
"""

import contextlib
import hashlib
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from cgbench.errors import InputError


@contextlib.contextmanager
def masks(model: nn.Module, seed: int, sentence: str) -> Iterator[None]:
    """Enable dropout with the masks of a member and a sentence; the caller's random state is
    restored.
    """
    digest = hashlib.sha256(f"{seed}\n{sentence}".encode()).digest()
    parameter = next(model.parameters())
    with torch.random.fork_rng([parameter.device] if parameter.is_cuda else []):
        torch.manual_seed(int.from_bytes(digest[:8], "big") >> 1)
        model.train()
        try:
            yield
        finally:
            model.eval()


def check_dropout(model: nn.Module, config: Any, label: str) -> None:
    """Check that a model has dropout, and switch LayerDrop off, which is not dropout."""
    rates = [module.p for module in model.modules() if isinstance(module, nn.Dropout)]
    rates += [
        value
        for name, value in vars(config).items()
        if "dropout" in name and isinstance(value, float)
    ]
    if not any(rate > 0 for rate in rates):
        raise InputError(
            f"{label}: the model has no dropout (its rates are 0), so all members would be"
            " identical"
        )
    for module in model.modules():
        for name in ("layerdrop", "encoder_layerdrop", "decoder_layerdrop"):
            if hasattr(module, name):
                setattr(module, name, 0.0)

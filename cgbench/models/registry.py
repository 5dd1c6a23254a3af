"""Architectures by name: the one place that maps a configuration to the class that builds it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cgbench.errors import InputError, require
from cgbench.models.config import ModelConfig

if TYPE_CHECKING:
    from torch import nn


def build_model(config: ModelConfig, source_size: int, target_size: int) -> nn.Module:
    """Build a freshly initialised model, drawing on torch's global generator.

    :param source_size: number of source subwords, specials included; ``target_size`` likewise.
    :raises InputError: the architecture is unknown, or torch is not installed.
    """
    require("torch", "models")
    if config.architecture == "transformer":
        from cgbench.models.transformer import Transformer

        return Transformer(config, source_size, target_size)
    raise InputError(f"model.architecture={config.architecture}: unknown; architectures: transformer")

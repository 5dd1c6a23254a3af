"""Build a model from its configuration."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from cgbench.errors import require
from cgbench.models.config.architectures import ARCHITECTURES
from cgbench.models.config.common import ModelConfig

if TYPE_CHECKING:
    from cgbench.models.architectures.transformer import Transformer


def build_model(config: ModelConfig, source_size: int, target_size: int) -> Transformer:
    """Build a freshly initialised model, drawing on torch's global generator.

    :param source_size: number of source subwords, specials included; ``target_size`` likewise.
    :raises InputError: torch is not installed.
    """
    require("torch", "models")
    entry = ARCHITECTURES[config.architecture]
    model: Transformer = getattr(import_module(f"cgbench.models.architectures.{entry.module}"), entry.builder)(
        config, source_size, target_size
    )
    return model

"""Build a model from its configuration."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from cgbench.errors import require
from cgbench.models.config.architectures import ARCHITECTURES, added_architectures
from cgbench.models.config.common import ModelConfig

if TYPE_CHECKING:
    from cgbench.models.architectures.transformer import Transformer


def build_model(config: ModelConfig, source_size: int, target_size: int) -> Transformer:
    """Build a model, initialised from torch's global generator.

    :param source_size: source vocabulary size with special tokens; ``target_size``: of the target.
    """
    require("torch", "models")
    name = config.architecture
    entry = ARCHITECTURES[name] if name in ARCHITECTURES else added_architectures()[name]
    module = import_module(entry.module, "cgbench.models.architectures")
    model: Transformer = getattr(module, entry.builder)(config, source_size, target_size)
    return model

"""Whether the parts of a checkpoint can be those of a model, before anything is built from them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cgbench.errors import InputError
from cgbench.models.config.common import ModelConfig
from cgbench.shapes import check_shape

if TYPE_CHECKING:
    from torch import Tensor

MOST_LAYERS = 1_000  # of a side; more take for ever to build, and some architectures repeat one layer
MOST_WIDTH = 1 << 20  # of anything else that a model counts
DAMAGED = "the checkpoint is damaged, or none of cgbench's"

_CONFIG = {
    "model": {str: (str, bool, int, float)},
    "training": {str: (str, bool, int, float)},
    "source_size": lambda value: _count(value, 4),
    "target_size": lambda value: _count(value, 4),
    "subwords": str,
    "method?": {str: (str, bool, int, float)},
    "preset?": str,
    "seed?": lambda value: _count(value, 0),
    "updates?": lambda value: _count(value, 0),
    "precision?": str,
    "processes?": lambda value: _count(value, 1),
    "init?": str,
    "lexicon?": str,
    "corpus?": {str: str},
}


def _count(value: Any, least: int) -> bool:
    return type(value) is int and least <= value < 1 << 63


def check_config(data: Any, path: Path) -> None:
    """Check the types of what ``config.json`` holds.

    :raises InputError: one is wrong; it names the field.
    """
    check_shape(data, _CONFIG, path, DAMAGED)


def check_sizes(model: ModelConfig, path: Path) -> None:
    """Check that a model of this configuration can be built in a time that somebody waits for.

    :raises InputError: a number is beyond all reason.
    """
    for field in dataclasses.fields(model):
        value = getattr(model, field.name)
        most = MOST_LAYERS if "layers" in field.name else MOST_WIDTH
        if type(value) is int and value > most:
            raise InputError(f"{path}: model.{field.name} is {value:,}, where {most:,} is the most; {DAMAGED}")


def check_tensors(path: Path, expected: Mapping[str, Tensor], found: Mapping[str, Tensor]) -> None:
    """Check that ``found``, read from ``path``, has the names, shapes and types of ``expected``, and no NaN.

    :raises InputError: it has not; it names the first that has not.
    """
    for name in sorted(expected.keys() & found.keys()):
        if expected[name].dtype != found[name].dtype:
            raise InputError(
                f"{path}: {name} is of {found[name].dtype}, where {expected[name].dtype} is needed; {DAMAGED}"
            )
    check_finite(path, found)


def check_finite(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Check that every number is one.

    :raises InputError: there is NaN or an infinity.
    """
    for name, tensor in tensors.items():
        if tensor.is_floating_point() and not bool(tensor.isfinite().all()):
            raise InputError(f"{path}: {name} holds what is no number (NaN or infinity); {DAMAGED}, or training failed")

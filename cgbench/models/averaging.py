"""Average the parameters of checkpoints, such as the last of a run (Vaswani et al., 2017, section
6.1).

Sums are in float64, in the order of the checkpoints, so the result is deterministic.
"""

import re
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from cgbench.errors import InputError, argument
from cgbench.files import write_json
from cgbench.models.checkpoints import (
    MODEL,
    CheckpointConfig,
    load_checkpoint,
    read_config,
    save_checkpoint,
)
from cgbench.models.text.subwords import Subwords
from cgbench.steps import hash_file

CHECKPOINTS, NAME, RECORD = "checkpoints", "update-", "averaged.json"


def last_checkpoints(run: Path, count: int) -> list[Path]:
    """Return the last ``count`` kept checkpoints of a run, oldest first."""
    name = re.compile(NAME + "[0-9]+")
    folders = [
        folder for folder in (run / CHECKPOINTS).glob(NAME + "*") if name.fullmatch(folder.name)
    ]
    if len(folders) < count:
        raise InputError(
            f"{run}: has {len(folders)} checkpoints in {CHECKPOINTS}/, not {count}; train with"
            f" training.keep_checkpoints={count}"
        )
    return sorted(folders, key=lambda folder: int(folder.name.removeprefix(NAME)))[-count:]


def average(folders: Sequence[Path], out: Path) -> list[dict[str, Any]]:
    """Write the mean of checkpoints to the checkpoint folder ``out``, with a list of them.

    :returns: one dict per checkpoint: ``folder`` (its name), ``seed``, ``updates``, ``sha256`` of
        its parameters.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InputError(f"{out}: exists already; choose a new folder with {argument('out')}")
    configs = _fitting(folders)
    tensors = _mean(folders)
    record = [
        {
            "folder": folder.resolve().name,
            "seed": config.seed,
            "updates": config.updates,
            "sha256": hash_file(folder / MODEL),
        }
        for folder, config in zip(folders, configs, strict=True)
    ]
    out.mkdir(parents=True, exist_ok=True)
    write_json(out / RECORD, {"format": 1, "checkpoints": record})
    config = replace(configs[0], updates=max(config.updates for config in configs))
    save_checkpoint(out, config, tensors, Subwords.load(folders[0]))
    return record


def _fitting(folders: Sequence[Path]) -> list[CheckpointConfig]:
    """The configurations of checkpoints, after checking that they share architecture and
    vocabulary.
    """
    if len(folders) < 2:
        raise InputError(
            f"an average needs at least two checkpoints; of one run, use {argument('last')} N"
        )
    configs = [read_config(folder) for folder in folders]
    first = configs[0]
    for folder, config in zip(folders[1:], configs[1:], strict=True):
        expected, settings = asdict(first.model), asdict(config.model)
        for key in expected | settings:
            if expected.get(key) != settings.get(key):
                raise InputError(
                    f"{folders[0]} and {folder} cannot be averaged: model.{key} is"
                    f" {expected.get(key)} and {settings.get(key)}; use checkpoints of the same"
                    " architecture and size"
                )
        if config.subwords != first.subwords:
            raise InputError(
                f"{folders[0]} and {folder} cannot be averaged: they have different subwords"
            )
    return configs


def _mean(folders: Sequence[Path]) -> dict[str, Tensor]:
    first = load_checkpoint(folders[0])[0].state_dict()
    totals = {
        name: tensor.double() if tensor.is_floating_point() else tensor
        for name, tensor in first.items()
    }
    for folder in folders[1:]:
        for name, tensor in load_checkpoint(folder)[0].state_dict().items():
            if tensor.is_floating_point():
                totals[name] += tensor
            elif not torch.equal(tensor, totals[name]):
                raise InputError(
                    f"{folder / MODEL}: {name} differs from that of {folders[0] / MODEL} and cannot"
                    " be averaged"
                )
    return {
        name: (total / len(folders)).to(first[name].dtype) if total.is_floating_point() else total
        for name, total in totals.items()
    }

"""Checkpoints: a folder of JSON and safetensors that says all that is needed to use a model, and nothing unpickled.

``config.json`` (written last: a folder that has it is complete), ``model.safetensors``, ``subwords.json`` and
``metrics.jsonl``; while training, ``training_state.safetensors`` and, where the best model is kept,
``best.safetensors``. See ``docs/formats.md``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from cgbench.errors import InputError
from cgbench.files import atomic_path, read_json, write_json
from cgbench.models.config.common import MethodConfig, ModelConfig, TrainingConfig
from cgbench.models.config.presets import method_config, model_config, training_config
from cgbench.models.registry import build_model
from cgbench.models.text.subwords import Subwords

FORMAT = 2
CONFIG, MODEL, METRICS = "config.json", "model.safetensors", "metrics.jsonl"


@dataclass(frozen=True)
class CheckpointConfig:
    """What ``config.json`` says.

    :param preset: the name of the preset the model was trained from.
    :param updates: updates behind the parameters that were kept.
    :param subwords: digest of the subwords; members of one ensemble share it.
    :param corpus: sha256 of the training files, by the names the caller gave.
    :param precision: of matrix products in training; ``processes``: how many shared it.
    :param init: sha256 of the parameters it started from, if these were another model's; ``lexicon``: of the lexicon
        file, if it has one.
    """

    model: ModelConfig
    training: TrainingConfig
    source_size: int
    target_size: int
    subwords: str
    preset: str = ""
    seed: int = 0
    updates: int = 0
    method: MethodConfig = field(default_factory=MethodConfig)
    precision: str = "float32"
    processes: int = 1
    init: str = ""
    lexicon: str = ""
    corpus: dict[str, str] = field(default_factory=dict)


def save_checkpoint(folder: Path, config: CheckpointConfig, tensors: Mapping[str, Tensor], subwords: Subwords) -> None:
    """Write a complete checkpoint; an interrupted call leaves a folder without ``config.json``."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / CONFIG).unlink(missing_ok=True)
    subwords.save(folder)
    write_tensors(folder / MODEL, tensors)
    write_json(folder / CONFIG, {"format": FORMAT, **asdict(config)})


def read_config(folder: Path) -> CheckpointConfig:
    """Read ``config.json``.

    :raises InputError: it is missing (training has not finished), cut short or of another format.
    """
    path = folder / CONFIG
    if not folder.is_dir():
        raise InputError(f"{folder}: no such checkpoint folder")
    if not path.is_file():
        raise InputError(f"{folder}: no {CONFIG}: not a checkpoint, or its training has not finished")
    data = read_json(path)
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise InputError(f"{path}: not a checkpoint of format {FORMAT}")
    values = {key: value for key, value in data.items() if key != "format"}
    try:
        values["model"], values["training"] = model_config(values["model"]), training_config(values["training"])
        values["method"] = method_config(values.get("method", {}))
        return CheckpointConfig(**values)
    except (KeyError, TypeError) as error:
        raise InputError(f"{path}: not a checkpoint configuration ({error})") from None
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def load_checkpoint(folder: Path, device: str = "cpu") -> tuple[nn.Module, Subwords, CheckpointConfig]:
    """Return the model (in evaluation mode, float32), its subwords and its configuration.

    :raises InputError: a file is missing or cut short, or the parts do not belong together.
    """
    config = read_config(folder)
    subwords = Subwords.load(folder)
    if (subwords.digest, subwords.source_size, subwords.target_size) != (
        config.subwords,
        config.source_size,
        config.target_size,
    ):
        raise InputError(f"{folder}: the subwords are not those that the model was trained with")
    tensors, _ = read_tensors(folder / MODEL)
    # Built without storage: the random start would cost time and disturb the caller's random numbers.
    with torch.device("meta"):
        model = build_model(config.model, config.source_size, config.target_size)
    expected = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    found = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    for name in sorted(expected.keys() | found.keys()):
        if expected.get(name) != found.get(name):
            raise InputError(
                f"{folder / MODEL}: {name} has shape {found.get(name, 'none')}, "
                f"{CONFIG} asks for {expected.get(name, 'none')}"
            )
    model.load_state_dict(tensors, assign=True)
    return model.to(device).eval(), subwords, config


def write_tensors(path: Path, tensors: Mapping[str, Tensor], text: str | None = None) -> None:
    """Write tensors, and one string beside them, whole or not at all; equal content gives equal bytes."""
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    contiguous = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    with atomic_path(path) as temporary:
        # One entry at most: safetensors writes several in the order of a hash table.
        try:
            save_file(contiguous, temporary, None if text is None else {"text": text})
        except SafetensorError as error:
            # The number of the system's error (a full disk, say) is only in the words.
            if number := re.search(r"os error (\d+)", str(error)):
                raise OSError(int(number[1]), os.strerror(int(number[1])), str(path)) from None
            raise


def read_tensors(path: Path) -> tuple[dict[str, Tensor], str | None]:
    """Read what :func:`write_tensors` wrote.

    :raises InputError: the file is missing or cut short.
    """
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        raise InputError(f"{path}: no such file")
    try:
        with safe_open(path, "pt") as file:
            return {name: file.get_tensor(name).clone() for name in file.keys()}, (file.metadata() or {}).get("text")  # noqa: SIM118
    except (SafetensorError, OSError, ValueError) as error:
        raise InputError(f"{path}: not a whole safetensors file ({error})") from None


def subset(prefix: str, tensors: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries whose names begin with ``prefix``, without it."""
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}

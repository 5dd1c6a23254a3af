"""LoRA adapters through peft: check before allocation, merge into a model, add, save."""

import re
from pathlib import Path
from typing import Any

from cgbench.errors import InputError, reason_of, require
from cgbench.files import read_json, to_json, write_atomic
from cgbench.models.checkpoints import check_finite, open_tensors
from cgbench.models.external.addresses import Address
from cgbench.models.external.snapshot import ADAPTER_CONFIG, convert, deciding_files, numbers_in

ADAPTER = "adapter_model.safetensors"
_NAMED = (
    "target_modules",
    "exclude_modules",
    "layers_pattern",
    "modules_to_save",
    "rank_pattern",
    "alpha_pattern",
)
"""Settings with names of modules, which peft reads as regular expressions."""


def find_adapter(address: Address) -> Path | None:
    """The folder of the LoRA adapter of an address, or None."""
    if (folder_name := address.options.get("adapter")) is None:
        return None
    folder, path = Path(folder_name), Path(folder_name) / ADAPTER_CONFIG
    if not path.is_file():
        raise InputError(f"{address.text}: {folder} is not an adapter: {ADAPTER_CONFIG} is missing")
    if not (folder / ADAPTER).is_file():
        raise InputError(
            f"{address.text}: {folder} has no {ADAPTER}; {convert('PeftModel.save_pretrained')}"
        )
    deciding_files(folder)
    config = read_json(path)
    base = config.get("base_model_name_or_path") if isinstance(config, dict) else None
    if not isinstance(base, str) or not base:
        raise InputError(f"{path}: does not name its base model (base_model_name_or_path)")
    # Folders are moved and IDs lose their owner; the last part of the name is stable.
    if Path(base).name not in (Path(address.name).resolve().name, Path(address.name).name):
        raise InputError(
            f"{address.text}: the adapter {folder} belongs to {base}, not to {address.name}; if"
            f" both are the same model, correct base_model_name_or_path in {path}"
        )
    _check_names(path, config)
    _check_ranks(path, config)
    return folder


def _check_names(path: Path, config: dict[str, Any]) -> None:
    """Refuse patterns for module names: one may backtrack for years, and matching cannot be
    interrupted.
    """
    for field in _NAMED:
        value = config.get(field)
        for name in value if isinstance(value, (list, dict)) else [value]:
            if isinstance(name, str) and re.search(r"[^\w.-]", name):
                raise InputError(
                    f"{path}: {field} has the pattern {name[:40]!r}; list the names of the modules"
                    " instead"
                )


def _check_ranks(path: Path, config: dict[str, Any]) -> None:
    """Refuse a rank larger than the stored matrices, because they are allocated before the weights
    are read.
    """
    with open_tensors(path.with_name(ADAPTER)) as file:
        shapes = [file.get_slice(name).get_shape() for name in file.keys()]  # noqa: SIM118
    most = max((width for shape in shapes for width in shape), default=0)
    for name in ("r", "rank_pattern"):
        for _, rank in numbers_in(config.get(name)):
            if rank > most:
                raise InputError(
                    f"{path}: {name} has rank {rank}, but the weights have at most {most}"
                )


def merge_adapter(address: Address, model: Any, adapter: Path) -> Any:
    """Merge a LoRA adapter into the weights of a model."""
    peft: Any = require("peft", "hf")
    try:
        merged = peft.PeftModel.from_pretrained(
            model, adapter, local_files_only=True
        ).merge_and_unload()
    except Exception as error:
        raise InputError(
            f"{address.text}: the adapter {adapter} does not fit the model ({reason_of(error)})"
        ) from None
    check_finite(adapter, merged.state_dict())
    return merged


def add_adapter(model: Any, rank: int, dropout: float, base: str) -> Any:
    """Add a LoRA adapter to a model, in place, and freeze everything else; returns peft's wrapper.

    :param base: the name of the base model to record.
    """
    peft: Any = require("peft", "hf")
    settings = peft.LoraConfig(
        r=rank,
        lora_alpha=2 * rank,
        lora_dropout=dropout,
        target_modules="all-linear",
        task_type="SEQ_2_SEQ_LM",
    )
    wrapped = peft.get_peft_model(model, settings)
    wrapped.peft_config["default"].base_model_name_or_path = base
    return wrapped


def save_adapter(adapter: Any, folder: Path) -> None:
    """Write an adapter from :func:`add_adapter` in peft's format, deterministically."""
    # Otherwise peft asks the hub whether the vocabulary has changed.
    adapter.save_pretrained(folder, save_embedding_layers=False)
    (folder / "README.md").unlink(missing_ok=True)
    config = read_json(folder / ADAPTER_CONFIG)
    for key, value in config.items():
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            config[key] = sorted(value)  # peft writes a set, whose order differs between processes
    write_atomic(folder / ADAPTER_CONFIG, to_json(config))

"""LoRA adapters, read and made by peft: checked before anything is allocated, merged into a model, added, saved."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cgbench.errors import InputError, require
from cgbench.files import read_json, to_json, write_atomic
from cgbench.models.external.addresses import Address
from cgbench.models.external.snapshot import ADAPTER_CONFIG, convert, deciding_files, numbers_in

ADAPTER = "adapter_model.safetensors"
PATTERN_SECONDS = 10


def find_adapter(address: Address) -> Path | None:
    """The folder of the LoRA adapter that an address names; None if it names none.

    :raises InputError: it is none, its weights are no safetensors, or it was trained over another model.
    """
    if (named := address.options.get("adapter")) is None:
        return None
    folder = Path(named)
    if not (folder / ADAPTER_CONFIG).is_file():
        raise InputError(f"{address.text}: {folder} is no adapter: it has no {ADAPTER_CONFIG}")
    if not (folder / ADAPTER).is_file():
        raise InputError(f"{address.text}: {folder} has no {ADAPTER}; {convert('PeftModel.save_pretrained')}")
    deciding_files(folder)
    config = read_json(folder / ADAPTER_CONFIG)
    base = config.get("base_model_name_or_path") if isinstance(config, dict) else None
    if not isinstance(base, str) or not base:
        raise InputError(f"{folder / ADAPTER_CONFIG}: does not say which model it belongs to (base_model_name_or_path)")
    # Folders move and IDs lose their owner; the last part of the name stays.
    if Path(base).name not in (Path(address.name).resolve().name, Path(address.name).name):
        raise InputError(
            f"{address.text}: the adapter {folder} belongs to {base}, not to {address.name}; if these are the same "
            f"model, say so in {folder / ADAPTER_CONFIG} (base_model_name_or_path)"
        )
    _check_ranks(folder, config)
    return folder


def _check_ranks(folder: Path, config: dict[str, Any]) -> None:
    """Refuse a rank above what the weights have: an adapter's matrices are allocated before they are read."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(folder / ADAPTER, "np") as file:
            shapes = [file.get_slice(name).get_shape() for name in file.keys()]  # noqa: SIM118
    except (SafetensorError, OSError, ValueError) as error:
        raise InputError(f"{folder / ADAPTER}: not a whole safetensors file ({error})") from None
    most = max((size for shape in shapes for size in shape), default=0)
    for name in ("r", "rank_pattern"):
        for _, rank in numbers_in(config.get(name)):
            if rank > most:
                raise InputError(f"{folder / ADAPTER_CONFIG}: {name} has rank {rank}, and its weights at most {most}")


def merge_adapter(address: Address, model: Any, adapter: Path) -> Any:
    """A model with a LoRA adapter in its weights.

    :raises InputError: the adapter does not fit the model.
    """
    peft: Any = require("peft", "hf")
    _check_patterns(adapter, [name for name, _ in model.named_modules()])
    try:
        return peft.PeftModel.from_pretrained(model, adapter, local_files_only=True).merge_and_unload()
    except Exception as error:
        said = " ".join(str(error).split())[:300] or type(error).__name__
        raise InputError(f"{address.text}: the adapter {adapter} does not fit the model ({said})") from None


def _check_patterns(adapter: Path, modules: Sequence[str]) -> None:
    """Check that the patterns of an adapter's configuration end on the names of a model's modules.

    A pattern may take years on one name, and nothing stops it once it runs; so it runs in a child process first.
    """
    path = adapter / ADAPTER_CONFIG
    config = read_json(path)
    fields = ("target_modules", "exclude_modules", "layers_pattern", "modules_to_save", "rank_pattern", "alpha_pattern")
    patterns: set[str] = set()
    for value in map(config.get, fields):
        found = [value] if isinstance(value, str) else value if isinstance(value, (list, dict)) else []
        patterns |= {one for one in found if isinstance(one, str) and re.search(r"[^\w.]", one)}
    if not patterns:
        return
    given = json.dumps([sorted(patterns), list(modules)])
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _MATCH],
            input=given, capture_output=True, encoding="utf-8", timeout=PATTERN_SECONDS, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise InputError(
            f"{path}: its patterns for names of modules ({', '.join(fields)}) take more than {PATTERN_SECONDS} s on "
            "this model; give the names as a list"
        ) from None
    if done.returncode:
        said = (done.stderr.splitlines() or ["it ended the process that tried it"])[-1]
        raise InputError(f"{path}: a pattern for names of modules is none ({said[:200]})")


_MATCH = r"""
import json, re, sys
patterns, names = json.load(sys.stdin)
for one in patterns:
    # as peft puts them together
    for whole in (one, rf"(.*\.)?({one})$", rf"(^|.*\.){one}($|\..*)", rf"(?:^|.*?\.){one}\.(?P<idx>\d+)\."):
        for name in names:
            re.fullmatch(whole, name), re.match(whole, name)
"""


def add_adapter(model: Any, rank: int, dropout: float, base: str) -> Any:
    """Add a LoRA adapter to a model, in place, and leave nothing else of it to be trained; return peft's model around.

    :param base: the name that the adapter says it belongs to.
    """
    peft: Any = require("peft", "hf")
    settings = peft.LoraConfig(
        r=rank, lora_alpha=2 * rank, lora_dropout=dropout, target_modules="all-linear", task_type="SEQ_2_SEQ_LM"
    )
    found = peft.get_peft_model(model, settings)
    found.peft_config["default"].base_model_name_or_path = base
    return found


def save_adapter(adapter: Any, folder: Path) -> None:
    """Write an adapter as peft reads it; equal ones give equal bytes.

    :param adapter: what :func:`add_adapter` returned.
    """
    # Otherwise peft asks the hub whether the vocabulary is still the base's.
    adapter.save_pretrained(folder, save_embedding_layers=False)
    (folder / "README.md").unlink(missing_ok=True)
    config = read_json(folder / ADAPTER_CONFIG)
    for key, value in config.items():
        if isinstance(value, list) and all(isinstance(one, str) for one in value):
            config[key] = sorted(value)  # a set there has another order in every process
    write_atomic(folder / ADAPTER_CONFIG, to_json(config))

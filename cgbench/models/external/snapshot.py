"""Find or download the files of a Hugging Face model, check them before loading, and compute their
identity.

Weights are only read from safetensors, because a pickle can run any code. Code that comes with a
model is never run.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cgbench.checksums import known_digest
from cgbench.errors import InputError, is_of_network, reason_of, require
from cgbench.files import check_shape, ordinary_file, read_json
from cgbench.models.checkpoints import BEST, STATE, open_tensors
from cgbench.models.external.addresses import Address
from cgbench.steps import hash_value

WEIGHTS = "*.safetensors"
ADAPTER_CONFIG = "adapter_config.json"
# No pickles (.bin, .pt, .h5) and no code. spm, model: SentencePiece; txt, vocab, bpe: dictionaries
# and merges.
_FETCHED = ("*.json", WEIGHTS, "*.txt", "*.model", "*.spm", "*.vocab", "*.bpe", "*.jinja")
_BESIDE = (STATE, BEST)  # left by our training
_PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.h5", "*.msgpack")
INDEX = ".safetensors.index.json"
_COUNTS = re.compile(
    "layer|block|depth|stage|expert|branch|codebook"
)  # in names of settings that count parts
_WIDTHS = re.compile("size|dim|width|_per_")
_POSITIVE = re.compile("^n_|^num_|layers$|heads$|_size$|_dim$")
_COMPUTED = ("marian", "pegasus")  # fill their tables of positions in a Python loop
MOST_PARTS, MOST_LABELS, MOST_POSITIONS, MOST = 1024, 1 << 20, 1 << 15, 1 << 40


def find_snapshot(address: Address) -> tuple[Path, str]:
    """The folder of a model, and its commit (empty if the address is a folder).

    :raises InputError: there is no such model or revision, it cannot be downloaded, or it cannot be
        loaded safely.
    """
    folder = _fetch(address) if address.revision else Path(address.name)
    _check(address, folder)
    return folder, folder.name if address.revision else ""


def identity_of(folder: Path) -> str:
    """A hash of the files that determine a model's output: configuration, weights, tokeniser,
    code.
    """
    return hash_value({name: known_digest(folder / name) for name in deciding_files(folder)})


def deciding_files(folder: Path) -> list[str]:
    """The names of the files that determine a model's output."""
    names = sorted(
        path.name
        for path in folder.iterdir()
        if not path.name.startswith(".")
        and path.name not in _BESIDE
        and any(path.match(pattern) for pattern in (*_FETCHED, "*.py"))
    )
    for name in names:
        ordinary_file(folder / name, link=True)  # the hub's cache consists of links
    return names


def _check(address: Address, folder: Path) -> None:
    if not folder.is_dir() or "config.json" not in (names := deciding_files(folder)):
        raise InputError(
            f"{address.text}: {folder} has no config.json, so it is not a Hugging Face model"
        )
    path = folder / "config.json"
    config: Any = read_json(path)
    if not isinstance(config, dict) or not isinstance(config.get("model_type"), str):
        raise InputError(f"{path}: not the configuration of a Hugging Face model (no model_type)")
    for file in (path, folder / "tokenizer_config.json"):
        contents = read_json(file) if file.is_file() else None
        if isinstance(contents, dict) and contents.get("auto_map"):
            raise InputError(
                f"{address.text}: {file.name} requires code that comes with the model (auto_map),"
                " which is never run"
            )
    if not any(folder.glob(WEIGHTS)):
        pickles = [path.name for pattern in _PICKLES for path in sorted(folder.glob(pattern))]
        fault = "it has no safetensors weights"
        if pickles:
            fault = f"its weights are in {pickles[0]}; pickles are never loaded"
        raise InputError(f"{address.text}: {fault}; {convert('PreTrainedModel.save_pretrained')}")
    if ADAPTER_CONFIG in names:  # transformers would load it too, perhaps with another base
        raise InputError(
            f"{address.text}: {folder} contains an adapter and a model ({ADAPTER_CONFIG}); move the"
            " adapter's files to their own folder and add ?adapter=FOLDER"
        )
    for setting, value in _settings(config):  # of attention or of experts
        if "_implementation" in setting and "/" in str(
            value
        ):  # transformers would download and run that code
            raise InputError(f"{path}: {setting} names code on the hub, which is never run")
    _check_weights(path, config, names)
    _check_counts(path, config, names)
    settings = (
        read_json(folder / "generation_config.json") if "generation_config.json" in names else {}
    )
    if not isinstance(settings, dict):
        raise InputError(f"{folder / 'generation_config.json'}: not an object of names and values")


def _check_weights(path: Path, config: dict[str, Any], names: list[str]) -> None:
    """Check that all weight files are safetensors in the folder, so that the identity covers
    them.
    """
    if config.get("configuration_files"):
        raise InputError(
            f"{path}: names other configuration files (configuration_files), which is not supported"
        )
    indices = [name for name in names if name.endswith(INDEX)]
    weights_name = config.get("transformers_weights")
    if weights_name is not None and not (
        weights_name in names and weights_name.endswith((".safetensors", INDEX))
    ):
        raise InputError(
            f"{path}: transformers_weights is {weights_name!r}, not a .safetensors file in the"
            " folder"
        )
    for index in indices:
        index_path = path.with_name(index)
        contents = read_json(index_path)
        check_shape(
            contents,
            {"metadata?": dict, "weight_map": {str: str}},
            index_path,
            "save the model again",
        )
        for name in sorted(set(contents["weight_map"].values())):
            if name not in names or not name.endswith(".safetensors"):
                raise InputError(
                    f"{index_path}: names {name!r} as weights, not a .safetensors file in the"
                    f" folder; {convert('PreTrainedModel.save_pretrained')}"
                )


def _check_counts(path: Path, config: dict[str, Any], names: list[str]) -> None:
    """Check the sizes in a configuration, such as its number of layers, which are allocated before
    loading.
    """
    tensors = 0
    for name in [name for name in names if name.endswith(".safetensors")]:
        with open_tensors(path.with_name(name)) as file:
            tensors += len(file.keys())
    for name, value in numbers_in(config):
        if name == "num_labels":
            most = MOST_LABELS
        elif _COUNTS.search(name) and not _WIDTHS.search(name):
            most = max(MOST_PARTS, tensors)
        elif "position" in name and config["model_type"] in _COMPUTED:
            most = MOST_POSITIONS
        else:
            most = MOST
        if value > most or (value < 0 and _POSITIVE.search(name)):
            fault = "which is invalid"
            if value > 0:
                fault = f"but at most {most:,} is possible (the weights have {tensors:,} tensors)"
            raise InputError(f"{path}: {name} is {value}, {fault}")


def _settings(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Every value of a configuration, at any depth, with its innermost name."""
    yield name, value
    if isinstance(value, (dict, list)):
        for key, inner in (
            value.items() if isinstance(value, dict) else ((name, item) for item in value)
        ):
            yield from _settings(inner, str(key))


def numbers_in(value: Any) -> Iterator[tuple[str, float]]:
    """Every number of a configuration, with its innermost name."""
    for name, number in _settings(value):
        if isinstance(number, (int, float)) and not isinstance(number, bool):
            yield name, number


def convert(saved_by: str) -> str:
    """Advice on weights in a pickle."""
    return (
        "if you trust its author, load it with transformers and save it as safetensors"
        f" ({saved_by})"
    )


def _fetch(address: Address) -> Path:
    hub: Any = require("huggingface_hub", "hf")
    try:
        return Path(
            hub.snapshot_download(
                address.name, revision=address.revision, allow_patterns=list(_FETCHED)
            )
        )
    except Exception as error:
        if not is_of_network(error):
            raise
        raise InputError(
            f"{address.text}: cannot be downloaded ({reason_of(error)}); online, run: hf download"
            f" {address.name} --revision {address.revision}"
        ) from None

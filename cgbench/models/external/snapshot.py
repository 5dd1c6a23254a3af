"""The files of a Hugging Face model: found or fetched, looked at before anything is loaded, and known by their bytes.

Weights are read from safetensors alone: a pickle runs whatever its author wrote. Nor does the code run that some
models bring with them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cgbench.checksums import known_digest
from cgbench.errors import InputError, require
from cgbench.files import check_shape, ordinary_file, read_json
from cgbench.models.checkpoints import BEST, STATE
from cgbench.models.external.addresses import Address
from cgbench.steps import hash_value

WEIGHTS = "*.safetensors"
ADAPTER_CONFIG = "adapter_config.json"
# No pickles (.bin, .pt, .h5) and no code. spm, model: SentencePiece; txt, vocab, bpe: dictionaries and merges.
_FETCHED = ("*.json", WEIGHTS, "*.txt", "*.model", "*.spm", "*.vocab", "*.bpe", "*.jinja")
_BESIDE = (STATE, BEST)  # what a training of ours leaves beside a model
_PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.h5", "*.msgpack")
INDEX = ".safetensors.index.json"
_COUNTS = re.compile(
    "layer|block|depth|stage|expert|branch|codebook"
)  # in the names of sizes: how many parts there are
_WIDTHS = re.compile("size|dim|width|_per_")
_POSITIVE = re.compile("^n_|^num_|layers$|heads$|_size$|_dim$")
_COMPUTED = ("marian", "pegasus")  # their tables of positions are made number by number
MOST_PARTS, MOST_LABELS, MOST_POSITIONS, MOST = 1024, 1 << 20, 1 << 15, 1 << 40


def find_snapshot(address: Address, fetch: bool = True) -> tuple[Path, str]:
    """The folder of a model, and the commit that it is of (nothing of a folder that was named as such).

    :param fetch: whether the hub is asked for what the cache does not have.
    :raises InputError: there is no such model or revision, it cannot be fetched, or the folder is no model that can be
        loaded safely.
    """
    if not address.revision:
        folder, commit = Path(address.name), ""
    else:
        folder = _fetch(address, fetch)
        commit = folder.name
    _check(address, folder)
    return folder, commit


def identity_of(folder: Path) -> str:
    """A hash of the files of a model that decide what it answers: configuration, weights, tokeniser, code."""
    return hash_value({name: known_digest(folder / name) for name in deciding_files(folder)})


def deciding_files(folder: Path) -> list[str]:
    """The names of the files of a model that decide what it answers.

    :raises InputError: one is a device, a pipe or a folder.
    """
    names = sorted(
        path.name
        for path in folder.iterdir()
        if not path.name.startswith(".")
        and path.name not in _BESIDE
        and any(path.match(kind) for kind in (*_FETCHED, "*.py"))
    )
    for name in names:
        ordinary_file(folder / name, link=True)  # the hub's cache is made of links
    return names


def _check(address: Address, folder: Path) -> None:
    if not folder.is_dir() or "config.json" not in (names := deciding_files(folder)):
        raise InputError(f"{address.text}: {folder} has no config.json: it is no Hugging Face model")
    config: Any = read_json(folder / "config.json")
    if not isinstance(config, dict) or not isinstance(config.get("model_type"), str):
        raise InputError(f"{folder / 'config.json'}: not the configuration of a Hugging Face model (no model_type)")
    for path in (folder / "config.json", folder / "tokenizer_config.json"):
        found = read_json(path) if path.is_file() else None
        if isinstance(found, dict) and found.get("auto_map"):
            raise InputError(
                f"{address.text}: {path.name} asks for code that comes with the model (auto_map), which is never run"
            )
    if not any(folder.glob(WEIGHTS)):
        pickles = [path.name for kind in _PICKLES for path in sorted(folder.glob(kind))]
        what = f"its weights are in {pickles[0]}, and" if pickles else "it has no weights as safetensors;"
        raise InputError(f"{address.text}: {what} no pickle is loaded; {convert('PreTrainedModel.save_pretrained')}")
    if ADAPTER_CONFIG in names:  # transformers would load it as well, and perhaps another base
        raise InputError(
            f"{address.text}: {folder} has an adapter beside the model ({ADAPTER_CONFIG}); move its files to a folder "
            "of their own and name that: ?adapter=FOLDER"
        )
    _check_weights(folder, config, names)
    _check_counts(folder, config, names)
    settings = read_json(folder / "generation_config.json") if "generation_config.json" in names else {}
    if not isinstance(settings, dict):
        raise InputError(f"{folder / 'generation_config.json'}: not an object of names and values")


def _check_weights(folder: Path, config: dict[str, Any], names: list[str]) -> None:
    """Check that all files that weights are read from are safetensors of the folder, which its identity counts in."""
    if config.get("configuration_files"):
        raise InputError(f"{folder / 'config.json'}: names other files of configuration (configuration_files)")
    indices = [name for name in names if name.endswith(INDEX)]
    named = config.get("transformers_weights")
    if named is not None and not (named in names and named.endswith((".safetensors", INDEX))):
        raise InputError(
            f"{folder / 'config.json'}: transformers_weights is {named!r}, which is no .safetensors file of the folder"
        )
    for index in indices:
        path = folder / index
        found = read_json(path)
        check_shape(found, {"metadata?": dict, "weight_map": {str: str}}, path, "save the model again")
        for name in sorted(set(found["weight_map"].values())):
            if name not in names or not name.endswith(".safetensors"):
                raise InputError(
                    f"{path}: names {name!r} as weights, which is no .safetensors file of the folder; "
                    f"{convert('PreTrainedModel.save_pretrained')}"
                )


def _check_counts(folder: Path, config: dict[str, Any], names: list[str]) -> None:
    """Check how many layers and such a configuration asks for: each has tensors of its own, and is made before them."""
    from safetensors import SafetensorError, safe_open

    tensors = 0
    for name in [name for name in names if name.endswith(".safetensors")]:
        try:
            with safe_open(folder / name, "np") as file:
                tensors += len(file.keys())
        except (SafetensorError, OSError, ValueError) as error:
            raise InputError(f"{folder / name}: not a whole safetensors file ({error})") from None
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
            raise InputError(
                f"{folder / 'config.json'}: {name} is {value}, and at most {most:,} is possible here "
                f"(the weights have {tensors:,} tensors)"
                if value > 0
                else f"{folder / 'config.json'}: {name} is {value}, which it cannot be"
            )


def numbers_in(value: Any, name: str = "") -> Iterator[tuple[str, float]]:
    """Every number of a configuration, by the last name that it has."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from numbers_in(inner, str(key))
    elif isinstance(value, list):
        for inner in value:
            yield from numbers_in(inner, name)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield name, value


def convert(saved_by: str) -> str:
    """The remedy for weights in a pickle."""
    return (
        f"where you trust its author, load it with transformers and write it again ({saved_by}), which writes "
        "safetensors"
    )


def _fetch(address: Address, fetch: bool) -> Path:
    hub: Any = require("huggingface_hub", "hf")
    try:
        found = hub.snapshot_download(
            address.name, revision=address.revision, allow_patterns=list(_FETCHED), local_files_only=not fetch
        )
        return Path(found)
    except Exception as error:
        if (reason := _reason(error, address)) is None:
            raise
        raise InputError(f"{address.text}: {reason}") from None


def _reason(error: Exception, address: Address) -> str | None:
    """Why a model could not be fetched; None if that is no matter of the hub. By names: versions differ in classes."""
    kinds = [kind.__name__ for kind in type(error).__mro__]
    where = f"https://huggingface.co/{address.name}"
    for kind, reason in (
        ("GatedRepoError", f"access has to be asked for at {where}; then log in (hf auth login) or set HF_TOKEN"),
        ("RepositoryNotFoundError", f"there is no model {address.name}; a private one needs a login (hf auth login)"),
        ("RevisionNotFoundError", f"the model has no revision {address.revision}; {where}/commits/main lists them"),
        *(
            (
                kind,
                "this revision is not in the cache, and the hub cannot be reached (or HF_HUB_OFFLINE is set); where it "
                f"can: hf download {address.name} --revision {address.revision}",
            )
            for kind in ("LocalEntryNotFoundError", "OfflineModeIsEnabled")
        ),
        ("HFValidationError", f"no name of a model ({error})"),
    ):
        if kind in kinds:
            return reason
    if type(error).__module__.split(".")[0] in ("huggingface_hub", "httpx", "httpx2", "requests"):
        return f"cannot be fetched ({' '.join(str(error).split())[:200]})"
    return None
